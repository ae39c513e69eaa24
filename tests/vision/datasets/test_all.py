"""Every dataset reads files in its format, without torchvision to compare with."""

import importlib.util
import io
import os
import tarfile
import zipfile

import file_formats
import pytest
import vision_files as files
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
    assert not os.listdir(tmp_path)  # folders are made by downloads only


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


# The dataset, what makes its files, the archives by name with the folder that each is unpacked
# into, and arguments. Of the first archive all files, of the others those that the entry names.
DOWNLOADS = [
    ("VOCDetection", files.voc, {"VOCtrainval_11-May-2012.tar": ""}, {}),
    ("STL10", files.stl10, {"stl10_binary.tar.gz": ""}, {}),
    ("CIFAR100", files.cifar100, {"cifar-100-python.tar.gz": ""}, {}),
    ("Food101", files.food101, {"food-101.tar.gz": ""}, {}),
    ("DTD", files.dtd, {"dtd-r1.0.1.tar.gz": "dtd"}, {}),
    ("CLEVRClassification", files.clevr, {"CLEVR_v1.0.zip": "clevr"}, {}),
    ("Country211", files.country211, {"country211.tgz": ""}, {}),
    ("EuroSAT", files.eurosat, {"EuroSAT.zip": "eurosat"}, {}),
    ("FGVCAircraft", files.fgvc_aircraft, {"fgvc-aircraft-2013b.tar.gz": ""}, {}),
    ("GTSRB", files.gtsrb, {"GTSRB-Training_fixed.zip": "gtsrb"}, {}),
    ("Imagenette", files.imagenette, {"imagenette2-160.tgz": ""}, {"size": "160px"}),
    ("RenderedSST2", files.rendered_sst2, {"rendered-sst2.tgz": ""}, {}),
    ("SUN397", files.sun397, {"SUN397.tar.gz": ""}, {}),
    ("Caltech256", files.caltech256, {"256_ObjectCategories.tar": "caltech256"}, {}),
    ("Omniglot", files.omniglot, {"images_background.zip": "omniglot-py"}, {}),
    (
        "OxfordIIITPet",
        files.oxford_pets,
        {"images.tar.gz": "oxford-iiit-pet", "annotations.tar.gz": "oxford-iiit-pet"},
        {},
    ),
    (
        "Kitti",
        files.kitti,
        {"data_object_image_2.zip": "Kitti/raw", "data_object_label_2.zip": "Kitti/raw"},
        {},
    ),
    (
        "WIDERFace",
        files.widerface,
        dict.fromkeys(
            ("WIDER_train.zip", "WIDER_val.zip", "WIDER_test.zip", "wider_face_split.zip"),
            "widerface",
        ),
        {},
    ),
]


@pytest.fixture
def network(monkeypatch, any_hash):
    """What the network has, bytes by name; ``asked`` are the addresses that were asked for."""

    class Network(dict):
        pass

    files_there = Network()
    files_there.asked = []

    def fetch(urls, path, checksum, **kwargs):
        name = os.path.basename(path)
        files_there.asked.append(urls[0])
        if name not in files_there:
            raise _download.DownloadError(f"no {name}")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(files_there[name])

    monkeypatch.setattr(_download, "fetch", fetch)
    return files_there


def made(make, tmp_path, *args):
    folder = tmp_path / "made"
    folder.mkdir()
    make(folder, *args)
    return folder


@pytest.mark.parametrize("name, make, archives, kwargs", DOWNLOADS, ids=lambda v: str(v)[:20])
def test_dataset_is_downloaded_once(name, make, archives, kwargs, tmp_path, network):
    folder = made(make, tmp_path)
    network.update({a: archive_of(folder / base, a) for a, base in archives.items()})
    cls = getattr(datasets, name)
    n = len(cls(tmp_path / "root", download=True, **kwargs))
    assert sorted(os.path.basename(url) for url in network.asked if "id=" not in url) == sorted(
        a for a in archives if not a.startswith("WIDER")
    )
    n_asked = len(network.asked)
    assert n == len(cls(tmp_path / "root", **kwargs)) == len(cls(folder, **kwargs))
    cls(tmp_path / "root", download=True, **kwargs)
    assert len(network.asked) == n_asked


def test_archives_in_an_archive_are_unpacked(tmp_path, network):
    base = made(files.caltech101, tmp_path) / "caltech101"
    (tmp_path / "outer" / "caltech-101").mkdir(parents=True)
    for name in ("101_ObjectCategories.tar.gz", "Annotations.tar"):
        part = tmp_path / name.partition(".")[0]
        part.mkdir()
        (base / part.name).rename(part / part.name)
        data = archive_of(part, name)
        (tmp_path / "outer" / "caltech-101" / name).write_bytes(data)
    network["caltech-101.zip"] = archive_of(tmp_path / "outer", "x.zip")
    assert len(datasets.Caltech101(tmp_path / "root", "annotation", download=True)) == 8


