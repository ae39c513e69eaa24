"""Where linear algebra differs from PyTorch's on purpose, and why."""

from __future__ import annotations

from .frameworks import COMPLEX
from .known import (
    BOOL,
    COMPLEX64,
    DIFFERENTIABLE,
    DOUBLE,
    HALF,
    SINGLE,
    Known,
    each,
)
from .known_nodes import nodes

_LAPACK = SINGLE + DOUBLE + COMPLEX
_NARROW = SINGLE + COMPLEX64

_SINGULAR = (
    "Expanded rows make a singular matrix: what rounding leaves of its zeros, in LAPACK of another "
    "library, decides what comes out."
)
_OUT_POLICY = (
    "PyTorch's operations disagree on which other dtypes out= may have; here one "
    "rule holds for all: whatever the result can be cast to."
)
_OUT_GRAD = (
    "No operation takes out= while a gradient is wanted. PyTorch lets it pass where its operation "
    "is composed of others."
)
_PHASE = "Vectors are determined up to their sign, or a complex number of size 1."
_REFLECTORS = "With a gradient reflectors are applied one by one, by operations that have one."
_HALF_EXP = "PyTorch's polynomials overflow in 16 bits; here they are computed in float32."

_SINGULAR_OPS = (
    "geqrf linalg.cond linalg.eig linalg.eigvals linalg.inv_ex linalg.lstsq "
    "linalg.lstsq.grad_oriented linalg.lu linalg.lu_factor_ex linalg.matrix_norm linalg.qr "
    "linalg.solve_ex linalg.svdvals linalg.tensorinv linalg.tensorsolve logdet lu norm.nuc "
    "pinverse qr"
)

KNOWN_LINALG: list[Known] = [
    *(
        known
        for category in ("value", "grad", "exception", "refused")
        for known in each(
            category, "...", _SINGULAR, {_LAPACK: _SINGULAR_OPS}, case="expanded", by_chance=True
        )
    ),
    *each(
        "exception",
        "call: expected RuntimeError(...), got no exception",
        _OUT_POLICY,
        {_NARROW: "linalg.matrix_power"},
        case="out wider dtype",
    ),
    *each(
        "exception",
        "expected RuntimeError(multi_dot(): expected out tensor ...), got NotImplementedError(...)",
        "Products of bools are refused for their dtype before out= is looked at.",
        {BOOL: "linalg.multi_dot"},
        case="out ",
    ),
    *each(
        "refused",
        "call: got RuntimeError(...: out= takes no part in differentiation, ...",
        _OUT_GRAD,
        {
            _LAPACK: "linalg.pinv norm.nuc",
            DIFFERENTIABLE: "linalg.matrix_power",
        },
        case="out fitting",
    ),
    *each(
        "memory",
        "...",
        _PHASE,
        {SINGLE + DOUBLE: "linalg.eigh"},
        case="out ",
        by_chance=True,
    ),
    *each(
        "value",
        "result[2]: ...",
        "The last vectors of a wide matrix belong to no singular value: any basis will do.",
        {SINGLE + DOUBLE: "linalg.svd"},
        case="full_matrices=True",
        by_chance=True,
    ),
    *each(
        "memory",
        "call: inputs or out=: ...",
        "PyTorch has written to out= of integers when it finds that they cannot hold the result.",
        {_LAPACK: "linalg.solve_triangular"},
        case="out integer dtype",
    ),
    *each(
        "memory",
        "call: inputs or out=: ...",
        "PyTorch has written to out= of a wider dtype when it finds that it is another.",
        {_NARROW: "linalg.solve_triangular"},
        case="out wider dtype",
    ),
    *each(
        "refused",
        "call: got RuntimeError(lu: the result is ... and cannot be stored in out of int32.)",
        "PyTorch's out= of lu takes any dtype, and loses what that cannot hold.",
        {_LAPACK: "lu"},
        case="out integer dtype",
    ),
    *each(
        "refused",
        "call: got RuntimeError(...: expected ...",
        "Matrices must fit, also where they have no elements.",
        {_LAPACK: "linalg.pinv.hermitian linalg.tensorsolve"},
        case="empty",
    ),
    *each(
        "exception",
        "expected RuntimeError(...) at the first gradient, got RuntimeError(...) at the call",
        "Matrices must fit, also where they have no elements.",
        {_LAPACK: "cholesky"},
        case="empty",
    ),
    *each(
        "refused",
        "call: got IndexError(amax: ...",
        "The largest of no elements is an error in every dtype; PyTorch's half dtypes give 0.",
        {HALF: "linalg.matrix_norm"},
        case="empty",
    ),
    *(
        known
        for category in ("rounding", "value", "grad")
        for known in each(
            category, "...: expected nan, got ...", _HALF_EXP, {HALF: "matrix_exp"}, by_chance=True
        )
    ),
    *each(
        "gradgrad",
        "second gradient ...",
        "At zero the norm has no second derivative; 0 and NaN stand in other places for it.",
        {("float64", "complex128"): "linalg.norm.subgradients_at_zero"},
    ),
    *(
        known
        for category in ("grad", "gradgrad")
        for known in each(
            category,
            "... gradient ...",
            _REFLECTORS + " Random ones are no rotations, and their rounding grows.",
            {_LAPACK: "linalg.householder_product ormqr", SINGLE: "orgqr"},
            by_chance=True,
        )
    ),
    *each(
        "requires_grad",
        "...",
        _REFLECTORS + " Without any, nothing is recorded.",
        {_LAPACK: "linalg.householder_product", SINGLE: "orgqr"},
    ),
    *(
        known
        for dtypes, op in ((_LAPACK, "linalg.householder_product"), (SINGLE, "orgqr"))
        for known in nodes(
            op,
            dtypes,
            "LinalgHouseholderProductBackward0 -> TransposeBackward0, "
            "LinalgHouseholderProductBackward0 -> None",
            _REFLECTORS,
        )
    ),
    *nodes("ormqr", _LAPACK, "OrmqrBackward0 -> TransposeBackward0", _REFLECTORS),
    *nodes("linalg.cond", _LAPACK, "SqueezeBackward1 -> DivBackward0"),
    *nodes("linalg.matrix_norm", _LAPACK, "PermuteBackward0 -> UnsqueezeBackward0"),
    *nodes("linalg.matrix_power", DIFFERENTIABLE, "CopyBackwards -> AddBackward0"),
    *nodes("linalg.matrix_power", _LAPACK, "UnsafeViewBackward0 -> ViewBackward0"),
    *nodes(
        "matrix_power",
        SINGLE,
        "CopyBackwards -> AddBackward0, UnsafeViewBackward0 -> ViewBackward0",
    ),
    *nodes(
        "linalg.matmul",
        SINGLE,
        "UnsafeViewBackward0 -> ViewBackward0, CloneBackward0 -> ViewBackward0, "
        "TransposeBackward0 -> ViewBackward0, UnsafeViewBackward0 -> SqueezeBackward1",
    ),
    *nodes("linalg.multi_dot", DIFFERENTIABLE, "ViewBackward0 -> MmBackward0"),
    *nodes("linalg.vecdot", DIFFERENTIABLE, "VdotBackward0 -> SumBackward1"),
]
