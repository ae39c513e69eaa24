"""Rounding errors of sums beside those of PyTorch: not larger, but for chance in the last place."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from .frameworks import facula

# In units of the last place of float32: what the errors of two good sums may differ by.
CHANCE = 1.5
EPSILON = 2.0**-23
SHAPES = [(100,), (8192,), (1 << 20,), (300, 64), (4096, 15), (50_000, 3), (3, 50_000), (64, 5, 64)]
CALLS = [
    "x.sum()",
    "x[1:].sum()",
    "x.mean()",
    "x.sum(0)",
    "x.sum(-1)",
    "x.t().sum()",
    "x[..., 1:].sum()",
    "x[..., ::2].sum(0)",
    "x.norm(1)",
    "x.norm(dim=0)",
    "x.norm(3)",
    "x.var()",
    "x.var(-1)",
    "x.var(0)",
    "torch.complex(x, x).sum().real",
    "torch.complex(x, x).sum(0).imag",
    "torch.nn.functional.mse_loss(x, x.flip(0) * 2)",
    "torch.nn.functional.l1_loss(x, x * 2)",
    "torch.nn.functional.smooth_l1_loss(x, x * 2, reduction='sum')",
    "torch.nn.functional.binary_cross_entropy_with_logits(x, x * 0 + 0.5)",
    "torch.nn.functional.cross_entropy(torch.stack([x, x * 0], 1), (x > 0.3).long())",
]


def values(kind: str, shape: tuple[int, ...]) -> np.ndarray:
    rng = np.random.default_rng(0)
    if kind == "equal":
        return np.full(shape, 0.1, dtype=np.float32)
    return rng.random(shape, dtype=np.float32)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("kind", ["equal", "different"])
def test_errors_are_no_larger_than_those_of_pytorch(call: str, kind: str) -> None:
    for shape in SHAPES:
        if (".t()" in call and len(shape) > 2) or ("[..., " in call and shape[-1] < 2):
            continue
        a = values(kind, shape)
        exact = eval(call, {"x": torch.from_numpy(a).double(), "torch": torch}).numpy()
        errors = []
        for lib in (facula, torch):
            result = eval(call, {"x": lib.from_numpy(a), "torch": lib}).numpy()
            errors.append(np.max(np.abs(result - exact) / np.maximum(np.abs(exact), 1e-30)))
        ours, theirs = errors
        assert ours <= theirs + CHANCE * EPSILON, (shape, ours / EPSILON, theirs / EPSILON)
