"""Activation functions."""

from __future__ import annotations

import facula
from facula import _core
from facula._core import Tensor
from facula._core import dtype as _DType
from facula._warnings import warn_user

__all__ = [
    "celu",
    "elu",
    "elu_",
    "glu",
    "gumbel_softmax",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hardtanh_",
    "leaky_relu",
    "leaky_relu_",
    "log_softmax",
    "mish",
    "relu",
    "relu6",
    "rrelu",
    "selu",
    "sigmoid",
    "silu",
    "softmax",
    "softmin",
    "softsign",
    "tanh",
    "tanhshrink",
    "threshold",
]


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """Each element, replaced by ``value`` where it is not above ``threshold``.

    Args:
        input: the elements.
        threshold: the number that elements must be above to stay.
        value: what the others become.
        inplace: whether the results replace the elements of the input.

    Example:
        >>> facula.nn.functional.threshold(facula.tensor([-1.0, 2.0]), 0.0, 9.0)
        tensor([9., 2.])
    """
    if inplace:
        return _core.threshold_(input, threshold, value)
    return _core.threshold(input, threshold, value)


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """Each element, replaced by 0 where it is negative.

    Args:
        input: the elements, floating point.
        inplace: whether the results replace the elements of the input.

    Example:
        >>> facula.nn.functional.relu(facula.tensor([-1.0, 2.0]))
        tensor([0., 2.])
    """
    return _core.relu_(input) if inplace else _core.relu(input)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """Each element, clamped to ``[0, 6]``.

    Args:
        input: the elements, floating point.
        inplace: whether the results replace the elements of the input.

    Example:
        >>> facula.nn.functional.relu6(facula.tensor([-1.0, 2.0, 9.0]))
        tensor([0., 2., 6.])
    """
    return _core._hardtanh_(input, 0, 6) if inplace else _core._hardtanh(input, 0, 6)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """Each element, replaced by ``alpha * (exp(x) - 1)`` where it is negative.

    Args:
        input: the elements, floating point.
        alpha: the value, with its sign changed, that very negative elements come near to.
        inplace: whether the results replace the elements of the input.

    Example:
        >>> facula.nn.functional.elu(facula.tensor([-1.0, 2.0]))
        tensor([-0.6321,  2.0000])
    """
    return _core._elu_(input, alpha) if inplace else _core._elu(input, alpha)


