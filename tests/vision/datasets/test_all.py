"""Every dataset reads files in its format, without torchvision to compare with."""

import importlib.util
import io
import os
import tarfile
import zipfile

import pytest
import vision_files as files
from http_server import serving
from PIL import Image

import facula
from facula import _download
from facula.vision import datasets
from facula.vision.datasets import imagenet, utils

pytestmark = pytest.mark.promise("D3")

NEEDS = {"PCAM": "h5py", "LSUN": "lmdb"}

# The name of a dataset, what makes its files, its arguments, its length and its first target.
CASES = [
    ("CIFAR100", files.cifar100, {}, 2, 3),
    ("Caltech101", files.caltech101, {}, 8, 0),
    ("Caltech256", files.caltech256, {}, 5, 0),
    ("CelebA", files.celeba, {"target_type": "identity"}, 3, 7),
    ("Cityscapes", files.cityscapes, {"target_type": "polygon"}, 2, None),
    ("CLEVRClassification", files.clevr, {}, 2, 4),
    ("Country211", files.country211, {}, 2, 0),
    ("DTD", files.dtd, {}, 3, 0),
    ("EuroSAT", files.eurosat, {}, 2, 0),
    ("FER2013", files.fer2013, {}, 4, 0),
    ("FGVCAircraft", files.fgvc_aircraft, {}, 3, 1),
    ("Flowers102", files.flowers102, {}, 2, 0),
    ("Food101", files.food101, {}, 3, 1),
    ("GTSRB", files.gtsrb, {"split": "test"}, 2, 16),
    ("INaturalist", files.inaturalist, {"target_type": "kingdom"}, 4, 0),
    ("Imagenette", files.imagenette, {}, 10, 0),
    ("Kitti", files.kitti, {}, 2, None),
    ("LFWPeople", files.lfw, {}, 5, 0),
    ("LSUN", files.lsun, {"classes": ["tower_val", "bedroom_val"]}, 4, 0),
    ("Omniglot", files.omniglot, {}, 8, 0),
    ("OxfordIIITPet", files.oxford_pets, {}, 3, 0),
    ("PCAM", files.pcam, {"split": "val"}, 3, 1),
    ("Places365", files.places365, {"split": "val"}, 2, 3),
    ("RenderedSST2", files.rendered_sst2, {}, 3, 0),
    ("SBDataset", files.sbd, {}, 2, None),
    ("SBU", files.sbu, {}, 2, "one"),
    ("SEMEION", files.semeion, {}, 3, 7),
    ("STL10", files.stl10, {"split": "unlabeled"}, 2, -1),
    ("SUN397", files.sun397, {}, 3, 0),
    ("SVHN", files.svhn, {}, 4, 0),
    ("StanfordCars", files.stanford_cars, {}, 2, 1),
    ("USPS", files.usps, {}, 3, 9),
    ("VOCDetection", files.voc, {}, 2, None),
    ("VOCSegmentation", files.voc, {}, 2, None),
    ("WIDERFace", files.widerface, {}, 3, None),
]


@pytest.fixture
def any_hash(monkeypatch):
    monkeypatch.setattr(utils, "check_md5", lambda *args, **kwargs: True)


@pytest.mark.parametrize("name, make, kwargs, n, target", CASES, ids=lambda v: str(v)[:20])
def test_dataset_is_read(name, make, kwargs, n, target, tmp_path, any_hash):
    if name in NEEDS and importlib.util.find_spec(NEEDS[name]) is None:
        pytest.skip(f"no {NEEDS[name]}")
    make(tmp_path)
    data = getattr(datasets, name)(tmp_path, **kwargs)
    assert len(data) == n
    assert repr(data).startswith(f"Dataset {name}\n    Number of datapoints: {n}\n")
    image, found = data[0]
    assert isinstance(image, Image.Image)
    if target is not None:
        assert found == target


@pytest.mark.parametrize("name", [name for name, *_ in CASES if name not in NEEDS])
def test_missing_dataset_is_told(name, tmp_path):
    kwargs = {"download": False} if name in ("SBU", "SEMEION") else {}
    with pytest.raises((RuntimeError, FileNotFoundError), match=str(tmp_path)):
        getattr(datasets, name)(tmp_path, **kwargs)


