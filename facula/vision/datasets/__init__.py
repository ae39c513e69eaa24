"""Datasets of images: read from their files, and downloaded on request."""

from facula.vision.datasets._captions import SBU, Flickr8k, Flickr30k
from facula.vision.datasets._faces import LFWPairs, LFWPeople
from facula.vision.datasets._foldered import Country211, EuroSAT, Imagenette, RenderedSST2
from facula.vision.datasets._large import INaturalist, Places365
from facula.vision.datasets._listed import (
    DTD,
    GTSRB,
    SUN397,
    CLEVRClassification,
    FGVCAircraft,
    Flowers102,
    Food101,
    StanfordCars,
)
from facula.vision.datasets._numbers import PCAM, SEMEION, MovingMNIST, PhotoTour
from facula.vision.datasets._optical_flow import (
    HD1K,
    FlyingChairs,
    FlyingThings3D,
    KittiFlow,
    Sintel,
)
from facula.vision.datasets._scenes import Cityscapes, Kitti, SBDataset, WIDERFace
from facula.vision.datasets._stereo_matching import (
    CarlaStereo,
    CREStereo,
    ETH3DStereo,
    FallingThingsStereo,
    InStereo2k,
    Kitti2012Stereo,
    Kitti2015Stereo,
    Middlebury2014Stereo,
    SceneFlowStereo,
    SintelStereo,
)
from facula.vision.datasets._targets import FER2013, Caltech101, Caltech256, Omniglot, OxfordIIITPet
from facula.vision.datasets._wrapper import wrap_dataset_for_transforms_v2
from facula.vision.datasets.celeba import CelebA
from facula.vision.datasets.cifar import CIFAR10, CIFAR100
from facula.vision.datasets.coco import CocoCaptions, CocoDetection
from facula.vision.datasets.fakedata import FakeData
from facula.vision.datasets.folder import DatasetFolder, ImageFolder
from facula.vision.datasets.imagenet import ImageNet
from facula.vision.datasets.lsun import LSUN, LSUNClass
from facula.vision.datasets.mnist import EMNIST, KMNIST, MNIST, QMNIST, FashionMNIST
from facula.vision.datasets.stl10 import STL10
from facula.vision.datasets.svhn import SVHN
from facula.vision.datasets.usps import USPS
from facula.vision.datasets.vision import VisionDataset
from facula.vision.datasets.voc import VOCDetection, VOCSegmentation

__all__ = [
    "CIFAR10",
    "CIFAR100",
    "DTD",
    "EMNIST",
    "FER2013",
    "GTSRB",
    "HD1K",
    "KMNIST",
    "LSUN",
    "MNIST",
    "PCAM",
    "QMNIST",
    "SBU",
    "SEMEION",
    "STL10",
    "SUN397",
    "SVHN",
    "USPS",
    "CLEVRClassification",
    "CREStereo",
    "Caltech101",
    "Caltech256",
    "CarlaStereo",
    "CelebA",
    "Cityscapes",
    "CocoCaptions",
    "CocoDetection",
    "Country211",
    "DatasetFolder",
    "ETH3DStereo",
    "EuroSAT",
    "FGVCAircraft",
    "FakeData",
    "FallingThingsStereo",
    "FashionMNIST",
    "Flickr8k",
    "Flickr30k",
    "Flowers102",
    "FlyingChairs",
    "FlyingThings3D",
    "Food101",
    "INaturalist",
    "ImageFolder",
    "ImageNet",
    "Imagenette",
    "InStereo2k",
    "Kitti",
    "Kitti2012Stereo",
    "Kitti2015Stereo",
    "KittiFlow",
    "LFWPairs",
    "LFWPeople",
    "LSUNClass",
    "Middlebury2014Stereo",
    "MovingMNIST",
    "Omniglot",
    "OxfordIIITPet",
    "PhotoTour",
    "Places365",
    "RenderedSST2",
    "SBDataset",
    "SceneFlowStereo",
    "Sintel",
    "SintelStereo",
    "StanfordCars",
    "VOCDetection",
    "VOCSegmentation",
    "VisionDataset",
    "WIDERFace",
    "wrap_dataset_for_transforms_v2",
]
