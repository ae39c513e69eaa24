"""ImageNet, the classification task of 2012."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import facula
from facula.vision._imports import optional
from facula.vision.datasets.folder import ImageFolder
from facula.vision.datasets.utils import check_integrity, extract_archive, verify_str_arg
from facula.vision.datasets.vision import Root

__all__ = [
    "ImageNet",
    "load_meta_file",
    "parse_devkit_archive",
    "parse_train_archive",
    "parse_val_archive",
]

ARCHIVE_META = {
    "train": ("ILSVRC2012_img_train.tar", "1d675b47d978889d74fa0da5fadfb00e"),
    "val": ("ILSVRC2012_img_val.tar", "29b22e2961454d5413ddabcf34fc5622"),
    "devkit": ("ILSVRC2012_devkit_t12.tar.gz", "fa75699e90414af021442c21a62c3abf"),
}
META_FILE = "meta.bin"


class ImageNet(ImageFolder):
    """ImageNet's photographs of a thousand classes.

    The archives must be in ``root``: they cannot be downloaded without an account. The first use
    unpacks them; the archive ``ILSVRC2012_devkit_t12.tar.gz`` is needed, and SciPy for it.

    Args:
        root: the folder of the archives.
        split: ``"train"`` or ``"val"``.
        **kwargs: other arguments of :class:`ImageFolder`.

    Attributes:
        classes: the names of each class, as tuples.
        class_to_idx: the index of each name.
        wnids: the identifiers of WordNet, which the folders are named after.
        wnid_to_idx: the index of each identifier.

    Example:
        >>> facula.vision.datasets.ImageNet(".", split="test")
        Traceback (most recent call last):
        ValueError: split: expected one of 'train', 'val', got 'test'.
    """

    def __init__(self, root: Root, split: str = "train", **kwargs: Any) -> None:
        root = os.path.expanduser(root)
        self.root = root
        self.split = verify_str_arg(split, "split", ("train", "val"))
        self.parse_archives()
        wnid_to_classes, _ = load_meta_file(root)
        super().__init__(self.split_folder, **kwargs)
        self.root = root
        self.wnids = self.classes
        self.wnid_to_idx = self.class_to_idx
        self.classes = [wnid_to_classes[wnid] for wnid in self.wnids]
        self.class_to_idx = {
            name: index for index, names in enumerate(self.classes) for name in names
        }

    def parse_archives(self) -> None:
        """Unpack the archives that have not been unpacked yet."""
        if not check_integrity(os.path.join(self.root, META_FILE)):
            parse_devkit_archive(self.root)
        if not os.path.isdir(self.split_folder):
            if self.split == "train":
                parse_train_archive(self.root)
            else:
                parse_val_archive(self.root)

    @property
    def split_folder(self) -> str:
        """The folder of the images."""
        return os.path.join(self.root, self.split)

    def extra_repr(self) -> str:
        return f"Split: {self.split}"


def load_meta_file(root: Root, file: str | None = None) -> tuple[dict[str, Any], list[str]]:
    """The names of the class of each identifier, and the identifiers of the images of ``val``.

    Args:
        root: the folder of :class:`ImageNet`.
        file: the name of the file that :func:`parse_devkit_archive` wrote.
    """
    path = os.path.join(root, file or META_FILE)
    if not check_integrity(path):
        raise RuntimeError(f"load_meta_file: there is no {path!r}. ImageNet(root) makes it.")
    names, wnids = facula.load(path)
    return names, wnids


def parse_devkit_archive(root: Root, file: str | None = None) -> None:
    """Read the archive of the development kit and write what :func:`load_meta_file` reads.

    Args:
        root: the folder of :class:`ImageNet`.
        file: the name of the archive.
    """
    with _unpacked(_archive(root, "devkit", file)) as folder:
        data = Path(folder, "ILSVRC2012_devkit_t12", "data")
        synsets = optional("scipy.io").loadmat(data / "meta.mat", squeeze_me=True)["synsets"]
        # A row is an index, an identifier, names, a gloss, a count of children: leaves are classes.
        leaves = [row for row in synsets if row[4] == 0]
        names = {row[1]: tuple(row[2].split(", ")) for row in leaves}
        wnids = {int(row[0]): row[1] for row in leaves}
        listed = (data / "ILSVRC2012_validation_ground_truth.txt").read_text().splitlines()
    facula.save((names, [wnids[int(index)] for index in listed]), os.path.join(root, META_FILE))


def parse_train_archive(root: Root, file: str | None = None, folder: str = "train") -> None:
    """Unpack the archive of the images to train with: an archive of one archive for each class.

    Args:
        root: the folder of :class:`ImageNet`.
        file: the name of the archive.
        folder: the folder to make in ``root``.
    """
    archive = _archive(root, "train", file)
    with _new_folder(os.path.join(root, folder)) as made:
        extract_archive(archive, made)
        for path in sorted(Path(made).iterdir()):
            extract_archive(path, path.with_suffix(""), remove_finished=True)


def parse_val_archive(
    root: Root, file: str | None = None, wnids: list[str] | None = None, folder: str = "val"
) -> None:
    """Unpack the archive of the images to validate with into a folder for each class.

    Args:
        root: the folder of :class:`ImageNet`.
        file: the name of the archive.
        wnids: the identifiers of the images' classes; by default those of :func:`load_meta_file`.
        folder: the folder to make in ``root``.
    """
    archive = _archive(root, "val", file)
    wnids = load_meta_file(root)[1] if wnids is None else wnids
    with _new_folder(os.path.join(root, folder)) as made:
        extract_archive(archive, made)
        images = sorted(Path(made).iterdir())
        for wnid in set(wnids):
            Path(made, wnid).mkdir()
        for wnid, path in zip(wnids, images, strict=True):
            path.rename(Path(made, wnid, path.name))


def _archive(root: Root, kind: str, file: str | None) -> str:
    name, md5 = ARCHIVE_META[kind]
    path = os.path.join(root, file or name)
    if not check_integrity(path, md5):
        raise RuntimeError(
            f"ImageNet: the archive {file or name} is not in {os.fspath(root)!r}, or is damaged. "
            "Download it from https://image-net.org and put it there."
        )
    return path


@contextmanager
def _unpacked(archive: str) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        extract_archive(archive, folder)
        yield folder


@contextmanager
def _new_folder(path: str) -> Iterator[str]:
    """A folder that gets its name when all of its files are there."""
    partial = f"{path}.partial"
    shutil.rmtree(partial, ignore_errors=True)
    os.makedirs(partial)
    yield partial
    os.rename(partial, path)
