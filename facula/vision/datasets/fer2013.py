"""FER2013: faces that express emotions."""

from __future__ import annotations

import csv
import os
from typing import Any

import facula
from facula.vision._imports import optional
from facula.vision.datasets.utils import check_integrity, verify_str_arg
from facula.vision.datasets.vision import Root, Transform, VisionDataset

__all__ = ["FER2013"]


class FER2013(VisionDataset):
    """Faces that express seven emotions, 48 x 48 in grey.

    Args:
        root: the folder that has the folder ``fer2013``, with ``train.csv`` and ``test.csv``,
            ``icml_face_data.csv`` or ``fer2013.csv``: they are downloaded by hand from Kaggle.
        split: ``"train"`` or ``"test"``. With ``test.csv`` alone targets are None.
        transform: applied to the image.
        target_transform: applied to the index of the emotion.

    Example:
        >>> facula.vision.datasets.FER2013(".", split="val")
        Traceback (most recent call last):
        ValueError: split: expected one of 'train', 'test', got 'val'.
    """

    _RESOURCES = {
        "train": ("train.csv", "3f0dfb3d3fd99c811a1299cb947e3131"),
        "test": ("test.csv", "b02c2298636a634e8c2faabbf3ea9a23"),
        "fer": ("fer2013.csv", "f8428a1edbd21e88f42c73edd2a14f95"),
        "icml": ("icml_face_data.csv", "b114b9e04e6949e5fe8b6a98b3892b1d"),
    }

    def __init__(
        self,
        root: Root,
        split: str = "train",
        transform: Transform | None = None,
        target_transform: Transform | None = None,
    ) -> None:
        self._split = verify_str_arg(split, "split", ("train", "test"))
        super().__init__(root, transform=transform, target_transform=target_transform)
        folder = os.path.join(self.root, "fer2013")
        kinds = [kind for kind in ("fer", "icml", split) if self._has(folder, kind)]
        if not kinds:
            raise RuntimeError(
                f"FER2013: {split}.csv is not in {folder!r}, or is damaged. Download it from "
                "https://www.kaggle.com/c/"
                "challenges-in-representation-learning-facial-expression-recognition-challenge"
            )
        path = os.path.join(folder, self._RESOURCES[kinds[0]][0])
        with open(path, newline="") as file:
            rows = list(csv.DictReader(file, skipinitialspace=True))
        uses = ("Training",) if split == "train" else ("PublicTest", "PrivateTest")
        rows = [row for row in rows if row.get("Usage", uses[0]) in uses]
        try:
            self._samples = [self._sample(row) for row in rows]
        except (KeyError, RuntimeError, ValueError) as error:
            raise ValueError(f"FER2013: {path!r} is damaged: {error!r}") from error

    def _has(self, folder: str, kind: str) -> bool:
        name, md5 = self._RESOURCES[kind]
        return check_integrity(os.path.join(folder, name), md5)

    @staticmethod
    def _sample(row: dict[str, str]) -> tuple[Any, int | None]:
        values = [int(value) for value in row["pixels"].split()]
        pixels = facula.tensor(values, dtype=facula.uint8).reshape(48, 48)
        return pixels, int(row["emotion"]) if "emotion" in row else None

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        pixels, target = self._samples[index]
        return self._transformed(optional("PIL.Image").fromarray(pixels.numpy()), target)

    def __len__(self) -> int:
        return len(self._samples)

    def extra_repr(self) -> str:
        return f"split={self._split}"
