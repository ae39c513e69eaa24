"""Tensors without data. PyTorch has a class for them; here they are on the device meta."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from facula._core import Tensor
from facula._refusing import refusing_class

__all__ = [
    "DynamicOutputShapeException",
    "FakeTensor",
    "FakeTensorMode",
    "UnsupportedFakeTensorException",
    "is_fake",
    "unset_fake_temporarily",
]

_META = (
    "tensors without data are on the device meta. Make them with device='meta', or inside of "
    "`with torch.device('meta')`."
)


class UnsupportedFakeTensorException(RuntimeError):
    """What has no result without data."""


class DynamicOutputShapeException(RuntimeError):
    """A result whose shape depends on data."""


FakeTensor = refusing_class("torch._subclasses.FakeTensor", _META, Tensor)
FakeTensorMode = refusing_class("torch._subclasses.FakeTensorMode", _META)


def is_fake(x: Any) -> bool:
    """Whether a tensor is one of PyTorch's without data: there are none.

    Args:
        x: anything.
    """
    return isinstance(x, FakeTensor)


@contextlib.contextmanager
def unset_fake_temporarily() -> Iterator[None]:
    """A block in which tensors have data: as everywhere, so that no mode is left for it."""
    yield None
