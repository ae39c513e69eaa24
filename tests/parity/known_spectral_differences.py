"""Where ``fft``, ``special``, ``signal`` and ``masked`` differ from PyTorch, and why."""

from __future__ import annotations

from .frameworks import COMPLEX, FLOATING, INTEGERS
from .known import (
    BOOL,
    DOUBLE,
    FLOAT16,
    HALF,
    MORE,
    SINGLE,
    Known,
    each,
)
from .known_nodes import nodes

_REAL = BOOL + INTEGERS + SINGLE + DOUBLE
_TRANSFORMABLE = _REAL + COMPLEX
_EMPTY = "Without lines there is nothing to transform; PyTorch's library takes that for an error."
_OUT = (
    "PyTorch writes the transform into out= and conjugates it there; here out= is treated as by "
    "all other operations."
)
_NOT_WRITTEN = "PyTorch leaves out= as it was where one dimension is transformed."
_INEXACT = "PyTorch's values are wrong from the sixth digit on; SciPy's agree with these."
_INEXACT_NAMES = (
    "special.airy_ai special.bessel_j0 special.bessel_j1 special.bessel_y0 special.bessel_y1"
)
KNOWN_SPECTRAL: list[Known] = [
    *each(
        "exception",
        "call: expected RuntimeError(MKL FFT error: ...), got no exception",
        _EMPTY,
        {
            _TRANSFORMABLE: "fft.fft fft.ifft fft.fft2 fft.ifft2 fft.fftn fft.ifftn fft.irfft "
            "fft.irfft2 fft.irfftn fft.hfft fft.hfft2 fft.hfftn",
            _REAL: "fft.rfft fft.rfft2 fft.rfftn fft.ihfft fft.ihfft2 fft.ihfftn",
        },
        case="empty ",
    ),
    *each(
        "strides",
        "result ...: expected ..., got ...",
        _OUT,
        {_REAL: "fft.ifft fft.ihfft"},
        case="out ",
    ),
    *each(
        "exception",
        "call: expected RuntimeError(Found dtype ComplexDouble but expected ComplexFloat), got no "
        "exception",
        _OUT,
        {BOOL + INTEGERS + SINGLE: "fft.ifft fft.ihfft"},
        case="out wider dtype",
    ),
    *each(
        "refused",
        "call: got RuntimeError(...: out= takes no part in differentiation...",
        _OUT,
        {SINGLE + DOUBLE: "fft.ifft fft.ihfft fft.ihfftn"},
        case="out ",
    ),
    *[
        entry
        for category in ("value", "memory", "shape", "sharing", "warning")
        for entry in each(category, "...", _NOT_WRITTEN, {_REAL: "fft.ihfftn"}, case="out ")
    ],
    *each(
        "exception",
        "call: expected RuntimeError(Found dtype ComplexFloat but expected ComplexDouble), got no "
        "exception",
        _NOT_WRITTEN,
        {BOOL + INTEGERS + SINGLE: "fft.ihfftn"},
        case="out wider dtype",
    ),
    *each(
        "strides",
        "result ...: expected ..., got ...",
        "Nothing tells the order of dimensions whose elements share memory.",
        {COMPLEX: "fft.hfftn"},
        case="expanded",
    ),
    *nodes(
        "stft",
        SINGLE + DOUBLE + COMPLEX,
        "SqueezeBackward4 -> SqueezeBackward1, TransposeBackward1 -> TransposeBackward0",
    ),
    *each(
        "grad",
        "...",
        "PyTorch gives each element the gradient of all elements that share its memory.",
        {SINGLE + DOUBLE: "stft"},
        case="expanded",
    ),
    *nodes("masked.sum", FLOATING + COMPLEX, "SumBackward1 -> SumBackward0"),
    *each(
        "exception",
        "expected RuntimeError(... does not support automatic differentiation for outputs with "
        "complex dtype.), got NotImplementedError(...: complex numbers have no order.)",
        "Numbers without an order are refused before their derivative.",
        {COMPLEX: "masked.amax masked.amin"},
        case="empty ",
    ),
    *each(
        "rounding",
        "first gradient 0: ... expected -inf, got ...",
        "Products of several dimensions go on in single precision, in which none overflows.",
        {FLOAT16: "masked.prod"},
        by_chance=True,
    ),
    *each(
        "value",
        "result: ...: expected -2147483648, got 0",
        "The cast of minus infinity to an integer is not defined.",
        {("int32",): "masked.logsumexp"},
        case="empty ",
    ),
    *each(
        "gradgrad",
        "second gradient 1: ...: expected nan, got 0.0",
        "Where nothing counts the gradient is zero; PyTorch's is 0 / 0.",
        {DOUBLE: "masked.logsumexp"},
        by_chance=True,
    ),
    *each(
        "grad",
        "first gradient 0: ...",
        "Of equal elements PyTorch takes any.",
        {FLOATING + COMPLEX: "masked.median"},
        by_chance=True,
    ),
    *each(
        "value",
        "result: ...: expected ..., got ...",
        "PyTorch's nanmedian reads the elements of an expanded tensor at other places.",
        {SINGLE + DOUBLE: "masked.median"},
        case="expanded",
        by_chance=True,
    ),
    *each(
        "rounding",
        "result: ...: expected ..., got ...",
        "PyTorch's nanmedian reads the elements of an expanded tensor at other places.",
        {HALF: "masked.median"},
        case="expanded",
        by_chance=True,
    ),
    *each(
        "exception",
        'call: expected NotImplementedError("..." not implemented for ...), got no exception',
        MORE,
        {HALF: "special.modified_bessel_i0 special.modified_bessel_i1"},
    ),
    *[
        entry
        for category, text in (("value", "result: ..."), ("memory", "call: inputs or out=: ..."))
        for entry in each(category, text, _INEXACT, {DOUBLE: _INEXACT_NAMES}, within=1e6)
    ],
    *nodes("special.ndtr", FLOATING, "MulBackward1 -> MulBackward0"),
    *nodes("special.round", SINGLE, "RoundBackward1 -> RoundBackward0"),
    *[
        entry
        for category in ("value", "memory")
        for entry in each(
            category,
            "...: expected 0.0, got 0.0001...",
            "PyTorch rounds to 16 bits between two steps, and so loses small values.",
            {FLOAT16: "special.ndtr"},
            case="out wider dtype",
        )
    ],
]
