"""Stanford Cars: photographs of kinds of cars."""

from __future__ import annotations

from pathlib import Path

from facula.vision._imports import optional
from facula.vision.datasets._base import Samples, SplitListed, numbered

__all__ = ["StanfordCars"]


class StanfordCars(SplitListed):
    """Photographs of 196 kinds of cars. It needs SciPy, and can no longer be downloaded.

    Args:
        root: the folder that has the folder ``stanford_cars``.
        split: ``"train"`` or ``"test"``.
        transform: applied to the image.
        target_transform: applied to the index of the class.
        download: must be False.
        loader: reads the image of a path.

    Example:
        >>> facula.vision.datasets.StanfordCars(".", split="val")
        Traceback (most recent call last):
        ValueError: split: expected one of 'train', 'test', got 'val'.
    """

    _LISTS = {"train": "devkit/cars_train_annos.mat", "test": "cars_test_annos_withlabels.mat"}

    def _provide(self, download: bool) -> None:
        optional("scipy.io")  # its absence is told before that of files
        if download:
            raise ValueError("StanfordCars: its address is gone; it cannot be downloaded.")
        base, folder = Path(self.root, "stanford_cars"), f"cars_{self._split}"
        listed = base / self._LISTS[self._split]
        if not listed.exists() or not (base / folder).is_dir():
            raise RuntimeError(f"StanfordCars: {listed} or the folder {folder} is not there.")

    def _list(self, root: Path) -> Samples:
        loadmat, base = optional("scipy.io").loadmat, root / "stanford_cars"
        meta = loadmat(base / "devkit" / "cars_meta.mat", squeeze_me=True)
        self.classes = meta["class_names"].tolist()
        self.class_to_idx = numbered(self.classes)
        for row in loadmat(base / self._LISTS[self._split], squeeze_me=True)["annotations"]:
            yield str(base / f"cars_{self._split}" / row["fname"]), int(row["class"]) - 1

    def extra_repr(self) -> str:
        return ""  # as torchvision's
