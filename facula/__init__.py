"""Facula: PyTorch's programming model in a package small enough to read.

``import facula as torch`` is the usual way to port a script.
"""

from facula import (
    _core,
    _legacy,
    _ops,
    _tensor,
    autograd,
    backends,
    cuda,
    func,
    nn,
    random,
    return_types,
    storage,
    utils,
)
from facula._core import *  # noqa: F403
from facula._legacy import *  # noqa: F403
from facula._limits import finfo, iinfo
from facula._ops import *  # noqa: F403
from facula._ops.methods import METHODS as _METHODS
from facula._tensor_str import set_printoptions
from facula.autograd.grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled
from facula.storage import TypedStorage
from facula.utils.dlpack import from_dlpack

__version__ = "0.1.0"

for _name, _method in _METHODS.items():
    _tensor.attach(_name, _method)
del _name, _method

# What the core has for the package itself rather than for users.
_INTERNAL = {"FunctionNode", "Node", "record_function", "run_backward", "unpack_saved"}

__all__ = [
    *(name for name in dir(_core) if name[0] != "_" != name[-1] and name not in _INTERNAL),
    *_legacy.__all__,
    *_ops.__all__,
    "TypedStorage",
    "autograd",
    "backends",
    "cuda",
    "enable_grad",
    "finfo",
    "from_dlpack",
    "func",
    "iinfo",
    "inference_mode",
    "nn",
    "no_grad",
    "random",
    "return_types",
    "set_grad_enabled",
    "set_printoptions",
    "storage",
    "utils",
]
