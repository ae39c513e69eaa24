"""Facula: PyTorch's programming model in a package small enough to read.

``import facula as torch`` is the usual way to port a script.
"""

from importlib import import_module as _import_module
from math import e, inf, nan, pi
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from facula import (
    _core,
    _legacy,
    _ops,
    _settings,
    _tensor,
    autograd,
    backends,
    cuda,
    func,
    linalg,
    random,
    return_types,
    storage,
    utils,
    version,
)
from facula._core import *  # noqa: F403
from facula._legacy import *  # noqa: F403
from facula._limits import finfo, iinfo
from facula._ops import *  # noqa: F403
from facula._ops.methods import METHODS as _METHODS
from facula._settings import *  # noqa: F403
from facula._tensor_str import set_printoptions
from facula.autograd.grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled
from facula.func import vmap
from facula.storage import TypedStorage
from facula.utils.dlpack import from_dlpack
from facula.version import __version__ as __version__

if _TYPE_CHECKING:
    from facula import (
        accelerator,
        checkpoint,
        hub,
        multiprocessing,
        nn,
        optim,
        serialization,
        testing,
        vision,
    )
    from facula.serialization import load, save

for _name, _method in _METHODS.items():
    _tensor.attach(_name, _method)
del _name, _method

newaxis = None

# What the core has for the package itself, and functions that PyTorch has only as methods or in
# the modules that they belong to.
_INTERNAL = {
    "FunctionNode",
    "Node",
    "absolute_",
    "bitwise_not_",
    "current_graph_task_id",
    "digamma_",
    "disable_saved_tensors_hooks_",
    "erfinv_",
    "gelu",
    "is_backward_to_leaves",
    "lgamma_",
    "linear",
    "logsigmoid",
    "pop_inference_mode_",
    "pop_saved_tensors_hooks_",
    "push_inference_mode_",
    "push_saved_tensors_hooks_",
    "record_function",
    "run_backward",
    "saved_tensors_hooks_disabled_message",
    "scaled_dot_product_attention",
    "set_anomaly_enabled_",
    "set_grad_enabled_",
    "sgn_",
    "sign_",
    "softplus",
    "softshrink",
    "special_i1",
    "unpack_saved",
    "will_engine_execute_node",
}
for _name in _INTERNAL:
    del globals()[_name]
del _name

# Imported when they are first asked for: much code that a script may never use.
_LAZY = {
    "accelerator",
    "checkpoint",
    "hub",
    "multiprocessing",
    "nn",
    "optim",
    "serialization",
    "testing",
    "vision",
}


def __getattr__(name: str) -> _Any:
    if name in ("load", "save"):
        return getattr(_import_module("facula.serialization"), name)
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _import_module(f"facula.{name}")


__all__ = [
    *(name for name in dir(_core) if name[0] != "_" != name[-1] and name not in _INTERNAL),
    *_legacy.__all__,
    *_ops.__all__,
    *_settings.__all__,
    "TypedStorage",
    "accelerator",
    "autograd",
    "backends",
    "checkpoint",
    "cuda",
    "e",
    "enable_grad",
    "finfo",
    "from_dlpack",
    "func",
    "hub",
    "iinfo",
    "inf",
    "inference_mode",
    "linalg",
    "load",
    "multiprocessing",
    "nan",
    "newaxis",
    "nn",
    "no_grad",
    "optim",
    "pi",
    "random",
    "return_types",
    "save",
    "serialization",
    "set_grad_enabled",
    "set_printoptions",
    "storage",
    "testing",
    "utils",
    "version",
    "vision",
    "vmap",
]
