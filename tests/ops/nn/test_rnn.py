"""Recurrent steps and layers, called with their weights, against loops in NumPy."""

import numpy as np
import pytest

import facula
from check_op import check_op

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