def test_pairs_films_and_patches_are_read(tmp_path, any_hash, monkeypatch):
    files.lfw(tmp_path)
    files.moving_mnist(tmp_path)
    files.photo_tour(tmp_path)
    first, second, is_same = datasets.LFWPairs(tmp_path)[0]
    assert (first.size, second.size, is_same) == ((6, 4), (6, 4), 1)
    assert datasets.MovingMNIST(tmp_path, "test", 15)[0].shape == (5, 1, 64, 64)
    monkeypatch.setitem(datasets.PhotoTour.lens, "liberty", 300)
    assert datasets.PhotoTour(tmp_path, "liberty").data.shape == (300, 64, 64)
    first, second, is_same = datasets.PhotoTour(tmp_path, "liberty", train=False)[1]
    assert (first.shape, second.dtype, is_same.item()) == ((64, 64), facula.uint8, 0)


def test_captions_are_read(tmp_path):
    files.flickr8k(tmp_path)
    data = datasets.Flickr8k(tmp_path, tmp_path / "captions.html")
    assert [target for _, target in data] == [[f"A dog number {i} .", "It runs"] for i in (0, 1)]
    files.flickr30k(tmp_path)
    data = datasets.Flickr30k(tmp_path, tmp_path / "results.token")
    assert data[1][1] == ["A dog .", "It runs"]


@pytest.mark.parametrize("split, targets", [("train", [0, 1]), ("val", [0, 0, 1])])
def test_imagenet_is_unpacked_once(split, targets, tmp_path, any_hash):
    files.imagenet_archives(tmp_path)
    for _ in range(2):
        data = datasets.ImageNet(tmp_path, split)
        assert data.targets == targets
        for name in os.listdir(tmp_path):
            if "ILSVRC" in name:
                os.remove(tmp_path / name)
    assert data.classes == [("cat",), ("dog", "hound")]
    assert data.class_to_idx == {"cat": 0, "dog": 1, "hound": 1}
    assert sorted(os.listdir(tmp_path)) == ["meta.bin", split]


def test_imagenet_says_which_archive_is_missing(tmp_path):
    with pytest.raises(RuntimeError, match=r"the archive ILSVRC2012_devkit_t12.tar.gz is not in"):
        datasets.ImageNet(tmp_path)
    with pytest.raises(RuntimeError, match=r"there is no '.*meta.bin'"):
        imagenet.load_meta_file(tmp_path)


def test_broken_imagenet_archive_leaves_no_half_folder(tmp_path, any_hash):
    files.imagenet_archives(tmp_path)
    path = tmp_path / "ILSVRC2012_img_train.tar"
    path.write_bytes(path.read_bytes()[:2000])
    with pytest.raises(tarfile.TarError, match=r"train.tar cannot be unpacked"):
        datasets.ImageNet(tmp_path)
    assert not (tmp_path / "train").exists()


def archive_of(folder, name):
    """The bytes of a tar or zip archive of all files in a folder."""
    out = io.BytesIO()
    if name.endswith(".zip"):
        with zipfile.ZipFile(out, "w") as archive:
            for path in folder.rglob("*"):
                archive.write(path, path.relative_to(folder))
    else:
        with tarfile.open(fileobj=out, mode="w" if name.endswith("tar") else "w:gz") as archive:
            archive.add(folder, ".")
    return out.getvalue()


# The dataset, what makes its files, the folder that its archive is unpacked into, the archive.
DOWNLOADS = [
    ("VOCDetection", files.voc, "", "VOCtrainval_11-May-2012.tar", "_URL"),
    ("STL10", files.stl10, "", "stl10_binary.tar.gz", "url"),
    ("Food101", files.food101, "", "food-101.tar.gz", "_URL"),
    ("DTD", files.dtd, "dtd", "dtd-r1.0.1.tar.gz", "_URL"),
    ("CLEVRClassification", files.clevr, "clevr", "CLEVR_v1.0.zip", "_URL"),
    ("Country211", files.country211, "", "country211.tgz", "_URL"),
    ("EuroSAT", files.eurosat, "eurosat", "EuroSAT.zip", "_URL"),
    ("SUN397", files.sun397, "", "SUN397.tar.gz", "_DATASET_URL"),
    ("Kitti", files.kitti, "Kitti/raw", "data_object_image_2.zip", "data_url"),
]


