"""Initial values: functions that fill a tensor in place, without recording it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import facula
from facula import linalg
from facula._core import Tensor
from facula._warnings import warn_user
from facula.autograd.grad_mode import no_grad

__all__ = [
    "calculate_gain",
    "constant",
    "constant_",
    "dirac",
    "dirac_",
    "eye",
    "eye_",
    "kaiming_normal",
    "kaiming_normal_",
    "kaiming_uniform",
    "kaiming_uniform_",
    "normal",
    "normal_",
    "ones_",
    "orthogonal",
    "orthogonal_",
    "sparse",
    "sparse_",
    "trunc_normal_",
    "uniform",
    "uniform_",
    "xavier_normal",
    "xavier_normal_",
    "xavier_uniform",
    "xavier_uniform_",
    "zeros_",
]

_GAINS = {
    "linear": 1.0,
    "sigmoid": 1.0,
    "tanh": 5.0 / 3,
    "relu": math.sqrt(2.0),
    "selu": 3.0 / 4,
    **{f"conv{transposed}{n}d": 1.0 for transposed in ("", "_transpose") for n in (1, 2, 3)},
}


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor that makes up for how an activation shrinks the standard deviation.

    Args:
        nonlinearity: the name of the function in ``nn.functional``.
        param: the negative slope of ``"leaky_relu"``, 0.01 by default.

    Example:
        >>> facula.nn.init.calculate_gain("leaky_relu", 0.2)
        1.3867504905630728
    """
    if nonlinearity in _GAINS:
        return _GAINS[nonlinearity]
    if nonlinearity != "leaky_relu":
        raise ValueError(
            f"calculate_gain: expected nonlinearity as 'leaky_relu' or one of {sorted(_GAINS)}, "
            f"got {nonlinearity!r}."
        )
    slope = 0.01 if param is None else param
    if isinstance(slope, bool) or not isinstance(slope, (int, float)):
        raise ValueError(f"calculate_gain: expected the negative slope as a number, got {slope!r}.")
    return math.sqrt(2.0 / (1 + slope**2))


@no_grad()
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with numbers from the interval ``[a, b)``, all equally likely.

    Args:
        tensor: the tensor to fill.
        a: the lower limit, included.
        b: the upper limit.
        generator: the source of the random numbers; None for the default one.

    Example:
        >>> w = facula.nn.init.uniform_(facula.empty(3), 2.0, 3.0)
        >>> bool(((w >= 2) & (w < 3)).all())
        True
    """
    return tensor.uniform_(a, b, generator=generator)


@no_grad()
def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with numbers of a normal distribution.

    Args:
        tensor: the tensor to fill.
        mean: the mean of the numbers.
        std: their standard deviation.
        generator: the source of the random numbers; None for the default one.

    Example:
        >>> facula.nn.init.normal_(facula.empty(2), 5.0, 0.0)
        tensor([5., 5.])
    """
    return tensor.normal_(mean, std, generator=generator)


