"""Layers: with parameters, and functions of one tensor."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import facula
from facula import Tensor
from facula.legacy.nn._module import Module
from facula.nn import functional as F

__all__ = [
    "ELU",
    "Abs",
    "Add",
    "AddConstant",
    "BatchNormalization",
    "CMul",
    "Clamp",
    "Dropout",
    "Exp",
    "HardTanh",
    "Identity",
    "LeakyReLU",
    "Linear",
    "Log",
    "LogSigmoid",
    "LogSoftMax",
    "LookupTable",
    "Max",
    "Mean",
    "Min",
    "Mul",
    "MulConstant",
    "Narrow",
    "Normalize",
    "PReLU",
    "Power",
    "ReLU",
    "ReLU6",
    "Reshape",
    "Select",
    "Sigmoid",
    "SoftMax",
    "SoftMin",
    "SoftPlus",
    "SoftSign",
    "SpatialAveragePooling",
    "SpatialBatchNormalization",
    "SpatialConvolution",
    "SpatialDropout",
    "SpatialFullConvolution",
    "SpatialMaxPooling",
    "SpatialUpSamplingNearest",
    "SpatialZeroPadding",
    "Sqrt",
    "Square",
    "Squeeze",
    "Sum",
    "Tanh",
    "Transpose",
    "Unsqueeze",
    "View",
]


def _uniform(stdv: float, *sizes: int) -> Tensor:
    return facula.empty(sizes).uniform_(-stdv, stdv)


class Linear(Module):
    """``input @ weight.t() + bias``."""

    def __init__(self, inputSize: int, outputSize: int, bias: bool = True) -> None:
        super().__init__()
        self._make(
            weight=facula.empty(outputSize, inputSize),
            bias=facula.empty(outputSize) if bias else None,
        )
        self.reset()

    def reset(self, stdv: Any = None) -> Any:
        """Draw the parameters uniformly from ``[-stdv, stdv]``."""
        stdv = 1 / math.sqrt(self.weight.size(1)) if stdv is None else stdv * math.sqrt(3)
        for name in self._own():
            getattr(self, name).uniform_(-stdv, stdv)
        return self

    def _compute(self, input: Any) -> Any:
        return F.linear(input, self.weight, self.bias)

    def __repr__(self) -> str:
        return f"nn.Linear({self.weight.size(1)} -> {self.weight.size(0)})"


class SpatialConvolution(Module):
    """A convolution of images."""

    def __init__(
        self,
        nInputPlane: int,
        nOutputPlane: int,
        kW: int,
        kH: int,
        dW: int = 1,
        dH: int = 1,
        padW: int = 0,
        padH: int | None = None,
    ) -> None:
        super().__init__()
        self.dW, self.dH, self.padW = dW, dH, padW
        self.padH = padW if padH is None else padH
        stdv = 1 / math.sqrt(kW * kH * nInputPlane)
        self._make(
            weight=_uniform(stdv, nOutputPlane, nInputPlane, kH, kW),
            bias=_uniform(stdv, nOutputPlane),
        )

    def reset(self, stdv: Any = None) -> Any:
        """Draw the parameters uniformly from ``[-stdv, stdv]``."""
        fan_in = self.weight[0].numel()
        stdv = 1 / math.sqrt(fan_in) if stdv is None else stdv * math.sqrt(3)
        for name in self._own():
            getattr(self, name).uniform_(-stdv, stdv)
        return self

    def noBias(self) -> Any:
        """Take the bias away."""
        self._make(bias=None)
        return self

    def _compute(self, input: Any) -> Any:
        stride, padding = (self.dH, self.dW), (self.padH, self.padW)
        return F.conv2d(input, self.weight, self.bias, stride, padding)


class SpatialFullConvolution(SpatialConvolution):
    """A transposed convolution of images."""

    def __init__(
        self,
        nInputPlane: int,
        nOutputPlane: int,
        kW: int,
        kH: int,
        dW: int = 1,
        dH: int = 1,
        padW: int = 0,
        padH: int | None = None,
        adjW: int = 0,
        adjH: int = 0,
    ) -> None:
        super().__init__(nInputPlane, nOutputPlane, kW, kH, dW, dH, padW, padH)
        self.adjW, self.adjH = adjW, adjH
        self._make(weight=self.weight.transpose(0, 1).contiguous())

    def _compute(self, input: Any) -> Any:
        stride, padding = (self.dH, self.dW), (self.padH, self.padW)
        return F.conv_transpose2d(
            input, self.weight, self.bias, stride, padding, (self.adjH, self.adjW)
        )


class BatchNormalization(Module):
    """Each feature normalised over the batch."""

    def __init__(
        self, nOutput: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = True
    ) -> None:
        super().__init__()
        self.eps, self.momentum, self.affine = eps, momentum, affine
        self.running_mean, self.running_var = facula.zeros(nOutput), facula.ones(nOutput)
        self._make(
            weight=facula.empty(nOutput).uniform_() if affine else None,
            bias=facula.zeros(nOutput) if affine else None,
        )

    def _compute(self, input: Any) -> Any:
        return F.batch_norm(
            input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.train,
            self.momentum,
            self.eps,
        )


class SpatialBatchNormalization(BatchNormalization):
    """Each channel normalised over the images of the batch."""


class LookupTable(Module):
    """Rows of a matrix by index, counted from 0."""

    def __init__(self, nIndex: int, nOutput: int, paddingValue: int = -1) -> None:
        super().__init__()
        self.paddingValue = paddingValue
        self._make(weight=facula.randn(nIndex, nOutput))

    def _compute(self, input: Any) -> Any:
        padding = None if self.paddingValue < 0 else self.paddingValue
        return F.embedding(input.long(), self.weight, padding)


class PReLU(Module):
    """``x`` where positive, else ``weight * x``."""

    def __init__(self, nOutputPlane: int = 0) -> None:
        super().__init__()
        self._make(weight=facula.full((max(nOutputPlane, 1),), 0.25))

    def _compute(self, input: Any) -> Any:
        return F.prelu(input, self.weight)


class Add(Module):
    """A bias that is learnt."""

    def __init__(self, inputSize: int, scalar: bool = False) -> None:
        super().__init__()
        size = 1 if scalar else inputSize
        self._make(bias=_uniform(1 / math.sqrt(size), size))

    def _compute(self, input: Any) -> Any:
        return input + self.bias


class Mul(Module):
    """One factor that is learnt."""

    def __init__(self) -> None:
        super().__init__()
        self._make(weight=_uniform(1, 1))

    def _compute(self, input: Any) -> Any:
        return input * self.weight


class CMul(Module):
    """Factors that are learnt, one for each element."""

    def __init__(self, *sizes: int) -> None:
        super().__init__()
        self._make(weight=_uniform(1 / math.sqrt(math.prod(sizes)), *sizes))

    def _compute(self, input: Any) -> Any:
        return input * self.weight


class _Pooling(Module):
    def __init__(
        self,
        kW: int,
        kH: int,
        dW: int | None = None,
        dH: int | None = None,
        padW: int = 0,
        padH: int = 0,
    ) -> None:
        super().__init__()
        self.kernel = kH, kW
        self.stride = kH if dH is None else dH, kW if dW is None else dW
        self.padding = padH, padW
        self.ceil_mode = False

    def ceil(self) -> Any:
        """Round the size of the output up."""
        self.ceil_mode = True
        return self

    def floor(self) -> Any:
        """Round the size of the output down."""
        self.ceil_mode = False
        return self


class SpatialMaxPooling(_Pooling):
    """The largest element of each window of images."""

    def _compute(self, input: Any) -> Any:
        return F.max_pool2d(input, self.kernel, self.stride, self.padding, ceil_mode=self.ceil_mode)


class SpatialAveragePooling(_Pooling):
    """The mean of each window of images."""

    def __init__(self, kW: int, kH: int, dW: int = 1, dH: int = 1, *padding: int) -> None:
        super().__init__(kW, kH, dW, dH, *padding)

    def _compute(self, input: Any) -> Any:
        return F.avg_pool2d(input, self.kernel, self.stride, self.padding, ceil_mode=self.ceil_mode)


class Dropout(Module):
    """In training, sets elements to zero with a probability."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        self.p = p

    def setp(self, p: float) -> None:
        """Change the probability."""
        self.p = p

    def _compute(self, input: Any) -> Any:
        return F.dropout(input, self.p, self.train)


