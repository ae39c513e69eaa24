import pytest
import vision_files as files

from facula.vision import datasets

pytestmark = pytest.mark.promise("D3")


def test_flowers_are_downloaded_with_their_lists(tmp_path, network):
    folder = files.made(files.flowers102, tmp_path) / "flowers-102"
    for name in ("imagelabels.mat", "setid.mat"):
        network[name] = (folder / name).read_bytes()
    network["102flowers.tgz"] = files.archive_of(folder, "x.tgz")
    data = datasets.Flowers102(tmp_path / "root", "test", download=True)
    assert [target for _, target in data] == [5, 4]
    assert data.classes[4] == "english marigold"
