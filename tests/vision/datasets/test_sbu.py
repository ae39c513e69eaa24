import pytest
import vision_files as files

from facula.vision import datasets

pytestmark = pytest.mark.promise("D3")


def test_photographs_that_are_gone_are_left_out(tmp_path, network, monkeypatch):
    folder = files.made(files.sbu, tmp_path)
    network["0_abc.jpg"] = (folder / "dataset" / "0_abc.jpg").read_bytes()
    for path in folder.rglob("*.jpg"):
        path.unlink()
    network["SBUCaptionedPhotoDataset.tar.gz"] = files.archive_of(folder, "x.tar.gz")
    data = datasets.SBU(tmp_path / "root")
    assert (data.photos, data.captions) == (["0_abc.jpg"], ["one"])
