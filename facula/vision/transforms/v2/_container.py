"""Transforms made of transforms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import facula
from facula import nn
from facula.vision.transforms.v2._transform import Transform
from facula.vision.transforms.v2._utils import check_p, happens

__all__ = ["Compose", "RandomApply", "RandomChoice", "RandomOrder"]


def _check_transforms(name: str, transforms: Any) -> Any:
    if not isinstance(transforms, (Sequence, nn.ModuleList)):
        raise TypeError(f"{name}: expected a sequence of transforms, got {transforms!r}.")
    if not transforms:
        raise ValueError(f"{name}: expected one transform or more, got none.")
    return transforms


def _one_after_the_other(transforms: Any, inputs: tuple[Any, ...]) -> Any:
    is_single = len(inputs) == 1
    for transform in transforms:
        outputs = transform(*inputs)
        inputs = (outputs,) if is_single else outputs
    return inputs[0] if is_single else inputs


class _Container(Transform):
    transforms: Any

    def extra_repr(self) -> str:
        return "\n".join(f"    {transform!r}" for transform in self.transforms)


class Compose(_Container):
    """Transforms one after the other.

    Args:
        transforms: what is called with the sample, each with the result of the one before.

    Example:
        >>> from facula.vision.transforms import v2
        >>> v2.Compose([v2.CenterCrop(4), v2.Pad(1)])(facula.zeros(3, 8, 8)).shape
        torch.Size([3, 6, 6])
    """

    def __init__(self, transforms: Sequence[Callable[..., Any]]) -> None:
        super().__init__()
        self.transforms = _check_transforms(type(self).__name__, transforms)

    def forward(self, *inputs: Any) -> Any:
        return _one_after_the_other(self.transforms, inputs)


class RandomApply(_Container):
    """Transforms one after the other, with a probability; else none of them.

    Args:
        transforms: what is called with the sample, as for :class:`Compose`.
        p: the probability.

    Example:
        >>> from facula.vision.transforms import v2
        >>> v2.RandomApply([v2.Pad(1)], p=1.0)(facula.zeros(3, 8, 8)).shape
        torch.Size([3, 10, 10])
    """

    def __init__(
        self, transforms: Sequence[Callable[..., Any]] | nn.ModuleList, p: float = 0.5
    ) -> None:
        super().__init__()
        self.transforms = _check_transforms(type(self).__name__, transforms)
        self.p = check_p(type(self).__name__, p)

    def forward(self, *inputs: Any) -> Any:
        if happens(self.p):
            return _one_after_the_other(self.transforms, inputs)
        return inputs if len(inputs) > 1 else inputs[0]


class RandomChoice(Transform):
    """One of some transforms, chosen anew for each sample.

    Args:
        transforms: what one is chosen from for each sample.
        p: the weights of the transforms; by default all the same.

    Example:
        >>> from facula.vision.transforms import v2
        >>> choice = v2.RandomChoice([v2.Pad(1), v2.Pad(2)], p=[0, 1])
        >>> choice(facula.zeros(3, 8, 8)).shape
        torch.Size([3, 12, 12])
    """

    def __init__(
        self, transforms: Sequence[Callable[..., Any]], p: Sequence[float] | None = None
    ) -> None:
        super().__init__()
        self.transforms = _check_transforms(type(self).__name__, transforms)
        weights: Sequence[float] = [1] * len(transforms) if p is None else p
        if len(weights) != len(transforms):
            raise ValueError(
                f"{type(self).__name__}: expected a weight p for each of {len(transforms)} "
                f"transforms, got {len(weights)}."
            )
        total = sum(weights)
        self.p = [weight / total for weight in weights]

    def forward(self, *inputs: Any) -> Any:
        idx = int(facula.multinomial(facula.tensor(self.p), 1))
        return self.transforms[idx](*inputs)


class RandomOrder(Transform):
    """All of some transforms, in an order drawn for each sample.

    Args:
        transforms: what is called with the sample, as for :class:`Compose`.

    Example:
        >>> from facula.vision.transforms import v2
        >>> v2.RandomOrder([v2.Pad(1), v2.Pad(2)])(facula.zeros(3, 8, 8)).shape
        torch.Size([3, 14, 14])
    """

    def __init__(self, transforms: Sequence[Callable[..., Any]]) -> None:
        super().__init__()
        self.transforms = _check_transforms(type(self).__name__, transforms)

    def forward(self, *inputs: Any) -> Any:
        order = facula.randperm(len(self.transforms)).tolist()
        return _one_after_the_other([self.transforms[idx] for idx in order], inputs)