def elu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """``elu`` in place.

    Args:
        input: the tensor that is changed.
        alpha: the value, with its sign changed, that very negative elements come near to.

    Example:
        >>> facula.nn.functional.elu_(facula.tensor([-1.0, 2.0]))
        tensor([-0.6321,  2.0000])
    """
    return _core._elu_(input, alpha)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """``scale * elu(input, alpha)`` with the constants that keep activations normalised.

    Args:
        input: the elements, floating point.
        inplace: whether the results replace the elements of the input.

    Example:
        >>> facula.nn.functional.selu(facula.tensor([-1.0, 2.0]))
        tensor([-1.1113,  2.1014])
    """
    return _core.selu_(input) if inplace else _core.selu(input)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``max(0, x) + min(0, alpha * (exp(x / alpha) - 1))``.

    Args:
        input: the elements, floating point.
        alpha: the value, with its sign changed, that very negative elements come near to.
        inplace: whether the results replace the elements of the input.

    Example:
        >>> facula.nn.functional.celu(facula.tensor([-1.0, 2.0]), alpha=2.0)
        tensor([-0.7869,  2.0000])
    """
    return _core.celu_(input, alpha) if inplace else _core.celu(input, alpha)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """Each element, multiplied by ``negative_slope`` where it is negative.

    Args:
        input: the elements, floating point.
        negative_slope: the factor of negative elements.
        inplace: whether the results replace the elements of the input.

    Example:
        >>> facula.nn.functional.leaky_relu(facula.tensor([-1.0, 2.0]))
        tensor([-0.0100,  2.0000])
    """
    if inplace:
        return _core._leaky_relu_(input, negative_slope)
    return _core._leaky_relu(input, negative_slope)


def leaky_relu_(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """``leaky_relu`` in place.

    Args:
        input: the tensor that is changed.
        negative_slope: the factor of negative elements.

    Example:
        >>> facula.nn.functional.leaky_relu_(facula.tensor([-1.0, 2.0]), 0.1)
        tensor([-0.1000,  2.0000])
    """
    return _core._leaky_relu_(input, negative_slope)


def rrelu(
    input: Tensor,
    lower: float = 1 / 8,
    upper: float = 1 / 3,
    training: bool = False,
    inplace: bool = False,
) -> Tensor:
    """Each element, multiplied by a slope where it is not positive.

    In training every slope is drawn from ``[lower, upper)``; otherwise it is their mean.

    Args:
        input: the elements, floating point.
        lower: the smallest factor of negative elements.
        upper: the largest factor of negative elements.
        training: whether factors are drawn; else all are the mean of lower and upper.
        inplace: whether the results replace the elements of the input.

    Example:
        >>> facula.nn.functional.rrelu(facula.tensor([-1.0, 2.0]), 0.25, 0.75)
        tensor([-0.5000,  2.0000])
    """
    function = facula.rrelu_ if inplace else facula.rrelu
    return function(input, lower, upper, training)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half along ``dim``, multiplied by the sigmoid of the second.

    Args:
        input: the elements, floating point.
        dim: the dimension to halve, of even size.

    Shape:
        input ``(*, 2N, *)`` along ``dim``; result ``(*, N, *)``.

    Example:
        >>> facula.nn.functional.glu(facula.tensor([3.0, 4.0, 0.0, 0.0]))
        tensor([1.5000, 2.0000])
    """
    return _core._glu(input, dim)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """Each element times its sigmoid.

    Args:
        input: the elements, floating point.
        inplace: whether the results replace the elements of the input.

    Example:
        >>> facula.nn.functional.silu(facula.tensor([-1.0, 2.0]))
        tensor([-0.2689,  1.7616])
    """
    return _core._silu_(input) if inplace else _core._silu(input)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """Each element times the hyperbolic tangent of its ``softplus``.

    Args:
        input: the elements, floating point.
        inplace: whether the results replace the elements of the input.

    Example:
        >>> facula.nn.functional.mish(facula.tensor([-1.0, 2.0]))
        tensor([-0.3034,  1.9440])
    """
    return _core._mish_(input) if inplace else _core._mish(input)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """Each element times its ``hardsigmoid``.

    Args:
        input: the elements, floating point.
        inplace: whether the results replace the elements of the input.

    Example:
        >>> facula.nn.functional.hardswish(facula.tensor([-4.0, 0.0, 3.0]))
        tensor([-0., 0., 3.])
    """
    return _core._hardswish_(input) if inplace else _core._hardswish(input)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """``x / 6 + 1 / 2``, clamped to ``[0, 1]``.

    Args:
        input: the elements, floating point.
        inplace: whether the results replace the elements of the input.

    Example:
        >>> facula.nn.functional.hardsigmoid(facula.tensor([-4.0, 0.0, 3.0]))
        tensor([0.0000, 0.5000, 1.0000])
    """
    return _core._hardsigmoid_(input) if inplace else _core._hardsigmoid(input)