class SpatialDropout(Dropout):
    """In training, sets whole channels to zero with a probability."""

    def _compute(self, input: Any) -> Any:
        return F.dropout2d(input, self.p, self.train)


class Reshape(Module):
    """The elements in another shape; the batch is left alone."""

    def __init__(self, *sizes: int) -> None:
        super().__init__()
        self.sizes = tuple(sizes[0]) if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes

    def _compute(self, input: Any) -> Any:
        n = math.prod(self.sizes)
        is_one = input.numel() == n and input.size(0) != 1
        return input.reshape(self.sizes if is_one else (input.size(0), *self.sizes))


class View(Module):
    """The elements in another shape, all sizes of which are given; one may be -1."""

    def __init__(self, *sizes: int) -> None:
        super().__init__()
        self.sizes = tuple(sizes[0]) if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes

    def resetSize(self, *sizes: int) -> Any:
        """Change the shape."""
        self.sizes = sizes
        return self

    def _compute(self, input: Any) -> Any:
        return input.reshape(self.sizes)


class Transpose(Module):
    """Pairs of dimensions swapped, one after the other."""

    def __init__(self, *pairs: tuple[int, int]) -> None:
        super().__init__()
        self.permutations = pairs

    def _compute(self, input: Any) -> Any:
        for a, b in self.permutations:
            input = input.transpose(a, b)
        return input


