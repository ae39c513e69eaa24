"""Where nodes of the graph have other names than PyTorch's, and why."""

from __future__ import annotations

from .frameworks import COMPLEX, FLOATING
from .known import DIFFERENTIABLE, DOUBLE, HALF, SINGLE, Known, each

_COMPOSED = "Composed of other operations, whose nodes the graph shows."
_IN_PLACE = "The node of the form in place is named as that of the other form."
_LINEAR = "One operation, whose node is the one that PyTorch has where it calls its own library."
_ATTENTION = "One operation for all inputs; PyTorch composes it of others where it is not fused."
_COMPLEX_CONVOLUTION = (
    "Complex convolutions are one operation; PyTorch makes them of three real ones."
)
_ONE = "One operation; PyTorch composes it on the CPU."
_OWN_1D = "PyTorch's operation is that of two dimensions between two views; here it is its own."


def nodes(ops: str, dtypes: tuple[str, ...], pairs: str, reason: str = _COMPOSED) -> list[Known]:
    """Entries for pairs "PyTorch's name -> ours", separated by commas."""
    case = "inplace " if reason is _IN_PLACE else ""
    texts = [
        "result[...]: expected {}, got {}".format(*pair.split(" -> ")) for pair in pairs.split(", ")
    ]
    return [k for text in texts for k in each("grad_fn", text, reason, {dtypes: ops}, case=case)]