@no_grad()
def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Any = None,
) -> Tensor:
    """Fill with numbers of a normal distribution, drawn again until they are in ``[a, b]``.

    Args:
        tensor: the tensor to fill.
        mean: the mean of the distribution before it is cut.
        std: its standard deviation before it is cut.
        a: the smallest number that is drawn.
        b: the largest number that is drawn.
        generator: the source of the random numbers; None for the default one.

    Example:
        >>> w = facula.nn.init.trunc_normal_(facula.empty(100), a=-1.0, b=1.0)
        >>> bool((w.abs() <= 1).all())
        True
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        warn_user(
            f"trunc_normal_: the mean {mean} is further than 2 std = {2 * std} from the interval "
            f"[{a}, {b}], where the values will not follow the normal distribution closely.",
        )
    if tensor.is_meta:
        return tensor
    # Which way is taken decides which random numbers are drawn: the bound is PyTorch's.
    inside = _normal_cdf((b - mean) / std) - _normal_cdf((a - mean) / std)
    if inside > 0.3:
        return _reject_normal(tensor, mean, std, a, b, generator)
    return _reject_uniform(tensor, mean, std, a, b, generator)


def _normal_cdf(x: float) -> float:
    return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0


def _reject_normal(
    tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Any
) -> Tensor:
    # The bounds as the dtype of the tensor rounds them, so that a value at the bound is inside.
    low, high = facula.tensor([a, b], dtype=tensor.dtype).tolist()
    tensor.normal_(mean, std, generator=generator)
    while (outside := (tensor < low) | (tensor > high)).any():
        # All are drawn again, even those that are kept: this is the sequence that PyTorch draws.
        again = facula.empty_like(tensor).normal_(mean, std, generator=generator)
        tensor.copy_(facula.where(outside, again, tensor))
    return tensor


def _reject_uniform(
    tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Any
) -> Tensor:
    """Candidates from the interval, each kept with the ratio of its density to the highest."""
    mode = max(a, min(mean, b))
    log_peak = -0.5 * ((mode - mean) / std) ** 2
    candidates = facula.empty_like(tensor)
    pending = facula.ones_like(tensor, dtype=facula.bool)
    while pending.any():
        candidates.uniform_(a, b, generator=generator)
        tensor.copy_(facula.where(pending, candidates, tensor))
        log_density = ((candidates - mean) / std).pow_(2).mul_(-0.5).sub_(log_peak)
        chance = facula.empty_like(tensor).uniform_(generator=generator).log_()
        pending &= chance > log_density
    return tensor


@no_grad()
def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with one number.

    Args:
        tensor: the tensor to fill.
        val: the value of every element.

    Example:
        >>> facula.nn.init.constant_(facula.empty(2), 0.3)
        tensor([0.3000, 0.3000])
    """
    return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    """Fill with ones.

    Args:
        tensor: the tensor to fill.

    Example:
        >>> facula.nn.init.ones_(facula.empty(2))
        tensor([1., 1.])
    """
    return constant_(tensor, 1.0)


@no_grad()
def zeros_(tensor: Tensor) -> Tensor:
    """Fill with zeros.

    Args:
        tensor: the tensor to fill.

    Example:
        >>> facula.nn.init.zeros_(facula.empty(2))
        tensor([0., 0.])
    """
    return tensor.zero_()


@no_grad()
def eye_(tensor: Tensor) -> Tensor:
    """Fill a matrix with the identity, so that a linear layer passes its input on.

    Args:
        tensor: the matrix to fill.

    Example:
        >>> facula.nn.init.eye_(facula.empty(2, 3))
        tensor([[1., 0., 0.],
                [0., 1., 0.]])
    """
    if tensor.dim() != 2:
        raise ValueError(f"eye_: expected a matrix, got {tuple(tensor.shape)}.")
    return tensor.copy_(facula.eye(*tensor.shape, dtype=tensor.dtype, device=tensor.device))


