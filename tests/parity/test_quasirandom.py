"""Sobol's sequences against PyTorch's."""

import pytest
import torch

import facula

torch_engine, our_engine = torch.quasirandom.SobolEngine, facula.quasirandom.SobolEngine


@pytest.mark.parametrize("scramble", [False, True])
@pytest.mark.parametrize("dimension", [1, 3, 40])
def test_points_are_pytorchs(dimension, scramble):
    a, b = (make(dimension, scramble, seed=3) for make in (torch_engine, our_engine))
    for n in (1, 5, 20):
        assert a.draw(n).tolist() == b.draw(n).tolist()
    a.fast_forward(7)
    b.fast_forward(7)
    assert a.draw(2, dtype=torch.float64).tolist() == b.draw(2, dtype=facula.float64).tolist()
    a.reset()
    b.reset()
    assert a.fast_forward(4).draw(3).tolist() == b.fast_forward(4).draw(3).tolist()
    assert a.draw(3000).tolist() == b.draw(3000).tolist() and a.quasi.tolist() == b.quasi.tolist()
    assert repr(a) == repr(b) and a.num_generated == b.num_generated