def hardtanh(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    """Each element, clamped to ``[min_val, max_val]``.

    Args:
        input: the elements.
        min_val: the smallest result.
        max_val: the largest result.
        inplace: whether the results replace the elements of the input.

    Example:
        >>> facula.nn.functional.hardtanh(facula.tensor([-4.0, 0.5, 3.0]))
        tensor([-1.0000,  0.5000,  1.0000])
    """
    if min_val > max_val:
        raise ValueError(f"hardtanh: expected min_val <= max_val, got {min_val} and {max_val}.")
    if inplace:
        return _core._hardtanh_(input, min_val, max_val)
    return _core._hardtanh(input, min_val, max_val)


def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """``hardtanh`` in place.

    Args:
        input: the tensor that is changed.
        min_val: the smallest result.
        max_val: the largest result.

    Example:
        >>> facula.nn.functional.hardtanh_(facula.tensor([-3.0, 0.5]))
        tensor([-1.0000,  0.5000])
    """
    return hardtanh(input, min_val, max_val, inplace=True)


def tanhshrink(input: Tensor) -> Tensor:
    """Each element minus its hyperbolic tangent.

    Args:
        input: the elements, floating point.

    Example:
        >>> facula.nn.functional.tanhshrink(facula.tensor([0.0, 2.0]))
        tensor([0.0000, 1.0360])
    """
    return input - input.tanh()


def softsign(input: Tensor) -> Tensor:
    """``x / (1 + abs(x))``.

    Args:
        input: the elements, floating point.

    Example:
        >>> facula.nn.functional.softsign(facula.tensor([-1.0, 3.0]))
        tensor([-0.5000,  0.7500])
    """
    return input / (input.abs() + 1)


def sigmoid(input: Tensor) -> Tensor:
    """``1 / (1 + exp(-x))``.

    Args:
        input: the elements; integers are converted to the default dtype.

    Example:
        >>> facula.nn.functional.sigmoid(facula.tensor([0.0, 2.0]))
        tensor([0.5000, 0.8808])
    """
    return _core.sigmoid(input)


def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent of each element.

    Args:
        input: the elements; integers are converted to the default dtype.

    Example:
        >>> facula.nn.functional.tanh(facula.tensor([0.0, 1.0]))
        tensor([0.0000, 0.7616])
    """
    return _core.tanh(input)


def _dim_of(name: str, dim: int | None, n_dims: int) -> int:
    """The dimension that was given or, with a warning, the one that PyTorch used to choose."""
    if dim is not None:
        return dim
    warn_user(f"{name}: the choice of a dimension is deprecated. Give one with dim=.")
    return 0 if n_dims in (0, 1, 3) else 1


def softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: _DType | None = None
) -> Tensor:
    """Exponentials along a dimension, scaled to a sum of 1.

    Args:
        input: the logits, floating point.
        dim: the dimension that sums to 1.
        dtype: the dtype of the result; the logits are converted to it first.

    Example:
        >>> facula.nn.functional.softmax(facula.tensor([0.0, 0.0]), dim=0)
        tensor([0.5000, 0.5000])
    """
    if dim is None:
        dim = _dim_of("softmax", dim, input.dim())
    return _core.softmax(input, dim, dtype)


def softmin(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: _DType | None = None
) -> Tensor:
    """``softmax(-input)``: the smallest elements weigh most.

    Args:
        input: a tensor of floating-point dtype.
        dim: the dimension that sums to 1.
        dtype: the dtype of the result; the input is converted to it first.

    Example:
        >>> facula.nn.functional.softmin(facula.tensor([0.0, 0.0]), dim=0)
        tensor([0.5000, 0.5000])
    """
    if dim is None:
        dim = _dim_of("softmin", dim, input.dim())
    return _core.softmax(-input, dim, dtype)


def log_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: _DType | None = None
) -> Tensor:
    """Logarithm of ``softmax``, without its loss of precision.

    Args:
        input: the logits, floating point.
        dim: the dimension along which the probabilities sum to 1.
        dtype: the dtype of the result; the logits are converted to it first.

    Example:
        >>> facula.nn.functional.log_softmax(facula.tensor([0.0, 0.0]), dim=0)
        tensor([-0.6931, -0.6931])
    """
    if dim is None:
        dim = _dim_of("log_softmax", dim, input.dim())
    return _core.log_softmax(input, dim, dtype)


def gumbel_softmax(
    logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    """Samples of the Gumbel-Softmax distribution, which can be differentiated.

    Args:
        logits: the logarithms of probabilities, which need not be normalised.
        tau: the temperature: the lower it is, the closer the samples are to one-hot vectors.
        hard: whether the samples are one-hot vectors, which have the gradient of the soft ones.
        eps: an old argument that has no effect.
        dim: the dimension that sums to 1.

    Example:
        >>> sample = facula.nn.functional.gumbel_softmax(facula.zeros(2, 3), hard=True)
        >>> sample.sum(-1)
        tensor([1., 1.])
    """
    if eps != 1e-10:
        warn_user("gumbel_softmax: eps is ignored. Leave it out.")
    draws = _core.empty_like(logits, memory_format=_core.contiguous_format, requires_grad=False)
    noise = -draws.exponential_().log()
    soft = _core.softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    chosen = soft.argmax(dim, keepdim=True)
    sharp = _core.zeros_like(soft, requires_grad=False).scatter_(dim, chosen, 1.0)
    return sharp - soft.detach() + soft
