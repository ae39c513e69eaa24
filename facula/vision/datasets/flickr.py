"""Flickr8k and Flickr30k: photographs with captions."""

from __future__ import annotations

import os
from collections import defaultdict
from glob import escape, glob
from html.parser import HTMLParser
from typing import Any, TextIO

from facula.vision.datasets.folder import Loader, default_loader
from facula.vision.datasets.vision import Root, Transform, VisionDataset

__all__ = ["Flickr8k", "Flickr30k"]


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


class _Flickr(VisionDataset):
    annotations: dict[str, list[str]]

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
        with open(self.ann_file) as file:
            self.annotations = self._read(file)
        self.ids = sorted(self.annotations)

    def _read(self, file: TextIO) -> dict[str, list[str]]:
        """The captions of each image."""
        raise NotImplementedError

    def _path(self, name: str) -> str:
        return name

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        name = self.ids[index]
        return self._transformed(self.loader(self._path(name)), self.annotations[name])

    def __len__(self) -> int:
        return len(self.ids)


class Flickr8k(_Flickr):
    """8,000 photographs with five captions each.

    Args:
        root: the folder of the images.
        ann_file: the page of the captions, an HTML file.
        transform: applied to the image.
        target_transform: applied to the captions, a list of strings.
        loader: reads the image of a path.

    Attributes:
        ids: the paths of the images, sorted.
        annotations: the captions of each image.

    Example:
        >>> facula.vision.datasets.Flickr8k(".", "nowhere.html")
        Traceback (most recent call last):
        FileNotFoundError: [Errno 2] No such file or directory: 'nowhere.html'
    """

    def _read(self, file: TextIO) -> dict[str, list[str]]:
        parser = _Captions(os.fspath(self.root))
        parser.feed(file.read())
        return parser.annotations


class Flickr30k(_Flickr):
    """31,000 photographs with five captions each.

    Args:
        root: the folder of the images.
        ann_file: the file of the captions, lines of ``name#number``, a tab and the caption.
        transform: applied to the image.
        target_transform: applied to the captions, a list of strings.
        loader: reads the image of a path.

    Attributes:
        ids: the names of the images, sorted.
        annotations: the captions of each image.

    Example:
        >>> facula.vision.datasets.Flickr30k(".", "nowhere.token")
        Traceback (most recent call last):
        FileNotFoundError: [Errno 2] No such file or directory: 'nowhere.token'
    """

    def _read(self, file: TextIO) -> dict[str, list[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        for line in file:
            name, _, caption = line.strip().partition("\t")
            found[name[:-2]].append(caption)  # without "#0"
        return found

    def _path(self, name: str) -> str:
        return os.path.join(self.root, name)
