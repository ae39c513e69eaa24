"""The same files read by torchvision and by facula.vision."""

import inspect
import os

import numpy as np
import pytest
import vision_files as files
from PIL import Image

from tests.parity.vision_oracle import torch, torchvision

import facula  # isort: skip
from facula.vision import datasets

pytestmark = [
    pytest.mark.promise("D3"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    # torchvision leaves image files open.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

# The name of a dataset, what makes its files, its arguments, and the attributes to compare.
CASES = {
    "ImageFolder": (files.image_folder, [{}], "classes class_to_idx samples imgs targets"),
    "MNIST": (files.mnist, [{}, {"train": False}], "data targets classes class_to_idx train"),
    "FashionMNIST": (
        lambda root: files.mnist(root, "FashionMNIST"),
        [{}],
        "data targets classes class_to_idx raw_folder processed_folder",
    ),
    "KMNIST": (lambda root: files.mnist(root, "KMNIST"), [{}], "data targets classes"),
    "EMNIST": (
        files.emnist,
        [{"split": "letters"}, {"split": "balanced", "train": False}],
        "data targets classes class_to_idx split images_file labels_file",
    ),
    "QMNIST": (
        files.qmnist,
        [
            {},
            {"train": False},
            {"what": "test10k", "compat": False},
            {"what": "test50k"},
            {"what": "nist"},
        ],
        "data targets classes what compat train",
    ),
    "USPS": (files.usps, [{}, {"train": False}], "data targets"),
    "CIFAR10": (files.cifar10, [{}, {"train": False}], "data targets classes class_to_idx train"),
    "CIFAR100": (files.cifar100, [{}, {"train": False}], "data targets classes class_to_idx"),
    "SVHN": (files.svhn, [{"split": s} for s in ("train", "test", "extra")], "data labels split"),
    "STL10": (
        files.stl10,
        [
            *({"split": s} for s in ("train", "test", "unlabeled", "train+unlabeled")),
            {"folds": 4},
            {"folds": 2, "split": "train+unlabeled"},
        ],
        "data labels classes split folds",
    ),
    "VOCSegmentation": (files.voc, [{}, {"image_set": "trainval"}], "images masks year image_set"),
    "VOCDetection": (files.voc, [{}, {"image_set": "val"}], "images annotations"),
    "CelebA": (
        files.celeba,
        [
            {},
            {"split": "all", "target_type": ["attr", "identity", "bbox", "landmarks"]},
            {"split": "valid", "target_type": "bbox"},
            {"split": "test", "target_type": []},
        ],
        "filename identity bbox landmarks_align attr attr_names split target_type",
    ),
    "Food101": (files.food101, [{}, {"split": "test"}], "classes class_to_idx _labels"),
    "StanfordCars": (
        files.stanford_cars,
        [{}, {"split": "test"}],
        "classes class_to_idx _samples",
    ),
    "OxfordIIITPet": (
        files.oxford_pets,
        [
            {},
            {"split": "test", "target_types": ["category", "binary-category", "segmentation"]},
            {"target_types": "segmentation"},
            {"target_types": []},
        ],
        "classes class_to_idx bin_classes bin_class_to_idx _images _segs _labels _bin_labels",
    ),
    "DTD": (
        files.dtd,
        [{}, {"split": "val", "partition": 10}],
        "classes class_to_idx _labels _image_files",
    ),
    "GTSRB": (files.gtsrb, [{}, {"split": "test"}], "_samples"),
    "Country211": (files.country211, [{}, {"split": "valid"}], "classes samples targets root"),
    "EuroSAT": (files.eurosat, [{}], "classes class_to_idx samples targets"),
    "FGVCAircraft": (
        files.fgvc_aircraft,
        [{}, {"annotation_level": "family", "split": "test"}, {"annotation_level": "manufacturer"}],
        "classes class_to_idx _labels _image_files",
    ),
    "Flowers102": (
        files.flowers102,
        [{"split": split} for split in ("train", "val", "test")],
        "classes _labels _image_files",
    ),
    "RenderedSST2": (
        files.rendered_sst2,
        [{}, {"split": "val"}],
        "classes class_to_idx _samples",
    ),
    "Imagenette": (
        files.imagenette,
        [{}, {"split": "val", "size": "160px"}],
        "classes class_to_idx wnids wnid_to_idx _samples",
    ),
    "CLEVRClassification": (
        files.clevr,
        [{}, {"split": "test"}],
        "_labels _image_files",
    ),
    "Caltech101": (
        files.caltech101,
        [{}, {"target_type": "annotation"}, {"target_type": ["category", "annotation"]}],
        "categories annotation_categories index y target_type",
    ),
    "Caltech256": (files.caltech256, [{}], "categories index y"),
    "FER2013": (files.fer2013, [{}, {"split": "test"}], ""),
    "Places365": (
        files.places365,
        [{}, {"split": "train-challenge"}, {"split": "val", "small": True}, {"split": "test"}],
        "classes class_to_idx imgs targets split small variant images_dir",
    ),
    "INaturalist": (
        files.inaturalist,
        [{}, {"target_type": ["full", "kingdom", "family", "genus"]}, {"target_type": "order"}],
        "all_categories categories_index categories_map target_type index version",
    ),
    "LFWPeople": (
        files.lfw,
        [
            {},
            {"split": "train", "image_set": "original"},
            {"split": "test", "image_set": "deepfunneled"},
        ],
        "data targets class_to_idx images_dir labels_file split image_set",
    ),
    "LFWPairs": (
        files.lfw,
        [{}, {"split": "train"}, {"split": "test", "image_set": "deepfunneled"}],
        "data targets pair_names",
    ),
    "SEMEION": (files.semeion, [{}], "data labels"),
    "SBU": (files.sbu, [{}], "photos captions"),
    "SBDataset": (
        files.sbd,
        [{}, {"mode": "segmentation", "image_set": "val"}, {"image_set": "train_noval"}],
        "images masks image_set mode num_classes",
    ),
    "WIDERFace": (
        files.widerface,
        [{"split": split} for split in ("train", "val", "test")],
        "img_info split",
    ),
    "Cityscapes": (
        files.cityscapes,
        [
            {},
            {"split": "val", "target_type": ["semantic", "polygon", "color"]},
            {"mode": "coarse", "split": "train_extra"},
        ],
        "images targets mode split target_type images_dir targets_dir",
    ),
    "MovingMNIST": (
        files.moving_mnist,
        [{}, {"split": "train"}, {"split": "test", "split_ratio": 1}],
        "data split split_ratio",
    ),
}


def plain(value):
    """A value of either library as something that compares."""
    if isinstance(value, (facula.Tensor, torch.Tensor)):
        return "tensor", str(value.dtype), value.tolist()
    if isinstance(value, np.ndarray):
        return "array", str(value.dtype), value.tolist()
    if isinstance(value, Image.Image):
        return "image", value.mode, value.size, value.tobytes()
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return type(value), [plain(item) for item in value]
    return type(value), value


@pytest.fixture(autouse=True)
def _any_hash_is_right(monkeypatch):
    for package in (torchvision.datasets, datasets):
        monkeypatch.setattr(package.utils, "check_md5", lambda *args, **kwargs: True)


def both(name, *args, **kwargs):
    theirs = getattr(torchvision.datasets, name)(*args, **kwargs)
    return theirs, getattr(datasets, name)(*args, **kwargs)


@pytest.mark.parametrize(
    "name, kwargs",
    [(name, kwargs) for name, (_, variants, _) in CASES.items() for kwargs in variants],
    ids=str,
)
def test_samples_and_attributes_agree(name, kwargs, tmp_path):
    make, _, attributes = CASES[name]
    make(tmp_path)
    theirs, ours = both(name, str(tmp_path), **kwargs)
    assert repr(ours) == repr(theirs)
    assert len(ours) == len(theirs) > 0 or kwargs.get("what") == "test50k"
    for index in range(len(theirs)):
        assert plain(ours[index]) == plain(theirs[index])
    for attribute in attributes.split():
        found = getattr(ours, attribute), getattr(theirs, attribute)
        assert plain(found[0]) == plain(found[1]), attribute


class Apply:
    """A transform with a printed form of several lines."""

    def __init__(self, function):
        self.function = function

    def __call__(self, *args):
        return self.function(*args)

    def __repr__(self):
        return "Apply(\n    function\n)"


TRANSFORMS = {
    "transform": lambda image: ["image", image],
    "target_transform": lambda target: ("target", target),
    "transforms": lambda image, target: ([target], image),
}


@pytest.mark.parametrize("name", CASES)
def test_transforms_and_their_printed_form_agree(name, tmp_path):
    make, variants, _ = CASES[name]
    make(tmp_path)
    known = inspect.signature(getattr(torchvision.datasets, name).__init__).parameters
    for part, function in TRANSFORMS.items():
        if part in known or ("kwargs" in known and part != "transforms"):
            theirs, ours = both(name, tmp_path, **{part: Apply(function)}, **variants[0])
            assert repr(ours) == repr(theirs)
            assert plain(ours[0]) == plain(theirs[0])


# Datasets of videos.
MISSING = {"HMDB51", "Kinetics", "UCF101"}


def test_names_agree():
    assert set(torchvision.datasets.__all__) - set(datasets.__all__) == MISSING
    assert set(datasets.__all__) <= set(torchvision.datasets.__all__)


@pytest.mark.parametrize("name", sorted(name for name in datasets.__all__ if name[0].isupper()))
def test_datasets_are_in_the_files_of_their_names(name):
    theirs = getattr(torchvision.datasets, name).__module__
    assert getattr(datasets, name).__module__ == theirs.replace("torchvision", "facula.vision")


FUNCTIONS = [
    *(("utils", name) for name in datasets.utils.__all__),
    *(("folder", name) for name in datasets.folder.__all__ if name.islower()),
    *(("imagenet", name) for name in datasets.imagenet.__all__ if name.islower()),
    *(("mnist", name) for name in datasets.mnist.__all__ if name.islower()),
    ("vision", "StandardTransform"),
]


@pytest.mark.parametrize(
    "module, name", [(None, name) for name in sorted(datasets.__all__)] + FUNCTIONS, ids=str
)
def test_signatures_agree(module, name):
    def described(package):
        function = getattr(getattr(package, module) if module else package, name)
        parameters = inspect.signature(function).parameters.values()
        return [
            (p.name, p.kind, p.default.__name__ if callable(p.default) else p.default)
            for p in parameters
        ]

    assert described(datasets) == described(torchvision.datasets)


@pytest.mark.parametrize("file", ["fer2013.csv", "icml_face_data.csv"])
def test_other_files_of_fer2013_agree(file, tmp_path):
    files.fer2013(tmp_path, file)
    for split in ("train", "test"):
        theirs, ours = both("FER2013", tmp_path, split)
        assert [plain(x) for x in ours] == [plain(theirs[i]) for i in range(len(theirs))]


@pytest.mark.parametrize("version", ["2017", "2018", "2019", "2021_valid"])
def test_versions_of_inaturalist_agree(version, tmp_path):
    files.inaturalist(tmp_path, version)
    kinds = ["full", "phylum"] if version == "2021_valid" else ["full", "super"]
    theirs, ours = both("INaturalist", tmp_path, version, kinds)
    assert [plain(ours[i]) for i in range(4)] == [plain(theirs[i]) for i in range(4)]
    assert ours.categories_index == theirs.categories_index
    for kind in kinds:
        assert ours.category_name(kind, 1) == theirs.category_name(kind, 1)
        for data in (ours, theirs):
            with pytest.raises(ValueError):
                data.category_name("no", 0)


@pytest.mark.parametrize(
    "name, make, listed",
    [
        ("Flickr8k", files.flickr8k, "captions.html"),
        ("Flickr30k", files.flickr30k, "results.token"),
    ],
)
def test_captions_agree(name, make, listed, tmp_path):
    make(tmp_path)
    theirs, ours = both(name, str(tmp_path), str(tmp_path / listed))
    assert repr(ours) == repr(theirs)
    assert [plain(x) for x in ours] == [plain(theirs[i]) for i in range(len(theirs))]
    assert (ours.ids, ours.annotations) == (theirs.ids, theirs.annotations)


@pytest.mark.parametrize("train", [True, False])
def test_photo_tour_agrees(train, tmp_path, monkeypatch):
    for part in ("a", "b"):
        files.photo_tour(tmp_path / part)
    for package in (torchvision.datasets, datasets):
        monkeypatch.setitem(package.PhotoTour.lens, "liberty", 300)
    theirs = torchvision.datasets.PhotoTour(tmp_path / "a", "liberty", train)
    ours = datasets.PhotoTour(tmp_path / "b", "liberty", train)
    assert len(ours) == len(theirs)
    for index in range(0, len(ours), 1 if not train else 90):
        assert plain(ours[index]) == plain(theirs[index])
    for name in ("labels", "matches", "mean", "std"):
        assert plain(getattr(ours, name)) == plain(getattr(theirs, name))


@pytest.mark.parametrize("split", ["train", "val"])
def test_imagenet_is_unpacked_alike(split, tmp_path):
    found = []
    for i, package in enumerate((torchvision.datasets, datasets)):
        root = tmp_path / str(i)
        root.mkdir()
        files.imagenet_archives(root)
        data = package.ImageNet(root, split)
        text = repr(data).replace(str(root), "")
        names = [(os.path.relpath(path, root), target) for path, target in data.samples]
        items = [plain(data[i]) for i in range(len(data))]
        found.append(
            [text, names, items, data.classes, data.class_to_idx, data.wnids, data.wnid_to_idx]
        )
        assert plain(package.imagenet.load_meta_file(root)) == plain(
            ({"n01": ("cat",), "n02": ("dog", "hound")}, ["n01", "n02", "n01"])
        )
    assert found[0] == found[1]


@pytest.mark.parametrize("split", ["train", "val"])
def test_pcam_agrees(split, tmp_path):
    pytest.importorskip("h5py")
    files.pcam(tmp_path)
    theirs, ours = both("PCAM", tmp_path, split)
    assert repr(ours) == repr(theirs)
    assert [plain(ours[i]) for i in range(3)] == [plain(theirs[i]) for i in range(3)]


def test_lsun_agrees(tmp_path, monkeypatch):
    pytest.importorskip("lmdb")
    monkeypatch.chdir(tmp_path)  # torchvision writes a cache to the working folder
    files.lsun(tmp_path)
    found = []
    for package in (torchvision.datasets, datasets):
        data = package.LSUN(tmp_path, ["bedroom_val", "tower_val"])
        found.append([repr(data), *(plain(data[i]) for i in range(4))])
        for base in data.dbs:
            base.env.close()
    assert found[0] == found[1]
    for classes in ("all", ["no_val"], ["bedroom_no"], 3, [3]):
        for package in (torchvision.datasets, datasets):
            with pytest.raises(ValueError):
                package.LSUN(tmp_path, classes)


def name_of(value):
    """Of a parameter: the same in every process, which a function's own text is not."""
    return getattr(value, "__name__", str(value))


WRAPPED = [
    ("MNIST", files.mnist, {}, None),
    ("ImageFolder", files.image_folder, {}, None),
    ("Caltech101", files.caltech101, {}, None),
    ("CelebA", files.celeba, {"target_type": "bbox"}, None),
    ("CelebA", files.celeba, {"target_type": ["identity", "bbox"]}, None),
    ("OxfordIIITPet", files.oxford_pets, {"target_types": ["category", "segmentation"]}, None),
    ("OxfordIIITPet", files.oxford_pets, {"target_types": "segmentation"}, None),
    ("Cityscapes", files.cityscapes, {"target_type": ["semantic", "instance"]}, None),
    ("WIDERFace", files.widerface, {}, None),
    ("WIDERFace", files.widerface, {}, ["blur"]),
    ("WIDERFace", files.widerface, {"split": "test"}, None),
    ("VOCDetection", files.voc, {}, None),
    ("VOCDetection", files.voc, {}, "all"),
    ("VOCSegmentation", files.voc, {}, None),
    ("SBDataset", files.sbd, {"mode": "segmentation"}, None),
]


@pytest.mark.parametrize("name, make, kwargs, keys", WRAPPED, ids=name_of)
def test_wrapped_datasets_agree(name, make, kwargs, keys, tmp_path):
    make(tmp_path)
    theirs, ours = both(name, tmp_path, **kwargs)
    theirs = torchvision.datasets.wrap_dataset_for_transforms_v2(theirs, keys)
    ours = datasets.wrap_dataset_for_transforms_v2(ours, keys)
    assert isinstance(ours, getattr(datasets, name))
    assert repr(ours).startswith(f"Dataset Wrapped{name}\n")
    assert plain(ours[0]) == plain(theirs[0])
    for item in [ours[0][1]] if not isinstance(ours[0][1], tuple) else ours[0][1]:
        if isinstance(item, dict) and "boxes" in item:
            assert item["boxes"].canvas_size == theirs[0][1]["boxes"].canvas_size


@pytest.mark.parametrize("keys", [None, "all", ["boxes", "masks"]])
def test_wrapped_coco_agrees(keys, tmp_path):
    files.coco(tmp_path)
    theirs, ours = both("CocoDetection", tmp_path, tmp_path / "instances.json")
    theirs = torchvision.datasets.wrap_dataset_for_transforms_v2(theirs, keys)
    ours = datasets.wrap_dataset_for_transforms_v2(ours, keys)
    for i in range(3):
        assert plain(ours[i]) == plain(theirs[i])


BAD_WRAPPED = [
    ("Caltech101", files.caltech101, {"target_type": "annotation"}, None),
    ("CelebA", files.celeba, {}, None),
    ("Cityscapes", files.cityscapes, {"target_type": "polygon"}, None),
    ("SBDataset", files.sbd, {}, None),
    ("MNIST", files.mnist, {}, "all"),
    ("MNIST", files.mnist, {}, 3),
    ("VOCDetection", files.voc, {}, ["no"]),
    ("VOCDetection", files.voc, {}, "boxes"),
    ("LFWPairs", files.lfw, {}, None),
    ("MovingMNIST", files.moving_mnist, {}, None),
]


@pytest.mark.parametrize("name, make, kwargs, keys", BAD_WRAPPED, ids=name_of)
def test_what_cannot_be_wrapped_raises_alike(name, make, kwargs, keys, tmp_path):
    make(tmp_path)
    theirs, ours = both(name, tmp_path, **kwargs)
    with pytest.raises(Exception) as expected:
        torchvision.datasets.wrap_dataset_for_transforms_v2(theirs, keys)
    with pytest.raises(expected.type):
        datasets.wrap_dataset_for_transforms_v2(ours, keys)


def test_kitti_agrees(tmp_path):
    files.kitti(tmp_path)
    for train in (True, False):
        theirs, ours = both("Kitti", tmp_path, train)
        assert repr(ours) == repr(theirs)
        order = [theirs.images.index(path) for path in ours.images]  # theirs is that of the disk
        assert [plain(x) for x in ours] == [plain(theirs[i]) for i in order]


# torchvision takes the files of these in the order of the disk.
@pytest.mark.parametrize("name, make", [("SUN397", files.sun397), ("Omniglot", files.omniglot)])
def test_datasets_without_an_order_have_the_same_images(name, make, tmp_path):
    make(tmp_path)
    theirs, ours = both(name, tmp_path)
    assert repr(ours) == repr(theirs)
    images = [sorted(plain(data[i][0]) for i in range(len(data))) for data in (ours, theirs)]
    assert images[0] == images[1]
    if name == "SUN397":
        assert (ours.classes, ours.class_to_idx) == (theirs.classes, theirs.class_to_idx)
        assert dict(ours._samples) == dict(zip(theirs._image_files, theirs._labels, strict=True))


BAD = [
    *((name, {}) for name in CASES if name not in ("EMNIST", "SBU", "SEMEION")),
    ("SBU", {"download": False}),
    ("SEMEION", {"download": False}),
    ("EMNIST", {"split": "letters"}),
    ("EMNIST", {"split": "no"}),
    ("QMNIST", {"what": "no"}),
    ("SVHN", {"split": "no"}),
    ("SVHN", {"split": 3}),
    ("STL10", {"split": "no"}),
    ("STL10", {"folds": 10}),
    ("STL10", {"folds": "1"}),
    ("VOCDetection", {"year": "2013"}),
    ("VOCDetection", {"year": 2012}),
    ("VOCSegmentation", {"image_set": "test"}),
    ("CelebA", {"target_type": [], "target_transform": str}),
    ("SUN397", {}),
    ("Omniglot", {}),
    ("Food101", {"split": "val"}),
    ("DTD", {"split": "valid"}),
    ("DTD", {"partition": "1"}),
    ("GTSRB", {"split": "val"}),
    ("StanfordCars", {"download": True}),
    ("StanfordCars", {"split": "val"}),
    ("FGVCAircraft", {"annotation_level": "no"}),
    ("FGVCAircraft", {"split": "no"}),
    ("Flowers102", {"split": "no"}),
    ("RenderedSST2", {"split": "valid"}),
    ("Imagenette", {"size": "64px"}),
    ("CLEVRClassification", {"split": "no"}),
    ("Country211", {"split": "val"}),
    ("OxfordIIITPet", {"target_types": "no"}),
    ("Caltech101", {"target_type": "no"}),
    ("FER2013", {"split": "no"}),
    ("Places365", {"split": "train"}),
    ("INaturalist", {"version": "2020"}),
    ("LFWPairs", {"image_set": "no"}),
    ("LFWPeople", {"download": True}),
    ("SBDataset", {"mode": "no"}),
    ("Cityscapes", {"mode": "coarse", "split": "test"}),
    ("Cityscapes", {"target_type": "no"}),
    ("MovingMNIST", {"split": "val"}),
    ("MovingMNIST", {"split": "train", "split_ratio": 20}),
    ("MovingMNIST", {"split_ratio": 2.5}),
    ("WIDERFace", {"split": "no"}),
    ("Kitti", {}),
    ("ImageNet", {}),
    ("ImageNet", {"split": "test"}),
    ("PCAM", {}),
    ("PhotoTour", {"name": "paris"}),
    ("PhotoTour", {"name": "liberty"}),
    ("Flickr8k", {"ann_file": "no"}),
    ("Flickr30k", {"ann_file": "no"}),
]


@pytest.mark.parametrize("name, kwargs", BAD, ids=str)
def test_errors_have_the_same_type(name, kwargs, tmp_path):
    with pytest.raises(Exception) as theirs:
        getattr(torchvision.datasets, name)(str(tmp_path), **kwargs)
    with pytest.raises(Exception) as ours:
        getattr(datasets, name)(str(tmp_path), **kwargs)
    assert isinstance(ours.value, theirs.type)


def test_fake_data_agree(tmp_path):
    for kwargs in ({}, {"random_offset": 5, "image_size": (1, 8, 9)}):
        theirs, ours = both("FakeData", 3, **{"image_size": (3, 4, 5), **kwargs})
        assert repr(ours) == repr(theirs)
        assert [plain(ours[i]) for i in range(3)] == [plain(theirs[i]) for i in range(3)]
        with pytest.raises(IndexError):
            ours[3]


@pytest.mark.parametrize(
    "kwargs",
    [
        {},
        {"extensions": (".png",)},
        {"extensions": ".jpg", "class_to_idx": {"b": 7}},
        {"extensions": (".png",), "allow_empty": True},
        {"extensions": (".png",), "class_to_idx": {}},
        {"is_valid_file": lambda path: "3" in path, "allow_empty": True},
        {"is_valid_file": lambda path: True, "extensions": ".png"},
        {"is_valid_file": lambda path: False},
    ],
)
def test_make_dataset_agrees(kwargs, tmp_path):
    files.image_folder(tmp_path)
    results = []
    for package in (torchvision.datasets, datasets):
        try:
            results.append(package.folder.make_dataset(str(tmp_path), **kwargs))
        except Exception as error:
            results.append(type(error))
    assert results[0] == results[1]


def test_empty_folders_are_refused_alike(tmp_path):
    (tmp_path / "a").mkdir()
    for root in (tmp_path, tmp_path / "a"):
        for package in (torchvision.datasets, datasets):
            with pytest.raises(FileNotFoundError):
                package.ImageFolder(root)
    theirs, ours = both("ImageFolder", tmp_path, allow_empty=True)
    assert (len(ours), ours.classes) == (len(theirs), theirs.classes) == (0, ["a"])
