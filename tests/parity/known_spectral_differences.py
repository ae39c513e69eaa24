"""Where ``fft``, ``special``, ``signal`` and ``masked`` differ from PyTorch, and why."""

from __future__ import annotations

from .frameworks import COMPLEX, INTEGERS
from .known import (
    BOOL,
    COMPLEX128,
    DOUBLE,
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
        for category in ("value", "memory", "shape", "sharing")
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
    *each(
        "gradgrad",
        "second gradient 0: expected zeros, got None",
        "Without a window the transform is linear: its gradient does not depend on the signal.",
        {DOUBLE + COMPLEX128: "stft"},
    ),
]
