import pickle

import pytest
import vision_files as files

from facula.vision import datasets, tv_tensors
from facula.vision.datasets import wrap_dataset_for_transforms_v2
from facula.vision.datasets._coco_masks import mask_of

pytestmark = pytest.mark.promise("D3")


@pytest.fixture
def coco(tmp_path):
    files.coco(tmp_path)
    return datasets.CocoDetection(tmp_path, tmp_path / "instances.json")


def test_targets_of_coco_become_a_dict_of_boxes_and_labels(coco):
    wrapped = wrap_dataset_for_transforms_v2(coco)
    image, target = wrapped[2]
    assert list(target) == ["image_id", "boxes", "labels"]
    assert type(target["boxes"]) is tv_tensors.BoundingBoxes
    assert target["boxes"].tolist() == [[1, 0, 4, 2], [1, 0, 4, 2]]
    assert target["boxes"].canvas_size == (image.height, image.width) == (4, 6)
    assert (target["labels"].tolist(), target["image_id"]) == ([3, 1], 9)
    assert wrapped[1][1] == {"image_id": 5}


def test_masks_of_coco_are_made_on_request(coco):
    target = wrap_dataset_for_transforms_v2(coco, ["masks", "area"])[2][1]
    assert list(target) == ["masks", "area"]
    assert type(target["masks"]) is tv_tensors.Mask
    rectangle = [[0, 1, 1, 1, 0, 0]] * 2 + [[0] * 6] * 2
    runs = [[0, 1, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0], [1, 1, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0]]
    assert target["masks"].tolist() == [rectangle, runs]


def test_transforms_get_image_and_target_together(tmp_path):
    files.voc(tmp_path)
    data = datasets.VOCDetection(tmp_path, transforms=lambda image, target: (target, image.size))
    wrapped = wrap_dataset_for_transforms_v2(data)
    assert wrapped[0][0]["labels"].tolist() == [12]
    assert data.transforms is not None  # the dataset itself is as it was
    assert wrapped.annotations == data.annotations


def test_wrapped_dataset_travels_to_workers(coco):
    wrapped = pickle.loads(pickle.dumps(wrap_dataset_for_transforms_v2(coco, "all")))
    assert isinstance(wrapped, datasets.CocoDetection)
    assert type(wrapped).__name__ == "WrappedCocoDetection"
    assert len(wrapped[0][1]) == 9


@pytest.mark.parametrize(
    "make, error, text",
    [
        (lambda root: ([1], None), TypeError, "expected a VisionDataset, got list"),
        (lambda root: (datasets.VisionDataset(root), None), TypeError, "none of the datasets"),
        (lambda root: (datasets.FakeData(), 3), ValueError, "None, 'all' or a collection"),
        (lambda root: (datasets.FakeData(), "boxes"), ValueError, "None, 'all' or a collection"),
        (lambda root: (datasets.FakeData(), ["boxes"]), ValueError, "target_keys are for Coco"),
    ],
)
def test_what_cannot_be_wrapped_is_refused(make, error, text, tmp_path):
    with pytest.raises(error, match=text):
        wrap_dataset_for_transforms_v2(*make(tmp_path))


def test_unknown_keys_are_named(coco):
    with pytest.raises(ValueError, match=r"CocoDetection has no target keys \['box'\], only"):
        wrap_dataset_for_transforms_v2(coco, ["boxes", "box"])


# Made with pycocotools 2.0.
POLYGON = [0.3, 0.2, 5.1, 1.4, 3.6, 4.9, -1.2, 3.3]
GOLDEN = ["110000", "111110", "111110", "111100", "001100"]


def test_polygons_are_filled_by_the_rule_of_coco():
    found = ["".join(map(str, row)) for row in mask_of([POLYGON], 5, 6).tolist()]
    assert found == GOLDEN


def test_compressed_runs_are_read():
    found = ["".join(map(str, row)) for row in mask_of({"counts": "041010O00N6"}, 5, 6).tolist()]
    assert found == GOLDEN


@pytest.mark.parametrize("counts", [[1, 2], [31, 0], [-1, 31], "0"])
def test_runs_of_another_size_are_refused(counts):
    with pytest.raises(ValueError, match=r"expected 30 for an image of 5 x 6"):
        mask_of({"counts": counts}, 5, 6)
