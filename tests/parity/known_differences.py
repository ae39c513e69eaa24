"""Where Facula differs from PyTorch on purpose, and why.

An entry excuses one category of difference of one operation, for the dtypes it names, where the
description of the difference contains ``text``. An entry that excuses nothing any more fails a
test of its own: the list cannot rot.
"""

from __future__ import annotations

from typing import NamedTuple

from .compare import Difference
from .frameworks import DTYPES

ALL = ("float32", *(name for name in DTYPES if name != "float32"))  # likely ones first


class Known(NamedTuple):
    op: str
    dtypes: tuple[str, ...]
    category: str
    text: str
    reason: str
    anywhere: bool = False  # excuses every operation; ``op`` is one that shows it
    by_chance: bool = False  # PyTorch's value is memory that it did not write: it may agree

    def excuses(self, op: str, dtype: str, difference: Difference) -> bool:
        return (
            (self.anywhere or op == self.op)
            and dtype in self.dtypes
            and difference.category == self.category
            and self.text in difference.text
        )


def _each(ops: str, category: str, text: str, reason: str) -> list[Known]:
    return [Known(op, ALL, category, text, reason) for op in ops.split()]


_COMPOSED = "Composed of other operations, whose nodes the graph shows."
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
_INTEGER_CONVOLUTIONS = (
    "Every convolution takes every integer dtype; PyTorch's depends on dilation and transposition."
)
_CONVOLUTIONS = (
    "nn.functional.conv1d nn.functional.conv2d nn.functional.conv3d nn.functional.conv_transpose1d "
    "nn.functional.conv_transpose2d nn.functional.conv_transpose3d"
)
_POLYGAMMAS = " ".join(f"polygamma.polygamma_n_{n}" for n in range(5))
_MAX_POOLS = " ".join(
    f"nn.functional.{name}"
    for name in (
        *(f"{kind}max_pool{n}d" for kind in ("", "adaptive_") for n in (1, 2, 3)),
        "fractional_max_pool2d",
        "fractional_max_pool3d",
    )
)
_AVG_POOLS = " ".join(
    f"nn.functional.{kind}avg_pool{n}d" for kind in ("", "adaptive_") for n in (1, 2, 3)
)
_MAX_UNPOOLS = " ".join(
    f"nn.functional.max_unpool{n}d{variant}" for variant in ("", ".grad") for n in (1, 2, 3)
)
_EMPTY_SHUFFLE = "PyTorch leaves the shape of an empty input as it is."
_GRID_SAMPLES = "grid_sampler_2d grid_sampler_3d nn.functional.grid_sample"
_COARSE_PLACES = "PyTorch computes places and weights in 16 bits, here it is done in float32."
_NO_SECOND = "A linear operation has no second derivative; PyTorch makes zeros for it."

_IN_FLOAT = "The 16-bit floats are computed in float32 and rounded once; PyTorch rounds on the way."
_NO_ROWS = (
    "Of no rows PyTorch looks at neither dtype nor derivative, and gives memory that it did not "
    "write; here the dtype is refused as always, and the result is the mean of nothing."
)
_MARGINS = "nn.functional.multi_margin_loss nn.functional.multilabel_margin_loss"

