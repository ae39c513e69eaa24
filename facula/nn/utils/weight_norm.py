"""Weights as a direction and a length, by a hook before forward.

New code uses :func:`facula.nn.utils.parametrizations.weight_norm`.
"""

from __future__ import annotations

from typing import Any, TypeVar

import facula
from facula._core import Tensor
from facula._warnings import warn_user
from facula.nn.modules.module import Module
from facula.nn.parameter import Parameter, is_lazy

__all__ = ["WeightNorm", "remove_weight_norm", "weight_norm"]

_M = TypeVar("_M", bound=Module)


def normalized(v: Tensor, g: Tensor, dim: int) -> Tensor:
    """``v`` with the norms ``g``."""
    return v * (g / facula.norm_except_dim(v, 2, dim))


class WeightNorm:
    """The hook of :func:`weight_norm`.

    Args:
        name: the name of the parameter.
        dim: the dimension whose slices have a length each; ``None`` for one length of the whole.

    Example:
        >>> import warnings
        >>> from facula import nn
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     m = nn.utils.weight_norm(nn.Linear(3, 2))
        >>> [hook.name for hook in m._forward_pre_hooks.values()]
        ['weight']
    """

    def __init__(self, name: str, dim: int | None) -> None:
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module: Module) -> Tensor:
        """The weight of the two parameters."""
        g, v = getattr(module, self.name + "_g"), getattr(module, self.name + "_v")
        return normalized(v, g, self.dim)

    @staticmethod
    def apply(module: Module, name: str, dim: int | None) -> WeightNorm:
        """Replace a parameter by two and add the hook."""
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, WeightNorm) and hook.name == name:
                raise RuntimeError(
                    f"weight_norm: {name!r} of {type(module).__name__} has a weight norm already. "
                    "Take it off with remove_weight_norm first."
                )
        norm = WeightNorm(name, dim)
        weight = getattr(module, name)
        if is_lazy(weight):
            raise ValueError(
                f"weight_norm: {name!r} of {type(module).__name__} has no shape yet. Call the "
                "module with an input first."
            )
        del module._parameters[name]
        lengths = facula.norm_except_dim(weight, 2, norm.dim)
        module.register_parameter(name + "_g", Parameter(lengths.data))
        module.register_parameter(name + "_v", Parameter(weight.data))
        setattr(module, name, norm.compute_weight(module))
        module.register_forward_pre_hook(norm)
        return norm

    def remove(self, module: Module) -> None:
        """Make the weight a parameter again."""
        weight = self.compute_weight(module)
        delattr(module, self.name)
        del module._parameters[self.name + "_g"]
        del module._parameters[self.name + "_v"]
        setattr(module, self.name, Parameter(weight.data))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: _M, name: str = "weight", dim: int | None = 0) -> _M:
    """Replace a parameter by its lengths ``name + "_g"`` and directions ``name + "_v"``.

    Salimans and Kingma, *Weight normalization*, 2016. Deprecated: a parametrization does the same
    without a hook, :func:`facula.nn.utils.parametrizations.weight_norm`.

    Args:
        module: the module to change.
        name: the name of the parameter.
        dim: the dimension whose slices have a length each; ``None`` for one length of the whole.

    Example:
        >>> import warnings
        >>> from facula import nn
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     m = nn.utils.weight_norm(nn.Linear(3, 2))
        >>> m.weight_g.shape, m.weight_v.shape
        (torch.Size([2, 1]), torch.Size([2, 3]))
    """
    warn_user(
        "weight_norm: this is the old form, made of hooks. Use "
        "nn.utils.parametrizations.weight_norm instead.",
        FutureWarning,
    )
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module: _M, name: str = "weight") -> _M:
    """Take back :func:`weight_norm`: the weight is a parameter again.

    Args:
        module: the module that has the normalised weight.
        name: the name of the weight.

    Example:
        >>> import warnings
        >>> warnings.simplefilter("ignore")
        >>> from facula import nn
        >>> m = nn.utils.weight_norm(nn.Linear(2, 3))
        >>> [name for name, _ in nn.utils.remove_weight_norm(m).named_parameters()]
        ['bias', 'weight']
    """
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, WeightNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(
        f"remove_weight_norm: expected a weight norm on {name!r} of {type(module).__name__}, found "
        "none."
    )
