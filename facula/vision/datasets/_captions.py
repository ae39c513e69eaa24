"""Datasets of photographs with captions."""

from __future__ import annotations

import contextlib
import os
from collections import defaultdict
from glob import escape, glob
from html.parser import HTMLParser
from typing import Any

from facula.vision.datasets.folder import Loader, default_loader
from facula.vision.datasets.utils import (
    check_integrity,
    download_and_extract_archive,
    download_url,
)
from facula.vision.datasets.vision import Root, Transform, VisionDataset


class _Captions(HTMLParser):
    """Reads a page of Flickr8k: rows of the address of a photograph and a list of captions."""

    def __init__(self, root: str) -> None:
        super().__init__()
        self.annotations: dict[str, list[str]] = {}
        self._root = root
        self._tag: str | None = None
        self._image: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._tag = tag
        if tag == "tr":
            self._image = None

    def handle_endtag(self, tag: str) -> None:
        self._tag = None

    def handle_data(self, data: str) -> None:
        if self._tag == "a":
            number = data.rstrip("/").rpartition("/")[2]
            # Without the other half of its name, which the page has not.
            found = glob(os.path.join(escape(self._root), f"{escape(number)}_*.jpg"))
            if found:
                self._image = found[0]
                self.annotations[found[0]] = []
        elif self._tag == "li" and self._image is not None:
            self.annotations[self._image].append(data.strip())


class Flickr8k(VisionDataset):
    """8,000 photographs with five captions each.

    Args:
        root: the folder of the images.
        ann_file: the page of the captions, an HTML file.
        transform: of the image.
        target_transform: of the captions, a list of strings.
        loader: reads the image of a path.

    Attributes:
        ids: the paths of the images, sorted.
        annotations: the captions of each.

    Example:
        >>> facula.vision.datasets.Flickr8k(".", "nowhere.html")
        Traceback (most recent call last):
        FileNotFoundError: [Errno 2] No such file or directory: 'nowhere.html'
    """

    def __init__(
        self,
        root: Root,
        ann_file: str,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        loader: Loader = default_loader,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.ann_file = os.path.expanduser(ann_file)
        self.loader = loader
        parser = _Captions(os.fspath(self.root))
        with open(self.ann_file) as file:
            parser.feed(file.read())
        self.annotations = parser.annotations
        self.ids = sorted(self.annotations)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        path = self.ids[index]
        return self._transformed(self.loader(path), self.annotations[path])

    def __len__(self) -> int:
        return len(self.ids)


class Flickr30k(VisionDataset):
    """31,000 photographs with five captions each.

    Args:
        root: the folder of the images.
        ann_file: the file of the captions, lines of ``name#number``, a tab and the caption.
        transform: of the image.
        target_transform: of the captions, a list of strings.
        loader: reads the image of a path.

    Attributes:
        ids: the names of the images, sorted.
        annotations: the captions of each.

    Example:
        >>> facula.vision.datasets.Flickr30k(".", "nowhere.token")
        Traceback (most recent call last):
        FileNotFoundError: [Errno 2] No such file or directory: 'nowhere.token'
    """

    def __init__(
        self,
        root: str,
        ann_file: str,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        loader: Loader = default_loader,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.ann_file = os.path.expanduser(ann_file)
        self.loader = loader
        self.annotations: dict[str, list[str]] = defaultdict(list)
        with open(self.ann_file) as file:
            for line in file:
                name, _, caption = line.strip().partition("\t")
                self.annotations[name[:-2]].append(caption)  # without "#0"
        self.ids = sorted(self.annotations)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        name = self.ids[index]
        image = self.loader(os.path.join(self.root, name))
        return self._transformed(image, self.annotations[name])

    def __len__(self) -> int:
        return len(self.ids)


class SBU(VisionDataset):
    """A million photographs of Flickr with one caption each, as far as they still exist.

    Args:
        root: the folder that has, or is to have, ``SBUCaptionedPhotoDataset.tar.gz`` and the folder
            ``dataset``.
        transform: of the image.
        target_transform: of the caption, a string.
        download: download what is not there: the list, and then every photograph.
        loader: reads the image of a path.

    Attributes:
        photos: the names of the images.
        captions: their captions.

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
        if download:
            self.download()
        if not self._check_integrity():
            raise RuntimeError(
                f"SBU: {self.filename} is not in {os.fspath(self.root)!r}, or is damaged. Pass "
                "download=True to download it."
            )
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
