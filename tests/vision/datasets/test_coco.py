import pytest
import vision_files as files

from facula.vision import datasets

pytestmark = pytest.mark.promise("D3")


@pytest.fixture
def data(tmp_path):
    files.coco(tmp_path)
    return datasets.CocoDetection(tmp_path, tmp_path / "instances.json")


def test_images_are_in_the_order_of_their_ids(data):
    assert data.ids == [4, 5, 9]
    image, target = data[2]
    assert (image.mode, image.size) == ("RGB", (6, 4))
    assert [annotation["id"] for annotation in target] == [11, 13]
    assert data[1][1] == []
    assert len(data) == 3


def test_captions_are_strings(tmp_path):
    files.coco(tmp_path)
    captions = datasets.CocoCaptions(tmp_path, tmp_path / "instances.json")
    assert [target for _, target in captions] == [["a dog"], [], ["a cup", "two"]]


def test_both_transforms_are_applied(tmp_path):
    files.coco(tmp_path)
    args = tmp_path, tmp_path / "instances.json"
    assert datasets.CocoDetection(*args, lambda image: image.size, len)[2] == ((6, 4), 2)
    swapped = datasets.CocoDetection(*args, transforms=lambda image, target: (len(target), 0))
    assert swapped[2] == (2, 0)


def test_index_looks_things_up_like_pycocotools(data):
    coco = data.coco
    assert coco.getCatIds() == [1, 3]
    assert coco.getCatIds(catNms=["cup"]) == coco.getCatIds(supNms="kitchen") == [3]
    assert coco.getCatIds(catIds=1) == [1]
    assert coco.getAnnIds() == [11, 12, 13]
    assert coco.getAnnIds(imgIds=9) == [11, 13]
    assert coco.getAnnIds(imgIds=[9, 4], catIds=[1]) == [13, 12]
    assert coco.getAnnIds(areaRng=[0, 5]) == []
    assert coco.getAnnIds(iscrowd=False) == [11, 12, 13]
    assert sorted(coco.getImgIds()) == [4, 5, 9]
    assert coco.getImgIds(catIds=[1, 3]) == [9]
    assert coco.loadImgs(5)[0]["file_name"] == "c.png"
    assert [c["name"] for c in coco.loadCats([3, 1])] == ["cup", "dog"]
    assert coco.loadAnns([12])[0]["image_id"] == 4


def test_bad_input_is_refused(data, tmp_path):
    with pytest.raises(ValueError, match="CocoDetection: expected an integer index, got 'a'"):
        data["a"]
    with pytest.raises(IndexError):
        data[3]
    (tmp_path / "bad.json").write_text('{"images": [')
    with pytest.raises(ValueError, match=r"bad\.json is no JSON"):
        datasets.CocoDetection(tmp_path, tmp_path / "bad.json")
    (tmp_path / "bad.json").write_text("[]")
    with pytest.raises(ValueError, match=r"bad\.json has no object of COCO annotations"):
        datasets.CocoDetection(tmp_path, tmp_path / "bad.json")
