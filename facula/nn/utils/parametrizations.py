"""Parametrizations of weights: normalised, of norm 1, orthogonal."""

from __future__ import annotations

from typing import Any, TypeVar

import facula
from facula._core import Tensor
from facula.autograd.grad_mode import no_grad
from facula.nn.modules.module import Module
from facula.nn.utils._orthogonal import MAPS, _Orthogonal
from facula.nn.utils.parametrize import register_parametrization
from facula.nn.utils.spectral_norm import as_matrix, check_power_iterations, default_dim, unit
from facula.nn.utils.weight_norm import normalized

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]

_M = TypeVar("_M", bound=Module)


def _tensor_of(module: Module, name: str) -> Tensor:
    value = getattr(module, name, None)
    if not isinstance(value, Tensor):
        raise ValueError(
            f"parametrizations: expected a tensor named {name!r} in {type(module).__name__}, got "
            f"{type(value).__name__}."
        )
    return value


def orthogonal(
    module: _M,
    name: str = "weight",
    orthogonal_map: str | None = None,
    *,
    use_trivialization: bool = True,
) -> _M:
    """Keep a matrix orthogonal: its rows, or columns if fewer, are perpendicular, of length 1.

    Args:
        module: the module to change.
        name: the name of the parameter, which has at least two dimensions.
        orthogonal_map: how matrices become orthogonal: ``"matrix_exp"`` (the default for square and
            complex matrices), ``"cayley"`` or ``"householder"`` (the default for others).
        use_trivialization: whether to begin at the matrix that the parameter is, made orthogonal;
            this costs a second matrix, and without it the first two maps cannot be assigned to.

    Example:
        >>> from facula import nn
        >>> w = nn.utils.parametrizations.orthogonal(nn.Linear(4, 2)).weight
        >>> facula.allclose(w @ w.t(), facula.eye(2), atol=1e-5)
        True
    """
    weight = _tensor_of(module, name)
    if weight.dim() < 2:
        raise ValueError(
            f"orthogonal: expected a weight of at least 2 dimensions, got {tuple(weight.shape)}."
        )
    if orthogonal_map is None:
        is_square = weight.size(-2) == weight.size(-1)
        orthogonal_map = "matrix_exp" if is_square or weight.is_complex() else "householder"
    if orthogonal_map not in MAPS:
        allowed = ", ".join(f'"{known}"' for known in MAPS)
        raise ValueError(
            f"orthogonal: expected orthogonal_map as {allowed}, got {orthogonal_map!r}."
        )
    parametrization = _Orthogonal(weight, orthogonal_map, use_trivialization=use_trivialization)
    register_parametrization(module, name, parametrization, unsafe=True)
    return module


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return normalized(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return facula.norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module: _M, name: str = "weight", dim: int | None = 0) -> _M:
    """Split a parameter into lengths, ``original0``, and directions, ``original1``.

    Salimans and Kingma, *Weight normalization*, 2016.

    Args:
        module: the module to change.
        name: the name of the parameter.
        dim: the dimension whose slices have a length each; ``None`` for one length of the whole.

    Example:
        >>> from facula import nn
        >>> m = nn.utils.parametrizations.weight_norm(nn.Linear(20, 40))
        >>> m.parametrizations.weight.original0.shape
        torch.Size([40, 1])
    """
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def take_old_names(state_dict: Any, prefix: str, *args: Any) -> None:
        # Files of nn.utils.weight_norm have other names for the two tensors.
        new = f"{prefix}parametrizations.{name}.original"
        for old, i in ((f"{prefix}{name}_g", 0), (f"{prefix}{name}_v", 1)):
            if old in state_dict:
                state_dict[f"{new}{i}"] = state_dict.pop(old)

    module._register_load_state_dict_pre_hook(take_old_names)
    return module


class _SpectralNorm(Module):
    _u: Tensor
    _v: Tensor

    def __init__(
        self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        super().__init__()
        ndim = weight.dim()
        if not -ndim <= dim < ndim:
            raise IndexError(
                f"spectral_norm: expected dim from {-ndim} to {ndim - 1} for a weight of {ndim} "
                f"dimensions, got {dim}."
            )
        check_power_iterations(n_power_iterations)
        self.dim = dim % ndim
        self.eps = eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            with no_grad():
                matrix = as_matrix(weight, self.dim)
                height, width = matrix.shape
                u = matrix.new_empty(height).normal_(0, 1)
                v = matrix.new_empty(width).normal_(0, 1)
            self.register_buffer("_u", unit(u, eps))
            self.register_buffer("_v", unit(v, eps))
            # Many steps once, so that the weight is well normalised from the beginning.
            self._power_method(matrix, 15)

    @no_grad()
    def _power_method(self, matrix: Tensor, n_steps: int) -> None:
        for _ in range(n_steps):
            self._u.copy_(unit(facula.mv(matrix, self._v), self.eps))
            self._v.copy_(unit(facula.mv(matrix.mH, self._u), self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        if weight.dim() == 1:
            return unit(weight, self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        # Copies, because the next forward writes to the buffers, perhaps before this backward.
        u, v = self._u.clone(), self._v.clone()
        return weight / facula.vdot(u, facula.mv(matrix, v))

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


def spectral_norm(
    module: _M,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> _M:
    """Divide a parameter by its largest singular value, as the power method estimates it.

    Miyato et al., *Spectral normalization for generative adversarial networks*, 2018.

    Args:
        module: the module to change.
        name: the name of the parameter.
        n_power_iterations: the number of steps of the power method whenever the parameter is read
            in training.
        eps: the smallest length that is divided by.
        dim: the dimension that counts the features of the result; by default 1 for transposed
            convolutions and 0 for others.

    Example:
        >>> from facula import nn
        >>> m = nn.utils.parametrizations.spectral_norm(nn.Linear(4, 4))
        >>> m.eval().weight.shape
        torch.Size([4, 4])
    """
    weight = _tensor_of(module, name)
    dim = default_dim(module) if dim is None else dim
    parametrization = _SpectralNorm(weight, n_power_iterations, dim, eps)
    register_parametrization(module, name, parametrization)
    return module
