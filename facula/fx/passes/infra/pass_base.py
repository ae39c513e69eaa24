"""A pass: something that is done to a graph."""

from __future__ import annotations

import abc
from typing import NamedTuple

from facula.fx.graph_module import GraphModule

__all__ = ["PassBase", "PassResult"]


class PassResult(NamedTuple):
    """What a pass gives: the module, and whether it was changed."""

    graph_module: GraphModule
    modified: bool


class PassBase(abc.ABC):
    """A pass, with checks before and after it.

    Example:
        >>> from facula.fx.passes.infra.pass_base import PassBase, PassResult
        >>> class RemoveDeadCode(PassBase):
        ...     def call(self, graph_module):
        ...         return PassResult(graph_module, graph_module.graph.eliminate_dead_code())
        >>> RemoveDeadCode()(facula.fx.symbolic_trace(lambda x: x + 1)).modified
        False
    """

    def __call__(self, graph_module: GraphModule) -> PassResult | None:
        self.requires(graph_module)
        result = self.call(graph_module)
        self.ensures(graph_module)
        return result

    @abc.abstractmethod
    def call(self, graph_module: GraphModule) -> PassResult | None:
        """Do the pass.

        Args:
            graph_module: the module.
        """

    def requires(self, graph_module: GraphModule) -> None:  # noqa: B027  (may be left out)
        """Raise an error if the pass cannot be done.

        Args:
            graph_module: the module.
        """

    def ensures(self, graph_module: GraphModule) -> None:  # noqa: B027  (may be left out)
        """Raise an error if the pass was not done well.

        Args:
            graph_module: the module.
        """
