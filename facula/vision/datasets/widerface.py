"""WIDER FACE: photographs with boxes of faces."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import facula
from facula.vision.datasets._base import fetch
from facula.vision.datasets.utils import (
    download_and_extract_archive,
    download_file_from_google_drive,
    extract_archive,
    read_image,
    verify_str_arg,
)
from facula.vision.datasets.vision import Root, Transform, VisionDataset

__all__ = ["WIDERFace"]


class WIDERFace(VisionDataset):
    """Photographs with boxes of the faces in them.

    Args:
        root: the folder that has, or is to have, the folder ``widerface``.
        split: ``"train"``, ``"val"`` or ``"test"``, whose targets are None.
        transform: applied to the image.
        target_transform: applied to a dict of tensors: ``bbox`` has x, y, width and height of each
            face.
        download: download what is not there.

    Example:
        >>> facula.vision.datasets.WIDERFace.BASE_FOLDER
        'widerface'
    """

    BASE_FOLDER = "widerface"
    FILE_LIST = [
        (
            "15hGDLhsx8bLgLcIRD5DhYt5iBxnjNF1M",
            "3fedf70df600953d25982bcd13d91ba2",
            "WIDER_train.zip",
        ),
        ("1GUCogbp16PMGa39thoMMeWxp7Rp5oM8Q", "dfa7d7e790efa35df3788964cf0bbaea", "WIDER_val.zip"),
        ("1HIfDbVEWKmsYKJZm4lchTBDLW5N7dY5T", "e5d8f4248ed24c334bbd12f49c29dd40", "WIDER_test.zip"),
    ]
    ANNOTATIONS_FILE = (
        "http://shuoyang1213.me/WIDERFACE/support/bbx_annotation/wider_face_split.zip",
        "0e3767bcf0e326556d407bf5bff5d27c",
        "wider_face_split.zip",
    )
    _COLUMNS = ("blur", "expression", "illumination", "occlusion", "pose", "invalid")

    def __init__(
        self,
        root: Root,
        split: str = "train",
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
    ) -> None:
        root = os.path.join(os.path.expanduser(root), self.BASE_FOLDER)
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.split = verify_str_arg(split, "split", ("train", "val", "test"))
        fetch(self, download, f"the dataset is not in {self.root!r}")
        self.img_info: list[dict[str, Any]] = []
        if split == "test":
            self.parse_test_annotations_file()
        else:
            self.parse_train_val_annotations_file()

    def _lines(self, name: str) -> list[str]:
        return Path(self.root, "wider_face_split", name).read_text().splitlines()

    def _path(self, name: str) -> str:
        return os.path.join(self.root, f"WIDER_{self.split}", "images", name.strip())

    def parse_train_val_annotations_file(self) -> None:
        """Read the list of images with boxes."""
        name = f"wider_face_{self.split}_bbx_gt.txt"
        lines = iter(self._lines(name))
        for image in lines:
            try:
                # An image without faces has a row of zeros.
                rows = [next(lines) for _ in range(max(1, int(next(lines))))]
                boxes = facula.tensor([[int(cell) for cell in row.split()] for row in rows])
            except (StopIteration, ValueError) as error:
                raise RuntimeError(f"WIDERFace: {name} is damaged at {image!r}.") from error
            columns = {kind: boxes[:, 4 + i].clone() for i, kind in enumerate(self._COLUMNS)}
            target = {"bbox": boxes[:, :4].clone(), **columns}
            self.img_info.append({"img_path": self._path(image), "annotations": target})

    def parse_test_annotations_file(self) -> None:
        """Read the list of images without boxes."""
        listed = self._lines("wider_face_test_filelist.txt")
        self.img_info += [{"img_path": self._path(name)} for name in listed]

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        info = self.img_info[index]
        return self._transformed(read_image(info["img_path"], mode=None), info.get("annotations"))

    def __len__(self) -> int:
        return len(self.img_info)

    def _check_integrity(self) -> bool:
        names = [name for *_, name in (*self.FILE_LIST, self.ANNOTATIONS_FILE)]
        return all(os.path.exists(os.path.join(self.root, name[:-4])) for name in names)

    def download(self) -> None:
        """Download and unpack the archives, if their folders are not there."""
        if self._check_integrity():
            return
        for file_id, md5, name in self.FILE_LIST:
            download_file_from_google_drive(file_id, self.root, name, md5)
            extract_archive(os.path.join(self.root, name))
        url, md5, _ = self.ANNOTATIONS_FILE
        download_and_extract_archive(url, self.root, md5=md5)

    def extra_repr(self) -> str:
        return f"Split: {self.split}"