@no_grad()
def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill the weight of a convolution so that it passes its channels on unchanged.

    Args:
        tensor: the weight to fill, of 3, 4 or 5 dimensions.
        groups: the number of groups of the convolution.

    Example:
        >>> facula.nn.init.dirac_(facula.empty(1, 1, 3))
        tensor([[[0., 1., 0.]]])
    """
    if tensor.dim() not in (3, 4, 5):
        raise ValueError(
            "dirac_: expected the weight of a convolution, of 3, 4 or 5 dimensions, got "
            f"{tuple(tensor.shape)}."
        )
    out_channels, in_channels, *kernel = tensor.shape
    if out_channels % groups:
        raise ValueError(
            f"dirac_: expected groups to divide the {out_channels} output channels, got {groups}."
        )
    tensor.zero_()
    centre = tuple(size // 2 for size in kernel)
    for first in range(0, out_channels, out_channels // groups):
        for channel in range(min(out_channels // groups, in_channels)):
            place = (first + channel, channel, *centre)
            tensor[place] = 1
    return tensor


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """How many inputs one output of a layer with this weight has, and how many outputs an input."""
    if tensor.dim() < 2:
        raise ValueError(
            "init: expected a tensor of at least 2 dimensions, (outputs, inputs, *), to count the "
            f"inputs and outputs of, got {tuple(tensor.shape)}."
        )
    n_outputs, n_inputs, *kernel = tensor.shape
    return n_inputs * math.prod(kernel), n_outputs * math.prod(kernel)


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    modes = ["fan_in", "fan_out"]
    if mode.lower() not in modes:
        raise ValueError(f"init: expected mode 'fan_in' or 'fan_out', got {mode!r}.")
    return _calculate_fan_in_and_fan_out(tensor)[modes.index(mode.lower())]


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with uniform numbers whose variance is ``gain² · 2 / (fan_in + fan_out)``.

    Glorot and Bengio, *Understanding the difficulty of training deep feedforward neural networks*,
    2010.

    Args:
        tensor: the tensor to fill.
        gain: a factor of the limits, as :func:`calculate_gain` finds it.
        generator: the source of the random numbers; None for the default one.

    Example:
        >>> w = facula.nn.init.xavier_uniform_(facula.empty(3, 3))
        >>> bool((w.abs() <= 1).all())
        True
    """
    std = gain * math.sqrt(2.0 / float(sum(_calculate_fan_in_and_fan_out(tensor))))
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """The normal twin of :func:`xavier_uniform_`.

    Args:
        tensor: the tensor to fill.
        gain: a factor of the standard deviation, as :func:`calculate_gain` finds it.
        generator: the source of the random numbers; None for the default one.

    Example:
        >>> facula.nn.init.xavier_normal_(facula.empty(3, 5)).shape
        torch.Size([3, 5])
    """
    std = gain * math.sqrt(2.0 / float(sum(_calculate_fan_in_and_fan_out(tensor))))
    return normal_(tensor, 0.0, std, generator)


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> Tensor:
    """Fill with uniform numbers whose variance is ``gain² / fan``.

    He et al., *Delving deep into rectifiers*, 2015.

    Args:
        tensor: the weight to fill.
        a: the negative slope of ``"leaky_relu"``.
        mode: which variance is kept: with ``"fan_in"`` that of forward, with ``"fan_out"`` that of
            backward.
        nonlinearity: the function that follows the layer, see :func:`calculate_gain`.
        generator: the generator that the random numbers come from.

    Example:
        >>> w = facula.nn.init.kaiming_uniform_(facula.empty(3, 6), nonlinearity="relu")
        >>> bool((w.abs() <= 1).all())
        True
    """
    if 0 in tensor.shape:
        warn_user("kaiming_uniform_: the tensor has no elements to fill.")
        return tensor
    fan = _calculate_correct_fan(tensor, mode)
    std = calculate_gain(nonlinearity, a) / math.sqrt(fan)
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> Tensor:
    """The normal twin of :func:`kaiming_uniform_`.

    Example:
        >>> facula.nn.init.kaiming_normal_(facula.empty(3, 5), mode="fan_out").shape
        torch.Size([3, 5])
    """
    if 0 in tensor.shape:
        warn_user("kaiming_normal_: the tensor has no elements to fill.")
        return tensor
    fan = _calculate_correct_fan(tensor, mode)
    return normal_(tensor, 0.0, calculate_gain(nonlinearity, a) / math.sqrt(fan), generator)


