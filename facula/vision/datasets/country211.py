"""Country211: photographs of countries."""

from __future__ import annotations

from pathlib import Path

from facula.vision.datasets._base import Files
from facula.vision.datasets.folder import ImageFolder, Loader, default_loader
from facula.vision.datasets.utils import verify_str_arg
from facula.vision.datasets.vision import Root, Transform

__all__ = ["Country211"]


class Country211(ImageFolder):
    """Photographs of 211 countries.

    Args:
        root: the folder that has, or is to have, the folder ``country211``.
        split: ``"train"``, ``"valid"`` or ``"test"``.
        transform: applied to the image.
        target_transform: applied to the index of the class.
        download: download what is not there.
        loader: reads the image of a path.

    Example:
        >>> facula.vision.datasets.Country211(".", split="val")
        Traceback (most recent call last):
        ValueError: split: expected one of 'train', 'valid', 'test', got 'val'.
    """

    _URL = "https://openaipublic.azureedge.net/clip/data/country211.tgz"
    _FILES = Files(["country211"], [(_URL, "84988d7644798601126c29e9877aab6a")])

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
        self._FILES.provide(self, root, download)
        super().__init__(root / "country211" / split, transform, target_transform, loader)
        self.root = str(root)
