"""The names by which tables of passes know what nodes call."""

import math
import operator

from facula import fx
from facula.fx.node import _get_qualified_name
from facula.fx.passes.tools_common import get_node_target


def test_operators_have_the_path_of_their_module():
    assert _get_qualified_name(operator.getitem) == "_operator.getitem"
    assert _get_qualified_name(math.sqrt) == "math.sqrt"
    _, add, _ = fx.symbolic_trace(lambda x: x + 1).graph.nodes
    assert get_node_target({}, add) == "_operator.add"
    assert "target=operator.add" in add.format_node()
