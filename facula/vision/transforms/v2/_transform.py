"""The base of all transforms: the walk over the parts of a sample."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

from facula import nn
from facula._core import Tensor
from facula.utils._pytree import tree_flatten, tree_unflatten
from facula.vision import tv_tensors
from facula.vision.transforms.v2._utils import (
    Check,
    check_p,
    check_type,
    happens,
    has_any,
    is_pure_tensor,
)
from facula.vision.transforms.v2.functional._dispatch import find_kernel
from facula.vision.transforms.v2.functional._type_conversion import is_pil

__all__ = ["Transform"]


class Transform(nn.Module):
    """The base of all transforms, and of yours.

    A transform takes a sample of any structure, dicts, lists and tuples in each other, and gives
    back the same structure with its images, videos, masks, boxes and key points transformed
    together. All else passes through. A tensor without a type of :mod:`facula.vision.tv_tensors`
    is an image if it is the first such tensor and the sample has no other image or video.

    Write :meth:`transform`, and :meth:`make_params` if there is something to draw for each sample.

    Example:
        >>> from facula.vision.transforms import v2
        >>> class Negative(v2.Transform):
        ...     def transform(self, inpt, params):
        ...         return -inpt
        >>> Negative()({"image": facula.ones(1, 1, 2), "label": 3})
        {'image': tensor([[[-1., -1.]]]), 'label': 3}
    """

    _transformed_types: tuple[Check, ...] = (Tensor, is_pil)

    def __init__(self) -> None:
        super().__init__()

    def check_inputs(self, flat_inputs: list[Any]) -> None:
        """Raise an error if the parts of a sample do not suit; by default all do."""

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """What is the same for all parts of a sample, such as numbers drawn; ``{}`` by default.

        Args:
            flat_inputs: the parts that will be transformed.
        """
        return {}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """One part of a sample, transformed.

        Args:
            inpt: the part.
            params: what :meth:`make_params` returned.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method transform.")

    def forward(self, *inputs: Any) -> Any:
        """Transform a sample, given as one argument or as several."""
        flat_inputs, spec = tree_flatten(inputs if len(inputs) > 1 else inputs[0])
        self.check_inputs(flat_inputs)
        needed = self._needs_transform_list(flat_inputs)
        params = self.make_params(
            [x for x, needs in zip(flat_inputs, needed, strict=True) if needs]
        )
        flat_outputs = [
            self.transform(inpt, params) if needs else inpt
            for inpt, needs in zip(flat_inputs, needed, strict=True)
        ]
        return tree_unflatten(flat_outputs, spec)

    def _call_kernel(self, functional: Callable[..., Any], inpt: Any, **kwargs: Any) -> Any:
        """Call a functional; what it has no kernel for passes through."""
        if find_kernel(functional, type(inpt)) is None:
            return inpt
        return functional(inpt, **kwargs)

    def _needs_transform_list(self, flat_inputs: list[Any]) -> list[bool]:
        # See the docstring of the class: the first pure tensor counts, and only without an image.
        pure_counts = not has_any(flat_inputs, tv_tensors.Image, tv_tensors.Video, is_pil)
        needed = []
        for inpt in flat_inputs:
            needs = check_type(inpt, self._transformed_types)
            if needs and is_pure_tensor(inpt):
                needs, pure_counts = pure_counts, False
            needed.append(needs)
        return needed

    def extra_repr(self) -> str:
        shown = (bool, int, float, str, tuple, list, Enum)
        return ", ".join(
            f"{name}={value}"
            for name, value in self.__dict__.items()
            if name[0] != "_" and name != "training" and isinstance(value, shown)
        )


class RandomApplyTransform(Transform):
    """The base of transforms that happen with a probability."""

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = check_p(type(self).__name__, p)

    def forward(self, *inputs: Any) -> Any:
        # Drawn first, so that what is drawn does not depend on the sample.
        if happens(self.p):
            return super().forward(*inputs)
        return inputs if len(inputs) > 1 else inputs[0]