@no_grad()
def orthogonal_(tensor: Tensor, gain: float = 1, generator: Any = None) -> Tensor:
    """Fill with a matrix of orthogonal rows or columns, whichever are fewer.

    Dimensions after the first count as one. Saxe et al., *Exact solutions to the nonlinear dynamics
    of learning in deep linear neural networks*, 2013.

    Args:
        tensor: the tensor to fill, of two or more dimensions; those after the first count as one.
        gain: a factor of the result.
        generator: the source of the random numbers; None for the default one.

    Example:
        >>> w = facula.nn.init.orthogonal_(facula.empty(2, 5))
        >>> facula.allclose(w @ w.t(), facula.eye(2), atol=1e-6)
        True
    """
    if tensor.dim() < 2:
        raise ValueError(
            f"orthogonal_: expected a tensor of at least 2 dimensions, got {tuple(tensor.shape)}."
        )
    if tensor.numel() == 0:
        return tensor
    if tensor.dtype in (facula.float16, facula.bfloat16):
        raise NotImplementedError(
            f"orthogonal_: not defined for {tensor.dtype}. Fill a float32 tensor and convert it."
        )
    rows = tensor.size(0)
    values = tensor.new_empty(rows, tensor.numel() // rows).normal_(0, 1, generator=generator)
    is_wide = rows < values.size(1)
    values = values.cpu() if values.is_cuda else values
    q, r = linalg.qr(values.t() if is_wide else values)
    # The signs make the result uniform among all orthogonal matrices, and independent of the
    # algorithm: Mezzadri, How to generate random matrices from the classical compact groups, 2006.
    q = q * r.diagonal().sign()
    return tensor.copy_((q.t() if is_wide else q).reshape(tensor.shape)).mul_(gain)


@no_grad()
def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Any = None) -> Tensor:
    """Fill a matrix with normal numbers, and a part of every column with zeros.

    Args:
        tensor: the matrix to fill.
        sparsity: the fraction of each column that becomes zero.
        std: the standard deviation of the elements that are not zero.
        generator: the generator that the random numbers come from.

    Example:
        >>> w = facula.nn.init.sparse_(facula.empty(10, 3), sparsity=0.3)
        >>> (w == 0).sum(0)
        tensor([3, 3, 3])
    """
    if tensor.dim() != 2:
        raise ValueError(f"sparse_: expected a matrix, got {tuple(tensor.shape)}.")
    rows, columns = tensor.shape
    if tensor.is_meta:
        return tensor
    n_zeros = math.ceil(sparsity * rows)
    tensor.normal_(0, std, generator=generator)
    for column in range(columns):
        tensor[facula.randperm(rows)[:n_zeros], column] = 0
    return tensor


def _deprecated(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    new = function.__name__
    old = new[:-1]

    def deprecated(*args: Any, **kwargs: Any) -> Tensor:
        warn_user(f"{old}: this is the old name. Call nn.init.{new} instead.", FutureWarning)
        return function(*args, **kwargs)

    deprecated.__name__ = old
    numbers = {"constant": ", 1.0", "sparse": ", 0.5"}.get(old, "")
    shape = "2, 2, 2" if old == "dirac" else "2, 2"
    deprecated.__doc__ = f"""Deprecated name of :func:`{new}`.

    Example:
        >>> import warnings
        >>> warnings.simplefilter("ignore")
        >>> facula.nn.init.{old}(facula.empty({shape}){numbers}).shape
        torch.Size([{shape}])
    """
    return deprecated


# PyTorch's names of what does the filling, which initialisers of programs call.
_no_grad_uniform_, _no_grad_normal_, _no_grad_trunc_normal_ = uniform_, normal_, trunc_normal_
_no_grad_fill_, _no_grad_zero_ = constant_, zeros_

uniform = _deprecated(uniform_)
normal = _deprecated(normal_)
constant = _deprecated(constant_)
eye = _deprecated(eye_)
dirac = _deprecated(dirac_)
xavier_uniform = _deprecated(xavier_uniform_)
xavier_normal = _deprecated(xavier_normal_)
kaiming_uniform = _deprecated(kaiming_uniform_)
kaiming_normal = _deprecated(kaiming_normal_)
orthogonal = _deprecated(orthogonal_)
sparse = _deprecated(sparse_)
