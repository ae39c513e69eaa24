import hashlib
import os
import pickle

import file_formats
import pytest
import vision_files as files
from http_server import serving

from facula.vision import datasets
from facula.vision.datasets.cifar import read_pickle

pytestmark = pytest.mark.promise("D3")


def md5(data):
    return hashlib.md5(data).hexdigest()


@pytest.fixture
def tables(monkeypatch):
    """The hashes of the tests' files in the place of the real ones."""
    made = {name.partition("/")[2]: md5(data) for name, data in files.cifar10_files().items()}
    for table in ("train_list", "test_list"):
        real = getattr(datasets.CIFAR10, table)
        monkeypatch.setattr(datasets.CIFAR10, table, [[name, made[name]] for name, _ in real])
    meta = {**datasets.CIFAR10.meta, "md5": made["batches.meta"]}
    monkeypatch.setattr(datasets.CIFAR10, "meta", meta)
    monkeypatch.setenv("no_proxy", "*")


def test_cifar_is_downloaded_unpacked_and_read(tmp_path, monkeypatch, tables):
    archive = file_formats.tar(files.cifar10_files(), "w:gz")
    monkeypatch.setattr(datasets.CIFAR10, "tgz_md5", md5(archive))
    with serving({"cifar.tar.gz": archive}) as server:
        monkeypatch.setattr(datasets.CIFAR10, "url", server.url("cifar.tar.gz"))
        data = datasets.CIFAR10(tmp_path, download=True)
        datasets.CIFAR10(tmp_path, train=False, download=True)
        assert len(server.requests) == 1
    assert data.data.shape == (15, 32, 32, 3)
    assert data.targets[:4] == [0, 1, 2, 1]
    assert data.classes[9] == "class 9" and data.class_to_idx["class 9"] == 9
    image, target = data[4]
    assert (image.mode, image.size, target) == ("RGB", (32, 32), 2)


def test_damaged_batch_is_not_read(tmp_path, tables):
    files.cifar10(tmp_path)
    datasets.CIFAR10(tmp_path)
    with open(tmp_path / "cifar-10-batches-py" / "data_batch_3", "ab") as file:
        file.write(b"x")
    with pytest.raises(RuntimeError, match=r"is not in '.*cifar-10-batches-py/', or is damaged"):
        datasets.CIFAR10(tmp_path)


class Evil:
    def __reduce__(self):
        return os.system, ("touch evil",)


@pytest.mark.parametrize("protocol", range(6))
def test_pickles_run_no_code(tmp_path, monkeypatch, protocol):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "batch").write_bytes(pickle.dumps({"data": Evil()}, protocol))
    with pytest.raises(pickle.UnpicklingError, match="batch"):
        read_pickle(tmp_path / "batch")
    assert os.listdir(tmp_path) == ["batch"]


@pytest.mark.parametrize("protocol", range(5))
def test_pickles_of_python_3_are_read_too(tmp_path, protocol):
    value = {"data": file_formats.pixels(3, 4), "labels": [1, 2], "name": "é"}
    (tmp_path / "batch").write_bytes(pickle.dumps(value, protocol))
    found = read_pickle(tmp_path / "batch")
    assert (found["data"] == value["data"]).all()
    assert (found["labels"], found["name"]) == ([1, 2], "é")


def test_cut_pickles_are_named(tmp_path):
    (tmp_path / "batch").write_bytes(
        file_formats.python2_pickle({"data": file_formats.pixels(3, 4)})[:-20]
    )
    with pytest.raises(pickle.UnpicklingError, match="batch, byte"):
        read_pickle(tmp_path / "batch")
