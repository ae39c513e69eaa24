"""Datasets of one archive in which the images of each class have a folder."""

from __future__ import annotations

import os
from pathlib import Path

from facula.vision.datasets._listed import Listed, numbered, provide
from facula.vision.datasets.folder import (
    ImageFolder,
    Loader,
    default_loader,
    find_classes,
    make_dataset,
)
from facula.vision.datasets.utils import verify_str_arg
from facula.vision.datasets.vision import Root, Transform


class RenderedSST2(Listed):
    """Sentences of film reviews as images, positive or negative.

    Args:
        root: the folder that has, or is to have, the folder ``rendered-sst2``.
        split: ``"train"``, ``"val"`` or ``"test"``.
        transform: of the image.
        target_transform: of the index of the class.
        download: download what is not there.
        loader: reads the image of a path.

    Example:
        >>> facula.vision.datasets.RenderedSST2(".", split="valid")
        Traceback (most recent call last):
        ValueError: split: expected one of 'train', 'val', 'test', got 'valid'.
    """

    _URL = "https://openaipublic.azureedge.net/clip/data/rendered-sst2.tgz"
    _MD5 = "2384d08e9dcfa4bd55b324e610496ee5"

    def __init__(
        self,
        root: Root,
        split: str = "train",
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
        loader: Loader = default_loader,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self._split = verify_str_arg(split, "split", ("train", "val", "test"))
        self.loader = loader
        base = Path(self.root, "rendered-sst2")
        needed = [base / "train", base / "valid", base / "test"]
        provide(self, needed, download, Path(self.root), (self._URL, self._MD5))
        self.classes = ["negative", "positive"]
        self.class_to_idx = numbered(self.classes)
        folder = base / ("valid" if split == "val" else split)
        self._samples = make_dataset(folder, extensions=(".png",))

    def extra_repr(self) -> str:
        return f"split={self._split}"


class Imagenette(Listed):
    """Ten classes of ImageNet that are easy to tell apart.

    Args:
        root: the folder that has, or is to have, the folder ``imagenette2``.
        split: ``"train"`` or ``"val"``.
        size: ``"full"``, ``"320px"`` or ``"160px"``.
        download: download what is not there.
        transform: of the image.
        target_transform: of the index of the class.
        loader: reads the image of a path.

    Example:
        >>> facula.vision.datasets.Imagenette(".", size="64px")
        Traceback (most recent call last):
        ValueError: size: expected one of 'full', '320px', '160px', got '64px'.
    """

    _URL = "https://s3.amazonaws.com/fast-ai-imageclas/"
    _ARCHIVES = {
        "full": ("imagenette2", "fe2fc210e6bb7c5664d602c3cd71e612"),
        "320px": ("imagenette2-320", "3df6f0d01a2c9592104656642f5e78a3"),
        "160px": ("imagenette2-160", "e793b78cc4c9e9a4ccc0c1155377a412"),
    }
    _WNID_TO_CLASS = {
        "n01440764": ("tench", "Tinca tinca"),
        "n02102040": ("English springer", "English springer spaniel"),
        "n02979186": ("cassette player",),
        "n03000684": ("chain saw", "chainsaw"),
        "n03028079": ("church", "church building"),
        "n03394916": ("French horn", "horn"),
        "n03417042": ("garbage truck", "dustcart"),
        "n03425413": ("gas pump", "gasoline pump", "petrol pump", "island dispenser"),
        "n03445777": ("golf ball",),
        "n03888257": ("parachute", "chute"),
    }

    def __init__(
        self,
        root: Root,
        split: str = "train",
        size: str = "full",
        download: bool = False,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        loader: Loader = default_loader,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self._split = verify_str_arg(split, "split", ["train", "val"])
        self._size = verify_str_arg(size, "size", ["full", "320px", "160px"])
        self.loader = loader
        name, md5 = self._ARCHIVES[size]
        base = Path(self.root, name)
        provide(self, [base], download, Path(self.root), (f"{self._URL}{name}.tgz", md5))
        folder = base / split
        self.wnids, self.wnid_to_idx = find_classes(folder)
        self.classes = [self._WNID_TO_CLASS[wnid] for wnid in self.wnids]
        self.class_to_idx = {
            name: index for index, names in enumerate(self.classes) for name in names
        }
        self._samples = make_dataset(folder, self.wnid_to_idx, extensions=".jpeg")


class Country211(ImageFolder):
    """Photographs of 211 countries.

    Args:
        root: the folder that has, or is to have, the folder ``country211``.
        split: ``"train"``, ``"valid"`` or ``"test"``.
        transform: of the image.
        target_transform: of the index of the class.
        download: download what is not there.
        loader: reads the image of a path.

    Example:
        >>> facula.vision.datasets.Country211(".", split="val")
        Traceback (most recent call last):
        ValueError: split: expected one of 'train', 'valid', 'test', got 'val'.
    """

    _URL = "https://openaipublic.azureedge.net/clip/data/country211.tgz"
    _MD5 = "84988d7644798601126c29e9877aab6a"

    def __init__(
        self,
        root: Root,
        split: str = "train",
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
        loader: Loader = default_loader,
    ) -> None:
        self._split = verify_str_arg(split, "split", ("train", "valid", "test"))
        root = Path(root).expanduser()
        base = root / "country211"
        provide(self, [base], download, root, (self._URL, self._MD5))
        super().__init__(base / split, transform, target_transform, loader)
        self.root = str(root)


class EuroSAT(ImageFolder):
    """Photographs of the ground from satellites, of ten kinds.

    Args:
        root: the folder that has, or is to have, the folder ``eurosat``.
        transform: of the image.
        target_transform: of the index of the class.
        download: download what is not there.
        loader: reads the image of a path.

    Example:
        >>> facula.vision.datasets.EuroSAT("nowhere")
        Traceback (most recent call last):
        RuntimeError: EuroSAT: there is no 'nowhere/eurosat/2750'. Pass download=True to download
        the dataset.
    """

    _URL = (
        "https://huggingface.co/datasets/torchgeo/eurosat/resolve/"
        "c877bcd43f099cd0196738f714544e355477f3fd/EuroSAT.zip"
    )
    _MD5 = "c8fa014336c82ac7804f0398fcb19387"

    def __init__(
        self,
        root: Root,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
        loader: Loader = default_loader,
    ) -> None:
        root = os.path.expanduser(root)
        base = Path(root, "eurosat")
        provide(self, [base / "2750"], download, base, (self._URL, self._MD5))
        super().__init__(base / "2750", transform, target_transform, loader)
        self.root = root
