import os

import pytest
import vision_files as files

from facula.vision import datasets

pytestmark = pytest.mark.promise("D3")


def test_unpacked_folders_get_their_names(tmp_path, network):
    folder = files.made(files.inaturalist, tmp_path)
    (folder / "2021_train").rename(folder / "train")
    network["2021_train.tgz"] = files.archive_of(folder, "x.tgz")
    data = datasets.INaturalist(tmp_path / "root", download=True)
    assert len(data) == 4
    assert sorted(os.listdir(tmp_path / "root")) == ["2021_train", "2021_train.tgz"]
    with pytest.raises(RuntimeError, match=r"is there already. Delete it"):
        datasets.INaturalist(tmp_path / "root", download=True)
