from dataclasses import dataclass

import pytest

import facula
from facula.export import Dim, dims
from facula.utils._pytree import tree_leaves


def test_a_size_is_printed_with_its_limits():
    assert repr(Dim("n")) == "Dim('n', min=0)"
    assert repr(Dim("n", min=2, max=8)) == "Dim('n', max=8)"
    assert repr(Dim.AUTO) == "DimHint(AUTO)"
    assert [size.__name__ for size in dims("a", "b")] == ["a", "b"]


def test_wrong_sizes_are_refused():
    with pytest.raises(AssertionError, match="expected an identifier as name, got '1n'"):
        Dim("1n")
    with pytest.raises(AssertionError, match="expected min up to max, got 5 and 3"):
        Dim("n", min=5, max=3)


def test_a_dataclass_becomes_a_container():
    @dataclass
    class Pair:
        first: int
        second: int

    facula.export.register_dataclass(Pair)
    assert tree_leaves([Pair(1, 2)]) == [1, 2]


def test_programs_are_not_exported():
    with pytest.raises(RuntimeError, match=r"torch.export.export is not part of Facula: .* ONNX"):
        facula.export.export(facula.nn.Linear(2, 2), (facula.ones(1, 2),))
    assert isinstance(facula.export.ExportedProgram, type)  # to stand in annotations


def test_onnx_takes_sizes_by_name_and_by_hint():
    pytest.importorskip("onnx")
    shapes = ({0: Dim("batch"), 1: Dim.STATIC, 2: Dim.AUTO},)
    program = facula.onnx.export(facula.nn.ReLU(), (facula.ones(2, 3, 4),), dynamic_shapes=shapes)
    (given,) = program.model_proto.graph.input
    sizes = [dim.dim_param or dim.dim_value for dim in given.type.tensor_type.shape.dim]
    assert sizes == ["batch", 3, "input_dim_2"]
