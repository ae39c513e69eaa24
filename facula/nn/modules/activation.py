"""Activation functions as layers."""

from __future__ import annotations

from typing import Any

import facula
from facula import _core
from facula._core import Tensor
from facula._core import dtype as _DType
from facula._warnings import warn_user
from facula.nn import functional as F
from facula.nn.modules._attention import MultiheadAttention
from facula.nn.modules.module import Module
from facula.nn.parameter import Parameter

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "SELU",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "MultiheadAttention",
    "PReLU",
    "RReLU",
    "ReLU",
    "ReLU6",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "Threshold",
]


def _with_inplace(text: str, inplace: bool) -> str:
    return text + (", inplace=True" if inplace else "")


class _Inplace(Module):
    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


class _ShownInplace(_Inplace):
    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class _WithAlpha(Module):
    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def extra_repr(self) -> str:
        return _with_inplace(f"alpha={self.alpha}", self.inplace)


class _WithLambd(Module):
    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def extra_repr(self) -> str:
        return str(self.lambd)


class _AlongDim(Module):
    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Threshold(Module):
    """Each element, replaced by ``value`` where it is not above ``threshold``.

    Args:
        threshold: the number that elements must be above to stay.
        value: what the others become.
        inplace: whether the results replace the elements of the input.

    Shape:
        input of any shape; the result has the same shape.

    Example:
        >>> facula.nn.Threshold(0.0, 9.0)(facula.tensor([-1.0, 2.0]))
        tensor([9., 2.])
    """

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        return _with_inplace(f"threshold={self.threshold}, value={self.value}", self.inplace)


class ReLU(_ShownInplace):
    """Each element, replaced by 0 where it is negative.

    Args:
        inplace: whether the results replace the elements of the input.

    Shape:
        input of any shape; the result has the same shape.

    Example:
        >>> facula.nn.ReLU()(facula.tensor([-1.0, 2.0]))
        tensor([0., 2.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input, self.inplace)


class RReLU(Module):
    """Each element, multiplied by a slope where it is not positive.

    In training every slope is drawn from ``[lower, upper)``; otherwise it is their mean.

    Args:
        lower: the smallest factor of negative elements.
        upper: the largest factor of negative elements.
        inplace: whether the results replace the elements of the input.

    Shape:
        input of any shape; the result has the same shape.

    Example:
        >>> facula.nn.RReLU(0.25, 0.75).eval()(facula.tensor([-1.0, 2.0]))
        tensor([-0.5000,  2.0000])
    """

    def __init__(self, lower: float = 1 / 8, upper: float = 1 / 3, inplace: bool = False) -> None:
        super().__init__()
        self.lower = lower
        self.upper = upper
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        return _with_inplace(f"lower={self.lower}, upper={self.upper}", self.inplace)


class Hardtanh(Module):
    """Each element, clamped to ``[min_val, max_val]``.

    Args:
        min_val: the lower bound of the result.
        max_val: the upper bound of the result.
        inplace: whether the result is written into the input.
        min_value: deprecated name of ``min_val``.
        max_value: deprecated name of ``max_val``.

    Shape:
        input of any shape; the result has the same shape.

    Example:
        >>> facula.nn.Hardtanh()(facula.tensor([-4.0, 0.5, 3.0]))
        tensor([-1.0000,  0.5000,  1.0000])
    """

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__()
        for name, value in (("min", min_value), ("max", max_value)):
            if value is not None:
                warn_user(
                    f"Hardtanh: {name}_value is deprecated, use {name}_val.",
                    FutureWarning,
                )
        min_val = min_val if min_value is None else min_value
        max_val = max_val if max_value is None else max_value
        if max_val <= min_val:
            raise AssertionError(
                f"Hardtanh: expected min_val < max_val, got {min_val} and {max_val}."
            )
        self.min_val = min_val
        self.max_val = max_val
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        return _with_inplace(f"min_val={self.min_val}, max_val={self.max_val}", self.inplace)


class ReLU6(Hardtanh):
    """Each element, clamped to ``[0, 6]``.

    Args:
        inplace: whether the results replace the elements of the input.

    Shape:
        input of any shape; the result has the same shape.

    Example:
        >>> facula.nn.ReLU6()(facula.tensor([-1.0, 2.0, 9.0]))
        tensor([0., 2., 6.])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class Sigmoid(Module):
    """``1 / (1 + exp(-x))``.

    Shape:
        input of any shape; the result has the same shape.

    Example:
        >>> facula.nn.Sigmoid()(facula.tensor([0.0, 2.0]))
        tensor([0.5000, 0.8808])
    """

    def forward(self, input: Tensor) -> Tensor:
        return _core.sigmoid(input)


