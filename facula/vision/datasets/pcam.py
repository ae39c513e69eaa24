"""PatchCamelyon: tissue with and without a tumour."""

from __future__ import annotations

import os
from typing import Any

from facula.vision._imports import optional
from facula.vision.datasets.utils import (
    download_file_from_google_drive,
    extract_archive,
    verify_str_arg,
)
from facula.vision.datasets.vision import Root, Transform, VisionDataset

__all__ = ["PCAM"]


class PCAM(VisionDataset):
    """Images of tissue, 96 x 96, with or without a tumour. It needs h5py.

    Args:
        root: the folder that has, or is to have, the folder ``pcam``.
        split: ``"train"``, ``"val"`` or ``"test"``.
        transform: applied to the image, a PIL image in RGB.
        target_transform: applied to 1 with a tumour, 0 without.
        download: download what is not there.

    Example:
        >>> sorted(facula.vision.datasets.PCAM._FILES)
        ['test', 'train', 'val']
    """

    # By split: the name in files; of images and of targets the id at Google Drive and the MD5 hash.
    _FILES = {
        "train": (
            "train",
            ("1Ka0XfEMiwgCYPdTI-vv6eUElOBnKFKQ2", "1571f514728f59376b705fc836ff4b63"),
            ("1269yhu3pZDP8UYFQs-NYs3FPwuK-nGSG", "35c2d7259d906cfc8143347bb8e05be7"),
        ),
        "test": (
            "test",
            ("1qV65ZqZvWzuIVthK8eVDhIwrbnsJdbg_", "d8c2d60d490dbd479f8199bdfa0cf6ec"),
            ("17BHrSrwWKjYsOgTMmoqrIjDy6Fa2o_gP", "60a7035772fbdb7f34eb86d4420cf66a"),
        ),
        "val": (
            "valid",
            ("1hgshYGWK8V-eGRy8LToWJJgDU_rXWVJ3", "d5b63470df7cfa627aeec8b9dc0c066e"),
            ("1bH8ZRbhSVAhScTS0p9-ZzGnX91cHT3uO", "2b85f58b927af9964a4c15b8f7e8f179"),
        ),
    }

    def __init__(
        self,
        root: Root,
        split: str = "train",
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
    ) -> None:
        try:
            self.h5py = optional("h5py")
        except ImportError as error:
            raise RuntimeError(str(error)) from None
        self._split = verify_str_arg(split, "split", ("train", "test", "val"))
        super().__init__(root, transform=transform, target_transform=target_transform)
        self._folder = os.path.join(self.root, "pcam")
        if download:
            self._download()
        for path in map(self._path, "xy"):
            if not os.path.exists(path):
                raise self._missing(f"there is no {path!r}")

    def _path(self, letter: str) -> str:
        """The file of images, x, or of targets, y, without the suffix of its compression."""
        name = f"camelyonpatch_level_2_split_{self._FILES[self._split][0]}_{letter}.h5"
        return os.path.join(self._folder, name)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        with self.h5py.File(self._path("x")) as file:
            image = optional("PIL.Image").fromarray(file["x"][index])
        with self.h5py.File(self._path("y")) as file:
            target = int(file["y"][index, 0, 0, 0])
        return self._transformed(image, target)

    def __len__(self) -> int:
        with self.h5py.File(self._path("x")) as file:
            return int(file["x"].shape[0])

    def _download(self) -> None:
        for letter, (file_id, md5) in zip("xy", self._FILES[self._split][1:], strict=True):
            path = self._path(letter)
            if not os.path.exists(path):
                name = f"{os.path.basename(path)}.gz"
                download_file_from_google_drive(file_id, self._folder, name, md5)
                extract_archive(f"{path}.gz")
