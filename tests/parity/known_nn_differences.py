"""Where ``nn.functional`` differs from PyTorch on purpose, and why."""

from __future__ import annotations

from .frameworks import COMPLEX, FLOATING, INTEGERS
from .known import (
    ALL,
    BFLOAT16,
    BOOL,
    COMPLEX_GRAD,
    DIFFERENTIABLE,
    DOUBLE,
    FLOAT16,
    HALF,
    INT64,
    MORE,
    NOT_FLOATING,
    OVERLAP,
    SINGLE,
    SMALL_INTEGERS,
    Known,
    each,
)

_NORMALIZE = (
    "A small difference of large numbers, which both frameworks round to 16 bits on the way."
)
_IN_FLOAT = "The 16-bit floats are computed in float32 and rounded once; PyTorch rounds on the way."
_NO_ROWS = (
    "Of no rows PyTorch looks at neither dtype nor derivative, and gives memory that "
    "it did not write."
)
_DTYPE_FIRST = (
    "Other dtypes are refused as such before anything else is looked at; PyTorch "
    "trips over something else first."
)
_ATTENTION_DTYPES = "Integers and complex numbers are refused also where there are no elements."
_EMPTY_SHUFFLE = "PyTorch leaves the shape of an empty input as it is."
_NO_DIMS = "An input without dimensions is refused as any other of the wrong number."
_EMPTY_DTYPES = "Other dtypes are refused even where there is nothing to compute."
_COMPLEX_FIRST = "Complex numbers are refused for their dtype before derivatives are looked at."
_HALF_TOO = "Has the half dtypes too."
_AS_CONTIGUOUS = "PyTorch writes to out= as if it were contiguous."
_NOT_WRITTEN = "PyTorch writes nothing into an out= that is not contiguous."
_TRIPS = (
    "What has the wrong size is refused by name, and an input without elements needs "
    "nothing; PyTorch trips over an element that is not there."
)
_ANY_ORDER = "Has derivatives of any order."

