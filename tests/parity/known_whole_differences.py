"""Where Facula differs on inputs that are tried only where all inputs of the database are."""

from __future__ import annotations

from .frameworks import COMPLEX, FLOATING, INTEGERS
from .known import (
    ALL,
    BFLOAT16,
    BOOL,
    COMPLEX64,
    COMPLEX128,
    DIFFERENTIABLE,
    DOUBLE,
    FLOAT16,
    HALF,
    MORE,
    SINGLE,
    Known,
    each,
)
from .known_nodes import nodes
from .samples import WHOLE

_REFERENCE = "function reference"
_METHOD = "method reference"
_SHARED = ", 7)"  # the strides of reference inputs whose elements share memory
_SIGNED = ("int8", "int16", "int32", "int64")
_LIMIT = (
    "The limit of the function, which SciPy or C's library gives too; PyTorch's formula is NaN."
)
_NAN_IN = (
    "Where the function is NaN its derivative is, too; PyTorch's formula for that has a value."
)
_AT_NAN = (
    "At NaN PyTorch's loop over vectors gives another gradient than its loop over the elements "
    "that are left, with which Facula agrees; which of them an element meets is by chance."
)
_ORDER = "x.__radd__(y) is y + x, as Python says, in the order of y; in PyTorch it is x + y."
_NOT_A_TENSOR = (
    "The method is one of tensors, as those of Python's numbers are; PyTorch's function of that "
    "name takes a number for the tensor, too."
)
_DEGREE = (
    "PyTorch takes a degree that no integer holds for a negative one, whose polynomial is zero."
)
_RECURRENCE = "PyTorch's recurrence overflows in float32; here it is computed in float64."
_OVERFLOW = "PyTorch's steps overflow or vanish in 16 bits; here they are computed in float32."
_CANCELS = "Numbers that nearly cancel: what rounding leaves of their sum."
_ALPHA = "PyTorch multiplies by alpha also where it is 1, and so infinity by 0."
_POLYNOMIALS = " ".join(
    f"special.{name}"
    for name in (
        *(f"chebyshev_polynomial_{kind}" for kind in "tuvw"),
        *(f"shifted_chebyshev_polynomial_{kind}" for kind in "tuvw"),
        *("hermite_polynomial_h", "hermite_polynomial_he", "legendre_polynomial_p"),
    )
)

