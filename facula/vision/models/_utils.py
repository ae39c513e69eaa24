"""What the files of models share."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, TypeVar

from facula import nn
from facula._core import Tensor

_T = TypeVar("_T")


class IntermediateLayerGetter(nn.ModuleDict):
    """The layers of ``model`` up to the last one wanted; its result is theirs by name.

    The direct children of ``model`` are called one after the other in the order of their
    registration, each with the result of the one before, so each may be used only once there.

    Args:
        model: the model to cut.
        return_layers: the names of the children wanted, and their names in the result.

    Example:
        >>> from collections import OrderedDict
        >>> from facula import nn
        >>> from facula.vision.models._utils import IntermediateLayerGetter
        >>> body = nn.Sequential(OrderedDict(a=nn.ReLU(), b=nn.Tanh(), c=nn.ELU()))
        >>> IntermediateLayerGetter(body, {"a": "low", "b": "high"})(facula.zeros(1))
        OrderedDict([('low', tensor([0.])), ('high', tensor([0.]))])
    """

    return_layers: dict[str, str]

    def __init__(self, model: nn.Module, return_layers: dict[str, str]) -> None:
        children = dict(model.named_children())
        unknown = [name for name in return_layers if name not in children]
        if unknown:
            raise ValueError(
                f"IntermediateLayerGetter: {type(model).__name__} has no layer "
                f"{', '.join(map(repr, unknown))}; it has {', '.join(children)}."
            )
        names = list(children)
        n_used = max((names.index(name) + 1 for name in return_layers), default=len(names))
        super().__init__({name: children[name] for name in names[:n_used]})
        self.return_layers = dict(return_layers)

    def forward(self, x: Tensor) -> OrderedDict[str, Tensor]:
        out = OrderedDict()
        for name, module in self.items():
            x = module(x)
            if name in self.return_layers:
                out[self.return_layers[name]] = x
        return out


def _make_divisible(v: float, divisor: int, min_value: int | None = None) -> int:
    """``v`` rounded to a multiple of ``divisor`` that is no more than a tenth below it."""
    rounded = max(min_value or divisor, int(v + divisor / 2) // divisor * divisor)
    return rounded + divisor if rounded < 0.9 * v else rounded


def init_fan_out(model: nn.Module, linear_std: float | None = None) -> None:
    """Draw the convolutions' weights for ReLUs and, with ``linear_std``, those of linear layers.

    Normalisations are left as they are: they start as the identity.
    """
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
        elif isinstance(module, nn.Linear) and linear_std is not None:
            nn.init.normal_(module.weight, 0, linear_std)
        else:
            continue
        if module.bias is not None:
            nn.init.zeros_(module.bias)


def _ovewrite_value_param(param: str, actual: _T | None, expected: _T) -> _T:
    """What the weights ask for, unless the caller asked for something else."""
    if actual is not None and actual != expected:
        raise ValueError(f"{param}: the weights need {expected!r}, got {actual!r}.")
    return expected


def _ovewrite_named_param(kwargs: dict[str, Any], param: str, new_value: Any) -> None:
    kwargs[param] = _ovewrite_value_param(param, kwargs.get(param), new_value)


def init_mlp(mlp: nn.Sequential) -> None:
    """Draw the linear layers of a transformer's block as the first vision transformers did."""
    for layer in mlp:
        if isinstance(layer, nn.Linear):
            nn.init.xavier_uniform_(layer.weight)
            if layer.bias is not None:
                nn.init.normal_(layer.bias, std=1e-6)
