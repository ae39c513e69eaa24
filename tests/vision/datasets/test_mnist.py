import gzip
import hashlib
import io
import os
import zipfile

import file_formats
import numpy as np
import pytest
import vision_files as files
from http_server import serving

import facula
from facula.vision import datasets
from facula.vision.datasets import mnist

pytestmark = pytest.mark.promise("D3")


@pytest.fixture(autouse=True)
def _direct(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")


def with_hashes(archives):
    return [(name, hashlib.md5(data).hexdigest()) for name, data in archives.items()]


def test_mnist_is_downloaded_checked_and_read(tmp_path, monkeypatch):
    archives = files.mnist_files()
    monkeypatch.setattr(datasets.MNIST, "resources", with_hashes(archives))
    with serving(archives) as server:
        monkeypatch.setattr(datasets.MNIST, "mirrors", ["http://127.0.0.1:1/", server.url("")])
        data = datasets.MNIST(tmp_path, download=True)
        datasets.MNIST(tmp_path, download=True)
        assert len(server.requests) == 4
    assert data.data.shape == (5, 28, 28) and data.data.dtype == facula.uint8
    assert data.targets.tolist() == [0, 1, 2, 3, 4] and data.targets.dtype == facula.int64
    image, target = data[3]
    assert (image.mode, image.size, target, type(target)) == ("L", (28, 28), 3, int)
    assert (np.asarray(image) == data.data[3].numpy()).all()
    assert data.class_to_idx["3 - three"] == 3
    assert len(datasets.MNIST(tmp_path, train=False)) == 3


def test_mirrors_with_other_files_are_not_believed(tmp_path, monkeypatch):
    archives = files.mnist_files()
    resources = [(name, "0" * 32) for name in archives]
    monkeypatch.setattr(datasets.MNIST, "resources", resources)
    with serving(archives) as server:
        monkeypatch.setattr(datasets.MNIST, "mirrors", [server.url("")])
        with pytest.raises(RuntimeError, match="has the md5 hash"):
            datasets.MNIST(tmp_path, download=True)
    assert os.listdir(tmp_path / "MNIST" / "raw") == []


def test_offline_the_error_says_which_file_to_put_where(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets.MNIST, "mirrors", ["http://127.0.0.1:1/"] * 2)
    with pytest.raises(RuntimeError, match=r"put the file at '.*MNIST/raw/train-images-idx3"):
        datasets.MNIST(tmp_path, download=True)


def test_without_files_the_error_says_download(tmp_path):
    with pytest.raises(RuntimeError, match=r"KMNIST: the dataset is not in '.*KMNIST/raw'. Pass"):
        datasets.KMNIST(tmp_path)


def test_old_files_of_torchvision_are_read(tmp_path):
    folder = tmp_path / "MNIST" / "processed"
    folder.mkdir(parents=True)
    for name in ("training.pt", "test.pt"):
        pair = facula.zeros(2, 28, 28, dtype=facula.uint8), facula.tensor([4, 5])
        facula.save(pair, folder / name)
    assert datasets.MNIST(tmp_path)[1][1] == 5


def test_emnist_comes_in_an_archive_of_archives(tmp_path, monkeypatch):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for part in ("train", "test"):
            start = f"gzip/emnist-letters-{part}"
            digits = np.arange(1, 4, dtype="uint8")
            images = gzip.compress(file_formats.idx(file_formats.pixels(3, 28, 28)))
            archive.writestr(f"{start}-images-idx3-ubyte.gz", images)
            archive.writestr(
                f"{start}-labels-idx1-ubyte.gz", gzip.compress(file_formats.idx(digits))
            )
    data = out.getvalue()
    monkeypatch.setattr(datasets.EMNIST, "md5", hashlib.md5(data).hexdigest())
    with serving({"gzip.zip": data}) as server:
        monkeypatch.setattr(datasets.EMNIST, "url", server.url("gzip.zip"))
        letters = datasets.EMNIST(tmp_path, "letters", download=True)
    assert letters.targets.tolist() == [1, 2, 3]
    assert letters.classes[1:3] == ["a", "b"]
    assert len(datasets.EMNIST.classes_split_dict["balanced"]) == 47


def test_qmnist_gives_all_labels_on_request(tmp_path):
    files.qmnist(tmp_path)
    assert datasets.QMNIST(tmp_path)[1][1] == 8
    assert datasets.QMNIST(tmp_path, compat=False)[1][1].tolist() == list(range(8, 16))


@pytest.mark.parametrize(
    "data, text",
    [
        (b"", "is not an IDX file"),
        (b"\x00\x00\x08", "is not an IDX file"),
        (b"\x1f\x8b\x08\x01" + bytes(8), "is not an IDX file"),
        (b"\x00\x00\x08\x07" + bytes(40), "of 1 to 3 dimensions"),
        (b"\x00\x00\x08\x01\x00\x00\x00\x05abc", "has 11 bytes, expected 13 for a shape of"),
        (b"\x00\x00\x08\x03" + b"\xff" * 12, "it is damaged"),
    ],
)
def test_damaged_idx_files_are_named(data, text, tmp_path):
    (tmp_path / "labels").write_bytes(data)
    with pytest.raises(ValueError, match=rf"labels.*{text}"):
        mnist.read_sn3_pascalvincent_tensor(tmp_path / "labels")


def test_idx_files_of_other_kinds_are_refused(tmp_path):
    (tmp_path / "x").write_bytes(file_formats.idx(np.zeros((2, 2), "int32")))
    assert mnist.read_sn3_pascalvincent_tensor(tmp_path / "x").dtype == facula.int32
    with pytest.raises(TypeError, match=r"expected elements of dtype uint8, got torch.int32"):
        mnist.read_label_file(tmp_path / "x")
    (tmp_path / "x").write_bytes(file_formats.idx(np.zeros((2, 2), "uint8")))
    with pytest.raises(ValueError, match="expected 3 dimensions, got 2"):
        mnist.read_image_file(tmp_path / "x")


def test_images_without_labels_are_refused(tmp_path):
    files.mnist(tmp_path)
    labels = tmp_path / "MNIST" / "raw" / "train-labels-idx1-ubyte"
    labels.write_bytes(file_formats.idx(np.zeros(4, "uint8")))
    with pytest.raises(ValueError, match=r"MNIST: '.*raw' has 5 images and 4 labels"):
        datasets.MNIST(tmp_path)


def test_old_names_warn(tmp_path):
    files.mnist(tmp_path)
    data = datasets.MNIST(tmp_path)
    for old, new in [("train_data", "data"), ("test_labels", "targets")]:
        with pytest.warns(UserWarning, match=f"MNIST.{old} is called {new} now"):
            assert getattr(data, old) is getattr(data, new)
