"""Pictures of graphs."""

import shutil

import pytest

import facula
from facula import fx, nn
from facula.fx.passes.graph_drawer import FxGraphDrawer
from facula.fx.passes.shape_prop import ShapeProp

TRACED = fx.symbolic_trace(nn.Sequential(nn.Linear(3, 2), nn.ReLU()))


def test_a_picture_has_all_nodes_and_arrows(tmp_path):
    ShapeProp(TRACED).propagate(facula.ones(1, 3))
    drawer = FxGraphDrawer(TRACED, "net")
    picture = drawer.get_dot_graph()
    text = picture.to_string()
    for part in ("input_1 -> _0;", "_0 -> _1;", "_1 -> output;", "weight: (2, 3)", "shape=(1, 2)"):
        assert part in text
    assert picture.write_raw(tmp_path / "net.dot")
    assert (tmp_path / "net.dot").read_text() == text
    assert list(drawer.get_all_dot_graphs()) == ["net"]
    assert (
        "weight"
        not in FxGraphDrawer(TRACED, "net", ignore_parameters_and_buffers=True)
        .get_dot_graph()
        .to_string()
    )


@pytest.mark.skipif(shutil.which("dot") is not None, reason="Graphviz is installed")
def test_without_graphviz_the_error_says_what_to_do(tmp_path):
    with pytest.raises(FileNotFoundError, match="Install Graphviz, or write the text"):
        FxGraphDrawer(TRACED, "net").get_dot_graph().write_svg(tmp_path / "net.svg")
