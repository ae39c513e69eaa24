"""CelebA: faces of famous people and their attributes."""

from __future__ import annotations

import os
from typing import Any

import facula
from facula import Tensor
from facula.vision.datasets._base import fetch, one_or_all
from facula.vision.datasets.utils import (
    check_integrity,
    download_file_from_google_drive,
    extract_archive,
    iterable_to_str,
    read_image,
    verify_str_arg,
)
from facula.vision.datasets.vision import Root, Transform, VisionDataset

__all__ = ["CelebA"]

_SPLITS = {"train": 0, "valid": 1, "test": 2, "all": None}
_TARGETS = {"attr": "attr", "identity": "identity", "bbox": "bbox", "landmarks": "landmarks_align"}


class CelebA(VisionDataset):
    """Faces of famous people, with 40 attributes, the person, a box and landmarks of each.

    Args:
        root: the folder that has, or is to have, the folder ``celeba``.
        split: ``"train"``, ``"valid"``, ``"test"`` or ``"all"``.
        target_type: what to return with an image, one of these or a list of them: ``"attr"`` (40
            numbers, 0 or 1), ``"identity"`` (the number of the person), ``"bbox"`` (x, y, width and
            height), ``"landmarks"`` (x and y of eyes, nose and corners of the mouth).
        transform: applied to the image, a PIL image.
        target_transform: applied to the target: a tensor, or a tuple of them for several types.
        download: download what is not there.

    Attributes:
        filename: the names of the images.
        attr: the attributes, int64 ``(N, 40)``; beside it ``identity``, ``bbox``,
            ``landmarks_align``.
        attr_names: the names of the attributes.

    Example:
        >>> facula.vision.datasets.CelebA.base_folder
        'celeba'
    """

    base_folder = "celeba"
    # The id at Google Drive, the MD5 hash, the name.
    file_list = [
        tuple(row.split())
        for row in (
            "0B7EVK8r0v71pZjFTYXZWM3FlRnM 00d2c5bc6d35e252742224ab0c1e8fcb img_align_celeba.zip",
            "0B7EVK8r0v71pblRyaVFSWGxPY0U 75e246fa4810816ffd6ee81facbd244c list_attr_celeba.txt",
            "1_ee_0u7vcNLOfNLegJRHmolfH5ICW-XS 32bd1bd63d3c78cd57e08160ec5ed1e2 "
            "identity_CelebA.txt",
            "0B7EVK8r0v71pbThiMVRxWXZ4dU0 00566efa6fedff7a56946cd1c10f1c16 list_bbox_celeba.txt",
            "0B7EVK8r0v71pd0FJY3Blby1HUTQ cc24ecafdb5b50baae59b03474781f8c "
            "list_landmarks_align_celeba.txt",
            "0B7EVK8r0v71pY0NSMzRuSXJEVkk d32c9cbf5e040fd4025c592c306e6668 list_eval_partition.txt",
        )
    ]

    def __init__(
        self,
        root: Root,
        split: str = "train",
        target_type: list[str] | str = "attr",
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.split = split
        self.target_type = [target_type] if isinstance(target_type, str) else target_type
        if not self.target_type and self.target_transform is not None:
            raise RuntimeError("CelebA: there is a target_transform, and target_type is empty.")
        fetch(self, download, f"the dataset is not in {self._path('')!r}, or is damaged")
        wanted = _SPLITS[verify_str_arg(split.lower(), "split", tuple(_SPLITS))]
        names, splits, _ = self._read("list_eval_partition.txt")
        chosen = facula.arange(len(names))
        if wanted is not None:
            chosen = facula.nonzero(splits.squeeze(1) == wanted).squeeze(1)
        self.filename = [names[i] for i in chosen.tolist()]
        self.identity = self._read("identity_CelebA.txt")[1][chosen]
        self.bbox = self._read("list_bbox_celeba.txt", header=1)[1][chosen]
        _, landmarks, _ = self._read("list_landmarks_align_celeba.txt", header=1)
        self.landmarks_align = landmarks[chosen]
        _, attributes, self.attr_names = self._read("list_attr_celeba.txt", header=1)
        self.attr = (attributes[chosen] + 1) // 2  # -1 and 1 in the file

    def _path(self, name: str) -> str:
        return os.path.join(self.root, self.base_folder, name)

    def _read(self, name: str, header: int | None = None) -> tuple[list[str], Tensor, list[str]]:
        """The first column, the others as numbers, and their names on line ``header``."""
        with open(self._path(name)) as file:
            rows = [line.split() for line in file]
        names = [] if header is None else rows[header]
        rows = rows[0 if header is None else header + 1 :]
        try:
            numbers = facula.tensor([[int(cell) for cell in row[1:]] for row in rows])
        except ValueError as error:
            raise ValueError(f"{self._path(name)} is damaged: {error}") from error
        return [row[0] for row in rows], numbers, names

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        image = read_image(self._path(f"img_align_celeba/{self.filename[index]}"), mode=None)
        parts = []
        for kind in self.target_type:
            if kind not in _TARGETS:
                raise ValueError(
                    f"CelebA: expected target types of {iterable_to_str(_TARGETS)}, got {kind!r}."
                )
            part = getattr(self, _TARGETS[kind])[index]
            parts.append(part[0] if kind == "identity" else part)
        return self._transformed(image, one_or_all(parts))

    def __len__(self) -> int:
        return len(self.attr)

    def _check_integrity(self) -> bool:
        # The archive may have been deleted: its images count.
        files = [(name, md5) for _, md5, name in self.file_list if not name.endswith(".zip")]
        is_there = all(check_integrity(self._path(name), md5) for name, md5 in files)
        return is_there and os.path.isdir(self._path("img_align_celeba"))

    def download(self) -> None:
        """Download the files that are not there, and unpack the images."""
        if self._check_integrity():
            return
        for file_id, md5, name in self.file_list:
            download_file_from_google_drive(file_id, self._path(""), name, md5)
        extract_archive(self._path("img_align_celeba.zip"))

    def extra_repr(self) -> str:
        return f"Target type: {self.target_type}\nSplit: {self.split}"
