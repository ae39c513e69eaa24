"""Where Facula differs from PyTorch on purpose, and why.

An entry excuses one category of difference of an operation, for the dtypes it names, where the
difference is the one that it describes and the case is of its kind. An entry that excuses nothing
in one of its dtypes fails the test of the operation: the lists cannot rot.
"""

from __future__ import annotations

from . import known
from .compare import Difference
from .frameworks import COMPLEX, FLOATING, INTEGERS
from .known import (
    ALL,
    BFLOAT16,
    BOOL,
    COMPLEX64,
    COMPLEX128,
    COMPLEX_GRAD,
    DIFFERENTIABLE,
    DOUBLE,
    HALF,
    MORE,
    NOT_FLOATING,
    OVERLAP,
    SINGLE,
    Known,
    Ops,
    each,
)
from .known_linalg_differences import KNOWN_LINALG
from .known_nn_differences import KNOWN_NN
from .known_nodes import KNOWN_NODES
from .known_reference_differences import KNOWN_REFERENCE
from .known_spectral_differences import KNOWN_SPECTRAL
from .known_whole_differences import KNOWN_WHOLE

_NARROW = INTEGERS + HALF + SINGLE + COMPLEX64  # that a wider out= can be made for
_NOT_INT32 = ("uint8", "int8", "int16", "int64")
_PRODUCTS = "addmm addmm.decomposed addmv baddbmm bmm cross linalg.cross"
_BOOL_PRODUCT = (
    "Products of bools are refused for their dtype before out= or the tensor in place is looked at."
)
_OUT_POLICY = (
    "PyTorch's operations disagree on which other dtypes out= may have; here those that "
    "core/tables/out.def does not list take whatever the result can be cast to."
)
_TIES = "Of equal elements PyTorch takes any; here the first, as a stable sort gives it."
_AS_STRIDED_GRAD = (
    "PyTorch's gradient of the input is that of the elements which src replaced; "
    "here it is that of the others."
)
_REDUCE_BEGUN = "PyTorch has begun to write when it finds that the dtype is not supported."
_REDUCE_1D = "PyTorch has bool and complex numbers for two dimensions or more; here for all."
_REDUCE_EXCLUDED = "PyTorch has bool and complex numbers with include_self only."
_POLES = (
    "At the poles of its first derivative digamma's is infinite; PyTorch gives the "
    "large number that rounding makes of it."
)


def _refused_out(error: str, wider: Ops, integer: Ops | None = None) -> list[Known]:
    """What PyTorch's refusals of ``out=`` say, for each kind of it."""
    text = f"call: expected RuntimeError({error}), got no exception"
    kinds = {"out wider dtype": wider, "out integer dtype": integer or {}}
    return [
        entry
        for case, ops in kinds.items()
        for entry in each("exception", text, _OUT_POLICY, ops, case=case)
    ]


