"""What programs look for in PyTorch's own core: the probes and types that have a meaning here.

Our core is ``facula._core``. This module has PyTorch's names for what programs ask of its core to
find out where they run; whatever else they look for is missing, also to ``hasattr``.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import facula
from facula import _core
from facula._core import Generator as Generator
from facula._core import Size as Size
from facula._core import Tensor as TensorBase
from facula._core import _current_graph_task_id as _current_graph_task_id
from facula._core import _disabled_torch_dispatch_impl as _disabled_torch_dispatch_impl
from facula._core import _disabled_torch_function_impl as _disabled_torch_function_impl
from facula._core import device as device
from facula._core import dtype as dtype
from facula._core import layout as layout
from facula._core import memory_format as memory_format
from facula._refusing import refusing_class

DisableTorchFunction = _core._DisableTorchFunction
DisableTorchFunctionSubclass = _core._DisableTorchFunctionSubclass
_TensorBase = TensorBase
_TensorMeta = type(TensorBase)
StorageBase = _core.UntypedStorage

# Where PyTorch keeps the functions of the top level.
_VariableFunctions = _VariableFunctionsClass = facula

# The standard library that extensions would have to be compiled for.
_GLIBCXX_USE_CXX11_ABI = True
has_lapack = has_openmp = has_spectral = True
has_mkl = _has_mkldnn = _has_mkl = _has_kleidiai = _has_distributed = False

_LAZY = ("_distributed_rpc", "_functorch", "_nn")

# TorchScript's graphs, of which there are none: packages name the classes in annotations.
_NO_GRAPH = "there is no TorchScript graph. torch.fx.symbolic_trace gives a graph of a module."
Graph = refusing_class("torch._C.Graph", _NO_GRAPH)
Node = refusing_class("torch._C.Node", _NO_GRAPH)
Value = refusing_class("torch._C.Value", _NO_GRAPH)
ScriptMethod = refusing_class("torch._C.ScriptMethod", _NO_GRAPH)


def _show_config() -> str:
    """The build, as ``torch.__config__.show()`` says it."""
    return str(facula.__config__.show())


def _is_tracing() -> bool:
    """Whether TorchScript traces: never, since there is none."""
    return False


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return import_module(f"facula._C.{name}")
    if name.startswith(("_jit_set_", "_jit_override_")):
        return _switch_of_torchscript
    # Functions of the top level, such as is_grad_enabled, which PyTorch's core has too.
    found = None if name.startswith("_") else getattr(_core, name, None)
    if found is None:
        raise AttributeError(f"module 'torch._C' has no attribute {name!r}")
    return found


def _switch_of_torchscript(*args: Any) -> bool:
    """Taken, and without effect: there is no TorchScript to switch. Says that it was off."""
    return False


def _jit_clear_class_registry() -> None:
    """Nothing to clear: TorchScript keeps no classes here."""


def _get_tracing_state() -> None:
    """The trace that is being recorded: there is none, ever."""


def _log_api_usage_once(event: str) -> None:
    """Nothing is logged.

    Args:
        event: what a program has used.
    """


def _are_functorch_transforms_active() -> bool:
    """Whether a transform of ``torch.func`` is at work."""
    return bool(_core._transforms())


def _get_privateuse1_backend_name() -> str:
    """The name of a device of the user's own: none was given."""
    return "privateuseone"


def _is_torch_function_enabled() -> bool:
    """Whether ``__torch_function__`` of subclasses is called."""
    return bool(_core._is_torch_function_enabled())


def _is_torch_function_mode_enabled() -> bool:
    """Whether a ``TorchFunctionMode`` is active, and not switched off."""
    return bool(_core._torch_function_modes()) and not _core._is_torch_function_all_disabled()


def _len_torch_function_stack() -> int:
    """How many modes of ``TorchFunctionMode`` are active."""
    return len(_core._torch_function_modes())


def _get_accelerator(check: bool | None = None) -> _core.device:
    """The device beside the processor that tensors can be on; the processor itself if none."""
    return _core.device("cuda" if facula.cuda.is_available() else "cpu")


def _cuda_getDeviceCount() -> int:
    return facula.cuda.device_count()


def _set_grad_enabled(mode: bool) -> None:
    facula.autograd.grad_mode.set_grad_enabled(mode)


def _get_default_device() -> str:
    return str(facula.get_default_device())
