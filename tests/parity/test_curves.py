"""Trainings of 100 steps follow PyTorch's loss curve, dropout included."""

import numpy as np
import pytest
import torch

from .curves import CURVES
from .frameworks import facula, seed


def _losses(lib, train):
    seed(lib)
    return np.array([loss.item() for loss in train(lib)])


@pytest.mark.promise("T9", "N2", "N3", "N5", "N6")
@pytest.mark.parametrize("name", CURVES)
def test_losses_are_those_of_pytorch_at_every_step(name):
    np.testing.assert_allclose(
        _losses(facula, CURVES[name]), _losses(torch, CURVES[name]), rtol=1e-4
    )
