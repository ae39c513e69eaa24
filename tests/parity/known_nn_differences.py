"""Where ``nn.functional`` differs from PyTorch on purpose, and why."""

from __future__ import annotations

from .known import ALL, COMPOSED, Known, each

_INTEGER_CONVOLUTIONS = (
    "Every convolution takes every integer dtype; PyTorch's depends on dilation and transposition."
)
_CONVOLUTIONS = (
    "nn.functional.conv1d nn.functional.conv2d nn.functional.conv3d nn.functional.conv_transpose1d "
    "nn.functional.conv_transpose2d nn.functional.conv_transpose3d"
)
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

KNOWN_NN: list[Known] = [
    Known(
        "nn.functional.bilinear",
        ("complex64", "complex128"),
        "exception",
        "_trilinear does not support automatic differentiation for outputs with complex dtype",
        "Composed of products, which have a gradient for complex dtypes too.",
    ),
    *each(
        "nn.functional.linear",
        "grad_fn",
        "got LinearBackward0",
        "One operation, whose node is the one that PyTorch has where it calls its own library.",
    ),
    *each(
        "nn.functional.linear",
        "exception",
        "got no exception | out transposed",
        "PyTorch cannot store a product of several rows in a transposed out=.",
    ),
    *each(
        "nn.functional.linear_cross_entropy nn.functional.binary_cross_entropy "
        "nn.functional.binary_cross_entropy_with_logits nn.functional.ctc_loss "
        f"nn.functional.pairwise_distance {_MARGINS}",
        "grad_fn",
        "",
        COMPOSED,
    ),
    *each("nn.functional.nll_loss", "grad", "second gradient 0: one of", _NO_SECOND),
    *each(
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
    *each(
        _MARGINS,
        "exception",
        "got no exception",
        "Has the half dtypes too, and derivatives of any order.",
    ),
    *each(_MARGINS, "refused", "expected a floating-point input", _NO_ROWS),
    *(
        Known(op, ALL, "value", "empty first dim", _NO_ROWS, by_chance=True)
        for op in _MARGINS.split()
    ),
    *each(_MARGINS, "exception", "expected a floating-point input", _NO_ROWS),
    *each(
        "nn.functional.pad.reflect nn.functional.pad.replicate "
        "nn.functional.pad.replicate_negative",
        "grad",
        "second gradient 0: one of",
        _NO_SECOND,
    ),
    *each(
        "nn.functional.scaled_dot_product_attention",
        "grad_fn",
        "expected",
        "One operation for all inputs; PyTorch composes it of others where it is not fused.",
    ),
    *each(
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
    *each("nn.functional.pad.circular", "grad_fn", "expected CopySlices", COMPOSED),
    *each(
        _MAX_POOLS + " " + _AVG_POOLS + " nn.functional.interpolate.area",
        "grad",
        "second gradient 0: one of",
        _NO_SECOND,
    ),
    *each(
        "nn.functional.pixel_shuffle",
        "exception",
        "first gradient: expected RuntimeError(Function PixelShuffleBackward0 returned an invalid",
        _EMPTY_SHUFFLE,
    ),
    *each(
        _GRID_SAMPLES,
        "exception",
        "expected IndexError(Dimension specified as 0 but tensor has no dimensions)",
        "An input without dimensions is refused as any other of the wrong number.",
    ),
    *each(
        "grid_sampler_2d nn.functional.grid_sample",
        "refused",
        "not implemented for",
        "Other dtypes are refused even where there is nothing to compute.",
    ),
    *each(
        "grid_sampler_2d nn.functional.grid_sample",
        "grad",
        "second gradient 1: one of",
        "The place of the nearest element has no derivative; PyTorch makes zeros for it.",
    ),
    *each(
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
    *each("nn.functional.pixel_unshuffle", "shape", "empty ", _EMPTY_SHUFFLE),
    *each(
        "nn.functional.pixel_unshuffle",
        "exception",
        "first gradient: expected RuntimeError(pixel_shuffle expects its input's 'channel'",
        _EMPTY_SHUFFLE,
    ),
    *each(
        "nn.functional.max_pool1d nn.functional.adaptive_max_pool1d nn.functional.avg_pool1d "
        "nn.functional.adaptive_avg_pool1d nn.functional.max_unpool1d "
        "nn.functional.max_unpool1d.grad nn.functional.interpolate.area",
        "grad_fn",
        "expected SqueezeBackward",
        "PyTorch's operation is that of two dimensions between two views; here it is its own.",
    ),
    *each(
        "nn.functional.avg_pool2d nn.functional.avg_pool3d",
        "exception",
        "expected RuntimeError(Expected out tensor to have dtype",
        "Other dtypes are refused for the input before out= is looked at.",
    ),
    *each(
        "nn.functional.avg_pool2d nn.functional.avg_pool3d",
        "exception",
        "out=... arguments don't support automatic differentiation, but one of t), got NotImpl",
        "Complex numbers are refused for their dtype before derivatives are looked at.",
    ),
    *each(
        "nn.functional.avg_pool2d",
        "exception",
        "expected IndexError(Dimension specified as -",
        "An input without dimensions is refused as any other of the wrong number.",
    ),
    *each(
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
    *each(
        "nn.functional.adaptive_avg_pool1d nn.functional.adaptive_avg_pool2d "
        "nn.functional.interpolate.area " + _MAX_UNPOOLS,
        "refused",
        "not implemented for",
        "Other dtypes are refused even where there is nothing to compute.",
    ),
    *each(
        "nn.functional.adaptive_avg_pool1d nn.functional.adaptive_avg_pool2d "
        "nn.functional.interpolate.area nn.functional.fractional_max_pool2d "
        "nn.functional.fractional_max_pool3d " + _MAX_UNPOOLS,
        "exception",
        "does not support automatic differentiation for outputs with complex dtype.), got NotImpl",
        "Complex numbers are refused for their dtype before derivatives are looked at.",
    ),
    *each(
        "nn.functional.adaptive_avg_pool1d nn.functional.adaptive_avg_pool3d",
        "refused",
        "expected sizes that are not 0",
        "An average of nothing is refused, as by the other poolings.",
    ),
    *each(
        "nn.functional.max_unpool3d nn.functional.max_unpool3d.grad",
        "exception",
        "first gradient: expected RuntimeError(view size is not compatible",
        "PyTorch's derivative takes the input to be contiguous.",
    ),
    *each(
        _CONVOLUTIONS.replace("nn.functional.conv2d ", ""),  # whose samples PyTorch takes
        "exception",
        'expected NotImplementedError("slow_conv',
        _INTEGER_CONVOLUTIONS,
    ),
    *each(
        _CONVOLUTIONS,
        "grad_fn",
        "expected AddBackward0, got ConvolutionBackward0",
        "Complex convolutions are one operation; PyTorch makes them of three real ones.",
    ),
    *each(
        "nn.functional.logsigmoid nn.functional.rrelu",
        "strides",
        "channels last",
        "The memory order of the input is kept, as in all other activations.",
    ),
    *each(
        "nn.functional.batch_norm nn.functional.instance_norm",
        "exception",
        "expected IndexError(",
        "What has the wrong size is refused by name, and an input without elements needs nothing; "
        "PyTorch trips over an element that is not there.",
    ),
    *each(
        "nn.functional.batch_norm",
        "exception",
        "expected a floating-point input",
        "Other dtypes are refused as such; PyTorch trips over them in one operation or another.",
    ),
    *each(
        "nn.functional.batch_norm",
        "refused",
        "(0,",
        "An input without elements is refused for its dtype or dimensions as any other is.",
    ),
    *each(
        "nn.functional.rms_norm rms_norm",
        "grad_fn",
        "",
        "One operation; PyTorch composes it on the CPU.",
    ),
    *each(
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
    *each(
        "nn.functional.embedding_bag",
        "exception",
        "step must be nonzero",
        "The sum of an empty bag is zero, also where all bags are empty.",
    ),
    *each(
        "nn.functional.embedding_bag",
        "exception",
        "is not implemented",
        "Has derivatives of any order.",
    ),
    *each(
        "nn.functional.rrelu nn.functional.prelu",
        "grad",
        "and None is None",
        "The gradient depends on the input in its pieces only: None stands for zero.",
    ),
    *each(
        "nn.functional.rrelu",
        "exception",
        "not implemented for 'Half'",
        "Has float16 too.",
    ),
    *each(
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
    *each(
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
]