_KNOWN: list[Known] = [
    *each(
        "grad",
        "first gradient 0: ...: expected ..., got nan",
        _NAN_IN,
        {FLOATING: "acosh", SINGLE: "arccosh", SINGLE + DOUBLE: "special.i1 special.i1e"},
        case=_REFERENCE,
    ),
    *each(
        "rounding",
        "first gradient 0: ...: expected 0.0, got ...",
        "PyTorch's square of the input overflows.",
        {FLOAT16: "acosh"},
        case=_REFERENCE,
    ),
    *each(
        "grad",
        "first gradient ...: expected (nan+nanj), got ...",
        _LIMIT,
        {COMPLEX: "logaddexp"},
        case=_REFERENCE,
    ),
    *each(
        "value",
        "result: ...: expected (...nan...), got ...",
        _LIMIT,
        {COMPLEX: "logaddexp"},
        case=_REFERENCE,
    ),
    *each(
        "grad",
        "first gradient 0: ...: expected nan, got ...",
        _LIMIT,
        {
            FLOATING: "i0 nn.functional.mish",
            FLOAT16: "digamma",
            SINGLE + DOUBLE: "special.log_ndtr",
            SINGLE: "special.i0",
        },
        case=_REFERENCE,
    ),
    *each(
        "value",
        "result: ...: expected nan, got ...",
        _LIMIT,
        {
            FLOATING: "i0 special.i1",
            SINGLE: "special.i0",
            SINGLE + DOUBLE: "special.modified_bessel_i0 special.modified_bessel_i1 special.zeta",
        },
        case=_REFERENCE,
    ),
    *each(
        "value",
        "result: ...: expected nan, got ...",
        "PyTorch divides by a Bessel function that overflows in float32.",
        {SINGLE + DOUBLE: "signal.windows.kaiser"},
        case="beta=100",
    ),
    *each(
        "grad",
        "first gradient 0: ...",
        "For large negative numbers PyTorch divides two numbers that overflow.",
        {SINGLE + DOUBLE: "special.log_ndtr"},
        case=_REFERENCE,
    ),
    *each(
        "value",
        "result: ...",
        "The sine of a large number; PyTorch's has been rounded to float32 before.",
        {
            SINGLE: "special.bessel_j1 special.bessel_y0",
            SINGLE + _SIGNED[1:]: "special.airy_ai",
        },
        case=_REFERENCE,
        within=200,
    ),
    *each(
        "value",
        "result: ...: expected 0.0, got ...",
        _DEGREE,
        {SINGLE + DOUBLE: f"{_POLYNOMIALS} special.laguerre_polynomial_l"},
        case=_REFERENCE,
    ),
    *each(
        "value",
        "result: ...: expected nan, got ...",
        _RECURRENCE,
        {
            INTEGERS: f"{_POLYNOMIALS} special.laguerre_polynomial_l",
            SINGLE + DOUBLE: "special.laguerre_polynomial_l",
        },
        case=_REFERENCE,
    ),
    *each(
        "grad",
        "first gradient 0: ...",
        _AT_NAN,
        {
            FLOATING: "nn.functional.elu nn.functional.celu nn.functional.selu "
            "nn.functional.softshrink nn.functional.hardshrink nn.functional.hardtanh "
            "nn.functional.relu6"
        },
        case=_REFERENCE,
        by_chance=True,
    ),
    *each(
        "grad",
        "first gradient 0: ...",
        "PyTorch's gradient takes abs to be positive: it is 0 at 0, and has the wrong sign below.",
        {SINGLE + DOUBLE: "polar"},
        case=_REFERENCE,
    ),
    *each(
        "value",
        "result: ...: expected (...nan...), got ...",
        _ALPHA,
        {COMPLEX: "add sub rsub"},
        case=_REFERENCE,
    ),
    *each(
        "value",
        "result: ...: expected (...nan...), got ...",
        _ALPHA,
        {COMPLEX: "__radd__ __rsub__"},
        case=_METHOD,
    ),
    *each("value", "result: ...", _CANCELS, {COMPLEX64: "mul"}, case=_REFERENCE),
    *each(
        "value",
        "result: ...",
        _CANCELS,
        {COMPLEX64: "__rmul__"},
        case=_METHOD,
    ),
    *[
        entry
        for category in ("value", "grad")
        for entry in each(
            category,
            "...: expected ...nan..., got ...",
            "Next to the largest number it depends on the order of factors which of them overflow.",
            {COMPLEX128: "ldexp"},
            case=_REFERENCE,
        )
    ],
    *[
        entry
        for category in ("value", "grad")
        for names, case in (("pow float_power", _REFERENCE), ("__rpow__", _METHOD))
        for entry in each(
            category,
            "...: expected (nan+nanj), got ...",
            "Zero to the power of zero is 1, as in Python, and does not depend on the exponent "
            "else; PyTorch takes the logarithm of zero.",
            {COMPLEX: names},
            case=case,
        )
    ],
    *each(
        "exception",
        "first gradient: expected RuntimeError(derivative for aten::remainder is not implemented), "
        "got no exception",
        MORE,
        {FLOATING: "remainder"},
        case=_REFERENCE,
    ),
    *[
        entry
        for category, dtypes in (
            ("value", COMPLEX128),
            ("grad", COMPLEX128),
            ("gradgrad", DOUBLE + COMPLEX128),
        )
        for entry in each(
            category,
            "...",
            "Weights of float32 are added up in another order.",
            {dtypes: "cov"},
            case="aweights=<float32",
            within=1e6,
        )
    ],
    *[
        entry
        for category in ("value", "gradgrad")
        for entry in each(
            category,
            "...: expected (...inf...), got (...)",
            "No degrees of freedom are left: what rounding leaves is divided by zero.",
            {COMPLEX128: "cov"},
            case="{correction=2, fweights=None, aweights=<float32 (3,)",
        )
    ],
    *each(
        "gradgrad",
        "second gradient 0: expected ..., got None",
        "A product of one element is linear: its derivative does not depend on it.",
        {DOUBLE + COMPLEX128: "prod"},
        case="(1,) (1,) grad",
    ),
    *each(
        "exception",
        "second gradient: expected RuntimeError(Expected a proper Tensor but got None (or an "
        "undefined Tensor in C++) for argument #1 'other'), got no exception",
        "PyTorch's second derivative fails where a layer has no weight.",
        {DOUBLE: "native_layer_norm"},
    ),
    *each(
        "value",
        "result: ...: expected -2147483648, got 0",
        "The conversion of infinity and NaN to an integer is not defined.",
        {FLOAT16: "int"},
        case=_METHOD,
    ),
    *each(
        "value",
        "result[2]: ...",
        "The last vectors of a wide matrix belong to no singular value: any basis will do.",
        {SINGLE + DOUBLE: "svd"},
        case="some=False",
    ),
    *each(
        "strides",
        "result (...): expected (...), got (...)",
        "The memory order of the input is kept, as in all other activations.",
        {
            FLOATING: "nn.functional.logsigmoid",
            BFLOAT16 + SINGLE + DOUBLE: "nn.functional.rrelu",
        },
        case=_REFERENCE,
    ),
    *each(
        "strides",
        "result (...): expected (...), got (...)",
        _ORDER,
        {ALL: "__radd__ __rmul__", BOOL + INTEGERS: "__rand__ __ror__ __rxor__"},
        case=_SHARED,
    ),
    *each(
        "refused",
        "call: got TypeError(descriptor '__...__' requires a 'Tensor' object but received a ...)",
        _NOT_A_TENSOR,
        {
            INTEGERS + FLOATING: "__rmod__",
            INTEGERS + DIFFERENTIABLE: "__rsub__",
            ("uint8", *DIFFERENTIABLE): "__rpow__",
        },
        case=_METHOD,
    ),
    *each(
        "exception",
        "expected RuntimeError(Integers to negative integer powers are not allowed.), got "
        "TypeError(descriptor '__rpow__' requires a 'Tensor' object but received a 'int')",
        _NOT_A_TENSOR,
        {_SIGNED: "__rpow__"},
        case=_METHOD,
    ),
    *each(
        "rounding",
        "first gradient 0: ...",
        _OVERFLOW,
        {FLOAT16: "linalg.vector_norm masked.prod"},
    ),
    *each(
        "grad",
        "first gradient 0: ...: expected inf, got ...",
        _OVERFLOW,
        {FLOAT16: "__rpow__"},
        case=_METHOD,
    ),
    *each(
        "rounding",
        "first gradient 0: ...",
        "PyTorch rounds after every element that is added.",
        {BFLOAT16: "combinations"},
        case="{r=4, with_replacement=True}",
    ),
    *each(
        "rounding",
        "result: ...",
        "The products are summed and rounded once.",
        {HALF: "nn.functional.linear_cross_entropy"},
        within=4,
    ),
    *each(
        "value",
        "result: ...",
        _CANCELS,
        {BFLOAT16: "nn.functional.binary_cross_entropy_with_logits"},
        case="{reduction='mean', weight=<bfloat16 (5,)",
        within=20,
    ),
    *each("grad", "first gradient 1: ...", _CANCELS, {BFLOAT16: "ldexp"}, case="() () grad>) {}"),
    *each(
        "grad",
        "first gradient 1: ...",
        "The derivative begins with the result as it was rounded, as that of PyTorch's own fused "
        "operation; for a mask with a gradient PyTorch composes the operation of others.",
        {FLOAT16: "nn.functional.scaled_dot_product_attention"},
        case="attn_mask=<float16 (3, 6)",
        within=2,
    ),
    *nodes("matmul __rmatmul__", DIFFERENTIABLE, "SqueezeBackward4 -> SqueezeBackward1"),
    *nodes("linalg.matmul", SINGLE, "SqueezeBackward4 -> SqueezeBackward1"),
    *nodes("einsum", DIFFERENTIABLE, "ViewBackward0 -> MulBackward0"),
    *each(
        "grad_fn",
        "result[0]: expected ...Backward1, got ...Backward0",
        "No dimensions are the same as none given.",
        {DIFFERENTIABLE: "mean sum"},
        case="dim=()",
    ),
    *nodes(
        "linalg.norm linalg.norm.subgradients_at_zero",
        SINGLE + DOUBLE + COMPLEX,
        "PermuteBackward0 -> UnsqueezeBackward0",
    ),
    *nodes("nn.functional.cross_entropy", FLOATING, "DivBackward1 -> DivBackward0"),
]
KNOWN_WHOLE = _KNOWN if WHOLE else []
