"""What an export takes and gives: names, dynamic dimensions, files, modes, errors."""

import os
import sys

import numpy as np
import onnx
import onnxruntime
import pytest

import facula
import facula.onnx
from facula import nn
from facula.jit import TracerWarning
from facula.onnx import OnnxExporterError, ONNXProgram, TrainingMode


class Two(nn.Module):
    """A model of two inputs and two results."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 4)
        self.register_buffer("scale", facula.tensor([2.0]))

    def forward(self, left, right=None):
        y = self.layer(left) * self.scale
        return {"sum": y + right, "product": y * right}


def net():
    facula.manual_seed(0)
    return Two()


LEFT, RIGHT = facula.rand(2, 3), facula.rand(2, 4)


def shape_of(info):
    return [d.dim_param or d.dim_value for d in info.type.tensor_type.shape.dim]


def kinds(program):
    return [node.op_type for node in program.model_proto.graph.node]


def test_weights_have_the_names_of_the_state_dict():
    model = net()
    graph = facula.onnx.export(model, (LEFT, RIGHT)).model_proto.graph
    weights = {w.name: onnx.numpy_helper.to_array(w) for w in graph.initializer}
    for name, value in model.state_dict().items():
        assert np.array_equal(weights[name], value.numpy())


def test_inputs_have_the_names_of_parameters_or_those_that_are_given():
    graph = facula.onnx.export(net(), (LEFT, RIGHT)).model_proto.graph
    assert [each.name for each in graph.input] == ["left", "right"]
    assert [each.name for each in graph.output] == ["output_0", "output_1"]
    names = {"input_names": ["a", "b"], "output_names": ["s", "p"]}
    graph = facula.onnx.export(net(), (LEFT, RIGHT), **names).model_proto.graph
    assert [each.name for each in graph.input] == ["a", "b"]
    assert [each.name for each in graph.output] == ["s", "p"]


def test_arguments_by_name_are_inputs_too():
    for arguments in [
        {"args": (LEFT,), "kwargs": {"right": RIGHT}},
        {"args": (LEFT, {"right": RIGHT})},
    ]:
        program = facula.onnx.export(net(), **arguments)
        total, product = program(LEFT, right=RIGHT)
        expected = net()(LEFT, RIGHT)
        facula.testing.assert_close(total, expected["sum"].detach())
        facula.testing.assert_close(product, expected["product"].detach())


@pytest.mark.parametrize(
    "axes",
    [
        {"dynamic_shapes": ({0: "n"}, {0: "n"})},
        {"dynamic_shapes": {"left": {0: "n"}, "right": {0: "n"}}},
        {"dynamic_shapes": (("n", None), ("n", None))},
        {"dynamic_axes": {"left": {0: "n"}, "right": {0: "n"}}},
    ],
)
def test_dynamic_dimensions_have_their_names_in_inputs_and_results(axes):
    program = facula.onnx.export(net(), (LEFT, RIGHT), **axes)
    graph = program.model_proto.graph
    assert [shape_of(each) for each in graph.input] == [["n", 3], ["n", 4]]
    assert [shape_of(each) for each in graph.output] == [["n", 4], ["n", 4]]
    total, _ = program(LEFT.repeat(4, 1), RIGHT.repeat(4, 1))
    facula.testing.assert_close(total, net()(LEFT, RIGHT)["sum"].detach().repeat(4, 1))


def test_dynamic_axes_may_be_a_list_and_name_those_of_results():
    axes = {"left": [0], "right": [0], "s": {0: "rows"}}
    options = {"dynamic_axes": axes, "output_names": ["s", "p"]}
    graph = facula.onnx.export(net(), (LEFT, RIGHT), **options).model_proto.graph
    assert shape_of(graph.input[0]) == ["left_dim_0", 3]
    assert shape_of(graph.output[0]) == ["rows", 4]


def test_a_static_model_refuses_other_sizes():
    graph = facula.onnx.export(net(), (LEFT, RIGHT)).model_proto.graph
    assert shape_of(graph.input[0]) == [2, 3]


def test_sizes_that_are_computed_are_named_after_the_result():
    program = facula.onnx.export(
        lambda x: facula.cat([x, x]), (facula.ones(2, 3),), dynamic_shapes=({0: "n"},)
    )
    assert shape_of(program.model_proto.graph.output[0]) == ["output_dim_0", 3]


def test_what_does_not_depend_on_inputs_is_computed_at_once():
    layer = nn.utils.parametrizations.weight_norm(nn.Linear(3, 4)).eval()
    assert kinds(facula.onnx.export(layer, (LEFT,))) == ["Gemm"]
    steps = kinds(facula.onnx.export(layer, (LEFT,), do_constant_folding=False))
    assert steps[-1] == "Gemm" and len(steps) > 1


def test_the_model_is_exported_in_eval_mode_and_has_its_mode_again():
    model = nn.Sequential(nn.Linear(3, 3), nn.Dropout(), nn.BatchNorm1d(3)).train()
    model[0].eval()
    assert kinds(facula.onnx.export(model, (LEFT,))) == ["Gemm", "BatchNormalization"]
    assert [part.training for part in model] == [False, True, True]
    preserved = kinds(facula.onnx.export(model, (LEFT,), training=TrainingMode.PRESERVE))
    assert "Dropout" in preserved and "BatchNormalization" not in preserved


def test_an_export_in_training_mode_leaves_the_buffers_alone():
    model = nn.BatchNorm1d(3)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    axes = ({0: "batch"},)
    facula.onnx.export(model, (LEFT,), dynamic_shapes=axes, training=TrainingMode.TRAINING)
    for name, value in model.state_dict().items():
        assert facula.equal(value, before[name]), name


def test_verbose_prints_the_graph(capsys):
    facula.onnx.export(nn.ReLU(), (LEFT,), verbose=True)
    assert "output = Relu (input)" in capsys.readouterr().out


def test_a_model_can_see_that_it_is_exported():
    seen = []

    def model(x):
        seen.append((facula.onnx.is_in_onnx_export(), facula.compiler.is_exporting()))
        return x + 1

    facula.onnx.export(model, (LEFT,))
    assert seen == [(True, True)]
    assert not facula.onnx.is_in_onnx_export() and not facula.compiler.is_exporting()


@pytest.mark.parametrize("opset", [18, 19, 20, 21, 22, 23])
def test_models_are_valid_for_each_set_of_operators(opset):
    model = nn.Sequential(nn.Conv2d(2, 4, 3), nn.GroupNorm(2, 4), nn.GELU(), nn.Flatten())
    x = facula.rand(1, 2, 5, 5)
    program = facula.onnx.export(model, (x,), opset_version=opset, verify=True)
    onnx.checker.check_model(program.model_proto, full_check=True)
    assert program.model_proto.opset_import[0].version == opset
    facula.testing.assert_close(
        program.call_reference(x)[0], model(x).detach(), atol=1e-5, rtol=1e-4
    )


def test_an_unknown_set_of_operators_is_refused():
    with pytest.raises(OnnxExporterError, match="an opset_version from 18 to 23, got 9"):
        facula.onnx.export(net(), (LEFT, RIGHT), opset_version=9)


def test_files_can_have_weights_inside_and_beside(tmp_path):
    model = nn.Linear(64, 64)
    x = facula.rand(1, 64)
    inside, beside = str(tmp_path / "inside.onnx"), str(tmp_path / "beside.onnx")
    facula.onnx.export(model, (x,), inside, external_data=False)
    for _ in range(2):  # the second time over the files of the first
        program = facula.onnx.export(model, (x,), beside)
    assert isinstance(program, ONNXProgram)
    assert sorted(os.listdir(tmp_path)) == ["beside.onnx", "beside.onnx.data", "inside.onnx"]
    assert os.path.getsize(beside + ".data") == 64 * 64 * 4
    for path in (inside, beside):
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        (y,) = session.run(None, {"input": x.numpy()})
        np.testing.assert_allclose(y, model(x).detach().numpy(), rtol=1e-4, atol=1e-5)


def test_the_older_call_writes_a_file_and_gives_nothing(tmp_path):
    path = tmp_path / "model.onnx"
    assert facula.onnx.export(nn.Linear(3, 1), LEFT, path, dynamo=False) is None
    onnx.checker.check_model(onnx.load(path))
    with pytest.raises(ValueError, match="a file f to write to"):
        facula.onnx.export(nn.Linear(3, 1), LEFT, dynamo=False)


def test_weights_may_be_inputs_or_left_out(tmp_path):
    path = tmp_path / "model.onnx"
    facula.onnx.export(nn.Linear(3, 1), (LEFT,), path, keep_initializers_as_inputs=True)
    graph = onnx.load(path).graph
    assert [each.name for each in graph.input] == ["input", "weight", "bias"]
    assert len(graph.initializer) == 2
    facula.onnx.export(nn.Linear(3, 1), (LEFT,), path, export_params=False)
    graph = onnx.load(path).graph
    assert [each.name for each in graph.input] == ["input", "weight", "bias"]
    assert len(graph.initializer) == 0


def test_weights_can_be_replaced_and_dimensions_renamed():
    model = nn.Linear(3, 1)
    program = facula.onnx.export(model, (LEFT,), dynamic_shapes=({0: "n"},))
    program.apply_weights({"weight": facula.zeros(1, 3), "bias": facula.ones(1)})
    assert program(LEFT)[0].tolist() == [[1.0], [1.0]]
    program.rename_axes({"n": "rows"})
    assert shape_of(program.model_proto.graph.output[0]) == ["rows", 1]


def test_a_program_wants_all_its_inputs():
    program = facula.onnx.export(net(), (LEFT, RIGHT))
    with pytest.raises(ValueError, match="expected 2 tensors, for left, right, got 1"):
        program(LEFT)


def test_an_input_given_back_and_one_given_twice_are_results_of_their_own():
    program = facula.onnx.export(lambda a, b: (a, a + b, a), (LEFT, LEFT))
    a, b = facula.rand(2, 3), facula.rand(2, 3)
    first, total, third = program(a, b)
    assert facula.equal(first, a) and facula.equal(third, a)
    assert facula.equal(total, a + b)


def test_nested_inputs_are_inputs_one_by_one():
    program = facula.onnx.export(lambda pair, c: pair[0] @ pair[1] + c, ((LEFT, LEFT.T), 1.0))
    assert [each.name for each in program.model_proto.graph.input] == ["pair_0", "pair_1"]
    facula.testing.assert_close(program((LEFT, LEFT.T))[0], LEFT @ LEFT.T + 1)


def test_dimensions_of_nested_inputs_are_nested_too():
    def model(pair):
        return pair[0] + pair[1]

    axes = ([{0: "n"}, {0: "n"}],)
    program = facula.onnx.export(model, ((LEFT, LEFT),), dynamic_shapes=axes)
    more = LEFT.repeat(2, 1)
    facula.testing.assert_close(program((more, more))[0], more * 2)
    with pytest.raises(OnnxExporterError, match="1 entries for an argument of 2 tensors"):
        facula.onnx.export(model, ((LEFT, LEFT),), dynamic_shapes=([{0: "n"}],))


@pytest.mark.parametrize("dtype", [facula.float16, facula.float64, facula.int64, facula.int32])
def test_dtypes_are_kept(dtype):
    x = facula.tensor([[1, -2], [3, 4]], dtype=dtype)
    (y,) = facula.onnx.export(lambda x: (x + 1) * x - 2, (x,))(x)
    assert y.dtype == dtype and facula.equal(y, (x + 1) * x - 2)


def test_a_half_precision_model_has_weights_of_half_precision():
    model = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.GELU()).half()
    program = facula.onnx.export(model, (LEFT.half(),))
    assert {w.data_type for w in program.model_proto.graph.initializer} == {
        onnx.TensorProto.FLOAT16
    }
    facula.testing.assert_close(
        program(LEFT.half())[0], model(LEFT.half()).detach(), atol=2e-3, rtol=1e-2
    )


def test_bfloat16_weights_are_written_bit_by_bit():
    model = nn.Linear(3, 1).bfloat16()
    program = facula.onnx.export(model, (LEFT.bfloat16(),))
    weight = program.model_proto.graph.initializer[0]
    assert weight.data_type == onnx.TensorProto.BFLOAT16
    assert onnx.numpy_helper.to_array(weight).astype(np.float32).tolist() == model.weight.tolist()


def test_random_operations_stay_random():
    program = facula.onnx.export(lambda x: x + facula.randn_like(x) + facula.rand(2, 3), (LEFT,))
    assert {"RandomNormalLike", "RandomUniformLike"} <= set(kinds(program))
    assert not facula.equal(program(LEFT)[0], program(LEFT)[0])


# ---- what decides by values and sizes


def test_a_branch_by_a_value_is_kept_with_a_warning():
    def model(x):
        return x * 2 if x.sum() > 0 else -x

    with pytest.warns(TracerWarning, match="read with __bool__: the exported model keeps"):
        program = facula.onnx.export(model, (LEFT,))
    assert facula.equal(program(-LEFT)[0], -LEFT * 2)


def test_a_branch_by_a_size_warns_only_if_sizes_decide_differently():
    def model(x):
        return x * 2 if x.shape[0] < 100 else x

    facula.onnx.export(model, (LEFT,), dynamic_shapes=({0: "n"},))
    with pytest.warns(TracerWarning, match="compared with 3, which decides differently"):
        facula.onnx.export(
            lambda x: x * 2 if x.shape[0] < 3 else x, (LEFT,), dynamic_shapes=({0: "n"},)
        )


def test_a_size_that_becomes_a_float_is_kept_with_a_warning():
    with pytest.warns(TracerWarning, match="divided with /"):
        facula.onnx.export(lambda x: x * (x.shape[0] / 3), (LEFT,), dynamic_shapes=({0: "n"},))


def test_the_length_of_a_tensor_is_dynamic():
    program = facula.onnx.export(
        lambda x: x.reshape(len(x) // 2, -1), (facula.rand(4, 3),), dynamic_shapes=({0: "n"},)
    )
    assert program(facula.rand(6, 3))[0].shape == (3, 6)


def test_a_loop_over_a_dynamic_dimension_is_unrolled_with_a_warning():
    def model(x):
        assert isinstance(range(2), range) and len([1, 2]) == 2
        total = 0
        for i in range(x.shape[0]):
            total = total + x[i]
        return total

    with pytest.warns(TracerWarning, match="the length of a loop, which is unrolled"):
        program = facula.onnx.export(model, (LEFT,), dynamic_shapes=({0: "n"},))
    facula.testing.assert_close(program(LEFT)[0], LEFT.sum(0))
    assert type(range) is type and len.__name__ == "len"


def test_a_value_that_becomes_a_size_stays_dynamic():
    def model(x, n):
        return x[: n.max().item()]

    program = facula.onnx.export(model, (facula.arange(5), facula.tensor([2, 3])))
    assert program(facula.arange(5), facula.tensor([1, 2]))[0].tolist() == [0, 1]


def test_sizes_of_models_with_limits_are_found():
    table = nn.Embedding(8, 2)

    def model(x):
        return x + table(facula.arange(x.shape[1]))

    x = facula.rand(3, 7, 2)
    program = facula.onnx.export(model, (x,), dynamic_shapes=({1: "t"},))
    facula.testing.assert_close(program(x[:, :2])[0], model(x[:, :2]).detach())


def test_a_dimension_that_can_not_change_is_refused_with_the_operation_and_its_place():
    with pytest.raises(OnnxExporterError) as info:
        facula.onnx.export(nn.Linear(3, 4), (LEFT,), dynamic_shapes=({1: "features"},))
    assert "other sizes of the dynamic dimensions features: linear" in str(info.value)


# ---- errors


class Strange(nn.Module):
    """A model with an operation that ONNX has not."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(nn.Identity())
        self.inner[0].forward = lambda x: facula.lgamma(x)

    def forward(self, x):
        return self.inner(x)