@pytest.mark.parametrize("name, make, folder, archive, url", DOWNLOADS, ids=lambda v: str(v)[:20])
def test_dataset_is_downloaded_once(
    name, make, folder, archive, url, tmp_path, any_hash, monkeypatch
):
    monkeypatch.setenv("no_proxy", "*")
    fetch = _download.fetch
    monkeypatch.setattr(_download, "fetch", lambda urls, path, md5, **kwargs: fetch(urls, path))
    (tmp_path / "made").mkdir()
    make(tmp_path / "made")
    served = {archive: archive_of(tmp_path / "made" / folder, archive)}
    if name == "Kitti":
        served["data_object_label_2.zip"] = archive_of(tmp_path / "made" / folder, "x.zip")
    cls = getattr(datasets, name)
    with serving(served) as server:
        if name == "VOCDetection":
            module = importlib.import_module(cls.__module__)
            monkeypatch.setattr(module, "_URL", server.url(""))
            monkeypatch.setitem(module._ARCHIVES, "2012", (archive, "0" * 32, ""))
        else:
            monkeypatch.setattr(cls, url, server.url("" if name == "Kitti" else archive))
        root = tmp_path / "root"
        n = len(cls(root, download=True))
        n_requests = len(server.requests)
        assert n_requests == len(served)
        assert len(cls(root, download=True)) == n == len(cls(root))
        assert len(server.requests) == n_requests


def test_damaged_tables_are_named(tmp_path, any_hash):
    files.widerface(tmp_path)
    files.text(tmp_path / "widerface/wider_face_split/wider_face_val_bbx_gt.txt", "a.jpg", "2", "1")
    with pytest.raises(RuntimeError, match=r"wider_face_val_bbx_gt.txt is damaged at 'a.jpg'"):
        datasets.WIDERFace(tmp_path, "val")
    files.usps(tmp_path)
    path = tmp_path / "usps.bz2"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(RuntimeError, match=r"usps.bz2' is damaged"):
        datasets.USPS(tmp_path)
    files.text(tmp_path / "fer2013" / "train.csv", "emotion,pixels", "3,1 2 3")
    with pytest.raises(ValueError, match=r"train.csv' is damaged"):
        datasets.FER2013(tmp_path)
    files.celeba(tmp_path)
    files.text(tmp_path / "celeba" / "identity_CelebA.txt", "000001.jpg x")
    with pytest.raises(ValueError, match=r"identity_CelebA.txt is damaged"):
        datasets.CelebA(tmp_path)
    files.voc(tmp_path)
    files.text(tmp_path / "VOCdevkit/VOC2012/Annotations/2007_01.xml", "<annotation>")
    with pytest.raises(SyntaxError, match=r"2007_01.xml is damaged"):
        datasets.VOCDetection(tmp_path)[0]


def test_names_of_celeba_have_no_empty_one(tmp_path, any_hash):
    files.celeba(tmp_path)
    path = tmp_path / "celeba" / "list_attr_celeba.txt"
    path.write_text(path.read_text().replace("Attr39\n", "Attr39 \n"))  # as in the real file
    assert len(datasets.CelebA(tmp_path).attr_names) == 40


def test_voc_of_2007_has_a_test_set(tmp_path):
    files.voc(tmp_path, "VOCdevkit/VOC2007", ("test",))
    assert len(datasets.VOCDetection(tmp_path, "2007", "test")) == 2


def test_missing_packages_are_told_with_the_command(tmp_path, any_hash, monkeypatch):
    files.svhn(tmp_path)
    monkeypatch.setitem(importlib.import_module("sys").modules, "scipy.io", None)
    with pytest.raises(ImportError, match=r"SciPy is needed here .* pip install scipy\."):
        datasets.SVHN(tmp_path)


def test_random_images_are_those_of_their_index():
    data = datasets.FakeData(3, (3, 4, 5), transform=lambda image: image.tobytes())
    assert data[1] == data[1] != data[2]
    state = facula.get_rng_state()
    data[0]
    assert facula.get_rng_state().equal(state)
    with pytest.raises(IndexError, match="index 3 is out of range of 3 images"):
        data[3]
