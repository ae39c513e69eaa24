"""Recurrent steps and layers, called with their weights, against loops in NumPy."""

import numpy as np
import pytest

import facula
from check_op import check_op
from facula import nn

pytestmark = pytest.mark.promise("N3")
STEPS = {"tanh": np.tanh, "relu": lambda a: np.maximum(a, 0)}
CELLS = {"tanh": facula.rnn_tanh_cell, "relu": facula.rnn_relu_cell}
LAYERS = {"tanh": facula.rnn_tanh, "relu": facula.rnn_relu}
# Input, hidden state, and the weights and biases of both, for a batch of 2.
SHAPES = [(2, 3), (2, 4), (4, 3), (4, 4), (4,), (4,)]


def step(f, x, h, w_ih, w_hh, b_ih=0.0, b_hh=0.0):
    return f(x @ w_ih.T + b_ih + h @ w_hh.T + b_hh)


@pytest.mark.parametrize("n_inputs", [4, 6], ids=["without biases", "with biases"])
@pytest.mark.parametrize("name", STEPS)
def test_a_cell_is_one_step(name, n_inputs):
    check_op(
        CELLS[name],
        lambda *arrays: step(STEPS[name], *arrays),
        SHAPES[:n_inputs],
        dtypes=["float32", "float64"],
    )


@pytest.mark.parametrize("part", ["output", "state"])
@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("name", STEPS)
def test_a_layer_repeats_the_step(name, batch_first, part):
    def layer(x, h, *weights):
        options = {"dropout": 0.0, "train": False, "bidirectional": False}
        y, last = LAYERS[name](x, h, weights, True, 1, batch_first=batch_first, **options)
        return y if part == "output" else last

    def reference(x, h, *weights):
        h, outputs = h[0], []
        for each in x.swapaxes(0, 1) if batch_first else x:
            h = step(STEPS[name], each, h, *weights)
            outputs.append(h)
        return np.stack(outputs, int(batch_first)) if part == "output" else h[None]

    x_shape = (2, 5, 3) if batch_first else (5, 2, 3)
    shapes = [x_shape, (1, *SHAPES[1]), *SHAPES[2:]]
    check_op(layer, reference, shapes, dtypes=["float32", "float64"], low=-0.5, high=0.5)


@pytest.mark.parametrize("layer", [nn.RNN, nn.LSTM, nn.GRU])
def test_complex_layers_of_real_numbers_are_the_real_layers(layer):
    real = layer(3, 4, num_layers=2, bidirectional=True, dtype=facula.float64)
    twin = layer(3, 4, num_layers=2, bidirectional=True, dtype=facula.complex128)
    twin.load_state_dict(real.state_dict())
    x = facula.randn(5, 2, 3, dtype=facula.float64)
    expected, found = real(x)[0], twin(x.to(facula.complex128))[0]
    facula.testing.assert_close(found.real, expected)
    assert found.imag.abs().max() == 0


@pytest.mark.parametrize("layer", [nn.RNN, nn.LSTM, nn.GRU])
def test_gradients_of_complex_layers_agree_with_differences(layer):
    module = layer(2, 3, dtype=facula.complex128)
    x = facula.randn(3, 2, 2, dtype=facula.complex128, requires_grad=True)
    assert facula.autograd.gradcheck(lambda x: module(x)[0], (x,))


def test_complex_cells_are_one_step_of_the_layers():
    x = facula.randn(2, 3, dtype=facula.complex64)
    for layer, cell in ((nn.RNN, nn.RNNCell), (nn.LSTM, nn.LSTMCell), (nn.GRU, nn.GRUCell)):
        a, b = layer(3, 4, dtype=facula.complex64), cell(3, 4, dtype=facula.complex64)
        b.load_state_dict({name.removesuffix("_l0"): p for name, p in a.state_dict().items()})
        y = b(x)
        facula.testing.assert_close(y[0] if isinstance(y, tuple) else y, a(x[None])[0][0])


def test_complex_numbers_have_no_relu_in_a_layer():
    module = nn.RNN(2, 3, nonlinearity="relu", dtype=facula.complex64)
    with pytest.raises(NotImplementedError, match="relu: not implemented for complex64"):
        module(facula.ones(1, 1, 2, dtype=facula.complex64))