KNOWN: list[Known] = [
    Known(
        "nn.functional.bilinear",
        ("complex64", "complex128"),
        "exception",
        "_trilinear does not support automatic differentiation for outputs with complex dtype",
        "Composed of products, which have a gradient for complex dtypes too.",
    ),
    *_each(
        "nn.functional.linear",
        "grad_fn",
        "got LinearBackward0",
        "One operation, whose node is the one that PyTorch has where it calls its own library.",
    ),
    *_each("nn.functional.linear", "exception", "not defined for bool.)", _BOOL_PRODUCT),
    *_each(
        "nn.functional.linear",
        "exception",
        "got no exception | out transposed",
        "PyTorch cannot store a product of several rows in a transposed out=.",
    ),
    *_each(
        "nn.functional.linear_cross_entropy nn.functional.binary_cross_entropy "
        "nn.functional.binary_cross_entropy_with_logits nn.functional.ctc_loss "
        f"nn.functional.pairwise_distance {_MARGINS}",
        "grad_fn",
        "",
        _COMPOSED,
    ),
    *_each("nn.functional.nll_loss", "grad", "second gradient 0: one of", _NO_SECOND),
    *_each(
        "nn.functional.nll_loss nn.functional.binary_cross_entropy_with_logits "
        "nn.functional.soft_margin_loss",
        "value",
        "float16 ",
        _IN_FLOAT,
    ),
    Known("nn.functional.soft_margin_loss", ("float16",), "grad", "expected nan", _IN_FLOAT),
    Known(
        "nn.functional.binary_cross_entropy",
        ("float64",),
        "gradgrad",
        "second gradient",
        "PyTorch adds 1e-12 to a divisor in the second derivative, which shows in its digits.",
    ),
    Known(
        "nn.functional.hinge_embedding_loss",
        ("uint8",),
        "exception",
        "value cannot be converted to type uint8_t without overflow",
        "A negative margin wraps around in uint8, as all integer arithmetic.",
    ),
    *_each(
        _MARGINS,
        "exception",
        "got no exception",
        "Has the half dtypes too, and derivatives of any order.",
    ),
    *_each(_MARGINS, "refused", "expected a floating-point input", _NO_ROWS),
    *(
        Known(op, ALL, "value", "empty first dim", _NO_ROWS, by_chance=True)
        for op in _MARGINS.split()
    ),
    *_each(_MARGINS, "exception", "expected a floating-point input", _NO_ROWS),
    *_each(
        "nn.functional.pad.reflect nn.functional.pad.replicate "
        "nn.functional.pad.replicate_negative",
        "grad",
        "second gradient 0: one of",
        _NO_SECOND,
    ),
    *_each(
        "nn.functional.scaled_dot_product_attention",
        "grad_fn",
        "expected",
        "One operation for all inputs; PyTorch composes it of others where it is not fused.",
    ),
    *_each(
        "nn.functional.scaled_dot_product_attention",
        "refused",
        "",
        "Integers and complex numbers are refused with and without elements.",
    ),
    *[
        Known(
            "nn.functional.multi_head_attention_forward",
            ("bfloat16",),
            category,
            "sample 0 expanded",
            "Scores in the hundreds, rounded to bfloat16 in another place: a softmax of such "
            "turns the last bit into another choice.",
        )
        for category in ("value", "grad")
    ],
    Known(
        "nn.functional.scaled_dot_product_attention",
        ("float64",),
        "exception",
        "second gradient: expected RuntimeError",
        "Second derivatives exist; PyTorch's fused attention has none.",
    ),
    *_each("nn.functional.pad.circular", "grad_fn", "expected CopySlices", _COMPOSED),
    *_each(
        _MAX_POOLS + " " + _AVG_POOLS + " nn.functional.interpolate.area",
        "grad",
        "second gradient 0: one of",
        _NO_SECOND,
    ),
    *_each(
        "nn.functional.pixel_shuffle",
        "exception",
        "first gradient: expected RuntimeError(Function PixelShuffleBackward0 returned an invalid",
        _EMPTY_SHUFFLE,
    ),
    *_each(
        _GRID_SAMPLES,
        "exception",
        "expected IndexError(Dimension specified as 0 but tensor has no dimensions)",
        "An input without dimensions is refused as any other of the wrong number.",
    ),
    *_each(
        "grid_sampler_2d nn.functional.grid_sample",
        "refused",
        "not implemented for",
        "Other dtypes are refused even where there is nothing to compute.",
    ),
    *_each(
        "grid_sampler_2d nn.functional.grid_sample",
        "grad",
        "second gradient 1: one of",
        "The place of the nearest element has no derivative; PyTorch makes zeros for it.",
    ),
    *_each(
        "grid_sampler_2d nn.functional.grid_sample",
        "exception",
        "does not support automatic differentiation for outputs with complex dtype.), got NotImpl",
        "Complex numbers are refused for their dtype before derivatives are looked at.",
    ),
    *(
        Known(op, ("float16", "bfloat16"), category, "", _COARSE_PLACES)
        for op in ("grid_sampler_2d", "nn.functional.grid_sample")
        for category in ("value", "grad")
    ),
    *_each("nn.functional.pixel_unshuffle", "shape", "empty ", _EMPTY_SHUFFLE),
    *_each(
        "nn.functional.pixel_unshuffle",
        "exception",
        "first gradient: expected RuntimeError(pixel_shuffle expects its input's 'channel'",
        _EMPTY_SHUFFLE,
    ),
    *_each(
        "nn.functional.max_pool1d nn.functional.adaptive_max_pool1d nn.functional.avg_pool1d "
        "nn.functional.adaptive_avg_pool1d nn.functional.max_unpool1d "
        "nn.functional.max_unpool1d.grad nn.functional.interpolate.area",
        "grad_fn",
        "expected SqueezeBackward",
        "PyTorch's operation is that of two dimensions between two views; here it is its own.",
    ),
    *_each(
        "nn.functional.avg_pool2d nn.functional.avg_pool3d",
        "exception",
        "expected RuntimeError(Expected out tensor to have dtype",
        "Other dtypes are refused for the input before out= is looked at.",
    ),
    *_each(
        "nn.functional.avg_pool2d nn.functional.avg_pool3d",
        "exception",
        "out=... arguments don't support automatic differentiation, but one of t), got NotImpl",
        "Complex numbers are refused for their dtype before derivatives are looked at.",
    ),
    *_each(
        "nn.functional.avg_pool2d",
        "exception",
        "expected IndexError(Dimension specified as -",
        "An input without dimensions is refused as any other of the wrong number.",
    ),
    *_each(
        "nn.functional.avg_pool3d",
        "exception",
        'expected NotImplementedError("avg_pool3d_out_frame" not implemented for',
        "Has the half dtypes too.",
    ),
    Known(
        "nn.functional.avg_pool3d",
        ALL,
        "value",
        "out transposed",
        "PyTorch writes to out= as if it were contiguous.",
    ),
    Known(
        "nn.functional.avg_pool3d",
        ALL,
        "memory",
        "out transposed",
        "PyTorch writes to out= as if it were contiguous.",
    ),
    *_each(
        "nn.functional.adaptive_avg_pool1d nn.functional.adaptive_avg_pool2d "
        "nn.functional.interpolate.area " + _MAX_UNPOOLS,
        "refused",
        "not implemented for",
        "Other dtypes are refused even where there is nothing to compute.",
    ),
    *_each(
        "nn.functional.adaptive_avg_pool1d nn.functional.adaptive_avg_pool2d "
        "nn.functional.interpolate.area nn.functional.fractional_max_pool2d "
        "nn.functional.fractional_max_pool3d " + _MAX_UNPOOLS,
        "exception",
        "does not support automatic differentiation for outputs with complex dtype.), got NotImpl",
        "Complex numbers are refused for their dtype before derivatives are looked at.",
    ),
    *_each(
        "nn.functional.adaptive_avg_pool1d nn.functional.adaptive_avg_pool3d",
        "refused",
        "expected sizes that are not 0",
        "An average of nothing is refused, as by the other poolings.",
    ),
    *_each(
        "nn.functional.max_unpool3d nn.functional.max_unpool3d.grad",
        "exception",
        "first gradient: expected RuntimeError(view size is not compatible",
        "PyTorch's derivative takes the input to be contiguous.",
    ),
    *_each(
        _CONVOLUTIONS.replace("nn.functional.conv2d ", ""),  # whose samples PyTorch takes
        "exception",
        'expected NotImplementedError("slow_conv',
        _INTEGER_CONVOLUTIONS,
    ),
    *_each(
        _CONVOLUTIONS,
        "grad_fn",
        "expected AddBackward0, got ConvolutionBackward0",
        "Complex convolutions are one operation; PyTorch makes them of three real ones.",
    ),
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
    *_each(
        "mm bmm mv dot vdot matmul addmm addmv addbmm baddbmm cross tensordot",
        "exception",
        "not defined for bool.)",
        _BOOL_PRODUCT,
    ),
    *_each(
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
    *_each(
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
    *_each(
        "cdist",
        "exception",
        "got no exception",
        "Has the half dtypes too, and derivatives of any order.",
    ),
    Known(
        "renorm",
        ("complex64",),
        "grad",
        "expected (nan+nanj)",
        "PyTorch finds no element that equals the largest absolute value, and divides by none.",
    ),
    *_each("conj H mH", "sharing", "", _CONJUGATE),
    *_each("conj H mH", "strides", "", _CONJUGATE),
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
    *_each(
        "acosh asinh atanh arccosh arcsinh arctanh",
        "exception",
        "inplace version",
        "PyTorch has no derivative of the form in place; here it is that of the other.",
    ),
    *_each(
        "vdot addr block_diag cdist sum_to_size cross diag diag_embed "
        "meshgrid.variadic_tensors meshgrid.list_of_tensors quantile nanquantile dist rot90 "
        "mvlgamma.mvlgamma_p_1 mvlgamma.mvlgamma_p_3 mvlgamma.mvlgamma_p_5 einsum combinations "
        "nn.functional.rrelu matmul __rmatmul__ __rsub__ renorm trapz trapezoid "
        "cumulative_trapezoid trace kron roll diagflat frexp",
        "grad_fn",
        "",
        _COMPOSED,
    ),
    *_each(
        "conj_physical as_strided as_strided.partial_views squeeze squeeze.multiple unsqueeze "
        "transpose t swapdims swapaxes polygamma.polygamma_n_0 "
        "polygamma.polygamma_n_1 polygamma.polygamma_n_2 polygamma.polygamma_n_3 "
        "polygamma.polygamma_n_4",
        "grad_fn",
        "inplace sample",
        "The node of the form in place is named as that of the other form.",
    ),
    *_each(
        "diag quantile nanquantile diff softmax softmax.with_dtype log_softmax "
        "log_softmax.with_dtype inner tensordot conj_physical slice_scatter",
        "refused",
        "differentiation",
        "out= with a gradient wanted is refused by every operation; PyTorch accepts it in those "
        "that it composes, and gives the result no history.",
    ),
    *_each("sort kthvalue median nanmedian mode", "value", "result[1]: ", _TIES),
    *_each("sort kthvalue", "memory", "hold", _TIES),
    *_each("argsort", "value", "(8000,)", _TIES),
    *_each("mode", "grad", "(3000,)", _TIES),
    *_each("sort msort", "grad", "(8000,)", _TIES),
    *_each("topk", "value", "result[1]: ", _TIES),
    *_each(
        "index_fill",
        "exception",
        "Index to scalar can have only 1 value, got 0",
        "The gradient of a value that was written nowhere is zero, also for a 0-d tensor.",
    ),
    *_each("topk", "memory", "hold", _TIES),
    *_each(
        "select_scatter slice_scatter",
        "exception",
        "does not support automatic differentiation for outputs with complex dtype",
        "PyTorch leaves the derivative out for complex numbers, where it is the same.",
    ),
    *_each(
        "as_strided_scatter",
        "grad",
        "first gradient 0",
        "PyTorch's gradient of the input is that of the elements which src replaced; here it is "
        "that of the others.",
    ),
    *_each("as_strided_scatter", "gradgrad", "second gradient", "Follows from its gradient."),
    *_each(
        "as_strided_scatter",
        "refused",
        "expected a storage offset of at least 0",
        "The view lies before the input in memory; PyTorch's gradient reads another part.",
    ),
    *_each(
        "scatter_reduce.sum scatter_reduce.mean scatter_reduce.prod scatter_reduce.amax "
        "scatter_reduce.amin index_reduce.prod",
        "refused",
        "has no derivative for complex numbers",
        "PyTorch refuses the derivative for complex numbers, but for the form in place, where "
        "that of the product lacks a conjugate.",
    ),
    *_each(
        "scatter_reduce.mean scatter_reduce.amax scatter_reduce.amin",
        "memory",
        "inplace",
        "PyTorch has begun to write when it finds that the dtype is not supported.",
    ),
    *_each(
        "scatter_reduce.amax scatter_reduce.amin",
        "grad",
        "include_self=False",
        "An element that is not included takes no share of the gradient here, also where it "
        "happens to equal the result.",
    ),
    *_each(
        "index_reduce.mean index_reduce.prod index_reduce.amax index_reduce.amin",
        "exception",
        '"index_func_" not implemented',
        "PyTorch has bool and complex numbers for two dimensions or more; here for all.",
    ),
    *_each(
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
    *_each(
        "baddbmm mv addmv addbmm",
        "exception",
        "Dimension specified as",
        "Of 0-d operands the message speaks of the shapes that are wanted; PyTorch fails on the "
        "way, at a dimension that is not there.",
    ),
    *_each(
        "mean",
        "memory",
        "out integer dtype",
        "PyTorch refuses out= after it has written to it; here it is left as it was.",
    ),
    *_each(
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
    *_each(
        "nn.functional.logsigmoid nn.functional.rrelu",
        "strides",
        "channels last",
        "The memory order of the input is kept, as in all other activations.",
    ),
    *_each(
        "nn.functional.batch_norm nn.functional.instance_norm",
        "exception",
        "expected IndexError(",
        "What has the wrong size is refused by name, and an input without elements needs nothing; "
        "PyTorch trips over an element that is not there.",
    ),
    *_each(
        "nn.functional.batch_norm",
        "exception",
        "expected a floating-point input",
        "Other dtypes are refused as such; PyTorch trips over them in one operation or another.",
    ),
    *_each(
        "nn.functional.batch_norm",
        "refused",
        "(0,",
        "An input without elements is refused for its dtype or dimensions as any other is.",
    ),
    *_each(
        "nn.functional.rms_norm rms_norm",
        "grad_fn",
        "",
        "One operation; PyTorch composes it on the CPU.",
    ),
    *_each(
        "nn.functional.local_response_norm",
        "refused",
        "got torch.int64",
        "Integers are refused; PyTorch divides means of int64 without their fractions.",
    ),
    Known(
        "nn.functional.normalize",
        ("float16", "bfloat16"),
        "grad",
        "first gradient 0",
        "The derivative of the norm is computed in float32; PyTorch's loses digits in 16 bits.",
    ),
    Known(
        "native_layer_norm",
        ("bfloat16", "float32"),
        "grad",
        " (1, 2) (2, 1) grad>, (2)",
        "The gradient of two elements is close to zero, a difference of large numbers.",
    ),
    *_each(
        "nn.functional.embedding_bag",
        "exception",
        "step must be nonzero",
        "The sum of an empty bag is zero, also where all bags are empty.",
    ),
    *_each(
        "nn.functional.embedding_bag",
        "exception",
        "is not implemented",
        "Has derivatives of any order.",
    ),
    *_each(
        "nn.functional.rrelu nn.functional.prelu",
        "grad",
        "and None is None",
        "The gradient depends on the input in its pieces only: None stands for zero.",
    ),
    *_each(
        "nn.functional.rrelu",
        "exception",
        "not implemented for 'Half'",
        "Has float16 too.",
    ),
    *_each(
        "nn.functional.hardsigmoid",
        "exception",
        "derivative for aten::hardsigmoid_backward is not implemented",
        "Has derivatives of any order.",
    ),
    Known(
        "nn.functional.hardsigmoid",
        ("float64",),
        "grad",
        "first gradient 0",
        "PyTorch multiplies by the float32 that is nearest to 1/6.",
    ),
    *_each(
        "nn.functional.silu",
        "exception",
        "silu does not support automatic differentiation for outputs with complex dtype",
        "PyTorch leaves the derivative out for complex numbers.",
    ),
    *[
        Known(
            "nn.functional.gelu",
            ("bfloat16", "float32"),
            category,
            "out transposed",
            "PyTorch writes nothing into an out= that is not contiguous.",
        )
        for category in ("value", "memory")
    ],
    *_each(_POLYGAMMAS, "value", "got inf", _POLES),
    *_each(_POLYGAMMAS, "memory", "got inf", _POLES),
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
