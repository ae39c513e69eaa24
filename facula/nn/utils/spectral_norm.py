"""Weights divided by their largest singular value, by a hook before forward.

New code uses :func:`facula.nn.utils.parametrizations.spectral_norm`.
"""

from __future__ import annotations

from typing import Any, TypeVar

import facula
from facula import linalg
from facula._core import Tensor
from facula.autograd.grad_mode import no_grad
from facula.nn.modules.module import Module
from facula.nn.parameter import Parameter, is_lazy

__all__ = [
    "SpectralNorm",
    "SpectralNormLoadStateDictPreHook",
    "SpectralNormStateDictHook",
    "remove_spectral_norm",
    "spectral_norm",
]

_M = TypeVar("_M", bound=Module)


def unit(v: Tensor, eps: float) -> Tensor:
    """``v`` with length 1."""
    return v / linalg.vector_norm(v).clamp_min(eps)


def as_matrix(weight: Tensor, dim: int) -> Tensor:
    """``weight`` with ``dim`` as the rows and all other dimensions as the columns."""
    return weight.movedim(dim, 0).flatten(1) if dim else weight.flatten(1)


def default_dim(module: Module) -> int:
    """The dimension of a weight that counts the features of the result."""
    from facula.nn.modules import conv

    transposed = conv.ConvTranspose1d, conv.ConvTranspose2d, conv.ConvTranspose3d
    return 1 if isinstance(module, transposed) else 0


def check_power_iterations(n_power_iterations: int) -> None:
    if n_power_iterations <= 0:
        raise ValueError(
            f"spectral_norm: expected n_power_iterations of at least 1, got {n_power_iterations}."
        )


class SpectralNorm:
    """The hook of :func:`spectral_norm`.

    Args:
        name: the name of the parameter.
        n_power_iterations: the number of steps of the power method before each forward in training.
        dim: the dimension of the weight that counts the features of the result.
        eps: a small number that is added to lengths, against division by zero.

    Example:
        >>> from facula import nn
        >>> m = nn.utils.spectral_norm(nn.Linear(3, 2), n_power_iterations=2)
        >>> [hook.n_power_iterations for hook in m._forward_pre_hooks.values()]
        [2]
    """

    # The version of what a state_dict holds; version 1 added weight_v.
    _version = 1

    def __init__(
        self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        check_power_iterations(n_power_iterations)
        self.name = name
        self.dim = dim
        self.n_power_iterations = n_power_iterations
        self.eps = eps

    def compute_weight(self, module: Module, do_power_iteration: bool) -> Tensor:
        """The weight divided by its largest singular value, after some steps of the method."""
        weight = getattr(module, self.name + "_orig")
        u, v = getattr(module, self.name + "_u"), getattr(module, self.name + "_v")
        matrix = as_matrix(weight, self.dim)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(unit(facula.mv(matrix.t(), u), self.eps))
                    u.copy_(unit(facula.mv(matrix, v), self.eps))
            # Copies, because the next forward writes to the buffers, perhaps before this backward.
            u, v = u.clone(), v.clone()
        normalized: Tensor = weight / facula.dot(u, facula.mv(matrix, v))
        return normalized

    def remove(self, module: Module) -> None:
        """Make the weight a parameter again."""
        with no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        delattr(module, self.name)
        for suffix in ("_u", "_v", "_orig"):
            delattr(module, self.name + suffix)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Module, inputs: Any) -> None:
        weight = self.compute_weight(module, do_power_iteration=module.training)
        setattr(module, self.name, weight)

    @staticmethod
    def apply(
        module: Module, name: str, n_power_iterations: int, dim: int, eps: float
    ) -> SpectralNorm:
        """Replace a parameter by its original and two vectors, and add the hook."""
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, SpectralNorm) and hook.name == name:
                raise RuntimeError(
                    f"spectral_norm: {name!r} of {type(module).__name__} has a spectral norm "
                    "already. Take it off with remove_spectral_norm first."
                )
        norm = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters[name]
        if weight is None:
            raise ValueError(
                f"spectral_norm: expected a tensor as {name!r} of {type(module).__name__}, got "
                "None."
            )
        if is_lazy(weight):
            raise ValueError(
                f"spectral_norm: {name!r} of {type(module).__name__} has no shape yet. Call the "
                "module with an input first."
            )
        with no_grad():
            height, width = as_matrix(weight, dim).shape
            u = unit(weight.new_empty(height).normal_(0, 1), eps)
            v = unit(weight.new_empty(width).normal_(0, 1), eps)
        delattr(module, name)
        module.register_parameter(name + "_orig", weight)
        # A plain attribute, no parameter: the hook replaces it at the first forward.
        setattr(module, name, weight.data)
        module.register_buffer(name + "_u", u)
        module.register_buffer(name + "_v", v)
        module.register_forward_pre_hook(norm)
        module._register_state_dict_hook(SpectralNormStateDictHook(norm))
        module._register_load_state_dict_pre_hook(SpectralNormLoadStateDictPreHook(norm))
        return norm


class SpectralNormStateDictHook:
    """Notes the version in the metadata of a state_dict."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(self, module: Any, state_dict: Any, prefix: str, local_metadata: Any) -> None:
        versions = local_metadata.setdefault("spectral_norm", {})
        key = self.fn.name + ".version"
        if key in versions:
            raise RuntimeError(
                f"spectral_norm: the metadata of the state_dict lists {key!r} already; two norms "
                "of one name cannot be saved."
            )
        versions[key] = self.fn._version


class SpectralNormLoadStateDictPreHook:
    """Refuses a state_dict from before version 1, which has no ``weight_v``."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        key = prefix + self.fn.name
        if key + "_orig" in state_dict and key + "_v" not in state_dict and key in state_dict:
            error_msgs.append(
                f"{key}: the state_dict has no {key}_v; it was saved by spectral_norm as it was "
                "before PyTorch 1.0. Load it there and save it again."
            )


def spectral_norm(
    module: _M,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> _M:
    """Divide a parameter by its largest singular value before each forward.

    Miyato et al., *Spectral normalization for generative adversarial networks*, 2018. New code uses
    :func:`facula.nn.utils.parametrizations.spectral_norm`, which needs no hook.

    Args:
        module: the module to change.
        name: the name of the parameter.
        n_power_iterations: the number of steps of the power method before each forward in training.
        eps: the smallest length that is divided by.
        dim: the dimension that counts the features of the result; by default 1 for transposed
            convolutions and 0 for others.

    Example:
        >>> from facula import nn
        >>> m = nn.utils.spectral_norm(nn.Linear(2, 3))
        >>> [name for name, _ in m.named_buffers()]
        ['weight_u', 'weight_v']
    """
    SpectralNorm.apply(
        module, name, n_power_iterations, default_dim(module) if dim is None else dim, eps
    )
    return module


def remove_spectral_norm(module: _M, name: str = "weight") -> _M:
    """Take back :func:`spectral_norm`: the weight is a parameter again.

    Example:
        >>> from facula import nn
        >>> m = nn.utils.remove_spectral_norm(nn.utils.spectral_norm(nn.Linear(2, 3)))
        >>> [name for name, _ in m.named_parameters()]
        ['bias', 'weight']
    """
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, SpectralNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            break
    else:
        raise ValueError(
            f"remove_spectral_norm: expected a spectral norm on {name!r} of "
            f"{type(module).__name__}, found none."
        )
    for table in (module._state_dict_hooks, module._load_state_dict_pre_hooks):
        for key, (stored, _) in list(table.items()):
            if getattr(getattr(stored, "fn", None), "name", None) == name:
                del table[key]
    return module
