"""Datasets of images: read from their files, and downloaded on request."""

from facula.vision.datasets._optical_flow import (
    HD1K,
    FlyingChairs,
    FlyingThings3D,
    KittiFlow,
    Sintel,
)
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
from facula.vision.datasets._wrapper import wrap_dataset_for_transforms_v2
from facula.vision.datasets.caltech import Caltech101, Caltech256
from facula.vision.datasets.celeba import CelebA
from facula.vision.datasets.cifar import CIFAR10, CIFAR100
from facula.vision.datasets.cityscapes import Cityscapes
from facula.vision.datasets.clevr import CLEVRClassification
from facula.vision.datasets.coco import CocoCaptions, CocoDetection
from facula.vision.datasets.country211 import Country211
from facula.vision.datasets.dtd import DTD
from facula.vision.datasets.eurosat import EuroSAT
from facula.vision.datasets.fakedata import FakeData
from facula.vision.datasets.fer2013 import FER2013
from facula.vision.datasets.fgvc_aircraft import FGVCAircraft
from facula.vision.datasets.flickr import Flickr8k, Flickr30k
from facula.vision.datasets.flowers102 import Flowers102
from facula.vision.datasets.folder import DatasetFolder, ImageFolder
from facula.vision.datasets.food101 import Food101
from facula.vision.datasets.gtsrb import GTSRB
from facula.vision.datasets.imagenet import ImageNet
from facula.vision.datasets.imagenette import Imagenette
from facula.vision.datasets.inaturalist import INaturalist
from facula.vision.datasets.kitti import Kitti
from facula.vision.datasets.lfw import LFWPairs, LFWPeople
from facula.vision.datasets.lsun import LSUN, LSUNClass
from facula.vision.datasets.mnist import EMNIST, KMNIST, MNIST, QMNIST, FashionMNIST
from facula.vision.datasets.moving_mnist import MovingMNIST
from facula.vision.datasets.omniglot import Omniglot
from facula.vision.datasets.oxford_iiit_pet import OxfordIIITPet
from facula.vision.datasets.pcam import PCAM
from facula.vision.datasets.phototour import PhotoTour
from facula.vision.datasets.places365 import Places365
from facula.vision.datasets.rendered_sst2 import RenderedSST2
from facula.vision.datasets.sbd import SBDataset
from facula.vision.datasets.sbu import SBU
from facula.vision.datasets.semeion import SEMEION
from facula.vision.datasets.stanford_cars import StanfordCars
from facula.vision.datasets.stl10 import STL10
from facula.vision.datasets.sun397 import SUN397
from facula.vision.datasets.svhn import SVHN
from facula.vision.datasets.usps import USPS
from facula.vision.datasets.vision import VisionDataset
from facula.vision.datasets.voc import VOCDetection, VOCSegmentation
from facula.vision.datasets.widerface import WIDERFace

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
