from functools import partial

import numpy as np
import pytest

import facula
from check_op import check_op


def softmax(a, axis):
    if a.size == 0:
        return a
    e = np.exp(a - a.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


CASES = [((3,), 0), ((2, 3), 1), ((2, 3), -1), ((2, 3, 4), 1), ((2, 3), 0), ((0, 3), 1), ((), 0)]


@pytest.mark.parametrize("shape, dim", CASES)
def test_softmax_agrees_with_the_formula(shape, dim):
    reference = (lambda a: np.ones(())) if shape == () else (lambda a: softmax(a, dim))
    check_op(lambda x: facula.softmax(x, dim), reference, [shape])


@pytest.mark.parametrize("shape, dim", CASES)
def test_log_softmax_agrees_with_the_formula(shape, dim):
    reference = (lambda a: np.zeros(())) if shape == () else (lambda a: np.log(softmax(a, dim)))
    check_op(lambda x: facula.log_softmax(x, dim), reference, [shape])


@pytest.mark.parametrize("size", [49, 64, 100, 1000])
@pytest.mark.parametrize("n_rows", [1, 2, 3, 40])
def test_long_rows_agree_with_the_formula(size, n_rows):
    for op, reference in (
        (facula.softmax, lambda a: softmax(a, 1)),
        (facula.log_softmax, lambda a: np.log(softmax(a, 1))),
    ):
        check_op(partial(op, dim=1), reference, [(n_rows, size)], differentiable=False)


def test_large_logits_do_not_overflow():
    x = facula.tensor([1000.0, 1000.0])
    assert facula.softmax(x, dim=0).tolist() == [0.5, 0.5]
    assert facula.log_softmax(x, dim=0).tolist() == pytest.approx([-np.log(2)] * 2)


@pytest.mark.parametrize("size", [3, 40, 100, 1030])
@pytest.mark.parametrize("dim", [0, 1])
def test_a_nan_spoils_its_row_and_no_other(size, dim):
    x = facula.zeros(3, size)
    for place in (0, size // 2, size - 1):
        rows = x.clone()
        rows[1, place] = float("nan")
        rows[2] = float("-inf")
        if dim == 0:
            rows = rows.t().contiguous()
        for op in (facula.softmax, facula.log_softmax):
            y = op(rows, dim=dim)
            y = y if dim == 1 else y.t()
            assert y[1:].isnan().all() and not y[0].isnan().any()
        assert facula.logsumexp(rows, dim).isnan().tolist() == [False, True, False]


@pytest.mark.parametrize("size", [1, 2, 40, 1030])
@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("others", [float("nan"), float("inf"), float("-inf")])
def test_logsumexp_keeps_a_nan_beside_infinities(size, dim, others):
    x = facula.full((2, size), others)
    x[1, size // 2] = float("nan")
    x = x if dim == 1 else x.t().contiguous()
    x.requires_grad_()
    y = facula.logsumexp(x, dim)
    assert y[1].isnan() and (y[0].isnan() if others != others else y[0] == others)
    y[1].backward()
    assert x.grad.select(1 - dim, 1).isnan().all()


def test_a_masked_place_gets_no_weight():
    x = facula.tensor([0.0, float("-inf"), 0.0])
    assert facula.softmax(x, dim=0).tolist() == [0.5, 0, 0.5]


@pytest.mark.parametrize("n", [1, 15, 16, 17, 1000, 5000])
def test_rows_of_every_length_sum_to_one(n):
    assert facula.softmax(facula.randn(3, n), 1).sum(1).tolist() == pytest.approx([1, 1, 1])


@pytest.mark.parametrize("op", [facula.softmax, facula.log_softmax, facula.logsumexp])
@pytest.mark.parametrize("n", [1, 3, 16, 33, 49])
def test_a_row_has_the_same_bits_alone_and_among_others(op, n):
    x = facula.randn(37, n)
    for row in (0, 20, 36):
        assert op(x, 1)[row].tolist() == op(x[row : row + 1], 1)[0].tolist()


@pytest.mark.parametrize("op", [facula.softmax, facula.log_softmax, facula.logsumexp])
@pytest.mark.parametrize("dtype", [facula.float32, facula.float64, facula.float16])
@pytest.mark.parametrize("n", [2, 7, 16, 63, 64, 65, 100, 200])
def test_a_column_has_the_same_bits_alone_and_among_others(op, dtype, n):
    x = facula.randn(50, n).to(dtype).requires_grad_()
    y = op(x, 0)
    (grad,) = facula.autograd.grad(y.float().square().sum(), x)
    for column in {0, n // 2, n - 1}:
        alone = x.detach()[:, column].clone()[:, None].expand(50, 2).contiguous().requires_grad_()
        y_alone = op(alone, 0)
        (grad_alone,) = facula.autograd.grad(y_alone.float().square().sum(), alone)
        assert y_alone[..., 1].equal(y[..., column])
        assert grad_alone[:, 1].equal(grad[:, column])


def test_softmax_refuses_integers():
    with pytest.raises(RuntimeError):
        facula.softmax(facula.ones(2, 3, dtype=facula.int64), dim=1)


def test_softmax_refuses_a_dim_that_is_not_there():
    with pytest.raises(IndexError):
        facula.softmax(facula.ones(2, 3), dim=2)
