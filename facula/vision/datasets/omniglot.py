"""Omniglot: handwritten characters of 50 alphabets."""

from __future__ import annotations

import os
from typing import Any

from facula.vision.datasets._base import fetch
from facula.vision.datasets.folder import Loader
from facula.vision.datasets.utils import (
    check_integrity,
    download_and_extract_archive,
    list_dir,
    list_files,
    read_image,
)
from facula.vision.datasets.vision import Root, Transform, VisionDataset

__all__ = ["Omniglot"]


class Omniglot(VisionDataset):
    """Handwritten characters of 50 alphabets, 20 of each. Characters are numbered by their names.

    Args:
        root: the folder that has, or is to have, the folder ``omniglot-py``.
        background: the 30 alphabets of the background set, or the 20 of the evaluation set.
        transform: applied to the image, in grey.
        target_transform: applied to the index of the character.
        download: download what is not there.
        loader: reads the image of a path.

    Example:
        >>> facula.vision.datasets.Omniglot.folder
        'omniglot-py'
    """

    folder = "omniglot-py"
    download_url_prefix = "https://raw.githubusercontent.com/brendenlake/omniglot/master/python"
    zips_md5 = {
        "images_background": "68d2efa1b9178cc56df9314c21c6e718",
        "images_evaluation": "6b91aef0f799c5bb55b94e3f2daec811",
    }

    def __init__(
        self,
        root: Root,
        background: bool = True,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
        loader: Loader | None = None,
    ) -> None:
        root = os.path.join(os.path.expanduser(root), self.folder)
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.background = background
        self.loader = loader
        archive = self._archive()
        fetch(self, download, f"{archive!r} is not in {self.root!r}, or is damaged")
        self.target_folder = os.path.join(self.root, self._target())
        self._alphabets = sorted(list_dir(self.target_folder))
        self._characters = [
            os.path.join(alphabet, character)
            for alphabet in self._alphabets
            for character in sorted(list_dir(os.path.join(self.target_folder, alphabet)))
        ]
        self._flat_character_images = [
            (name, i)
            for i, character in enumerate(self._characters)
            for name in sorted(list_files(os.path.join(self.target_folder, character), ".png"))
        ]

    def _target(self) -> str:
        return "images_background" if self.background else "images_evaluation"

    def _archive(self) -> str:
        return f"{self._target()}.zip"

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        name, character = self._flat_character_images[index]
        path = os.path.join(self.target_folder, self._characters[character], name)
        image = self.loader(path) if self.loader else read_image(path, "L")
        return self._transformed(image, character)

    def __len__(self) -> int:
        return len(self._flat_character_images)

    def _check_integrity(self) -> bool:
        return check_integrity(
            os.path.join(self.root, self._archive()), self.zips_md5[self._target()]
        )

    def download(self) -> None:
        """Download and unpack the archive, if it is not there."""
        if not self._check_integrity():
            url = f"{self.download_url_prefix}/{self._archive()}"
            download_and_extract_archive(url, self.root, md5=self.zips_md5[self._target()])
