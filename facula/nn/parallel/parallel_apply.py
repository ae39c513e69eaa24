"""Modules that compute beside each other, one thread for each."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from typing import Any

from facula import _core, cuda
from facula._core import Tensor
from facula._utils import ExceptionWrapper
from facula.amp import autocast
from facula.autograd.grad_mode import set_grad_enabled
from facula.nn.modules.module import Module
from facula.nn.parallel.comm import Device, as_device

__all__ = ["get_a_var", "parallel_apply"]


def get_a_var(obj: Any) -> Tensor | None:
    """The first tensor in nested lists, tuples and dicts; None if there is none.

    Args:
        obj: where to look.
    """
    if isinstance(obj, Tensor):
        return obj
    parts = obj.items() if isinstance(obj, dict) else obj if isinstance(obj, (list, tuple)) else ()
    return next((found for found in map(get_a_var, parts) if found is not None), None)


def parallel_apply(
    modules: Sequence[Module],
    inputs: Sequence[Any],
    kwargs_tup: Sequence[dict[str, Any]] | None = None,
    devices: Sequence[Device | None] | None = None,
) -> list[Any]:
    """Call each module with its inputs, all at the same time.

    Args:
        modules: the modules.
        inputs: for each module a tensor, or a tuple of arguments.
        kwargs_tup: for each module its arguments by name.
        devices: for each module its device, by default that of its first tensor.

    Returns:
        the results, in the order of the modules. The exception of one of them is raised here.

    Example:
        >>> net = facula.nn.Linear(2, 3)
        >>> replicas = facula.nn.parallel.replicate(net, ["cpu", "cpu"])
        >>> results = facula.nn.parallel.parallel_apply(replicas, [facula.ones(4, 2)] * 2)
        >>> [result.shape for result in results]
        [torch.Size([4, 3]), torch.Size([4, 3])]
    """
    n = len(modules)
    named = [{}] * n if kwargs_tup is None else kwargs_tup
    places = [None] * n if devices is None else devices
    if not n == len(inputs) == len(named) == len(places):
        raise AssertionError(
            f"parallel_apply: {n} modules, {len(inputs)} inputs, {len(named)} kwargs and "
            f"{len(places)} devices, expected as many of each."
        )
    results: list[Any] = [None] * n
    # Modes belong to threads: those of this one are carried over.
    is_recorded = _core.is_grad_enabled()
    casts = {
        kind: _core.get_autocast_dtype(kind)
        for kind in ("cpu", "cuda")
        if _core.is_autocast_enabled(kind)
    }

    def run(i: int) -> None:
        device = places[i]
        try:
            place = as_device(device) if device is not None else _place_of(inputs[i])
            args = inputs[i] if isinstance(inputs[i], (list, tuple)) else (inputs[i],)
            with contextlib.ExitStack() as modes:
                modes.enter_context(set_grad_enabled(is_recorded))
                for kind, dtype in casts.items():
                    modes.enter_context(autocast(kind, dtype))
                if place is not None and place.type == "cuda":
                    modes.enter_context(cuda.device(place))
                results[i] = modules[i](*args, **named[i])
        except Exception:
            results[i] = ExceptionWrapper(where=f"in replica {i} on device {device}")

    if n > 1:
        threads = [threading.Thread(target=run, args=(i,)) for i in range(n)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    else:
        run(0)
    for result in results:
        if isinstance(result, ExceptionWrapper):
            result.reraise()
    return results


def _place_of(inputs: Any) -> _core.device | None:
    tensor = get_a_var(inputs)
    return None if tensor is None else tensor.device
