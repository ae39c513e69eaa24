"""FGVC-Aircraft: photographs of aircraft."""

from __future__ import annotations

from pathlib import Path

from facula.vision.datasets._base import Files, Samples, SplitListed, numbered
from facula.vision.datasets.folder import Loader, default_loader
from facula.vision.datasets.utils import verify_str_arg
from facula.vision.datasets.vision import Root, Transform

__all__ = ["FGVCAircraft"]


class FGVCAircraft(SplitListed):
    """Photographs of aircraft.

    Args:
        root: the folder that has, or is to have, the folder ``fgvc-aircraft-2013b``.
        split: ``"train"``, ``"val"``, ``"trainval"`` or ``"test"``.
        annotation_level: what the classes are: ``"variant"``, ``"family"`` or ``"manufacturer"``.
        transform: applied to the image.
        target_transform: applied to the index of the class.
        download: download what is not there.
        loader: reads the image of a path.

    Example:
        >>> facula.vision.datasets.FGVCAircraft(".", annotation_level="colour")
        Traceback (most recent call last):
        ValueError: annotation_level: expected one of 'variant', 'family', 'manufacturer', got
        'colour'.
    """

    _URL = "https://www.robots.ox.ac.uk/~vgg/data/fgvc-aircraft/archives/fgvc-aircraft-2013b.tar.gz"
    _FILES = Files(["fgvc-aircraft-2013b"], [(_URL, None)])
    _SPLITS = ("train", "val", "trainval", "test")
    _LISTS = {
        "variant": "variants.txt",
        "family": "families.txt",
        "manufacturer": "manufacturers.txt",
    }

    def __init__(
        self,
        root: Root,
        split: str = "trainval",
        annotation_level: str = "variant",
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
        loader: Loader = default_loader,
    ) -> None:
        verify_str_arg(annotation_level, "annotation_level", tuple(self._LISTS))
        self._annotation_level = annotation_level
        super().__init__(root, split, transform, target_transform, download, loader)

    def _list(self, root: Path) -> Samples:
        data, level = root / "fgvc-aircraft-2013b" / "data", self._annotation_level
        names = (data / self._LISTS[level]).read_text().splitlines()
        self.classes = [name.strip() for name in names]
        self.class_to_idx = numbered(self.classes)
        for row in (data / f"images_{level}_{self._split}.txt").read_text().splitlines():
            image, name = row.strip().split(" ", 1)
            yield str(data / "images" / f"{image}.jpg"), self.class_to_idx[name]

    def extra_repr(self) -> str:
        return ""  # as torchvision's