KNOWN_NN: list[Known] = [
    *each(
        "grad",
        "first gradient 0: ...",
        _NORMALIZE,
        {BFLOAT16: "nn.functional.normalize"},
        case="{p=0.5, dim=0}",
        within=7,
        by_chance=True,
    ),
    *each(
        "grad",
        "first gradient 0: ...",
        _NORMALIZE,
        {FLOAT16: "nn.functional.normalize"},
        case="{p=0.5, dim=0}",
        within=2,
        by_chance=True,
    ),
    *each(
        "grad",
        "first gradient 0: ... expected inf, got ...",
        _NORMALIZE,
        {FLOAT16: "nn.functional.normalize"},
        case="{p=-1.0, dim=1}",
    ),
    *each(
        "rounding",
        "...",
        _IN_FLOAT,
        {
            HALF: "nn.functional.binary_cross_entropy_with_logits "
            "nn.functional.grid_sample grid_sampler_2d nn.functional.nll_loss",
            FLOAT16: "nn.functional.soft_margin_loss",
        },
    ),
    *each(
        "rounding",
        "...",
        _IN_FLOAT,
        {BFLOAT16: "native_layer_norm nn.functional.multi_head_attention_forward"},
        by_chance=True,
    ),
    *each(
        "exception",
        "call: expected RuntimeError(... does not support automatic differentiation for "
        "outputs with complex dtype.), got no exception",
        COMPLEX_GRAD,
        {COMPLEX: "nn.functional.bilinear nn.functional.silu"},
    ),
    *each(
        "exception",
        "call: expected RuntimeError(The size of tensor a (...) must match the size of "
        "tensor b (...) at non-singleton dimension ...), got no exception",
        "PyTorch cannot store a product of several rows in a transposed out=.",
        {DIFFERENTIABLE + INTEGERS: "nn.functional.linear"},
        case="out transposed",
    ),
    *each(
        "gradgrad",
        "second gradient 0: expected zeros, got None",
        "The gradient depends on the input in its pieces only: None stands for zero.",
        {DOUBLE: "nn.functional.prelu nn.functional.rrelu"},
    ),
    *each(
        "gradgrad",
        "second gradient 1: expected zeros, got None",
        "The place of the nearest element has no derivative; PyTorch makes zeros for it.",
        {DOUBLE: "nn.functional.grid_sample grid_sampler_2d"},
    ),
    *each(
        "gradgrad",
        "second gradient ...: ...",
        "PyTorch adds 1e-12 to a divisor in the second derivative, which shows in its digits.",
        {DOUBLE: "nn.functional.binary_cross_entropy"},
        within=60,
    ),
    *each(
        "exception",
        'call: expected NotImplementedError("multi..." not implemented for ...), got no exception',
        MORE,
        {HALF: "nn.functional.multi_margin_loss nn.functional.multilabel_margin_loss"},
    ),
    *each(
        "exception",
        "second gradient: expected RuntimeError(derivative for aten::multi... is not "
        "implemented), got no exception",
        MORE,
        {DOUBLE: "nn.functional.multi_margin_loss nn.functional.multilabel_margin_loss"},
    ),
    *each(
        "refused",
        "call: got NotImplementedError(multi...: expected a floating-point input, got ...)",
        _NO_ROWS,
        {INTEGERS + BOOL: "nn.functional.multi_margin_loss nn.functional.multilabel_margin_loss"},
        case="empty first dim",
    ),
    *each(
        "value",
        "result: 1 of 1, at (): expected ..., got 0.0",
        _NO_ROWS,
        {FLOATING: "nn.functional.multi_margin_loss"},
        case="empty first dim",
        by_chance=True,
    ),
    *each(
        "value",
        "result: 1 of 1, at (): expected ..., got nan",
        _NO_ROWS,
        {FLOATING: "nn.functional.multilabel_margin_loss"},
        case="empty first dim",
        by_chance=True,
    ),
    *each(
        "exception",
        "expected RuntimeError(multi... does not support automatic differentiation for "
        "outputs with complex d...), got NotImplementedError(multi...: expected a "
        "floating-point input, got ...)",
        _NO_ROWS,
        {COMPLEX: "nn.functional.multi_margin_loss nn.functional.multilabel_margin_loss"},
        case="empty first dim",
    ),
    *each(
        "exception",
        "expected RuntimeError(argument #2 'target' is out of range), got "
        "NotImplementedError(multilabel_margin_loss: expected a floating-point input, got "
        "...)",
        _DTYPE_FIRST,
        {NOT_FLOATING: "nn.functional.multilabel_margin_loss"},
        case="0-d",
    ),
    *each(
        "refused",
        "call: got RuntimeError(scaled_dot_product_attention: expected floating-point "
        "tensors, got ...)",
        _ATTENTION_DTYPES,
        {INTEGERS + BOOL: "nn.functional.scaled_dot_product_attention"},
        case="empty ",
    ),
    *each(
        "refused",
        "call: got NotImplementedError(scaled_dot_product_attention: not defined for complex "
        "numbers, got ...)",
        _ATTENTION_DTYPES,
        {COMPLEX: "nn.functional.scaled_dot_product_attention"},
        case="empty ",
    ),
    *each(
        "grad",
        "first gradient ...: ...",
        "Scores in the hundreds, rounded to bfloat16 in another place: a softmax of such "
        "turns the last bit into another choice.",
        {BFLOAT16: "nn.functional.multi_head_attention_forward"},
        case="sample 0 expanded",
        within=13,
        by_chance=True,
    ),
    *each(
        "exception",
        "second gradient: expected RuntimeError(derivative for "
        "aten::_scaled_dot_product_flash_attention_for_cpu_backward is not implemented), got "
        "no exception",
        "Second derivatives exist; PyTorch's fused attention has none.",
        {DOUBLE: "nn.functional.scaled_dot_product_attention"},
    ),
    *each(
        "exception",
        "first gradient: expected RuntimeError(Function PixelShuffleBackward0 returned an "
        "invalid gradient ...), got no exception",
        _EMPTY_SHUFFLE,
        {DIFFERENTIABLE: "nn.functional.pixel_shuffle"},
        case="empty ",
    ),
    *each(
        "shape",
        "result: expected (...), got (...)",
        _EMPTY_SHUFFLE,
        {INTEGERS + BOOL: "nn.functional.pixel_unshuffle"},
        case="empty ",
    ),
    *each(
        "exception",
        "first gradient: expected RuntimeError(pixel_shuffle expects its input's 'channel' "
        "dimension to be divisible by the square of upscale_facto...), got no exception",
        _EMPTY_SHUFFLE,
        {DIFFERENTIABLE: "nn.functional.pixel_unshuffle"},
        case="empty ",
    ),
    *each(
        "exception",
        "expected IndexError(Dimension specified as 0 but tensor has no dimensions), got "
        "RuntimeError(grid_sample: expected an input and a grid of 4 or 5 dimensions both, "
        "got ...)",
        _NO_DIMS,
        {ALL: "nn.functional.grid_sample grid_sampler_2d", SINGLE: "grid_sampler_3d"},
        case="0-d",
    ),
    *each(
        "exception",
        "expected IndexError(Dimension specified as -... but tensor has no dimensions), got "
        "RuntimeError(avg_pool2d: expected an input of 3 dimensions, or 4 with a batch, got "
        "...)",
        _NO_DIMS,
        {ALL: "nn.functional.avg_pool2d"},
        case="0-d",
    ),
    *each(
        "refused",
        "call: got NotImplementedError(...: not implemented for ... (0, ...). Convert it "
        "with input.float().)",
        _EMPTY_DTYPES,
        {
            INTEGERS + BOOL: "nn.functional.adaptive_avg_pool1d nn.functional.adaptive_avg_pool2d "
            "nn.functional.interpolate.area nn.functional.max_unpool1d "
            "nn.functional.max_unpool1d.grad nn.functional.max_unpool2d "
            "nn.functional.max_unpool2d.grad nn.functional.max_unpool3d "
            "nn.functional.max_unpool3d.grad nn.functional.grid_sample "
            "grid_sampler_2d"
        },
    ),
    *each(
        "exception",
        "expected RuntimeError(... does not support automatic differentiation for outputs "
        "with complex dtype.), got NotImplementedError(...: not implemented for complex... "
        "(0, ...). Convert it with ...)",
        _COMPLEX_FIRST,
        {
            COMPLEX: "nn.functional.adaptive_avg_pool1d nn.functional.adaptive_avg_pool2d "
            "nn.functional.interpolate.area nn.functional.fractional_max_pool2d "
            "nn.functional.fractional_max_pool3d nn.functional.max_unpool1d "
            "nn.functional.max_unpool1d.grad nn.functional.max_unpool2d "
            "nn.functional.max_unpool2d.grad nn.functional.max_unpool3d "
            "nn.functional.max_unpool3d.grad nn.functional.grid_sample "
            "grid_sampler_2d"
        },
    ),
    *each(
        "exception",
        'call: expected NotImplementedError("avg_pool3d_out_frame" not implemented for ...), '
        "got no exception",
        _HALF_TOO,
        {HALF: "nn.functional.avg_pool3d"},
    ),
    *each(
        "exception",
        'call: expected NotImplementedError("rrelu_with_noise_out_cpu" not implemented for '
        "'Half'), got no exception",
        _HALF_TOO,
        {FLOAT16: "nn.functional.rrelu"},
    ),
    *each(
        "value",
        "result: ...",
        _AS_CONTIGUOUS,
        {SINGLE + DOUBLE + INT64: "nn.functional.avg_pool3d"},
        case="out transposed",
    ),
    *each(
        "memory",
        "call: inputs or out=: ...",
        _AS_CONTIGUOUS,
        {SINGLE + DOUBLE + INT64: "nn.functional.avg_pool3d"},
        case="out transposed",
    ),
    *each(
        "value",
        "result: ... expected 1.0, got ...",
        _NOT_WRITTEN,
        {SINGLE: "nn.functional.gelu"},
        case="out transposed",
    ),
    *each(
        "value",
        "result: ... expected 1.0, got ...",
        _NOT_WRITTEN,
        {BFLOAT16: "nn.functional.gelu"},
        case="out transposed",
        by_chance=True,
    ),
    *each(
        "memory",
        "call: inputs or out=: ... expected 1.0, got ...",
        _NOT_WRITTEN,
        {SINGLE: "nn.functional.gelu"},
        case="out transposed",
    ),
    *each(
        "memory",
        "call: inputs or out=: ... expected 1.0, got ...",
        _NOT_WRITTEN,
        {BFLOAT16: "nn.functional.gelu"},
        case="out transposed",
        by_chance=True,
    ),
    *each(
        "refused",
        "call: got RuntimeError(adaptive_avg_pool...: expected sizes that are not 0 (that of "
        "the batch may be), got complex...)",
        "An average of nothing is refused, as by the other poolings.",
        {COMPLEX: "nn.functional.adaptive_avg_pool1d nn.functional.adaptive_avg_pool3d"},
        case="empty last dim",
    ),
    *each(
        "exception",
        "first gradient: expected RuntimeError(view size is not compatible with input "
        "tensor's size and stride ...), got no exception",
        "PyTorch's derivative takes the input to be contiguous.",
        {FLOATING: "nn.functional.max_unpool3d nn.functional.max_unpool3d.grad"},
    ),
    *each(
        "exception",
        'call: expected NotImplementedError("slow_conv... not implemented for ...), got no '
        "exception",
        "Every convolution takes every integer dtype; PyTorch's depends on dilation and "
        "transposition.",
        {
            SMALL_INTEGERS: "nn.functional.conv_transpose1d nn.functional.conv_transpose2d "
            "nn.functional.conv_transpose3d nn.functional.conv1d "
            "nn.functional.conv3d"
        },
    ),
    *each(
        "strides",
        "result (...): expected (...), got (...)",
        "The memory order of the input is kept, as in all other activations.",
        {FLOATING: "nn.functional.rrelu nn.functional.logsigmoid"},
        case="channels last",
    ),
    *each(
        "exception",
        "expected RuntimeError(mean(): could not infer output dtype. ...), got "
        "NotImplementedError(batch_norm: expected a floating-point input, got ...)",
        _DTYPE_FIRST,
        {INTEGERS + BOOL: "nn.functional.batch_norm"},
    ),
    *each(
        "exception",
        "expected IndexError(...), got NotImplementedError(batch_norm: expected a "
        "floating-point input, got ...)",
        _DTYPE_FIRST,
        {NOT_FLOATING: "nn.functional.batch_norm"},
    ),
    *each(
        "exception",
        "expected IndexError(select(): index 0 out of range for tensor of size [0] at "
        "dimension 0), got RuntimeError(...: expected running_mean of ...)",
        _TRIPS,
        {ALL: "nn.functional.instance_norm", FLOATING: "nn.functional.batch_norm"},
        case="empty ",
    ),
    *each(
        "exception",
        "call: expected IndexError(select(): index 0 out of range for tensor of size [0] at "
        "dimension 0), got no exception",
        _TRIPS,
        {FLOATING: "nn.functional.batch_norm"},
        case="empty last dim",
    ),
    *each(
        "exception",
        "expected IndexError(tuple index out of range), got RuntimeError(batch_norm: "
        "expected an input (N, C, *), got ...)",
        _TRIPS,
        {FLOATING: "nn.functional.batch_norm"},
        case="0-d",
    ),
    *each(
        "refused",
        "call: got NotImplementedError(batch_norm: expected a floating-point input, got ... "
        "(0,). Convert it with input.float().)",
        _EMPTY_DTYPES,
        {NOT_FLOATING: "nn.functional.batch_norm"},
    ),
    *each(
        "refused",
        "call: got RuntimeError(batch_norm: expected an input (N, C, *), got ... (0,).)",
        "An input without elements is refused for its dimensions as any other is.",
        {FLOATING: "nn.functional.batch_norm"},
    ),
    *each(
        "refused",
        "call: got RuntimeError(batch_norm: expected running statistics with a place for "
        "each element, got ...)",
        OVERLAP,
        {FLOATING: "nn.functional.batch_norm"},
        case="expanded",
    ),
    *each(
        "grad",
        "first gradient 0: ...",
        "The gradient of two elements is close to zero, a difference of large numbers.",
        {SINGLE: "native_layer_norm"},
        case="(1, 2) (2, 1) grad>, (2)",
        within=2,
        by_chance=True,
    ),
    *each(
        "exception",
        "call: expected RuntimeError(step must be nonzero), got no exception",
        "The sum of an empty bag is zero, also where all bags are empty.",
        {FLOATING: "nn.functional.embedding_bag"},
        case="empty last dim",
    ),
    *each(
        "exception",
        "second gradient: expected RuntimeError(derivative for aten::... is not "
        "implemented), got no exception",
        _ANY_ORDER,
        {DOUBLE: "nn.functional.hardsigmoid nn.functional.embedding_bag"},
    ),
    *each(
        "exception",
        "second gradient: expected NotImplementedError(the derivative for "
        "'_embedding_bag_backward' is not implemented.), got no exception",
        _ANY_ORDER,
        {DOUBLE: "nn.functional.embedding_bag"},
    ),
    *each(
        "grad",
        "first gradient 0: ...",
        "PyTorch multiplies by the float32 that is nearest to 1/6.",
        {DOUBLE: "nn.functional.hardsigmoid"},
        within=500,
    ),
]
