import pickle

import pytest
import vision_files as files

from facula.vision import datasets, tv_tensors
from facula.vision.datasets import wrap_dataset_for_transforms_v2

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
