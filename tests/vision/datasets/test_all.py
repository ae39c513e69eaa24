"""Every dataset reads files in its format, without torchvision to compare with."""

import importlib.util
import os

import pytest
import vision_files as files
from PIL import Image

from facula.vision import datasets

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


@pytest.mark.parametrize("name, make, archives, kwargs", DOWNLOADS, ids=lambda v: str(v)[:20])
def test_dataset_is_downloaded_once(name, make, archives, kwargs, tmp_path, network):
    folder = files.made(make, tmp_path)
    network.update({a: files.archive_of(folder / base, a) for a, base in archives.items()})
    cls = getattr(datasets, name)
    n = len(cls(tmp_path / "root", download=True, **kwargs))
    assert sorted(os.path.basename(url) for url in network.asked if "id=" not in url) == sorted(
        a for a in archives if not a.startswith("WIDER")
    )
    n_asked = len(network.asked)
    assert n == len(cls(tmp_path / "root", **kwargs)) == len(cls(folder, **kwargs))
    cls(tmp_path / "root", download=True, **kwargs)
    assert len(network.asked) == n_asked