class Hardsigmoid(_Inplace):
    """``x / 6 + 1 / 2``, clamped to ``[0, 1]``.

    Args:
        inplace: whether the results replace the elements of the input.

    Shape:
        input of any shape; the result has the same shape.

    Example:
        >>> facula.nn.Hardsigmoid()(facula.tensor([-4.0, 0.0, 3.0]))
        tensor([0.0000, 0.5000, 1.0000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.hardsigmoid(input, self.inplace)


class Tanh(Module):
    """The hyperbolic tangent of each element.

    Shape:
        input of any shape; the result has the same shape.

    Example:
        >>> facula.nn.Tanh()(facula.tensor([0.0, 1.0]))
        tensor([0.0000, 0.7616])
    """

    def forward(self, input: Tensor) -> Tensor:
        return _core.tanh(input)


class SiLU(_ShownInplace):
    """Each element times its sigmoid.

    Args:
        inplace: whether the results replace the elements of the input.

    Shape:
        input of any shape; the result has the same shape.

    Example:
        >>> facula.nn.SiLU()(facula.tensor([-1.0, 2.0]))
        tensor([-0.2689,  1.7616])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input, self.inplace)


class Mish(_ShownInplace):
    """Each element times the hyperbolic tangent of its softplus.

    Args:
        inplace: whether the results replace the elements of the input.

    Shape:
        input of any shape; the result has the same shape.

    Example:
        >>> facula.nn.Mish()(facula.tensor([-1.0, 2.0]))
        tensor([-0.3034,  1.9440])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.mish(input, self.inplace)


class Hardswish(_Inplace):
    """Each element times its hard sigmoid.

    Args:
        inplace: whether the results replace the elements of the input.

    Shape:
        input of any shape; the result has the same shape.

    Example:
        >>> facula.nn.Hardswish()(facula.tensor([0.0, 3.0]))
        tensor([0., 3.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.hardswish(input, self.inplace)


class ELU(_WithAlpha):
    """Each element, replaced by ``alpha * (exp(x) - 1)`` where it is negative.

    Args:
        alpha: the value, with its sign changed, that very negative elements come near to.
        inplace: whether the results replace the elements of the input.

    Shape:
        input of any shape; the result has the same shape.

    Example:
        >>> facula.nn.ELU()(facula.tensor([-1.0, 2.0]))
        tensor([-0.6321,  2.0000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.elu(input, self.alpha, self.inplace)


class CELU(_WithAlpha):
    """``max(0, x) + min(0, alpha * (exp(x / alpha) - 1))``.

    Args:
        alpha: the value, with its sign changed, that very negative elements come near to.
        inplace: whether the results replace the elements of the input.

    Shape:
        input of any shape; the result has the same shape.

    Example:
        >>> facula.nn.CELU()(facula.tensor([-1.0, 2.0]))
        tensor([-0.6321,  2.0000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.celu(input, self.alpha, self.inplace)


class SELU(_ShownInplace):
    """The scaled ``ELU`` that keeps activations normalised.

    Args:
        inplace: whether the results replace the elements of the input.

    Shape:
        input of any shape; the result has the same shape.

    Example:
        >>> facula.nn.SELU()(facula.tensor([-1.0, 2.0]))
        tensor([-1.1113,  2.1014])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.selu(input, self.inplace)


class GLU(Module):
    """The first half along ``dim``, multiplied by the sigmoid of the second.

    Args:
        dim: the dimension to halve, of even size.

    Shape:
        input ``(*, 2N, *)`` along ``dim``; result ``(*, N, *)``.

    Example:
        >>> facula.nn.GLU()(facula.tensor([3.0, 4.0, 0.0, 0.0]))
        tensor([1.5000, 2.0000])
    """

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class GELU(Module):
    """Each element times the probability that a standard normal number is below it.

    ``approximate="tanh"`` approximates it by a hyperbolic tangent.

    Args:
        approximate: ``"none"``, or ``"tanh"`` for the approximation by a hyperbolic tangent.

    Shape:
        input of any shape; the result has the same shape.

    Example:
        >>> facula.nn.GELU()(facula.tensor([-1.0, 2.0]))
        tensor([-0.1587,  1.9545])
    """

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class Hardshrink(_WithLambd):
    """Each element, replaced by 0 where it lies in ``[-lambd, lambd]``.

    Args:
        lambd: how large, by absolute value, elements must be to stay.

    Shape:
        input of any shape; the result has the same shape.

    Example:
        >>> facula.nn.Hardshrink()(facula.tensor([-1.0, 0.25]))
        tensor([-1.,  0.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.hardshrink(input, self.lambd)


class LeakyReLU(Module):
    """Each element, multiplied by ``negative_slope`` where it is negative.

    Args:
        negative_slope: the factor of negative elements.
        inplace: whether the results replace the elements of the input.

    Shape:
        input of any shape; the result has the same shape.

    Example:
        >>> facula.nn.LeakyReLU(0.25)(facula.tensor([-1.0, 2.0]))
        tensor([-0.2500,  2.0000])
    """

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        return _with_inplace(f"negative_slope={self.negative_slope}", self.inplace)


class LogSigmoid(Module):
    """The logarithm of the sigmoid.

    Shape:
        input of any shape; the result has the same shape.

    Example:
        >>> facula.nn.LogSigmoid()(facula.tensor([0.0, 1.0]))
        tensor([-0.6931, -0.3133])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.logsigmoid(input)


class Softplus(Module):
    """``log(1 + exp(beta * x)) / beta``; x itself where ``beta * x`` is above ``threshold``.

    Args:
        beta: how sharply the function bends at 0.
        threshold: the value of ``beta * x`` above which x is returned as it is.

    Shape:
        input of any shape; the result has the same shape.

    Example:
        >>> facula.nn.Softplus()(facula.tensor([0.0, 30.0]))
        tensor([ 0.6931, 30.0000])
    """

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Tensor) -> Tensor:
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        return f"beta={self.beta}, threshold={self.threshold}"


class Softshrink(_WithLambd):
    """Each element, moved towards 0 by ``lambd``.

    Args:
        lambd: how far each element moves towards 0.

    Shape:
        input of any shape; the result has the same shape.

    Example:
        >>> facula.nn.Softshrink()(facula.tensor([-1.0, 0.25, 2.0]))
        tensor([-0.5000,  0.0000,  1.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softshrink(input, self.lambd)


class PReLU(Module):
    """Each element, multiplied by a learned slope where it is negative.

    Args:
        num_parameters: the number of slopes: 1, or one for each channel.
        init: the value that the slopes begin with.
        device: where the slopes are created.
        dtype: the dtype of the slopes.

    Shape:
        input ``(N, C, *)``, or any for one slope; result of the same shape. ``weight`` is
        ``(num_parameters,)``.

    Example:
        >>> facula.nn.PReLU()(facula.tensor([-1.0, 2.0])).tolist()
        [-0.25, 2.0]
    """

    def __init__(
        self,
        num_parameters: int = 1,
        init: float = 0.25,
        device: Any = None,
        dtype: _DType | None = None,
    ) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(_core.empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the slopes to ``init``."""
        with facula.no_grad():
            self.weight.fill_(self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


class Softsign(Module):
    """``x / (1 + abs(x))``.

    Shape:
        input of any shape; the result has the same shape.

    Example:
        >>> facula.nn.Softsign()(facula.tensor([-1.0, 3.0]))
        tensor([-0.5000,  0.7500])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softsign(input)


class Tanhshrink(Module):
    """Each element minus its hyperbolic tangent.

    Shape:
        input of any shape; the result has the same shape.

    Example:
        >>> facula.nn.Tanhshrink()(facula.tensor([0.0, 2.0]))
        tensor([0.0000, 1.0360])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.tanhshrink(input)


class Softmin(_AlongDim):
    """Softmax of the negative input: the smallest elements along ``dim`` weigh most.

    Args:
        dim: the dimension whose exponentials add up to 1.

    Shape:
        input of any shape; the result has the same shape.

    Example:
        >>> facula.nn.Softmin(dim=0)(facula.tensor([1.0, 1.0]))
        tensor([0.5000, 0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softmin(input, self.dim, _stacklevel=5)


class Softmax(_AlongDim):
    """Exponentials along ``dim``, scaled to a sum of 1.

    Args:
        dim: the dimension whose exponentials add up to 1.

    Shape:
        input of any shape; the result has the same shape.

    Example:
        >>> facula.nn.Softmax(dim=0)(facula.tensor([1.0, 1.0]))
        tensor([0.5000, 0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim, _stacklevel=5)


class Softmax2d(Module):
    """Softmax over the channels of each place of an image.

    Shape:
        input ``(N, C, H, W)`` or ``(C, H, W)``; result of the same shape.

    Example:
        >>> facula.nn.Softmax2d()(facula.zeros(2, 1, 1)).flatten()
        tensor([0.5000, 0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (3, 4):
            raise ValueError(
                f"Softmax2d: expected an input (N, C, H, W) or (C, H, W), got {tuple(input.shape)}."
            )
        return F.softmax(input, -3)


class LogSoftmax(_AlongDim):
    """Logarithm of the softmax along ``dim``.

    Args:
        dim: the dimension along which the exponentials of the results add up to 1.

    Shape:
        input of any shape; the result has the same shape.

    Example:
        >>> facula.nn.LogSoftmax(dim=0)(facula.tensor([1.0, 1.0]))
        tensor([-0.6931, -0.6931])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, self.dim, _stacklevel=5)