KNOWN_NODES: list[Known] = [
    *nodes("addr", DIFFERENTIABLE, "AddrBackward0 -> CopyBackwards"),
    *nodes("cdist", SINGLE + DOUBLE, "ViewBackward0 -> CdistBackward0"),
    *nodes("sum_to_size", DIFFERENTIABLE, "SumBackward1 -> ViewBackward0"),
    *nodes(
        "diag",
        DIFFERENTIABLE,
        "DiagEmbedBackward0 -> CopySlices, DiagonalBackward0_copy -> CloneBackward0",
    ),
    *nodes(
        "matmul __rmatmul__",
        DIFFERENTIABLE,
        "CloneBackward0 -> ViewBackward0, TransposeBackward0 -> ViewBackward0, "
        "UnsafeViewBackward0 -> SqueezeBackward1, UnsafeViewBackward0 -> ViewBackward0",
    ),
    *nodes(
        "meshgrid.variadic_tensors meshgrid.list_of_tensors",
        DIFFERENTIABLE,
        "ExpandBackward0 -> PermuteBackward0",
    ),
    *nodes(
        "quantile nanquantile",
        SINGLE + DOUBLE,
        "SqueezeBackward4 -> PermuteBackward0, SqueezeBackward4 -> SelectBackward0",
    ),
    *nodes(
        "nn.functional.linear_cross_entropy",
        FLOATING,
        "DivBackward1 -> DivBackward0, ViewBackward0 -> NllLoss2DBackward0",
    ),
    *nodes(
        "nn.functional.pad.circular", DIFFERENTIABLE, "CopySlices -> CircularPadBackward0", _ONE
    ),
    *nodes("roll", DIFFERENTIABLE, "RollBackward0 -> ViewBackward0"),
    *nodes(
        "rot90",
        DIFFERENTIABLE,
        "Rot90Backward0 -> TransposeBackward0",
    ),
    *nodes("__rsub__", DIFFERENTIABLE, "RsubBackward0 -> SubBackward0"),
    *nodes(
        "renorm",
        DIFFERENTIABLE,
        "RenormBackward0 -> CopyBackwards",
    ),
    *nodes(
        "trapz trapezoid",
        DIFFERENTIABLE,
        "DivBackward1 -> SumBackward1",
    ),
    *nodes("cumulative_trapezoid", DIFFERENTIABLE, "DivBackward1 -> CumsumBackward0"),
    *nodes("trace", DIFFERENTIABLE, "TraceBackward0 -> SumBackward0"),
    *nodes(
        "kron",
        DIFFERENTIABLE,
        "UnsafeViewBackward0 -> ReshapeAliasBackward0, UnsafeViewBackward0 -> ViewBackward0",
    ),
    *nodes(
        "nn.functional.l1_loss",
        FLOATING,
        "MeanBackward0 -> L1LossBackward0, SumBackward0 -> L1LossBackward0, "
        "AbsBackward0 -> L1LossBackward0",
        _ONE,
    ),
    *nodes(
        "nn.functional.smooth_l1_loss", FLOATING, "MeanBackward0 -> SmoothL1LossBackward0", _ONE
    ),
    *nodes("nn.functional.ctc_loss", SINGLE + DOUBLE, "WhereBackward0 -> CtcLossBackward0", _ONE),
    *nodes(
        "nn.functional.pairwise_distance",
        DIFFERENTIABLE,
        "NormBackward1 -> LinalgVectorNormBackward0",
    ),
    *nodes(
        "nn.functional.scaled_dot_product_attention",
        HALF,
        "AddBackward0 -> ToCopyBackward0, ToCopyBackward0 -> "
        "ScaledDotProductFlashAttentionForCpuBackward0, ToCopyBackward0 -> ViewBackward0",
        _ATTENTION,
    ),
    *nodes(
        "nn.functional.scaled_dot_product_attention",
        FLOATING,
        "AddBackward0 -> ViewBackward0",
        _ATTENTION,
    ),
    *nodes(
        "nn.functional.scaled_dot_product_attention",
        SINGLE + DOUBLE,
        "UnsafeViewBackward0 -> ScaledDotProductFlashAttentionForCpuBackward0, "
        "UnsafeViewBackward0 -> ViewBackward0",
        _ATTENTION,
    ),
    *nodes(
        "nn.functional.conv_transpose1d nn.functional.conv_transpose2d "
        "nn.functional.conv_transpose3d nn.functional.conv1d nn.functional.conv2d "
        "nn.functional.conv3d",
        COMPLEX,
        "AddBackward0 -> ConvolutionBackward0",
        _COMPLEX_CONVOLUTION,
    ),
    *nodes("conj_physical", FLOATING, "ConjPhysicalBackward1 -> CloneBackward0", _IN_PLACE),
    *nodes("conj_physical", COMPLEX, "ConjPhysicalBackward1 -> ConjPhysicalBackward0", _IN_PLACE),
    *nodes(
        "as_strided as_strided.partial_views",
        DIFFERENTIABLE,
        "AsStridedBackward1 -> AsStridedBackward0",
        _IN_PLACE,
    ),
    *nodes(
        "polygamma.polygamma_n_0 polygamma.polygamma_n_1 polygamma.polygamma_n_2 "
        "polygamma.polygamma_n_3 polygamma.polygamma_n_4",
        FLOATING,
        "PolygammaBackward1 -> PolygammaBackward0",
        _IN_PLACE,
    ),
    *nodes(
        "squeeze",
        DIFFERENTIABLE,
        "SqueezeBackward3 -> SqueezeBackward0, SqueezeBackward4 -> SqueezeBackward1",
        _IN_PLACE,
    ),
    *nodes("squeeze.multiple", DIFFERENTIABLE, "SqueezeBackward5 -> SqueezeBackward2", _IN_PLACE),
    *nodes("unsqueeze", DIFFERENTIABLE, "UnsqueezeBackward1 -> UnsqueezeBackward0", _IN_PLACE),
    *nodes("transpose", DIFFERENTIABLE, "TransposeBackward1 -> TransposeBackward0", _IN_PLACE),
    *nodes("t", DIFFERENTIABLE, "TBackward1 -> TBackward0", _IN_PLACE),
    *nodes("swapdims swapaxes", SINGLE, "TransposeBackward1 -> TransposeBackward0", _IN_PLACE),
    *nodes(
        "nn.functional.linear",
        DIFFERENTIABLE,
        "AddBackward0 -> LinearBackward0, SqueezeBackward4 -> LinearBackward0, "
        "UnsafeViewBackward0 -> LinearBackward0, ViewBackward0 -> LinearBackward0",
        _LINEAR,
    ),
    *nodes(
        "nn.functional.adaptive_avg_pool1d nn.functional.interpolate.area",
        FLOATING,
        "SqueezeBackward1 -> AdaptiveAvgPool1DBackward0",
        _OWN_1D,
    ),
    *nodes(
        "nn.functional.adaptive_avg_pool1d",
        DIFFERENTIABLE,
        "SqueezeBackward1 -> MeanBackward1",
        _OWN_1D,
    ),
    *nodes(
        "nn.functional.adaptive_max_pool1d",
        FLOATING,
        "SqueezeBackward1 -> AdaptiveMaxPool1DBackward0",
        _OWN_1D,
    ),
    *nodes("nn.functional.avg_pool1d", FLOATING, "SqueezeBackward1 -> AvgPool1DBackward0", _OWN_1D),
    *nodes("nn.functional.max_pool1d", FLOATING, "SqueezeBackward1 -> MaxPool1DBackward0", _OWN_1D),
    *nodes(
        "nn.functional.max_unpool1d nn.functional.max_unpool1d.grad",
        FLOATING,
        "SqueezeBackward1 -> MaxUnpool1DBackward0",
        _OWN_1D,
    ),
    *nodes("nn.functional.rms_norm", HALF, "ToCopyBackward0 -> FusedRmsNormBackward0", _ONE),
    *nodes(
        "nn.functional.rms_norm",
        SINGLE + DOUBLE,
        "CloneBackward0 -> FusedRmsNormBackward0, MulBackward0 -> FusedRmsNormBackward0",
        _ONE,
    ),
    *nodes("nn.functional.rms_norm", COMPLEX, "CloneBackward0 -> MulBackward0", _ONE),
    *nodes(
        "rms_norm",
        SINGLE,
        "CloneBackward0 -> FusedRmsNormBackward0, MulBackward0 -> FusedRmsNormBackward0",
        _ONE,
    ),
]
