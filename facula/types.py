"""Names of types for annotations."""

from __future__ import annotations

import os
from builtins import bool as _bool
from builtins import bytes as _bytes
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from builtins import str as _str
from collections.abc import Sequence
from typing import IO, TypeAlias, Union

from facula._core import Size, Tensor
from facula._core import device as _device
from facula._core import dtype as _dtype
from facula._core import layout as _layout
from facula.autograd.graph import GradientEdge
from facula.storage import TypedStorage as Storage

__all__ = ["Device", "FileLike", "Number", "Storage"]

Number: TypeAlias = int | float | bool
Device: TypeAlias = Union[_device, str, int, None]  # noqa: UP007
FileLike: TypeAlias = str | os.PathLike[str] | IO[bytes]

_Number = (int, float, bool)  # for isinstance
_size: TypeAlias = Size | list[int] | tuple[int, ...]
_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]
_TensorOrOptionalTensors: TypeAlias = Tensor | Sequence[Tensor | None]
_TensorOrTensorsOrGradEdge: TypeAlias = (
    Tensor | Sequence[Tensor] | GradientEdge | Sequence[GradientEdge]
)

# What packages annotate with, under the names that PyTorch has here.
_ALIASES = (_bool, _bytes, _complex, _float, _int, _str, _device, _dtype, _layout)
