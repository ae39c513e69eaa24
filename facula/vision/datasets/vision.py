"""What all datasets of images share: a root folder, transforms, a printed form."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from facula.utils.data import Dataset

__all__ = ["StandardTransform", "VisionDataset"]

Root = str | os.PathLike[str]
Transform = Callable[..., Any]


class VisionDataset(Dataset[Any]):
    """A dataset of images in a folder. Subclasses have ``__getitem__`` and ``__len__``.

    Args:
        root: the folder.
        transforms: a function of an image and its target that returns both.
        transform: a function of the image alone. Not together with ``transforms``.
        target_transform: a function of the target alone. Not together with ``transforms``.

    Example:
        >>> from facula.vision.datasets import VisionDataset
        >>> class Squares(VisionDataset):
        ...     def __getitem__(self, index):
        ...         return self.transforms(index, index**2)
        ...     def __len__(self):
        ...         return 4
        >>> squares = Squares("data", target_transform=str)
        >>> squares[3]
        (3, '9')
        >>> squares
        Dataset Squares
            Number of datapoints: 4
            Root location: data
            StandardTransform
        Target transform: <class 'str'>
    """

    _repr_indent = 4

    def __init__(
        self,
        root: Root | None = None,
        transforms: Transform | None = None,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
    ) -> None:
        self.root: Any = os.path.expanduser(root) if isinstance(root, str) else root
        has_parts = transform is not None or target_transform is not None
        if transforms is not None and has_parts:
            raise ValueError(
                f"{type(self).__name__}: expected either transforms or transform and "
                "target_transform, got both."
            )
        self.transform = transform
        self.target_transform = target_transform
        self.transforms: Any = StandardTransform(transform, target_transform)
        if not has_parts:
            self.transforms = transforms

    def __getitem__(self, index: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no __getitem__.")

    def __len__(self) -> int:
        raise NotImplementedError(f"{type(self).__name__} has no __len__.")

    def __repr__(self) -> str:
        body = [f"Number of datapoints: {len(self)}"]
        if self.root is not None:
            body.append(f"Root location: {self.root}")
        body += self.extra_repr().splitlines()
        if self.transforms is not None:
            body.append(repr(self.transforms))
        indent = " " * self._repr_indent
        return "\n".join([f"Dataset {type(self).__name__}", *(indent + line for line in body)])

    def extra_repr(self) -> str:
        """More lines of the printed form, for subclasses."""
        return ""

    def _missing(self, what: str, it: str = "it") -> RuntimeError:
        """The error to raise where files of the dataset are not there."""
        return RuntimeError(f"{type(self).__name__}: {what}. Pass download=True to download {it}.")

    def _transformed(self, image: Any, target: Any) -> tuple[Any, Any]:
        # Not by self.transforms: users replace one of these two after construction.
        if self.transform is not None:
            image = self.transform(image)
        if self.target_transform is not None:
            target = self.target_transform(target)
        return image, target

    def _transformed_together(self, image: Any, target: Any) -> tuple[Any, Any]:
        if self.transforms is not None:
            image, target = self.transforms(image, target)
        return image, target


class StandardTransform:
    """A function of an image and its target, made of one of each.

    Args:
        transform: applied to the image; None leaves it as it is.
        target_transform: applied to the target; None leaves it as it is.

    Example:
        >>> from facula.vision.datasets.vision import StandardTransform
        >>> StandardTransform(str.upper)("image", 3)
        ('IMAGE', 3)
    """

    def __init__(
        self, transform: Transform | None = None, target_transform: Transform | None = None
    ) -> None:
        self.transform = transform
        self.target_transform = target_transform

    def __call__(self, input: Any, target: Any) -> tuple[Any, Any]:
        if self.transform is not None:
            input = self.transform(input)
        if self.target_transform is not None:
            target = self.target_transform(target)
        return input, target

    def __repr__(self) -> str:
        lines = [type(self).__name__]
        parts = {"Transform: ": self.transform, "Target transform: ": self.target_transform}
        for head, part in parts.items():
            if part is not None:
                lines.append(head + repr(part).replace("\n", "\n" + " " * len(head)))
        return "\n".join(lines)
