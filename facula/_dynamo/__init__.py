"""The names of PyTorch's compiler that programs use. Functions run as the Python that they are."""

from __future__ import annotations

from typing import Any

from facula._dynamo import config
from facula._dynamo.backends.registry import list_backends, lookup_backend, register_backend
from facula._dynamo.decorators import (
    allow_in_graph,
    assume_constant_result,
    disable,
    disallow_in_graph,
    error_on_graph_break,
    forbid_in_graph,
    graph_break,
    mark_dynamic,
    mark_static,
    mark_static_address,
    maybe_mark_dynamic,
    nonstrict_trace,
    run,
    set_stance,
    skip_frame,
    substitute_in_graph,
)
from facula._dynamo.eval_frame import OptimizedModule
from facula._dynamo.external_utils import is_compiling
from facula._refusing import refusing
from facula.compiler import compile as _compile
from facula.compiler import reset

__all__ = [
    "OptimizedModule",
    "allow_in_graph",
    "assume_constant_result",
    "config",
    "disable",
    "disallow_in_graph",
    "error_on_graph_break",
    "explain",
    "export",
    "forbid_in_graph",
    "graph_break",
    "is_compiling",
    "list_backends",
    "lookup_backend",
    "mark_dynamic",
    "mark_static",
    "mark_static_address",
    "maybe_mark_dynamic",
    "nonstrict_trace",
    "optimize",
    "optimize_assert",
    "register_backend",
    "reset",
    "run",
    "set_stance",
    "skip_frame",
    "substitute_in_graph",
]

_NO_GRAPH = "nothing is compiled. torch.fx.symbolic_trace gives a graph of a module."

explain = refusing("torch._dynamo.explain", _NO_GRAPH)
export = refusing("torch._dynamo.export", _NO_GRAPH)


def optimize(backend: Any = "inductor", *args: Any, **kwargs: Any) -> Any:
    """The older name of a decorator that compiles: the function stays as it is.

    Args:
        backend: the name of one of PyTorch's backends, or a function.
        args, kwargs: accepted for compatibility.
    """
    return _compile(backend=backend)


optimize_assert = optimize
