"""Datasets that are a folder for each class."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any

from facula.vision.datasets.utils import read_image
from facula.vision.datasets.vision import Root, Transform, VisionDataset

__all__ = [
    "IMG_EXTENSIONS",
    "DatasetFolder",
    "ImageFolder",
    "default_loader",
    "find_classes",
    "has_file_allowed_extension",
    "is_image_file",
    "make_dataset",
    "pil_loader",
]

IMG_EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")

Loader = Callable[..., Any]
IsValid = Callable[[str], bool]


def has_file_allowed_extension(filename: str, extensions: str | tuple[str, ...]) -> bool:
    """Whether a name ends in one of ``extensions``, in capitals or not.

    Example:
        >>> facula.vision.datasets.folder.has_file_allowed_extension("a.PNG", (".png", ".jpg"))
        True
    """
    return filename.lower().endswith(extensions)


def is_image_file(filename: str) -> bool:
    """Whether a name ends as those of images do."""
    return has_file_allowed_extension(filename, IMG_EXTENSIONS)


def find_classes(directory: Root) -> tuple[list[str], dict[str, int]]:
    """The sorted names of the folders in a folder, and the index of each.

    Args:
        directory: a folder with one folder for each class.

    Example:
        >>> import os, tempfile
        >>> root = tempfile.mkdtemp()
        >>> os.mkdir(f"{root}/dog"), os.mkdir(f"{root}/cat")
        (None, None)
        >>> facula.vision.datasets.folder.find_classes(root)
        (['cat', 'dog'], {'cat': 0, 'dog': 1})
    """
    classes = sorted(entry.name for entry in os.scandir(directory) if entry.is_dir())
    if not classes:
        raise FileNotFoundError(
            f"find_classes: expected one folder for each class in {os.fspath(directory)!r}, found "
            "none."
        )
    return classes, {name: index for index, name in enumerate(classes)}


def make_dataset(
    directory: Root,
    class_to_idx: dict[str, int] | None = None,
    extensions: str | tuple[str, ...] | None = None,
    is_valid_file: IsValid | None = None,
    allow_empty: bool = False,
) -> list[tuple[str, int]]:
    """The files in the folders of all classes, sorted, each with the index of its class.

    Args:
        directory: a folder with one folder for each class.
        class_to_idx: the classes wanted; by default those of :func:`find_classes`.
        extensions: how the names of files end. Either this or ``is_valid_file``.
        is_valid_file: whether a path is one of a file that belongs to the dataset.
        allow_empty: whether a class may have no file.

    Example:
        >>> import os, pathlib, tempfile
        >>> root = pathlib.Path(tempfile.mkdtemp())
        >>> (root / "cat").mkdir()
        >>> (root / "cat" / "1.txt").touch()
        >>> files = facula.vision.datasets.folder.make_dataset(root, extensions=".txt")
        >>> [(os.path.relpath(path, root), index) for path, index in files]
        [('cat/1.txt', 0)]
    """
    directory = os.path.expanduser(directory)
    if class_to_idx is None:
        _, class_to_idx = find_classes(directory)
    elif not class_to_idx:
        raise ValueError("make_dataset: expected at least one class in class_to_idx, got none.")
    if (extensions is None) == (is_valid_file is None):
        raise ValueError("make_dataset: expected either extensions or is_valid_file.")
    if is_valid_file is None:
        is_valid_file = partial(has_file_allowed_extension, extensions=extensions or ())
    found: list[tuple[str, int]] = []
    empty = []
    for name in sorted(class_to_idx):
        n_before = len(found)
        for folder, _, files in sorted(os.walk(os.path.join(directory, name), followlinks=True)):
            paths = (os.path.join(folder, file) for file in sorted(files))
            found += [(path, class_to_idx[name]) for path in paths if is_valid_file(path)]
        if len(found) == n_before:
            empty.append(name)
    if empty and not allow_empty:
        wanted = (extensions,) if isinstance(extensions, str) else extensions or ()
        ends = f" that ends in {' or '.join(wanted)}" if wanted else ""
        raise FileNotFoundError(
            f"make_dataset: there is no file{ends} for the classes {', '.join(empty)} in "
            f"{directory!r}. Pass allow_empty=True if that is meant."
        )
    return found


def pil_loader(path: Root) -> Any:
    """The image of a file, as a PIL image in RGB."""
    return read_image(path)


def default_loader(path: Root) -> Any:
    """How datasets read a file unless told otherwise: :func:`pil_loader`."""
    return pil_loader(path)


class DatasetFolder(VisionDataset):
    """Files in folders, ``root/class/.../name.ext``: the folder is the class.

    Args:
        root: the folder with one folder for each class.
        loader: reads the file of a path.
        extensions: how names of files end. Either this or ``is_valid_file``.
        transform: applied to what ``loader`` returns.
        target_transform: applied to the index of the class.
        is_valid_file: whether a path is one of a file that belongs to the dataset.
        allow_empty: whether a class may have no file.

    Attributes:
        classes: the names of the classes, sorted.
        class_to_idx: the index of each class.
        samples: pairs of a path and an index of a class.
        targets: the index of the class of each sample.

    Example:
        >>> import pathlib, tempfile
        >>> root = pathlib.Path(tempfile.mkdtemp())
        >>> for name in ("cat", "dog"):
        ...     (root / name).mkdir()
        ...     _ = (root / name / "1.txt").write_text(f"a {name}")
        >>> data = facula.vision.datasets.DatasetFolder(
        ...     root, lambda path: pathlib.Path(path).read_text(), (".txt",))
        >>> data[1]
        ('a dog', 1)
    """

    def __init__(
        self,
        root: Root,
        loader: Loader,
        extensions: tuple[str, ...] | None = None,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        is_valid_file: IsValid | None = None,
        allow_empty: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.classes, self.class_to_idx = self.find_classes(self.root)
        self.loader = loader
        self.extensions = extensions
        self.samples = self.make_dataset(
            self.root, self.class_to_idx, extensions, is_valid_file, allow_empty
        )
        self.targets = [target for _, target in self.samples]

    @staticmethod
    def make_dataset(
        directory: Root,
        class_to_idx: dict[str, int],
        extensions: tuple[str, ...] | None = None,
        is_valid_file: IsValid | None = None,
        allow_empty: bool = False,
    ) -> list[tuple[str, int]]:
        """The samples; a subclass may choose others. See :func:`make_dataset`."""
        if class_to_idx is None:
            raise ValueError("make_dataset: expected the classes in class_to_idx, got None.")
        return make_dataset(directory, class_to_idx, extensions, is_valid_file, allow_empty)

    def find_classes(self, directory: Root) -> tuple[list[str], dict[str, int]]:
        """The classes; a subclass may choose others. See :func:`find_classes`."""
        return find_classes(directory)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        path, target = self.samples[index]
        return self._transformed(self.loader(path), target)

    def __len__(self) -> int:
        return len(self.samples)


class ImageFolder(DatasetFolder):
    """Images in folders, ``root/class/.../name.png``: the folder is the class.

    Args:
        root: the folder with one folder for each class.
        transform: applied to the image, a PIL image in RGB.
        target_transform: applied to the index of the class.
        loader: reads the image of a path.
        is_valid_file: whether a path is one of an image that belongs to the dataset; by default
            names that end as those of images do.
        allow_empty: whether a class may have no image.

    Attributes:
        classes: the names of the classes, sorted.
        class_to_idx: the index of each class.
        imgs: pairs of a path and an index of a class; also called ``samples``.
        targets: the index of the class of each image.

    Example:
        >>> import pathlib, tempfile
        >>> from PIL import Image
        >>> root = pathlib.Path(tempfile.mkdtemp())
        >>> (root / "cat").mkdir()
        >>> Image.new("RGB", (4, 2)).save(root / "cat" / "1.png")
        >>> image, target = facula.vision.datasets.ImageFolder(root)[0]
        >>> image.size, target
        ((4, 2), 0)
    """

    def __init__(
        self,
        root: Root,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        loader: Loader = default_loader,
        is_valid_file: IsValid | None = None,
        allow_empty: bool = False,
    ) -> None:
        super().__init__(
            root,
            loader,
            IMG_EXTENSIONS if is_valid_file is None else None,
            transform,
            target_transform,
            is_valid_file,
            allow_empty,
        )
        self.imgs = self.samples
