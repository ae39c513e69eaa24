"""Where operations differ inside of ``vmap`` and of forward mode, and why."""

from __future__ import annotations

from . import known
from .compare import Difference
from .frameworks import COMPLEX
from .known import ALL, COMPLEX64, DOUBLE, SINGLE, Known, each

_NO_VALUE = "Memory that nobody has written to."
_FORM = "The form of one example cannot change without that of the others."
_ROUNDED = "What rounding leaves of numbers that cancel, or next to which float32 has no fractions."
_REAL = SINGLE + DOUBLE

_KNOWN: list[Known] = [
    *each(
        "vmap",
        "result ...",
        _NO_VALUE,
        {ALL: "empty_like new_empty new_empty_strided"},
        by_chance=True,
    ),
    *each("vmap", "RuntimeError: vmap: resize_...", _FORM, {ALL: "resize_ resize_as_"}),
    *each(
        "vmap",
        "0 gradients, not 1",
        "An empty vector among the tensors has no part in the result, and no gradient of zeros.",
        {_REAL: "cat", SINGLE: "concat concatenate"},
    ),
    *each(
        "vmap",
        "gradient ...",
        _ROUNDED,
        {SINGLE: "nn.functional.layer_norm native_layer_norm layer_norm"},
    ),
    *each(
        "jvp",
        "RuntimeError: batch_norm: expected an input (N, C, *), got float...",
        "The input of one dimension is refused, alone as well.",
        {_REAL: "nn.functional.batch_norm"},
    ),
    *each(
        "jvp",
        "...",
        "Singular vectors have a sign that nothing fixes, and in one sample another one.",
        {_REAL: "linalg.svd svd"},
    ),
    *each(
        "jvp",
        "tangent ...",
        "PyTorch's depends on the half of the matrix that the solution does not depend on.",
        {_REAL + COMPLEX: "triangular_solve"},
    ),
    *each(
        "jvp",
        "tangent ...nan...",
        "PyTorch's is NaN where everything is masked.",
        {_REAL: "masked.logsumexp"},
    ),
    *each(
        "jvp",
        "...",
        _ROUNDED,
        {
            SINGLE: "nn.functional.normalize nn.functional.conv_transpose3d conv_transpose3d "
            "logcumsumexp linalg.householder_product orgqr",
            COMPLEX64: "logsumexp logcumsumexp linalg.householder_product orgqr",
        },
    ),
]


def unexcused(
    category: str, op: str, dtype: str, differences: list[Difference]
) -> list[Difference]:
    """The differences inside of a transform that no entry explains, and entries without any."""
    mine = [k for k in _KNOWN if k.category == category]
    return known.unexcused(mine, op, dtype, differences)
