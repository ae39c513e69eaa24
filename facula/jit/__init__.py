"""PyTorch's compiler of a part of Python, without the compiler: the Python function is what runs.

``script`` and ``trace`` return what they are given, and the marks for methods do nothing. Files of
TorchScript are neither written nor read; those functions say what to do instead.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

# Not `from facula.jit`, where the name is that of the feature above until the module is loaded.
import facula.jit.annotations as annotations  # type: ignore[assignment]
from facula._jit_internal import (
    Final,
    Future,
    _isinstance,
    export,
    ignore,
    is_scripting,
    unused,
)
from facula._jit_internal import _overload as _overload
from facula._jit_internal import _overload_method as _overload_method
from facula._refusing import refusing
from facula.jit._async import fork, wait
from facula.jit._freeze import freeze, optimize_for_inference, run_frozen_optimizations
from facula.jit._fuser import (
    enable_onednn_fusion,
    fuser,
    onednn_fusion_enabled,
    optimized_execution,
    set_fusion_strategy,
    strict_fusion,
)
from facula.jit._script import (
    Attribute,
    CompilationUnit,
    RecursiveScriptModule,
    ScriptFunction,
    ScriptModule,
    interface,
    script,
    script_method,
)
from facula.jit._serialization import (
    jit_module_from_flatbuffer,
    load,
    save,
    save_jit_module_to_flatbuffer,
)
from facula.jit._trace import (
    TopLevelTracedModule,
    TracedModule,
    TracerWarning,
    TracingCheckError,
    is_tracing,
    trace,
    trace_module,
)
from facula.jit._trace import _get_trace_graph as _get_trace_graph

__all__ = [
    "Attribute",
    "CompilationUnit",
    "Error",
    "Final",
    "Future",
    "RecursiveScriptModule",
    "ScriptFunction",
    "ScriptModule",
    "TopLevelTracedModule",
    "TracedModule",
    "TracerWarning",
    "TracingCheckError",
    "annotate",
    "annotations",
    "enable_onednn_fusion",
    "export",
    "export_opnames",
    "fork",
    "freeze",
    "fuser",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "jit_module_from_flatbuffer",
    "last_executed_optimized_graph",
    "load",
    "onednn_fusion_enabled",
    "optimize_for_inference",
    "optimized_execution",
    "run_frozen_optimizations",
    "save",
    "save_jit_module_to_flatbuffer",
    "script",
    "script_if_tracing",
    "script_method",
    "set_fusion_strategy",
    "strict_fusion",
    "trace",
    "trace_module",
    "unused",
    "wait",
]

_T = TypeVar("_T")
_Function = TypeVar("_Function", bound=Callable[..., Any])

_NO_GRAPH = "there is no TorchScript graph. torch.fx.symbolic_trace gives a graph of a module."


class Error(RuntimeError):
    """What TorchScript raises; scripts name it in ``except``."""


JITException = Error


export_opnames = refusing("torch.jit.export_opnames", _NO_GRAPH)
last_executed_optimized_graph = refusing("torch.jit.last_executed_optimized_graph", _NO_GRAPH)


def annotate(the_type: Any, the_value: _T) -> _T:
    """The value: its type is for a compiler.

    Args:
        the_type: the type of the value.
        the_value: the value.

    Example:
        >>> facula.jit.annotate(list[int], [])
        []
    """
    return the_value


def isinstance(obj: Any, target_type: Any) -> bool:
    """Whether an object is of a type, and all that is in it of the types in brackets.

    Args:
        obj: what is asked about.
        target_type: a type such as ``list[int]`` or ``dict[str, Tensor]``, or a tuple of types.

    Example:
        >>> facula.jit.isinstance([1, 2], list[int]), facula.jit.isinstance([1, "a"], list[int])
        (True, False)
    """
    return _isinstance(obj, target_type)


def script_if_tracing(fn: _Function) -> _Function:
    """A function that would be compiled where it is called in a trace: the function itself.

    Args:
        fn: the function.

    Example:
        >>> facula.jit.script_if_tracing(facula.relu) is facula.relu
        True
    """
    return fn


_script_if_tracing = script_if_tracing


@contextlib.contextmanager
def _hide_source_ranges() -> Iterator[None]:
    """A block in which graphs are printed without the places in the source."""
    yield
