import pytest
import vision_files as files

from facula.vision import datasets

pytestmark = pytest.mark.promise("D3")


def test_boundaries_move_to_the_root(tmp_path, network):
    folder = files.made(files.sbd, tmp_path)
    base = tmp_path / "outer" / "benchmark_RELEASE"
    base.mkdir(parents=True)
    (folder / "inst").mkdir()
    network["train_noval.txt"] = (folder / "train_noval.txt").read_bytes()
    folder.rename(base / "dataset")
    network["benchmark.tgz"] = files.archive_of(tmp_path / "outer", "x.tgz")
    for _ in range(2):
        assert len(datasets.SBDataset(tmp_path / "root", "train_noval", download=True)) == 2
    assert len(network.asked) == 2
