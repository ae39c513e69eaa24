import pytest
import vision_files as files

from facula.vision import datasets

pytestmark = pytest.mark.promise("D3")


def test_places_are_downloaded_by_list_and_images(tmp_path, network):
    folder = files.made(files.places365, tmp_path)
    (folder / "data_256_standard").rename(folder / "data_256")
    lists, images = tmp_path / "lists", tmp_path / "images"
    lists.mkdir()
    images.mkdir()
    (folder / "data_256").rename(images / "data_256")
    for path in folder.glob("*.txt"):
        path.rename(lists / path.name)
    network["filelist_places365-standard.tar"] = files.archive_of(lists, "x.tar")
    network["train_256_places365standard.tar"] = files.archive_of(images, "x.tar")
    data = datasets.Places365(tmp_path / "root", small=True, download=True)
    assert [target for _, target in data] == [0, 1]
