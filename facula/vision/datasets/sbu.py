"""SBU: a million captioned photographs."""

from __future__ import annotations

import contextlib
import os
from typing import Any

from facula.vision.datasets._base import fetch
from facula.vision.datasets.folder import Loader, default_loader
from facula.vision.datasets.utils import check_integrity, download_and_extract_archive, download_url
from facula.vision.datasets.vision import Root, Transform, VisionDataset

__all__ = ["SBU"]


class SBU(VisionDataset):
    """A million photographs of Flickr with one caption each, as far as they still exist.

    Args:
        root: the folder that has, or is to have, ``SBUCaptionedPhotoDataset.tar.gz`` and the folder
            ``dataset``.
        transform: applied to the image.
        target_transform: applied to the caption, a string.
        download: download what is not there: the list, and then every photograph.
        loader: reads the image of a path.

    Attributes:
        photos: the names of the images.
        captions: the captions of the images.

    Example:
        >>> facula.vision.datasets.SBU.filename
        'SBUCaptionedPhotoDataset.tar.gz'
    """

    url = "https://www.cs.rice.edu/~vo9/sbucaptions/SBUCaptionedPhotoDataset.tar.gz"
    filename = "SBUCaptionedPhotoDataset.tar.gz"
    md5_checksum = "9aec147b3488753cf758b4d493422285"

    def __init__(
        self,
        root: Root,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = True,
        loader: Loader = default_loader,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.loader = loader
        root = os.fspath(self.root)
        fetch(self, download, f"{self.filename} is not in {root!r}, or is damaged")
        pairs = zip(self._lines("urls"), self._lines("captions"), strict=True)
        found = [(os.path.basename(url.strip()), caption.rstrip()) for url, caption in pairs]
        found = [(name, caption) for name, caption in found if os.path.exists(self._path(name))]
        self.photos = [name for name, _ in found]
        self.captions = [caption for _, caption in found]

    def _path(self, name: str) -> str:
        return os.path.join(self.root, "dataset", name)

    def _lines(self, kind: str) -> list[str]:
        with open(self._path(f"SBU_captioned_photo_dataset_{kind}.txt")) as file:
            return list(file)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        image = self.loader(self._path(self.photos[index]))
        return self._transformed(image, self.captions[index])

    def __len__(self) -> int:
        return len(self.photos)

    def _check_integrity(self) -> bool:
        return check_integrity(os.path.join(self.root, self.filename), self.md5_checksum)

    def download(self) -> None:
        """Download the list, if it is not there, and its photographs."""
        if self._check_integrity():
            return
        download_and_extract_archive(
            self.url, self.root, filename=self.filename, md5=self.md5_checksum
        )
        for url in self._lines("urls"):
            with contextlib.suppress(OSError):  # many photographs have been deleted
                download_url(url.strip(), self._path(""))
