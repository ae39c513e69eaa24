"""``grad_fn._saved_*`` against PyTorch: the names, and the tensors behind them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from .frameworks import facula, to_numpy

EXPRESSIONS = """
x.exp()
x.log()
x.sin()
x.sqrt()
x.tanh()
x.sigmoid()
x.abs()
x.reciprocal()
x.relu()
x.square()
x.pow(3)
x ** y
2.0 ** x
x * y
x * 2
x / y
x / 2
x - y
x + y
x.atan2(y)
x.maximum(y)
x.clamp(0.2, 0.8)
x.clamp(min=0.3)
x @ y
x.matmul(y)
x.mv(y[0])
x[0].dot(y[0])
torch.bmm(x.unsqueeze(0), y.unsqueeze(0))
torch.addmm(x, x, y)
torch.baddbmm(x.unsqueeze(0), x.unsqueeze(0), y.unsqueeze(0))
torch.addcmul(x, x, y)
torch.addcdiv(x, x, y)
torch.lerp(x, y, w)
torch.where(x > 0.5, x, y)
x.sum()
x.sum(0)
x.mean()
x.prod()
x.amax(0)
x.max(0)[0]
x.var()
x.std()
x.norm()
x.logsumexp(0)
x.cumsum(0)
x.cumprod(0)
x.softmax(1)
x.log_softmax(1)
x.sort(0)[0]
x.topk(2)[0]
x.gather(0, i)
x.index_select(0, i[0])
x.masked_select(x > 0.5)
x.masked_fill(x > 0.5, 1.0)
x.scatter_add(0, i, y)
x[i[0]]
F.gelu(x)
F.silu(x)
F.elu(x)
F.leaky_relu(x)
F.softplus(x)
F.hardtanh(x)
F.prelu(x, w[0])
F.glu(y.repeat(1, 2))
F.mse_loss(x, y)
F.l1_loss(x, y)
F.smooth_l1_loss(x, y)
F.huber_loss(x, y)
F.binary_cross_entropy(x, y)
F.binary_cross_entropy_with_logits(x, y)
F.nll_loss(x, i[0])
F.linear(x, y, w[0])
F.linear(x, y)
F.conv2d(x[None, None], y[None, None], w[0, :1])
F.conv_transpose2d(x[None, None], y[None, None])
F.layer_norm(x, (3,), w[0], w[1])
F.batch_norm(x, None, None, w[0], w[1], True)
F.group_norm(x, 3, w[0], w[1])
F.embedding(i, x)
F.max_pool2d(x[None, None], 2)
F.avg_pool2d(x[None, None], 2)
F.dropout(x, 0.5)
torch.linalg.inv(x)
torch.linalg.solve(x, y)
torch.linalg.cholesky(x @ x.T + torch.eye(3))
torch.linalg.eigh(x + x.T)[0]
torch.linalg.svd(x)[1]
torch.linalg.qr(x)[0]
torch.linalg.det(x)
x.view(9)
x.t()
x[0]
torch.cat([x, y])
"""


def names(lib: Any) -> dict[str, Any]:
    numbers = np.random.default_rng(0).random((3, 3, 3)) * 0.8 + 0.1
    x, y, w = (lib.tensor(rows.tolist(), dtype=lib.float64, requires_grad=True) for rows in numbers)
    return {
        "torch": lib,
        "F": lib.nn.functional,
        "x": x,
        "y": y,
        "w": w,
        "i": lib.tensor([[0, 2, 1], [1, 1, 0], [2, 0, 1]]),
    }


def saved(lib: Any, expression: str) -> tuple[str, dict[str, Any]]:
    """The name of the node, and the tensors that it keeps by their names."""
    lib.manual_seed(0)
    node = eval(expression, names(lib)).grad_fn
    found = {name: getattr(node, name) for name in dir(node) if name.startswith("_saved_")}
    kept = {n: v for n, v in found.items() if isinstance(v, lib.Tensor)}
    return node.name().rpartition("::")[2], kept


# Tensors that are not kept here: computed again, or kept in another form.
ELSEWHERE = {
    "x.prod()": "result",
    "x.cumprod(0)": "result",
    "x.gather(0, i)": "self",
    "x.masked_select(x > 0.5)": "self",
    "F.nll_loss(x, i[0])": "self",
    "F.batch_norm(x, None, None, w[0], w[1], True)": "result1 result2",
    "F.group_norm(x, 3, w[0], w[1])": "result1 result2",
    "F.max_pool2d(x[None, None], 2)": "self result1",
    "F.avg_pool2d(x[None, None], 2)": "self",
    "F.dropout(x, 0.5)": "other",
    "torch.linalg.det(x)": "LU pivots",
}


@pytest.mark.parametrize("expression", EXPRESSIONS.strip().splitlines())
def test_saved_tensors_have_the_names_of_pytorch(expression: str) -> None:
    node, expected = saved(torch, expression)
    own, actual = saved(facula, expression)
    if own != node:
        pytest.skip(f"the node is {own}, in PyTorch {node}")
    missing = {f"_saved_{name}" for name in ELSEWHERE.get(expression, "").split()}
    assert set(expected) - set(actual) == missing
    assert set(actual) - set(expected) == set()
    for name, value in actual.items():
        theirs = expected[name]
        if "F.linear" in expression and name == "_saved_mat2":  # the weight as the layer has it
            theirs = theirs.t()
        assert value.requires_grad == theirs.requires_grad
        np.testing.assert_allclose(to_numpy(value), to_numpy(theirs), rtol=1e-10)
