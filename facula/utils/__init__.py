"""Tools beside the tensors: data, checkpointing, hooks, DLPack, logs, measurements."""

from __future__ import annotations

import os as _os
from typing import Any

from facula._lazy import lazy_modules as _lazy_modules

__all__ = [
    "backcompat",
    "benchmark",
    "checkpoint",
    "cmake_prefix_path",
    "collect_env",
    "cpp_extension",
    "data",
    "deterministic",
    "dlpack",
    "flop_counter",
    "hooks",
    "model_zoo",
    "module_tracker",
    "serialization",
    "set_module",
    "swap_tensors",
    "tensorboard",
    "weak",
]
_PRIVATE = (
    "_config_module",
    "_contextlib",
    "_device",
    "_foreach_utils",
    "_import_utils",
    "_mode_utils",
    "_ordered_set",
    "_python_dispatch",
    "_pytree",
    "_traceback",
    "_typing_utils",
)

# Where PyTorch has files for CMake; there are none, so that no such folder exists.
cmake_prefix_path = _os.path.join(_os.path.dirname(_os.path.dirname(__file__)), "share", "cmake")


def set_module(obj: Any, mod: str) -> None:
    """Set the ``__module__`` of an object, by which users and pickle find it.

    Args:
        obj: a function or class.
        mod: the name of the module.
    """
    if not isinstance(mod, str):
        raise TypeError(f"set_module: expected the name of a module, got {type(mod).__name__}.")
    obj.__module__ = mod


def swap_tensors(t1: Any, t2: Any) -> None:
    """Let two tensors change places: all references to one mean the other from now on.

    Args:
        t1, t2: tensors without a history, of any shapes, dtypes and classes.

    Example:
        >>> a, b = facula.ones(2), facula.zeros(3)
        >>> also_a = a
        >>> facula.utils.swap_tensors(a, b)
        >>> also_a
        tensor([0., 0., 0.])
    """
    for tensor in (t1, t2):
        if tensor.grad_fn is not None:
            raise RuntimeError("swap_tensors: cannot swap the result of an operation.")
    states = [(t.data, t.requires_grad, t.grad, t.__class__, dict(t.__dict__)) for t in (t1, t2)]
    for tensor, state in zip((t2, t1), states, strict=True):
        data, requires_grad, grad, kind, attributes = state
        tensor.grad = None
        tensor.requires_grad_(False)
        tensor.data = data
        tensor.requires_grad_(requires_grad)
        tensor.grad = grad
        tensor.__class__ = kind
        tensor.__dict__.clear()
        tensor.__dict__.update(attributes)


__getattr__ = _lazy_modules(__name__, *__all__, *_PRIVATE)
