"""Where Facula differs on the database's reference inputs, in copies of views, and in resizing.

Reference inputs have infinities and values next to the poles of functions, where PyTorch's formulas
give NaN and the limits are known.
"""

from __future__ import annotations

from .frameworks import COMPLEX, FLOATING, INTEGERS
from .known import (
    ALL,
    BFLOAT16,
    BOOL,
    COMPLEX64,
    DIFFERENTIABLE,
    DOUBLE,
    HALF,
    MORE,
    SINGLE,
    Known,
    each,
)
from .known_nodes import nodes

_TOLD = "Whatever resizes an out= that has elements says so; PyTorch says it for most operations."
_COLUMNS = "A resized out= has the order of memory that the result was computed in, by columns."
_LIMIT = (
    "The limit of the function, which SciPy or C's library gives too; PyTorch's formula is NaN."
)
_NAN_IN = "NaN goes through, as in SciPy."
_POLES = (
    "Next to the poles of its first derivative digamma's has as many digits as elsewhere, at them "
    "it is infinite; PyTorch gives what rounding makes of it."
)
_UNDEFINED = "The conversion of infinity and NaN to an integer is not defined."
_REFERENCE = "function reference"

KNOWN_REFERENCE: list[Known] = [
    *[
        entry
        for category in ("value", "memory")
        for entry in each(
            category,
            "...",
            "PyTorch writes to an out= that is not contiguous as if it were.",
            {ALL: "narrow_copy"},
            case="out transposed",
        )
    ],
    *each(
        "warning",
        "of a resized out=: expected False, got True",
        _TOLD,
        {COMPLEX: "mode"},
        case="out larger",
    ),
    *[
        entry
        for category in ("strides", "memory")
        for entry in each(
            category,
            "...",
            _COLUMNS,
            {
                SINGLE + DOUBLE + COMPLEX: "geqrf ormqr linalg.householder_product linalg.lstsq",
                SINGLE: "orgqr",
            },
            case="out larger",
        )
    ],
    *each(
        "memory",
        "...",
        "PyTorch writes the transform into out= and conjugates it there, in another order.",
        {BOOL + INTEGERS + SINGLE + DOUBLE: "fft.ifft fft.ihfft"},
        case="out larger",
    ),
    *each(
        "value",
        "result: ...: expected (nan+...j), got ...",
        _LIMIT,
        {COMPLEX: "log1p", COMPLEX64: "square"},
        case=_REFERENCE,
    ),
    *each(
        "value",
        "result: ..., got nan",
        _NAN_IN,
        {FLOATING: "igamma igammac", SINGLE: "special.gammainc special.gammaincc"},
        case=_REFERENCE,
    ),
    *[
        entry
        for category in ("value", "grad")
        for entry in each(
            category,
            "...: expected nan, got ...",
            _LIMIT,
            {
                BFLOAT16 + SINGLE + DOUBLE: "polygamma.polygamma_n_1 polygamma.polygamma_n_2 "
                "polygamma.polygamma_n_3 polygamma.polygamma_n_4"
            },
            case=_REFERENCE,
        )
    ],
    *each(
        "grad",
        "first gradient 0: ...",
        _POLES,
        {
            FLOATING: "polygamma.polygamma_n_0",
            BFLOAT16 + SINGLE + DOUBLE: "digamma",
            SINGLE: "special.psi special.digamma",
        },
        case=_REFERENCE,
    ),
    *each(
        "value",
        "result: ...: expected -2147483648, got 0",
        _UNDEFINED,
        {BFLOAT16 + SINGLE + DOUBLE + COMPLEX: "int"},
        case="method reference",
    ),
    *each(
        "grad",
        "first gradient 0: ...",
        "PyTorch divides by alpha in float32.",
        {DOUBLE: "nn.functional.celu"},
        case="{alpha=0.8}",
        within=1000,
    ),
    *each(
        "grad",
        "first gradient 0: ...",
        "PyTorch multiplies by the float32 that is nearest to 1/6.",
        {DOUBLE: "nn.functional.hardsigmoid"},
        case=_REFERENCE,
        within=1000,
    ),
    *each(
        "exception",
        "first gradient: expected RuntimeError(The size of tensor a (0) must match the size of "
        "tensor b (...) at non-singleton dimension ...), got no exception",
        "PyTorch's gradient does not count a negative start from the end.",
        {DIFFERENTIABLE: "narrow_copy"},
        case=_REFERENCE,
    ),
    *each(
        "exception",
        "first gradient: expected RuntimeError(derivative for aten::remainder is not implemented), "
        "got no exception",
        MORE,
        {FLOATING: "__rmod__"},
        case="method reference",
    ),
    *nodes("movedim", DIFFERENTIABLE, "AliasBackward0 -> PermuteBackward0"),
    *nodes("moveaxis", SINGLE, "AliasBackward0 -> PermuteBackward0"),
    *each(
        "exception",
        '...: expected NotImplementedError("pdist..." not implemented for ...), got no exception',
        MORE,
        {HALF: "nn.functional.pdist"},
    ),
    *each(
        "exception",
        "second gradient: expected NotImplementedError(the derivative for '_pdist_backward' is not "
        "implemented.), got no exception",
        MORE,
        {DOUBLE: "nn.functional.pdist"},
    ),
    *each(
        "refused",
        "call: got NotImplementedError(histogramdd: expected an input of float32 or float64, ...",
        "The dtype is looked at also where there is nothing to count.",
        {HALF: "histogramdd"},
        case="empty first dim",
    ),
    *each(
        "warning",
        "of a resized out=: expected True, got False",
        "PyTorch resizes the number that a product of nothing is added to.",
        {BOOL: "addmv"},
        case="empty last dim",
    ),
    *each(
        "exception",
        "...expected RuntimeError(...dtype...), got no exception",
        "An out= of a wider dtype gets the result converted.",
        {SINGLE: "matrix_power"},
        case="out wider dtype",
    ),
    *each(
        "refused",
        "call: got RuntimeError(...: out= takes no part in differentiation...",
        "PyTorch differentiates through an out= of powers that need no product.",
        {SINGLE: "matrix_power"},
        case="out ",
    ),
    *each(
        "warning",
        "of a resized out=: expected True, got False",
        "PyTorch computes the product of a vector as a matrix, and resizes to it.",
        {INTEGERS + FLOATING + COMPLEX: "nn.functional.linear"},
        case="out ",
    ),
    *each(
        "exception",
        "...expected RuntimeError(Expected X.is_contiguous(memory_format) to be true, but got ...",
        "Takes any order of memory.",
        {ALL: "native_group_norm"},
    ),
    *each(
        "grad_fn",
        "...",
        "The statistics that are returned beside the result are composed of other operations.",
        {FLOATING: "native_group_norm"},
    ),
]