KNOWN: list[Known] = [
    *KNOWN_LINALG,
    *KNOWN_NN,
    *KNOWN_NODES,
    *KNOWN_REFERENCE,
    *KNOWN_SPECTRAL,
    *KNOWN_WHOLE,
    *each(
        "refused",
        "call: got RuntimeError(...: expected a tensor with a place for each element, got ...)",
        OVERLAP,
        {INTEGERS: "addmv baddbmm", INTEGERS + BOOL: "masked_fill tril triu"},
        case="expanded",
    ),
    *each(
        "exception",
        'expected NotImplementedError("..." not implemented for ...), got RuntimeError(...: '
        "expected a tensor with a place for each element, got ...)",
        OVERLAP,
        {INTEGERS + BOOL: "normal.in_place", BOOL: "addmm addmm.decomposed addmv addbmm baddbmm"},
        case="expanded",
    ),
    *each(
        "exception",
        "expected RuntimeError(Expected out tensor to have dtype bool, but got float "
        "instead), got NotImplementedError(...: not defined for bool.)",
        _BOOL_PRODUCT,
        {BOOL: f"{_PRODUCTS} mv mm nn.functional.linear"},
        case="out ",
    ),
    *each(
        "exception",
        "expected RuntimeError(result dtype Float does not match input dtype Bool), got "
        "NotImplementedError(...: not defined for bool.)",
        _BOOL_PRODUCT,
        {BOOL: "dot vdot matmul"},
        case="out ",
    ),
    *each(
        "exception",
        "expected RuntimeError(addmv input tensors must have the same dtype, but got Float, "
        "Bool, and Bool), got NotImplementedError(...: not defined for bool.)",
        _BOOL_PRODUCT,
        {BOOL: "matmul"},
        case="out ",
    ),
    *each(
        "exception",
        "expected RuntimeError(self and mat2 must have the same dtype, but got Float and "
        "Bool), got NotImplementedError(...: not defined for bool.)",
        _BOOL_PRODUCT,
        {BOOL: "addbmm"},
        case="out ",
    ),
    *each(
        "exception",
        "expected RuntimeError(tensordot: Expected the output tensor to have dtype Bool, but "
        "got ...), got NotImplementedError(...: not defined for bool.)",
        _BOOL_PRODUCT,
        {BOOL: "tensordot"},
        case="out ",
    ),
    *each(
        "exception",
        "expected RuntimeError(Bad in-place call: ...), got NotImplementedError(...: not "
        "defined for bool.)",
        _BOOL_PRODUCT,
        {BOOL: "addmm addmm.decomposed addmv baddbmm"},
        case="inplace ",
    ),
    *each(
        "exception",
        "expected RuntimeError(Trying to resize storage that is not resizable), got "
        "NotImplementedError(...: not defined for bool.)",
        _BOOL_PRODUCT,
        {BOOL: "addbmm"},
        case="inplace ",
    ),
    *each(
        "refused",
        "call: got NotImplementedError(mm: not defined for bool.)",
        "PyTorch multiplies bools only where strides or sizes of 1 keep it from a matrix product.",
        {BOOL: "inner tensordot"},
        case="cast",
    ),
    *each(
        "exception",
        "call: expected NotImplementedError(\"dot\" not implemented for 'Bool'), got no exception",
        "A product of no bools is the empty sum, as in mm; PyTorch takes its path for vectors.",
        {BOOL: "inner"},
        case="empty ",
    ),
    *each(
        "shape",
        "result: expected (), got (5,)",
        "PyTorch does not broadcast the input where there is nothing to multiply.",
        {BOOL: "addmv"},
        case="empty last dim",
    ),
    *each(
        "exception",
        "expected IndexError(Dimension specified as 0 but tensor has no dimensions), got "
        "RuntimeError(addmv: size mismatch, got mat (0, 10) and vec (0,).)",
        "PyTorch looks at the input, which has no dimensions, before the sizes that do not fit.",
        {BOOL: "addmv"},
        case="empty first dim",
    ),
    *each(
        "exception",
        "call: expected RuntimeError(The size of tensor a (...) must match the size of "
        "tensor b (...) at non-singleton dimension ...), got no exception",
        "Of a number as std, PyTorch takes the shape to be that of out=, before out= is resized.",
        {NOT_FLOATING: "normal"},
        case="out ",
    ),
    *each(
        "refused",
        "call: got RuntimeError(addbmm: expected a result of the shape of the tensor written "
        "to, (1,), got (5, 10).)",
        "PyTorch resizes the tensor in place; here its shape stays, as in all other operations.",
        {DIFFERENTIABLE: "addbmm"},
        case="inplace ",
    ),
    *each(
        "memory",
        "call: inputs or out=: ...",
        "Both refuse this out=, PyTorch after it has written to it.",
        {DIFFERENTIABLE: "addbmm mean"},
        case="out integer dtype",
    ),
    *each(
        "exception",
        'call: expected NotImplementedError("cdist" not implemented for ...), got no exception',
        MORE,
        {HALF: "cdist"},
    ),
    *each(
        "exception",
        "second gradient: expected NotImplementedError(the derivative for '_cdist_backward' "
        "is not implemented.), got no exception",
        MORE,
        {DOUBLE: "cdist"},
    ),
    *each(
        "grad",
        "first gradient 1: ...",
        "The derivative is zero: what is left is how each rounds, PyTorch as the machine has it.",
        {COMPLEX64: "cov"},
        case="{correction=1, fweights=None, aweights=<float32 (2,)",
        within=4,
        by_chance=True,
    ),
    *each(
        "grad",
        "first gradient 0: ... expected (nan+nanj), got ...",
        "PyTorch finds no element that equals the largest absolute value, and divides by none.",
        {COMPLEX64: "renorm"},
        case="inf, 2, 0.5)",
    ),
    *(
        entry
        for case, dtypes in (("wider", _NARROW), ("integer", _NOT_INT32))
        for entry in each(
            "memory",
            "call: inputs or out=: ...",
            "PyTorch has begun to write when it finds that out= has another dtype.",
            {dtypes: "addbmm"},
            case=f"out {case} dtype",
        )
    ),
    *_refused_out("std_var_all: Unsupported dtype ...", wider={HALF: "std var"}),
    *each(
        "refused",
        "call: got RuntimeError(...: the result is ... and cannot be stored in out of int32.)",
        _OUT_POLICY,
        {DIFFERENTIABLE: "cumsum cumprod prod sum"},
        case="out integer dtype",
    ),
    *each(
        "exception",
        "first gradient: expected NotImplementedError(the derivative for 'inplace version of "
        "...' is not implemented.), got no exception",
        "PyTorch has no derivative of the form in place; here it is that of the other.",
        {DIFFERENTIABLE: "acosh asinh atanh", SINGLE: "arccosh arcsinh arctanh"},
        case="inplace ",
    ),
    *each(
        "refused",
        "call: got RuntimeError(...: out= takes no part in differentiation, but one of the "
        "arguments requires grad. Leave ...)",
        "PyTorch copies the input where it makes no differences.",
        {DIFFERENTIABLE: "diff"},
        case="out fitting",
    ),
    *each(
        "ties",
        "...",
        _TIES,
        {
            INTEGERS: "kthvalue median nanmedian topk",
            INTEGERS + HALF + BOOL: "mode",
            HALF + BOOL + ("uint8", "int8"): "sort argsort",
        },
    ),
    *each("grad", "first gradient 0: ...", _TIES, {HALF: "mode"}, case="(3000,)"),
    *each("grad", "first gradient 0: ...", _TIES, {HALF: "sort msort"}, case="(8000,)"),
    *each(
        "exception",
        "first gradient: expected RuntimeError(index_select(): Index to scalar can have only "
        "1 value, got 0 value(s)), got no exception",
        "The gradient of a value that was written nowhere is zero, also for a 0-d tensor.",
        {DIFFERENTIABLE: "index_fill"},
        case="empty ",
    ),
    *each(
        "exception",
        "call: expected RuntimeError(... does not support automatic differentiation for "
        "outputs with complex dtype.), got no exception",
        COMPLEX_GRAD,
        {COMPLEX: "select_scatter slice_scatter"},
    ),
    *each(
        "grad", "first gradient 0: ...", _AS_STRIDED_GRAD, {DIFFERENTIABLE: "as_strided_scatter"}
    ),
    *each(
        "grad",
        "first gradient 1: ...",
        "What lies before the input in memory is not in the result; PyTorch's gradient reads "
        "another part.",
        {DIFFERENTIABLE: "as_strided_scatter"},
        case="strided",
    ),
    *each(
        "gradgrad",
        "second gradient ...: ...",
        _AS_STRIDED_GRAD,
        {DOUBLE + COMPLEX128: "as_strided_scatter"},
    ),
    *each(
        "refused",
        "call: got RuntimeError(...: has no derivative for complex numbers, got ...)",
        "PyTorch refuses the derivative for complex numbers, but for the form in place, "
        "where that of the product lacks a conjugate.",
        {
            COMPLEX: "index_reduce.prod scatter_reduce.sum scatter_reduce.prod "
            "scatter_reduce.mean scatter_reduce.amin scatter_reduce.amax"
        },
        case="inplace ",
    ),
    *each(
        "memory",
        "call: inputs or out=: ... expected False, got True",
        _REDUCE_BEGUN,
        {BOOL: "scatter_reduce.mean"},
        case="inplace ",
    ),
    *each(
        "memory",
        "call: inputs or out=: ... expected (-inf+...), got ...",
        _REDUCE_BEGUN,
        {COMPLEX: "scatter_reduce.amax"},
        case="inplace ",
    ),
    *each(
        "memory",
        "call: inputs or out=: ... expected (inf+...), got ...",
        _REDUCE_BEGUN,
        {COMPLEX: "scatter_reduce.amin"},
        case="inplace ",
    ),
    *each(
        "grad",
        "first gradient 1: ...",
        "An element that is not included takes no share of the gradient here, also where it "
        "happens to equal the result.",
        {BFLOAT16: "scatter_reduce.amin scatter_reduce.amax"},
        case="include_self=False",
        within=3,
    ),
    *each(
        "exception",
        'call: expected NotImplementedError("index_func_" not implemented for ...), got no '
        "exception",
        _REDUCE_1D,
        {
            COMPLEX: "index_reduce.mean",
            COMPLEX + BOOL: "index_reduce.prod",
            BOOL: "index_reduce.amin index_reduce.amax",
        },
    ),
    *each(
        "exception",
        'expected NotImplementedError("index_func_" not implemented for ...), got '
        "RuntimeError(index_reduce: has no derivative for complex numbers, got ...)",
        _REDUCE_1D,
        {COMPLEX: "index_reduce.mean index_reduce.prod index_reduce.amin index_reduce.amax"},
    ),
    *each(
        "exception",
        'call: expected NotImplementedError("index_reduce_func_exclude_input_init" not '
        "implemented for ...), got no exception",
        _REDUCE_EXCLUDED,
        {BOOL: "index_reduce.prod index_reduce.amin index_reduce.amax"},
    ),
    *each(
        "exception",
        'expected NotImplementedError("index_reduce_func_exclude_input_init" not implemented '
        "for ...), got RuntimeError(index_reduce: has no derivative for complex numbers, got "
        "...)",
        _REDUCE_EXCLUDED,
        {COMPLEX: "index_reduce.mean index_reduce.prod index_reduce.amin index_reduce.amax"},
    ),
    *each(
        "rounding",
        "result: ...",
        "PyTorch computes in 16 bits which interval an element is in.",
        {HALF: "histc"},
    ),
    *each(
        "exception",
        "expected RuntimeError(value cannot be converted to type uint8_t without overflow), "
        "got NotImplementedError(histc: expected a floating-point input, got torch.uint8.)",
        "Integers are refused as such; PyTorch trips over the empty range first.",
        {("uint8",): "histc"},
    ),
    *each(
        "refused",
        "call: got NotImplementedError(histogram: expected an input of float32 or float64, "
        "got ...)",
        "PyTorch refuses these dtypes only where there are elements.",
        {HALF: "histogram"},
        case="empty ",
    ),
    *each(
        "exception",
        "expected IndexError(Dimension specified as ... but tensor has no dimensions), got "
        "RuntimeError(...: expected ...)",
        "Of 0-d operands the message speaks of the shapes that are wanted; PyTorch fails on "
        "the way, at a dimension that is not there.",
        {ALL: "mv"},
        case="0-d",
    ),
    *each(
        "exception",
        "expected NotImplementedError(\"nansum_cpu\" not implemented for 'Int'), got "
        "RuntimeError(nan...: the result is ... and cannot be stored in out of ...int32.)",
        "PyTorch computes in the dtype of out= and finds no kernel for it; here out= is "
        "refused for its dtype as everywhere, by an exception of which PyTorch's is a kind.",
        {FLOATING: "nanmean nansum"},
        case="out integer dtype",
    ),
    *each(
        "gradgrad",
        "second gradient 0: ...",
        "PyTorch's derivative of digamma has nine digits; here it has all.",
        {DOUBLE: "mvlgamma.mvlgamma_p_1 mvlgamma.mvlgamma_p_3 mvlgamma.mvlgamma_p_5"},
        within=3,
    ),
    *each(
        "value",
        "result: ... got inf",
        _POLES,
        {
            ("int8", "int16"): "polygamma.polygamma_n_0 polygamma.polygamma_n_1 "
            "polygamma.polygamma_n_2 polygamma.polygamma_n_3 "
            "polygamma.polygamma_n_4"
        },
    ),
    *each(
        "memory",
        "call: inputs or out=: ... got inf",
        _POLES,
        {
            ("int8", "int16"): "polygamma.polygamma_n_0 polygamma.polygamma_n_1 "
            "polygamma.polygamma_n_2 polygamma.polygamma_n_3 "
            "polygamma.polygamma_n_4"
        },
        case="out ",
    ),
]


def unexcused(op: str, dtype: str, differences: list[Difference]) -> list[Difference]:
    """The differences of an operation that no entry explains, and entries that explain none."""
    return known.unexcused(KNOWN, op, dtype, differences)


# Of the lists of modules: the operation is the name of the case.
KNOWN_MODULES = [
    *each(
        "value",
        "input gradients[0]: ...",
        "PyTorch's gradient is not that of its result: it fails PyTorch's own gradcheck.",
        {DOUBLE: "CrossMapLRN2d"},
        within=2e4,
    ),
    *each(
        "value",
        "input gradients[0]: ...",
        "PyTorch multiplies by the float32 that is nearest to 1/6.",
        {DOUBLE: "Hardsigmoid_no_batch_dim"},
        within=150,
    ),
]


def unexcused_of_module(name: str, dtype: str, differences: list[Difference]) -> list[Difference]:
    """The same for a module."""
    return known.unexcused(KNOWN_MODULES, name, dtype, differences)
