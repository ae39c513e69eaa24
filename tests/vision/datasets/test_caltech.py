import pytest
import vision_files as files

from facula.vision import datasets

pytestmark = pytest.mark.promise("D3")


def test_archives_in_an_archive_are_unpacked(tmp_path, network):
    base = files.made(files.caltech101, tmp_path) / "caltech101"
    (tmp_path / "outer" / "caltech-101").mkdir(parents=True)
    for name in ("101_ObjectCategories.tar.gz", "Annotations.tar"):
        part = tmp_path / name.partition(".")[0]
        part.mkdir()
        (base / part.name).rename(part / part.name)
        data = files.archive_of(part, name)
        (tmp_path / "outer" / "caltech-101" / name).write_bytes(data)
    network["caltech-101.zip"] = files.archive_of(tmp_path / "outer", "x.zip")
    assert len(datasets.Caltech101(tmp_path / "root", "annotation", download=True)) == 8
