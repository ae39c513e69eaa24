"""Coordinates to the last bit: a grid decides which pixel is the nearest."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from .frameworks import facula

pytestmark = pytest.mark.filterwarnings("ignore:.*affine_grid:UserWarning")

SIZES = [(7, 7), (16, 9), (28, 28), (32, 31), (1, 100), (224, 3), (3, 4, 28), (7, 33, 2)]


def _same_numbers(ours: facula.Tensor, theirs: torch.Tensor) -> None:
    np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


@pytest.mark.parametrize("align_corners", [True, False])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_an_affine_grid_equals_that_of_pytorch(size: tuple[int, ...], align_corners: bool) -> None:
    n = len(size)
    # Products by powers of two are exact, so that the order of the sums does not matter.
    theta = np.zeros((2, n, n + 1), dtype=np.float32)
    theta[0, :, :n] = np.eye(n)
    theta[1, :, :n] = np.eye(n)[::-1] * -0.5
    theta[1, :, n] = 0.3
    full = (2, 1, *size)
    _same_numbers(
        facula.nn.functional.affine_grid(facula.from_numpy(theta), full, align_corners),
        torch.nn.functional.affine_grid(torch.from_numpy(theta), full, align_corners),
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [2, 7, 16, 28, 100, 1001])
def test_linspace_equals_that_of_pytorch(n: int, dtype: str) -> None:
    for start, end in ((-1, 1), (0, 1), (0.3, 7.7)):
        _same_numbers(
            facula.linspace(start, end, n, dtype=getattr(facula, dtype)),
            torch.linspace(start, end, n, dtype=getattr(torch, dtype)),
        )
