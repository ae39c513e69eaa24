"""Which nodes of a graph somebody can run: another library, a device."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import facula
from facula.fx.node import Node
from facula.fx.passes.shape_prop import TensorMetadata
from facula.fx.passes.tools_common import CALLABLE_NODE_OPS, get_node_target
from facula.nn import Module

__all__ = [
    "OpSupports",
    "OperatorSupport",
    "OperatorSupportBase",
    "any_chain",
    "chain",
    "create_op_support",
]

_DTypes = Sequence[facula.dtype]
# For each name of get_node_target the dtypes of its arguments, by place and by name; None for any.
SupportDict = Mapping[str, tuple[Sequence[_DTypes], dict[str, _DTypes]] | None]
IsNodeSupported = Callable[[Mapping[str, Module], Node], bool]


class OperatorSupportBase(abc.ABC):
    """Says of a node whether it can be run."""

    @abc.abstractmethod
    def is_node_supported(self, submodules: Mapping[str, Module], node: Node) -> bool:
        """Whether a node can be run.

        Args:
            submodules: the modules of the root, by path.
            node: the node.
        """


class OperatorSupport(OperatorSupportBase):
    """Supports what a table names, and the dtypes that it says; a class may have the table too.

    Args:
        support_dict: for each name of ``get_node_target`` None, for arguments of any dtype, or
            a pair: the dtypes of arguments by their place, and by their keyword. The dtypes of the
            nodes must be known: see ``ShapeProp``.

    Example:
        >>> from facula.fx.passes.operator_support import OperatorSupport
        >>> support = OperatorSupport({"facula.relu": None})
        >>> graph = facula.fx.symbolic_trace(lambda x: facula.relu(x) + 1).graph
        >>> x, relu, add, output = graph.nodes
        >>> support.is_node_supported({}, relu), support.is_node_supported({}, add)
        (True, False)
    """

    _support_dict: SupportDict = {}  # noqa: RUF012  (read only)

    def __init__(self, support_dict: SupportDict | None = None) -> None:
        self._support_dict = support_dict or self._support_dict

    def is_node_supported(self, submodules: Mapping[str, Module], node: Node) -> bool:
        if node.op not in CALLABLE_NODE_OPS:
            return True
        target = get_node_target(submodules, node)
        if target not in self._support_dict:
            return False
        dtypes = self._support_dict[target]
        if dtypes is None:
            return True
        by_place, by_name = dtypes
        given = [(arg, allowed) for arg, allowed in zip(node.args, by_place, strict=False)]
        given += [(node.kwargs[name], by_name[name]) for name in by_name if name in node.kwargs]
        return all(
            _dtype_of(arg) in allowed
            for arg, allowed in given
            if isinstance(arg, Node) and allowed is not None
        )


def _dtype_of(node: Node) -> Any:
    """The dtype of a node's tensor, or else the type of its result."""
    meta: Any = node.meta.get("tensor_meta")
    return meta.dtype if isinstance(meta, TensorMetadata) else node.meta.get("type")


class _Function(OperatorSupportBase):
    def __init__(self, function: IsNodeSupported) -> None:
        self._function = function

    def is_node_supported(self, submodules: Mapping[str, Module], node: Node) -> bool:
        return self._function(submodules, node)


def create_op_support(is_node_supported: IsNodeSupported) -> OperatorSupportBase:
    """An ``OperatorSupportBase`` made of a function.

    Args:
        is_node_supported: a function of the modules of the root by path, and of the node.

    Example:
        >>> from facula.fx.passes.operator_support import create_op_support
        >>> support = create_op_support(lambda submodules, node: node.op == "call_function")
        >>> graph = facula.fx.symbolic_trace(lambda x: facula.relu(x)).graph
        >>> [support.is_node_supported({}, node) for node in graph.nodes]
        [False, True, False]
    """
    return _Function(is_node_supported)


def chain(*op_support: OperatorSupportBase) -> OperatorSupportBase:
    """Supports what all of several support.

    Args:
        op_support: the several.

    Example:
        >>> from facula.fx.passes.operator_support import OpSupports, chain
        >>> support = chain(OpSupports.decline_if_node_in_names({"relu"}))
        >>> graph = facula.fx.symbolic_trace(lambda x: facula.relu(x)).graph
        >>> [support.is_node_supported({}, node) for node in graph.nodes]
        [True, False, True]
    """
    return _Function(lambda modules, n: all(s.is_node_supported(modules, n) for s in op_support))


def any_chain(*op_support: OperatorSupportBase) -> OperatorSupportBase:
    """Supports what one of several supports.

    Args:
        op_support: the several.

    Example:
        >>> from facula.fx.passes.operator_support import OperatorSupport, any_chain
        >>> support = any_chain(OperatorSupport({"facula.exp": None}), OperatorSupport())
        >>> graph = facula.fx.symbolic_trace(lambda x: facula.exp(x)).graph
        >>> [support.is_node_supported({}, node) for node in graph.nodes]
        [True, True, True]
    """
    return _Function(lambda modules, n: any(s.is_node_supported(modules, n) for s in op_support))


class OpSupports:
    """Rules that are often wanted, for :func:`chain`."""

    @classmethod
    def decline_if_input_dtype(cls, dtype: facula.dtype) -> OperatorSupportBase:
        """Supports nodes without an input of this dtype.

        Args:
            dtype: the dtype.
        """
        return _Function(lambda modules, n: all(_dtype_of(x) != dtype for x in n.all_input_nodes))

    @classmethod
    def decline_if_node_in_names(cls, disallow_set: set[str]) -> OperatorSupportBase:
        """Supports nodes that do not have one of these names.

        Args:
            disallow_set: the names.
        """
        return _Function(lambda modules, node: node.name not in disallow_set)
