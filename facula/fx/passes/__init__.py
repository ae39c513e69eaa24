"""What is done with graphs: shapes, splitting, matching, fusing."""

from facula.fx.passes import (
    graph_drawer,
    graph_manipulation,
    infra,
    operator_support,
    shape_prop,
    split_module,
    split_utils,
    tools_common,
    utils,
)

__all__ = [
    "graph_drawer",
    "graph_manipulation",
    "infra",
    "operator_support",
    "shape_prop",
    "split_module",
    "split_utils",
    "tools_common",
    "utils",
]