def test_unpacked_folders_get_their_names(tmp_path, network):
    folder = made(files.inaturalist, tmp_path)
    (folder / "2021_train").rename(folder / "train")
    network["2021_train.tgz"] = archive_of(folder, "x.tgz")
    data = datasets.INaturalist(tmp_path / "root", download=True)
    assert len(data) == 4
    assert sorted(os.listdir(tmp_path / "root")) == ["2021_train", "2021_train.tgz"]
    with pytest.raises(RuntimeError, match=r"is there already. Delete it"):
        datasets.INaturalist(tmp_path / "root", download=True)


def test_places_are_downloaded_by_list_and_images(tmp_path, network):
    folder = made(files.places365, tmp_path)
    (folder / "data_256_standard").rename(folder / "data_256")
    lists, images = tmp_path / "lists", tmp_path / "images"
    lists.mkdir()
    images.mkdir()
    (folder / "data_256").rename(images / "data_256")
    for path in folder.glob("*.txt"):
        path.rename(lists / path.name)
    network["filelist_places365-standard.tar"] = archive_of(lists, "x.tar")
    network["train_256_places365standard.tar"] = archive_of(images, "x.tar")
    data = datasets.Places365(tmp_path / "root", small=True, download=True)
    assert [target for _, target in data] == [0, 1]


def test_boundaries_move_to_the_root(tmp_path, network):
    folder = made(files.sbd, tmp_path)
    base = tmp_path / "outer" / "benchmark_RELEASE"
    base.mkdir(parents=True)
    (folder / "inst").mkdir()
    network["train_noval.txt"] = (folder / "train_noval.txt").read_bytes()
    folder.rename(base / "dataset")
    network["benchmark.tgz"] = archive_of(tmp_path / "outer", "x.tgz")
    for _ in range(2):
        assert len(datasets.SBDataset(tmp_path / "root", "train_noval", download=True)) == 2
    assert len(network.asked) == 2


def test_archives_of_cityscapes_are_unpacked(tmp_path):
    folder = made(files.cityscapes, tmp_path)
    (folder / "gtCoarse").rename(tmp_path / "gtCoarse")
    archive = archive_of(folder, "x.zip")
    root = tmp_path / "root"
    root.mkdir()
    with pytest.raises(RuntimeError, match=r"Put leftImg8bit_trainvaltest.zip and gtFine_train"):
        datasets.Cityscapes(root)
    for name in ("leftImg8bit_trainvaltest.zip", "gtFine_trainvaltest.zip"):
        (root / name).write_bytes(archive)
    assert len(datasets.Cityscapes(root)) == 2


def test_photographs_that_are_gone_are_left_out(tmp_path, network, monkeypatch):
    folder = made(files.sbu, tmp_path)
    network["0_abc.jpg"] = (folder / "dataset" / "0_abc.jpg").read_bytes()
    for path in folder.rglob("*.jpg"):
        path.unlink()
    network["SBUCaptionedPhotoDataset.tar.gz"] = archive_of(folder, "x.tar.gz")
    data = datasets.SBU(tmp_path / "root")
    assert (data.photos, data.captions) == (["0_abc.jpg"], ["one"])


def test_files_of_google_drive_are_asked_for_by_id(tmp_path, network):
    folder = made(files.celeba, tmp_path) / "celeba"
    for path in folder.glob("*.txt"):
        network[path.name] = path.read_bytes()
    network["img_align_celeba.zip"] = archive_of(folder, "x.zip")
    data = datasets.CelebA(tmp_path / "root", download=True)
    assert (len(data), data[0][0].size) == (3, (6, 4))
    assert [url.rpartition("=")[2] for url in network.asked] == [row[0] for row in data.file_list]


def test_flowers_are_downloaded_with_their_lists(tmp_path, network):
    folder = made(files.flowers102, tmp_path) / "flowers-102"
    for name in ("imagelabels.mat", "setid.mat"):
        network[name] = (folder / name).read_bytes()
    network["102flowers.tgz"] = archive_of(folder, "x.tgz")
    data = datasets.Flowers102(tmp_path / "root", "test", download=True)
    assert [target for _, target in data] == [5, 4]
    assert data.classes[4] == "english marigold"


def test_damaged_tables_are_named(tmp_path, any_hash):
    files.widerface(tmp_path)
    file_formats.text(
        tmp_path / "widerface/wider_face_split/wider_face_val_bbx_gt.txt", "a.jpg", "2", "1"
    )
    with pytest.raises(RuntimeError, match=r"wider_face_val_bbx_gt.txt is damaged at 'a.jpg'"):
        datasets.WIDERFace(tmp_path, "val")
    files.usps(tmp_path)
    path = tmp_path / "usps.bz2"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(RuntimeError, match=r"usps.bz2' is damaged"):
        datasets.USPS(tmp_path)
    file_formats.text(tmp_path / "fer2013" / "train.csv", "emotion,pixels", "3,1 2 3")
    with pytest.raises(ValueError, match=r"train.csv' is damaged"):
        datasets.FER2013(tmp_path)
    files.celeba(tmp_path)
    file_formats.text(tmp_path / "celeba" / "identity_CelebA.txt", "000001.jpg x")
    with pytest.raises(ValueError, match=r"identity_CelebA.txt is damaged"):
        datasets.CelebA(tmp_path)
    files.voc(tmp_path)
    file_formats.text(tmp_path / "VOCdevkit/VOC2012/Annotations/2007_01.xml", "<annotation>")
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
