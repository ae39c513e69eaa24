"""The table of a model: its numbers, its text, and that the model stays as it was."""

import re

import pytest

import facula
from facula import nn

pytestmark = pytest.mark.promise("U5")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 4, 3, bias=False), nn.BatchNorm2d(4), nn.ReLU())
        self.drop = nn.Dropout(0.5)
        self.head = nn.Linear(4, 2)
        self.unused = nn.Linear(2, 2)

    def forward(self, x, scale=1.0):
        return self.head(self.drop(self.features(x).mean((2, 3)))) * scale


def layers_of(model, *args, **kwargs):
    return {layer.path: layer for layer in facula.summary(model, *args, **kwargs).layers}


def test_shapes_parameters_and_multiply_adds_are_those_of_each_module():
    layers = layers_of(Net(), (2, 1, 8, 8))
    assert list(layers) == [
        *("", "features", "features.0", "features.1", "features.2", "drop", "head", "unused")
    ]
    assert layers["features.0"].output_shapes == [(2, 4, 6, 6)]
    assert layers["features.0"].n_params == 4 * 9
    assert layers["features.0"].multiply_adds == 2 * 36 * 4 * 9
    assert layers["head"].multiply_adds == 2 * 4 * 2
    assert layers[""].multiply_adds == 2 * 36 * 4 * 9 + 2 * 4 * 2
    assert layers[""].n_params == sum(p.numel() for p in Net().parameters())


def test_memory_for_backward_counts_each_tensor_once():
    layers = layers_of(nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2)), (4, 8))
    # The input, for the first weight; the result of relu, for itself and for the second weight.
    assert layers["0"].activation_bytes == 4 * 8 * 4
    assert layers["1"].activation_bytes == 4 * 16 * 4
    assert layers["2"].activation_bytes == 0
    assert layers[""].activation_bytes == 4 * 8 * 4 + 4 * 16 * 4


def test_a_module_that_is_not_called_is_told():
    lines = repr(facula.summary(Net(), (2, 1, 8, 8))).splitlines()
    assert [line.split()[1:6] for line in lines if "unused" in line] == [
        ["unused:", "Linear", "not", "called", "6"]
    ]


def test_frozen_and_shared_parts_are_told():
    layer = nn.Linear(3, 3)
    model = nn.Sequential(layer, nn.Tanh(), layer)
    layer.bias.requires_grad_(False)
    text = repr(facula.summary(model, (1, 3)))
    assert "└─ 2: Linear  shared" in text
    assert "Parameters: 12, of which 3 frozen" in text


def test_depth_limits_the_text_and_not_the_numbers():
    table = facula.summary(Net(), (2, 1, 8, 8), depth=1)
    assert "Conv2d" not in repr(table)
    assert any(layer.type == "Conv2d" for layer in table.layers)


def test_inputs_are_tensors_tuples_dicts_and_sizes():
    x = facula.ones(2, 1, 8, 8)
    for given in (x, (x,), [x, 2.0], {"x": x, "scale": 2.0}, (2, 1, 8, 8)):
        assert layers_of(Net(), given)["head"].output_shapes == [(2, 2)]
    assert layers_of(Net(), x, scale=3.0)["head"].output_shapes == [(2, 2)]


def test_without_an_input_only_parameters_are_counted():
    layers = layers_of(Net())
    assert layers["head"].n_params == 10
    assert layers["head"].n_calls == 0


def test_the_model_and_the_random_numbers_stay_as_they_were():
    model = Net()
    model.features.eval()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    modes = [module.training for module in model.modules()]
    state = facula.get_rng_state()
    facula.summary(model, (2, 1, 8, 8))
    assert [module.training for module in model.modules()] == modes
    assert facula.equal(facula.get_rng_state(), state)
    assert all(facula.equal(value, before[name]) for name, value in model.state_dict().items())
    assert all(p.grad is None for p in model.parameters())


def test_training_mode_is_used_when_asked_for():
    model = Net().eval()
    facula.summary(model, (4, 1, 8, 8), mode="train")
    assert model.features[1].num_batches_tracked == 1
    assert not model.training


def test_an_error_of_the_model_leaves_its_mode_alone():
    model = Net()
    with pytest.raises(RuntimeError, match="conv2d"):
        facula.summary(model, (2, 3, 8, 8))
    assert model.training
    assert not facula.nn.modules.module._global_forward_hooks


def test_wrong_arguments_are_refused():
    with pytest.raises(TypeError, match="summary: expected a Module, got str"):
        facula.summary("model")
    with pytest.raises(ValueError, match="summary: expected mode to be 'eval' or 'train'"):
        facula.summary(Net(), mode="fast")


def test_notebooks_get_a_table():
    html = facula.summary(nn.Linear(2, 1), (1, 2))._repr_html_()
    cells = re.findall(r"<t([hd]) style='text-align:(\w+)[^>]*>([^<]*)</t[hd]>", html)
    # Notebooks align what does not say otherwise to the right, in which a tree cannot be read.
    assert cells[0] == ("h", "left", "Layer") and cells[2] == ("h", "right", "Parameters")
    assert cells[5:8] == [("d", "left", "Linear"), ("d", "left", "(1, 1)"), ("d", "right", "3")]
