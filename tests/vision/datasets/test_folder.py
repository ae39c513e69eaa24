import os
import pickle

import file_formats
import pytest
import vision_files as files

from facula.vision import datasets
from facula.vision.datasets import folder

pytestmark = pytest.mark.promise("D3")


def test_folders_are_classes(tmp_path):
    files.image_folder(tmp_path)
    data = datasets.ImageFolder(tmp_path)
    assert data.classes == ["a", "b", "c d"]
    assert data.class_to_idx == {"a": 0, "b": 1, "c d": 2}
    names = [(os.path.relpath(path, tmp_path), target) for path, target in data.imgs]
    assert names == [("a/3.bmp", 0), ("b/2.png", 1), ("b/deep/1.JPG", 1), ("c d/4.png", 2)]
    assert data.targets == [0, 1, 1, 2]
    assert data.samples is data.imgs
    assert data[1][0].mode == "RGB" and data[1][1] == 1


def test_transform_may_be_replaced_later(tmp_path):
    files.image_folder(tmp_path)
    data = datasets.ImageFolder(tmp_path)
    data.transform = lambda image: image.size
    data.target_transform = lambda target: -target
    assert data[3] == ((6, 4), -2)


def test_subclass_may_choose_its_classes(tmp_path):
    files.image_folder(tmp_path)

    class OnlyB(datasets.ImageFolder):
        def find_classes(self, directory):
            return ["b"], {"b": 5}

    assert OnlyB(tmp_path).targets == [5, 5]


def test_dataset_travels_to_workers(tmp_path):
    files.image_folder(tmp_path)
    data = pickle.loads(pickle.dumps(datasets.ImageFolder(tmp_path)))
    assert data[0][1] == 0


def test_missing_root_is_told(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        datasets.ImageFolder(tmp_path / "nowhere")


def test_root_without_classes_is_told(tmp_path):
    with pytest.raises(
        FileNotFoundError, match=r"expected one folder for each class in '.*', found"
    ):
        datasets.ImageFolder(tmp_path)


def test_empty_classes_are_named(tmp_path):
    files.image_folder(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "none").mkdir()
    text = r"no file that ends in .jpg or .* for the classes empty, none in .* allow_empty=True"
    with pytest.raises(FileNotFoundError, match=text):
        datasets.ImageFolder(tmp_path)
    assert len(datasets.ImageFolder(tmp_path, allow_empty=True)) == 4


@pytest.mark.parametrize(
    "name, cut", [("1.jpg", 400), ("1.png", 60), ("1.bmp", 60), ("1.png", 0), ("1.jpg", 3)]
)
def test_damaged_images_are_named(tmp_path, name, cut):
    path = tmp_path / "cat" / name
    file_formats.image(path, size=(40, 30))
    path.write_bytes(path.read_bytes()[:cut])
    data = datasets.ImageFolder(tmp_path)
    with pytest.raises(OSError, match=rf"cannot read the image '.*cat/{name}': "):
        data[0]


def test_image_that_was_deleted_is_named(tmp_path):
    files.image_folder(tmp_path)
    data = datasets.ImageFolder(tmp_path)
    os.remove(data.imgs[0][0])
    with pytest.raises(FileNotFoundError, match=r"3\.bmp"):
        data[0]


def test_extensions_or_a_function_say_which_files_count(tmp_path):
    files.image_folder(tmp_path)
    with pytest.raises(ValueError, match="expected either extensions or is_valid_file"):
        folder.make_dataset(tmp_path)
    with pytest.raises(ValueError, match="at least one class"):
        folder.make_dataset(tmp_path, {}, ".png")
    found = datasets.ImageFolder(
        tmp_path, is_valid_file=lambda path: path.endswith("txt"), allow_empty=True
    )
    assert [os.path.basename(path) for path, _ in found.imgs] == ["x.txt"]
    assert folder.is_image_file("A.TIFF") and not folder.is_image_file("a.gif")


def test_links_to_folders_are_followed(tmp_path):
    file_formats.image(tmp_path / "elsewhere" / "1.png")
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "cat").symlink_to(tmp_path / "elsewhere")
    assert len(datasets.ImageFolder(tmp_path / "root")) == 1


def test_both_kinds_of_transforms_contradict(tmp_path):
    with pytest.raises(ValueError, match="either transforms or transform and target_transform"):
        datasets.VisionDataset(tmp_path, transforms=print, transform=print)


def test_missing_pillow_is_told_with_the_command(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "PIL.Image", None)
    with pytest.raises(ImportError, match=r"pip install facula\[vision\]"):
        folder.pil_loader(tmp_path)
