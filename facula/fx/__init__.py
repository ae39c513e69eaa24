"""Programs as graphs: traced, read, changed and run. The twin of :mod:`torch.fx`.

:func:`symbolic_trace` runs a function or module once with proxies, which record what is done with
them at the seam (:mod:`facula.overrides`). The result is a :class:`GraphModule`: a
:class:`Graph` of :class:`Node`, and Python code made from it.

    >>> def f(x, y):
    ...     return facula.relu(x) + y
    >>> traced = facula.fx.symbolic_trace(f)
    >>> print(traced.code.strip())
    def forward(self, x, y):
        relu = facula.relu(x);  x = None
        add = relu + y;  relu = y = None
        return add
"""

from facula.fx import (
    annotate,
    config,
    experimental,
    graph,
    graph_module,
    immutable_collections,
    interpreter,
    node,
    operator_schemas,
    passes,
    proxy,
    subgraph_rewriter,
    tensor_type,
    traceback,
)
from facula.fx._symbolic_trace import PH, ProxyableClassMeta, Tracer, symbolic_trace, wrap
from facula.fx.graph import CodeGen, Graph
from facula.fx.graph_module import GraphModule
from facula.fx.interpreter import Interpreter, Transformer
from facula.fx.node import Node, has_side_effect, map_arg
from facula.fx.proxy import Proxy
from facula.fx.subgraph_rewriter import replace_pattern

__all__ = [
    "PH",
    "CodeGen",
    "Graph",
    "GraphModule",
    "Interpreter",
    "Node",
    "Proxy",
    "ProxyableClassMeta",
    "Tracer",
    "Transformer",
    "annotate",
    "config",
    "experimental",
    "graph",
    "graph_module",
    "has_side_effect",
    "immutable_collections",
    "interpreter",
    "map_arg",
    "node",
    "operator_schemas",
    "passes",
    "proxy",
    "replace_pattern",
    "subgraph_rewriter",
    "symbolic_trace",
    "tensor_type",
    "traceback",
    "wrap",
]
