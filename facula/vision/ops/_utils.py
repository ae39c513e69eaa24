"""What the losses and the pooling operations share."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

import facula
from facula import _core
from facula._core import Tensor
from facula.amp.autocast_mode import _cast, autocast

Boxes = Tensor | Sequence[Tensor]
_F = TypeVar("_F", bound=Callable[..., Any])


def in_float32(function: _F) -> _F:
    """Inside of autocast the function computes in float32: coordinates need more than 16 bits.

    Its result has the dtype of its first argument, the features.
    """

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        first: Any = args[0] if args else next(iter(kwargs.values()), None)
        kind = first.device.type if isinstance(first, Tensor) else "cpu"
        if not _core.is_autocast_enabled(kind):
            return function(*args, **kwargs)
        with autocast(kind, enabled=False):
            values, named = _cast((args, kwargs), kind, _core.float32)
            result = function(*values, **named)
        is_cast = isinstance(first, Tensor) and result.is_floating_point()
        return result.to(first.dtype) if is_cast else result

    return cast(_F, wrapped)


def upcast_float(x: Tensor) -> Tensor:
    """float32 for all but float32 and float64."""
    return x if x.dtype in (facula.float32, facula.float64) else x.float()


def reduce_loss(op: str, loss: Tensor, reduction: str) -> Tensor:
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(
            f"{op}: expected the reduction 'none', 'mean' or 'sum', got {reduction!r}."
        )
    if reduction == "none":
        return loss
    # The mean of no boxes is 0, not NaN: an image without boxes adds nothing to the loss.
    return loss.mean() if reduction == "mean" and loss.numel() else loss.sum()


def pair(value: int | Sequence[int]) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else (value[0], value[1])


def to_rois(op: str, boxes: Boxes) -> Tensor:
    """Boxes as one tensor ``(K, 5)`` whose first column is the number of the image."""
    if isinstance(boxes, Tensor):
        if boxes.size(1) != 5:
            raise AssertionError(
                f"{op}: expected boxes (K, 5), the number of an image and x1, y1, x2, y2, "
                f"got {tuple(boxes.shape)}."
            )
        return boxes
    if not isinstance(boxes, (list, tuple)):
        raise AssertionError(
            f"{op}: expected boxes as a tensor (K, 5) or a list of tensors (L, 4), "
            f"got {type(boxes).__name__}."
        )
    for i, of_image in enumerate(boxes):
        if of_image.size(1) != 4:
            raise AssertionError(
                f"{op}: expected boxes (L, 4) in the list, got {tuple(of_image.shape)} "
                f"for image {i}."
            )
    if not boxes:
        raise ValueError(f"{op}: expected boxes for at least one image, got an empty list.")
    numbers = [facula.full_like(b[:, :1], i) for i, b in enumerate(boxes)]
    return facula.cat([facula.cat(numbers), facula.cat(list(boxes))], dim=1)


def move_keys(
    state_dict: dict[str, Any],
    prefix: str,
    local_metadata: Mapping[str, Any],
    moves: Mapping[str, str],
) -> None:
    """Rename the layers of a state of version 1, or of none, whose weights and biases moved."""
    version = local_metadata.get("version")
    if version is not None and version >= 2:
        return
    for old, new in moves.items():
        for kind in ("weight", "bias"):
            if f"{prefix}{old}.{kind}" in state_dict:
                state_dict[f"{prefix}{new}.{kind}"] = state_dict.pop(f"{prefix}{old}.{kind}")
