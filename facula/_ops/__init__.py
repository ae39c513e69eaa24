"""Operations composed in Python of those of the core, in PyTorch's chapters.

What a chapter marks with ``@operation`` is a name of ``facula``, a method of ``Tensor``, or both.
"""
# ruff: noqa: F403

from typing import TYPE_CHECKING, Any

from facula._ops._mark import public_names
from facula._ops.blas import *
from facula._ops.comparison import *
from facula._ops.copies import *
from facula._ops.creation import *
from facula._ops.einsum import *
from facula._ops.joining import *
from facula._ops.linear_algebra import *
from facula._ops.lobpcg import *
from facula._ops.losses import *
from facula._ops.other import *
from facula._ops.pointwise import *
from facula._ops.reduction import *
from facula._ops.sampling import *
from facula._ops.shapes import *
from facula._ops.sparse import *
from facula._ops.spectral import *


def __getattr__(name: str) -> Any:
    # torch._ops is where programs find the types of torch.ops.aten.add and of its overloads.
    if name not in ("OpOverload", "OpOverloadPacket"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from facula._library import operators

    return getattr(operators, name)


if not TYPE_CHECKING:  # type checkers read the chapters, and would find nothing in a computed list
    __all__ = public_names(globals())
