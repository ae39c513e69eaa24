import pytest
import vision_files as files

from facula.vision import datasets

pytestmark = pytest.mark.promise("D3")


def test_archives_of_cityscapes_are_unpacked(tmp_path):
    folder = files.made(files.cityscapes, tmp_path)
    (folder / "gtCoarse").rename(tmp_path / "gtCoarse")
    archive = files.archive_of(folder, "x.zip")
    root = tmp_path / "root"
    root.mkdir()
    with pytest.raises(RuntimeError, match=r"Put leftImg8bit_trainvaltest.zip and gtFine_train"):
        datasets.Cityscapes(root)
    for name in ("leftImg8bit_trainvaltest.zip", "gtFine_trainvaltest.zip"):
        (root / name).write_bytes(archive)
    assert len(datasets.Cityscapes(root)) == 2