def test_an_operation_without_a_translation_is_named_with_module_and_line():
    with pytest.raises(facula.onnx.errors.UnsupportedOperatorError) as info:
        facula.onnx.export(Strange(), (LEFT,))
    message = str(info.value)
    assert "the operation lgamma has no translation" in message
    assert "in the module 'inner.0'" in message and "test_export.py:" in message
    assert "custom_translation_table" in message


def test_a_translation_can_be_given():
    def stand_in(g, x):
        return g.op("Mul", x, g.constant(3.0, x.dtype))

    for operation in (facula.lgamma, facula.Tensor.lgamma):
        table = {operation: stand_in}
        program = facula.onnx.export(Strange(), (LEFT,), custom_translation_table=table)
        facula.testing.assert_close(program(LEFT)[0], LEFT * 3)


def test_a_composed_operation_can_be_given_a_translation():
    def whole(g, x, *args, **kwargs):
        return g.op("Identity", x)

    table = {nn.functional.normalize: whole}
    program = facula.onnx.export(nn.functional.normalize, (LEFT,), custom_translation_table=table)
    assert kinds(program) == ["Identity"]


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"dynamic_shapes": {"middle": {0: "n"}}}, "dynamic_shapes has ['middle']"),
        ({"dynamic_shapes": ({5: "n"},)}, "has no dimension 5"),
        ({"input_names": ["a", "b", "c"]}, "more than the 2 inputs"),
        ({"output_names": ["a", "b", "c"]}, "3 names for 2 results"),
        ({"report": True}, "report can not be used"),
        ({"export_modules_as_functions": True}, "export_modules_as_functions can not be used"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(arguments, message):
    with pytest.raises(OnnxExporterError) as info:
        facula.onnx.export(net(), (LEFT, RIGHT), **arguments)
    assert message in str(info.value)


def test_a_model_without_tensors_is_refused():
    with pytest.raises(OnnxExporterError, match="expected an example input that is a tensor"):
        facula.onnx.export(lambda n: n, (1,))
    with pytest.raises(OnnxExporterError, match="the model gives a object"):
        facula.onnx.export(lambda x: (x, object()), (LEFT,))


def test_a_missing_package_is_named_with_the_way_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"pip install facula\[onnx\]"):
        facula.onnx.export(net(), (LEFT, RIGHT))


def test_what_belongs_to_torchscript_says_what_to_do():
    with pytest.raises(RuntimeError, match="custom_translation_table"):
        facula.onnx.register_custom_op_symbolic("my::op", None, 9)


def test_a_translation_for_the_older_exporter_is_left_as_it_is():
    from facula.onnx import symbolic_helper

    assert symbolic_helper.parse_args("v", "i")(len) is len
    assert symbolic_helper.quantized_args(True, scale=0.5)(len) is len