# Functions of the input and the constructor's arguments, with their defaults.
_REQUIRED = object()


def _module(name: str, text: str, function: Callable[..., Any], **arguments: Any) -> type[Module]:
    """A class of modules without parameters, whose constructor takes these arguments."""

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        Module.__init__(self)
        given = dict(zip(arguments, args, strict=False))
        unknown = kwargs.keys() - arguments.keys()
        if len(args) > len(arguments) or unknown:
            raise TypeError(f"{name}: expected the arguments ({', '.join(arguments)}).")
        values = {**arguments, **given, **kwargs}
        for key, value in values.items():
            if value is _REQUIRED:
                raise TypeError(f"{name}: the argument {key} is missing.")
            setattr(self, key, value)

    def _compute(self: Any, input: Any) -> Any:
        return function(input, *(getattr(self, key) for key in arguments))

    members = {"__init__": __init__, "_compute": _compute, "__doc__": text, "__module__": __name__}
    return type(name, (Module,), members)


def _softmax_dim(x: Tensor) -> int:
    return 0 if x.dim() in (1, 3) else 1


Identity = _module("Identity", "The input itself.", lambda x: x)
ReLU = _module("ReLU", "``max(x, 0)``.", lambda x, _: x.relu(), inplace=False)
ReLU6 = _module("ReLU6", "``min(max(x, 0), 6)``.", lambda x, _: F.relu6(x), inplace=False)
Tanh = _module("Tanh", "The hyperbolic tangent.", facula.tanh)
Sigmoid = _module("Sigmoid", "The logistic function.", facula.sigmoid)
LogSigmoid = _module("LogSigmoid", "Its logarithm.", F.logsigmoid)
SoftMax = _module("SoftMax", "The softmax of each row.", lambda x: F.softmax(x, _softmax_dim(x)))
SoftMin = _module("SoftMin", "The softmax of -x.", lambda x: F.softmax(-x, _softmax_dim(x)))
LogSoftMax = _module(
    "LogSoftMax", "The softmax's logarithm.", lambda x: F.log_softmax(x, _softmax_dim(x))
)
SoftPlus = _module(
    "SoftPlus",
    "``log(1 + exp(x))``.",
    lambda x, beta, t: F.softplus(x, beta, t),
    beta=1,
    threshold=20,
)
SoftSign = _module("SoftSign", "``x / (1 + |x|)``.", F.softsign)
ELU = _module(
    "ELU",
    "``x`` where positive, else ``exp(x) - 1``.",
    lambda x, a, _: F.elu(x, a),
    alpha=1.0,
    inplace=False,
)
LeakyReLU = _module(
    "LeakyReLU",
    "``x`` where positive, else a small part of it.",
    lambda x, slope, _: F.leaky_relu(x, slope),
    negval=1 / 100,
    inplace=False,
)
HardTanh = _module(
    "HardTanh",
    "``x`` between two bounds.",
    lambda x, low, high, _: x.clamp(low, high),
    min_value=-1,
    max_value=1,
    inplace=False,
)
Clamp = _module(
    "Clamp",
    "``x`` between two bounds.",
    lambda x, low, high: x.clamp(low, high),
    min_value=_REQUIRED,
    max_value=_REQUIRED,
)
Abs = _module("Abs", "The absolute value.", facula.abs)
Square = _module("Square", "The square.", facula.square)
Sqrt = _module("Sqrt", "The square root.", facula.sqrt)
Exp = _module("Exp", "The exponential.", facula.exp)
Log = _module("Log", "The logarithm.", facula.log)
Power = _module("Power", "``x ** pow``.", facula.pow, pow=_REQUIRED)
MulConstant = _module(
    "MulConstant",
    "``x * constant_scalar``.",
    lambda x, c, _: x * c,
    constant_scalar=_REQUIRED,
    inplace=False,
)
AddConstant = _module(
    "AddConstant",
    "``x + constant_scalar``.",
    lambda x, c, _: x + c,
    constant_scalar=_REQUIRED,
    inplace=False,
)
Select = _module(
    "Select",
    "The part at an index of a dimension.",
    facula.select,
    dimension=_REQUIRED,
    index=_REQUIRED,
)
Narrow = _module(
    "Narrow",
    "A range of a dimension.",
    facula.narrow,
    dimension=_REQUIRED,
    offset=_REQUIRED,
    length=1,
)
Squeeze = _module(
    "Squeeze",
    "Without dimensions of size 1, or without one of them.",
    lambda x, dim: x.squeeze() if dim is None else x.squeeze(dim),
    dim=None,
)
Unsqueeze = _module(
    "Unsqueeze", "With another dimension, of size 1.", facula.unsqueeze, dim=_REQUIRED
)
Sum = _module("Sum", "The sum along a dimension.", facula.sum, dimension=0)
Mean = _module("Mean", "The mean along a dimension.", facula.mean, dimension=0)
Max = _module("Max", "The largest along a dimension.", lambda x, d: x.max(d)[0], dimension=0)
Min = _module("Min", "The smallest along a dimension.", lambda x, d: x.min(d)[0], dimension=0)
Normalize = _module(
    "Normalize",
    "Each row divided by its norm.",
    lambda x, p, eps: F.normalize(x, p, -1, eps),
    p=2,
    eps=1e-10,
)
SpatialUpSamplingNearest = _module(
    "SpatialUpSamplingNearest",
    "Each pixel of images repeated.",
    lambda x, scale: F.interpolate(x, scale_factor=scale),
    scale=_REQUIRED,
)
SpatialZeroPadding = _module(
    "SpatialZeroPadding",
    "Zeros around images.",
    lambda x, left, right, top, bottom: F.pad(x, (left, right, top, bottom)),
    pad_l=_REQUIRED,
    pad_r=0,
    pad_t=0,
    pad_b=0,
)
