"""Where Facula differs from PyTorch on purpose, and why.

An entry excuses one category of difference of one operation, for the dtypes it names, where the
description of the difference contains ``text``. An entry that excuses nothing any more fails a
test of its own: the list cannot rot.
"""

from __future__ import annotations

from .compare import Difference
from .known import ALL, COMPOSED, Known, each
from .known_nn_differences import KNOWN_NN

_TIES = "Of equal elements PyTorch takes any; here the first, as a stable sort gives it."
_OUT_POLICY = (
    "PyTorch's operations disagree on which other dtypes out= may have; here one rule holds for "
    "all: whatever the result can be cast to."
)
_OVERLAP = (
    "A write in place to elements that share memory is refused by every operation, before "
    "anything else is looked at. PyTorch lets a few through: the last write wins."
)
_BOOL_PRODUCT = (
    "Products of bools are refused for their dtype before out= or the tensor in place is looked at."
)
_CONJUGATE = "The conjugate of a complex tensor is computed at once; PyTorch's is a lazy view."
_POLES = (
    "At the poles of its first derivative digamma's is infinite; PyTorch gives the large number "
    "that rounding makes of it."
)
_POLYGAMMAS = " ".join(f"polygamma.polygamma_n_{n}" for n in range(5))

KNOWN: list[Known] = [
    *KNOWN_NN,
    Known(
        "tril", ALL, "refused", ": expected a tensor with a place for each element", _OVERLAP, True
    ),
    Known(
        "addmm",
        ALL,
        "exception",
        ": expected a tensor with a place for each element",
        _OVERLAP,
        True,
    ),
    *each(
        "mm bmm mv dot vdot matmul addmm addmv addbmm baddbmm cross tensordot nn.functional.linear",
        "exception",
        "not defined for bool.)",
        _BOOL_PRODUCT,
    ),
    *each(
        "inner tensordot",
        "refused",
        "not defined for bool.)",
        "PyTorch multiplies bools only where strides or sizes of 1 keep it from a matrix product.",
    ),
    Known(
        "inner",
        ("bool",),
        "exception",
        "NotImplementedError(\"dot\" not implemented for 'Bool'), got no exception",
        "A product of no bools is the empty sum, as in mm; PyTorch takes its path for vectors.",
    ),
    Known(
        "addmv",
        ("bool",),
        "shape",
        "expected (), got (5,)",
        "PyTorch does not broadcast the input where there is nothing to multiply.",
    ),
    *each(
        "normal",
        "exception",
        "got no exception | out",
        "Of a number as std, PyTorch takes the shape to be that of out=, before out= is resized.",
    ),
    Known(
        "addbmm",
        ALL,
        "refused",
        "expected a result of the shape of the tensor written to",
        "PyTorch resizes the tensor in place; here its shape stays, as in all other operations.",
    ),
    Known(
        "addbmm",
        ALL,
        "memory",
        "out integer dtype",
        "Both refuse this out=, PyTorch after it has written to it.",
    ),
    *each(
        "cdist",
        "exception",
        "got no exception",
        "Has the half dtypes too, and derivatives of any order.",
    ),
    Known(
        "cov",
        ("complex64",),
        "grad",
        "{correction=1, fweights=None, aweights=<float32 (2,)",
        "The derivative is zero: what is left is how each rounds, PyTorch as the machine has it.",
        by_chance=True,
    ),
    Known(
        "renorm",
        ("complex64",),
        "grad",
        "expected (nan+nanj)",
        "PyTorch finds no element that equals the largest absolute value, and divides by none.",
    ),
    *each("conj H mH", "sharing", "", _CONJUGATE),
    *each("conj H mH", "strides", "", _CONJUGATE),
    Known("mm", ALL, "exception", "got no exception | out wider dtype", _OUT_POLICY, True),
    Known(
        "masked_select",
        ALL,
        "exception",
        "got no exception | out integer dtype",
        _OUT_POLICY,
        True,
    ),
    Known("cumsum", ALL, "refused", "out integer dtype", _OUT_POLICY, True),
    *each(
        "acosh asinh atanh arccosh arcsinh arctanh",
        "exception",
        "inplace version",
        "PyTorch has no derivative of the form in place; here it is that of the other.",
    ),
    *each(
        "vdot addr block_diag cdist sum_to_size cross diag diag_embed "
        "meshgrid.variadic_tensors meshgrid.list_of_tensors quantile nanquantile dist rot90 "
        "mvlgamma.mvlgamma_p_1 mvlgamma.mvlgamma_p_3 mvlgamma.mvlgamma_p_5 einsum combinations "
        "nn.functional.rrelu matmul __rmatmul__ __rsub__ renorm trapz trapezoid "
        "cumulative_trapezoid trace kron roll diagflat frexp",
        "grad_fn",
        "",
        COMPOSED,
    ),
    *each(
        "conj_physical as_strided as_strided.partial_views squeeze squeeze.multiple unsqueeze "
        "transpose t swapdims swapaxes polygamma.polygamma_n_0 "
        "polygamma.polygamma_n_1 polygamma.polygamma_n_2 polygamma.polygamma_n_3 "
        "polygamma.polygamma_n_4",
        "grad_fn",
        "inplace sample",
        "The node of the form in place is named as that of the other form.",
    ),
    *each(
        "diag quantile nanquantile diff softmax softmax.with_dtype log_softmax "
        "log_softmax.with_dtype inner tensordot conj_physical slice_scatter",
        "refused",
        "differentiation",
        "out= with a gradient wanted is refused by every operation; PyTorch accepts it in those "
        "that it composes, and gives the result no history.",
    ),
    *each("sort kthvalue median nanmedian mode", "value", "result[1]: ", _TIES),
    *each("sort kthvalue", "memory", "hold", _TIES),
    *each("argsort", "value", "(8000,)", _TIES),
    *each("mode", "grad", "(3000,)", _TIES),
    *each("sort msort", "grad", "(8000,)", _TIES),
    *each("topk", "value", "result[1]: ", _TIES),
    *each(
        "index_fill",
        "exception",
        "Index to scalar can have only 1 value, got 0",
        "The gradient of a value that was written nowhere is zero, also for a 0-d tensor.",
    ),
    *each("topk", "memory", "hold", _TIES),
    *each(
        "select_scatter slice_scatter",
        "exception",
        "does not support automatic differentiation for outputs with complex dtype",
        "PyTorch leaves the derivative out for complex numbers, where it is the same.",
    ),
    *each(
        "as_strided_scatter",
        "grad",
        "first gradient 0",
        "PyTorch's gradient of the input is that of the elements which src replaced; here it is "
        "that of the others.",
    ),
    *each("as_strided_scatter", "gradgrad", "second gradient", "Follows from its gradient."),
    *each(
        "as_strided_scatter",
        "refused",
        "expected a storage offset of at least 0",
        "The view lies before the input in memory; PyTorch's gradient reads another part.",
    ),
    *each(
        "scatter_reduce.sum scatter_reduce.mean scatter_reduce.prod scatter_reduce.amax "
        "scatter_reduce.amin index_reduce.prod",
        "refused",
        "has no derivative for complex numbers",
        "PyTorch refuses the derivative for complex numbers, but for the form in place, where "
        "that of the product lacks a conjugate.",
    ),
    *each(
        "scatter_reduce.mean scatter_reduce.amax scatter_reduce.amin",
        "memory",
        "inplace",
        "PyTorch has begun to write when it finds that the dtype is not supported.",
    ),
    *each(
        "scatter_reduce.amax scatter_reduce.amin",
        "grad",
        "include_self=False",
        "An element that is not included takes no share of the gradient here, also where it "
        "happens to equal the result.",
    ),
    *each(
        "index_reduce.mean index_reduce.prod index_reduce.amax index_reduce.amin",
        "exception",
        '"index_func_" not implemented',
        "PyTorch has bool and complex numbers for two dimensions or more; here for all.",
    ),
    *each(
        "index_reduce.mean index_reduce.prod index_reduce.amax index_reduce.amin",
        "exception",
        '"index_reduce_func_exclude_input_init" not implemented',
        "PyTorch has bool and complex numbers with include_self only.",
    ),
    Known(
        "histc",
        ("uint8",),
        "exception",
        "value cannot be converted to type uint8_t without overflow",
        "Integers are refused as such; PyTorch trips over the empty range first.",
    ),
    Known(
        "histogram",
        ("float16", "bfloat16"),
        "refused",
        "expected an input of float32 or float64",
        "PyTorch refuses these dtypes only where there are elements.",
    ),
    *each(
        "baddbmm mv addmv addbmm",
        "exception",
        "Dimension specified as",
        "Of 0-d operands the message speaks of the shapes that are wanted; PyTorch fails on the "
        "way, at a dimension that is not there.",
    ),
    *each(
        "mean",
        "memory",
        "out integer dtype",
        "PyTorch refuses out= after it has written to it; here it is left as it was.",
    ),
    *each(
        "nansum nanmean",
        "exception",
        """"nansum_cpu" not implemented for 'Int'""",
        "PyTorch computes in the dtype of out= and finds no kernel for it; here out= is refused "
        "for its dtype as everywhere, by an exception of which PyTorch's is a kind.",
    ),
    *[
        Known(
            f"mvlgamma.mvlgamma_p_{p}",
            ("float64",),
            "gradgrad",
            "second gradient 0",
            "PyTorch's derivative of digamma has nine digits; here it has all.",
        )
        for p in (1, 3, 5)
    ],
    *each(_POLYGAMMAS, "value", "got inf", _POLES),
    *each(_POLYGAMMAS, "memory", "got inf", _POLES),
]


def unexcused(op: str, dtype: str, differences: list[Difference]) -> list[Difference]:
    """The differences that no entry explains."""
    return [d for d in differences if not any(k.excuses(op, dtype, d) for k in KNOWN)]


# Of the lists of modules: the name of an entry, the category, a part of the text.
KNOWN_MODULES: dict[tuple[str, str, str], str] = {
    ("CrossMapLRN2d", "value", "input gradients[0]"): (
        "PyTorch's gradient is not that of its result: it fails PyTorch's own gradcheck."
    ),
    ("Hardsigmoid_no_batch_dim", "value", "input gradients[0]"): (
        "PyTorch multiplies by the float32 that is nearest to 1/6."
    ),
}


def unexcused_of_module(name: str, differences: list[Difference]) -> list[Difference]:
    """The differences of a module that no entry explains."""
    known = [(category, text) for entry, category, text in KNOWN_MODULES if entry == name]
    return [d for d in differences if not any(d.category == c and t in d.text for c, t in known)]
