"""Modules as functions of their parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import facula
from facula._core import Tensor

if TYPE_CHECKING:
    from facula.nn import Module

__all__ = ["functional_call", "replace_all_batch_norm_modules_", "stack_module_state"]


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: dict[str, Tensor] | Sequence[dict[str, Tensor]],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with the given tensors in the place of its parameters and buffers.

    Args:
        module: the module, which is unchanged afterwards.
        parameter_and_buffer_dicts: the tensors by their path, in one dictionary or several; what is
            not given is the module's own.
        args: the positional arguments of the call: a tuple, or a single one.
        kwargs: the keyword arguments of the call.
        tie_weights: whether a tensor that the module has under several names is replaced under all
            of them.
        strict: whether all names of the module must be given, and no others.

    Example:
        >>> from facula.func import functional_call
        >>> m = facula.nn.Linear(2, 1, bias=False)
        >>> functional_call(m, {"weight": facula.tensor([[1.0, 2.0]])}, facula.ones(2))
        tensor([3.])
    """
    from facula.nn.utils import stateless  # nn is imported when it is first used

    if isinstance(parameter_and_buffer_dicts, dict):
        values = parameter_and_buffer_dicts
    elif isinstance(parameter_and_buffer_dicts, Sequence):
        if not all(isinstance(d, dict) for d in parameter_and_buffer_dicts):
            raise ValueError("functional_call: expected dicts only in the list of dicts.")
        names = [name for d in parameter_and_buffer_dicts for name in d]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise ValueError(
                f"functional_call: expected each name in one of the dicts only, got {repeated} in "
                "several."
            )
        values = {name: value for d in parameter_and_buffer_dicts for name, value in d.items()}
    else:
        raise ValueError(
            "functional_call: expected a dict of tensors, or several in a list or tuple, got "
            f"{type(parameter_and_buffer_dicts).__name__}."
        )
    return stateless._functional_call(
        module, values, args, kwargs, tie_weights=tie_weights, strict=strict
    )


def stack_module_state(models: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters and buffers of models of one kind, stacked to run them all with ``vmap``.

    Args:
        models: at least one module; all are of one class and in one mode.

    Returns:
        Two dictionaries, of parameters and of buffers, each tensor with a first dimension of the
        number of models.

    Example:
        >>> from facula import nn
        >>> params, buffers = facula.func.stack_module_state([nn.Linear(3, 2) for _ in range(4)])
        >>> params["weight"].shape
        torch.Size([4, 2, 3])
    """
    if len(models) == 0:
        raise RuntimeError("stack_module_state: there are no models to stack.")
    if any(model.training != models[0].training for model in models):
        raise RuntimeError(
            "stack_module_state: some models are in training mode, others are not. Call train() or "
            "eval() on all of them."
        )
    if any(type(model) is not type(models[0]) for model in models):
        raise RuntimeError(
            "stack_module_state: expected models of one class, got "
            f"{sorted({type(model).__name__ for model in models})}."
        )
    parameters = [dict(model.named_parameters()) for model in models]
    buffers = [dict(model.named_buffers()) for model in models]
    return (
        {name: _stacked([p[name] for p in parameters]) for name in parameters[0]},
        {name: _stacked([b[name] for b in buffers]) for name in buffers[0]},
    )


def _stacked(tensors: list[Tensor]) -> Tensor:
    if not all(t.requires_grad == tensors[0].requires_grad for t in tensors):
        raise RuntimeError(
            "stack_module_state: expected a parameter to require grad in all models or in none."
        )
    # New leaves, as the parameters were: gradients end in the stacked tensors, not in the models.
    stacked = facula.stack(tensors)
    return stacked.detach().requires_grad_() if tensors[0].requires_grad else stacked


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """Let all batch norms of a module use the statistics of each batch, in place.

    Running statistics are written in place, which ``vmap`` and derivatives of functions do not
    allow.

    Args:
        root: the module, which is changed and returned.

    Example:
        >>> from facula import nn
        >>> m = facula.func.replace_all_batch_norm_modules_(nn.Sequential(nn.BatchNorm1d(2)))
        >>> m[0].track_running_stats
        False
    """
    from facula.nn.modules.batchnorm import _BatchNorm

    for module in root.modules():
        if isinstance(module, _BatchNorm) and module.track_running_stats:
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root
