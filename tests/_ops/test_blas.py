"""Products of vectors and matrices, and norms of their slices."""

import numpy as np
import pytest

import facula
from check_op import check_op
from facula import _warnings

SOME = ["float32", "float64"]


@pytest.mark.parametrize(
    "dims, shapes",
    [
        (2, [(2, 3, 4), (3, 4, 5)]),
        (0, [(2,), (3,)]),
        (([1, 2], [1, 0]), [(2, 3, 4), (4, 3, 5)]),
        (([-1], [0]), [(2, 3), (3, 2)]),
    ],
)
def test_tensordot_agrees_with_numpy(dims, shapes):
    check_op(
        lambda a, b: facula.tensordot(a, b, dims),
        lambda a, b: np.tensordot(a, b, dims),
        shapes,
        dtypes=SOME,
    )


@pytest.mark.parametrize("shapes", [[(2,), (3,)], [(2, 3), (4, 5)], [(), (3,)], [(2, 3), (4,)]])
def test_kron_agrees_with_numpy(shapes):
    check_op(facula.kron, np.kron, shapes, dtypes=SOME)


@pytest.mark.parametrize("shapes", [[(3,), (3,)], [(2, 3), (4, 3)], [(), (3,)]])
def test_inner_agrees_with_numpy(shapes):
    check_op(facula.inner, np.inner, shapes, dtypes=SOME)


def test_vdot_conjugates_its_first_argument():
    check_op(facula.vdot, np.vdot, [(3,), (3,)], dtypes=["float64", "complex128"])


def test_cross_and_trace_agree_with_numpy():
    check_op(lambda a, b: facula.cross(a, b, dim=1), np.cross, [(2, 3), (2, 3)], dtypes=SOME)
    check_op(facula.trace, np.trace, [(2, 3)], dtypes=SOME)


@pytest.mark.parametrize("dtype", ["uint8", "int64", "float16", "bfloat16", "float32", "complex64"])
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_cross_is_the_same_for_any_order_of_memory(dtype, dim):
    facula.manual_seed(0)
    shape = [5, 40, 70]
    shape[dim] = 3
    x, y = (facula.randn(*shape).mul(9).abs().to(getattr(facula, dtype)) for _ in range(2))
    a, b = ([t.roll(-k, dim) for k in range(3)] for t in (x, y))
    expected = a[1] * b[2] - a[2] * b[1]
    for order in ((0, 1, 2), (2, 1, 0), (1, 2, 0)):
        back = [order.index(d) for d in range(3)]
        found = facula.cross(x.permute(order).contiguous().permute(back), y, dim)
        assert found.is_contiguous() and facula.equal(found, expected)
    wide = facula.zeros(*shape[:2], 2 * shape[2], dtype=x.dtype)
    wide[..., ::2] = x
    assert facula.equal(facula.cross(wide[..., ::2], y, dim), expected)
    one = y[:1] if dim else y[:, :1]
    assert facula.equal(facula.cross(x, one, dim), facula.cross(x, one.expand(shape), dim))
    assert facula.cross(x[..., :0], y[..., :0], dim).numel() == 0 if dim < 2 else True


def test_cross_of_two_dtypes_and_its_gradients():
    x = facula.tensor([[1, 2, 3]])
    y = facula.tensor([[0.5, 1.0, 2.0], [1.0, 0.0, 1.0]], requires_grad=True)
    assert facula.cross(x, y, 1).tolist() == [[1.0, -0.5, 0.0], [2.0, 2.0, -2.0]]
    facula.cross(x, y, 1)[:, 0].sum().backward()  # x1 y2 - x2 y1
    assert y.grad.tolist() == [[0.0, -3.0, 2.0]] * 2
    with facula.device("meta"):
        assert facula.cross(facula.ones(4, 3), facula.ones(4, 3), 1).shape == (4, 3)


def test_cross_without_dim_takes_the_first_of_three_with_one_warning(monkeypatch):
    monkeypatch.setattr(_warnings, "_told", set())
    x, y = facula.randn(4, 3), facula.randn(4, 3)
    with pytest.warns(UserWarning, match="without specifying the dim arg") as told:
        for _ in range(2):
            assert facula.equal(facula.cross(x, y), facula.cross(x, y, 1))
            assert facula.cross(x.to("meta"), y.to("meta")).shape == (4, 3)
    assert len(told) == 1 and told[0].filename == __file__


def test_cross_needs_only_what_a_gradient_is_made_of():
    leaf, y = facula.ones(2, 3, requires_grad=True), facula.arange(6.0).view(2, 3)
    x = leaf * 2
    z = facula.cross(x, y, 1)
    x.zero_()
    z[:, 0].sum().backward()  # x1 y2 - x2 y1
    assert leaf.grad.tolist() == [[0.0, 4.0, -2.0], [0.0, 10.0, -8.0]]
    z = facula.cross(leaf * 2, y, 1)
    y.zero_()
    with pytest.raises(RuntimeError, match="overwritten in-place"):
        z.sum().backward()


def test_addr_adds_a_scaled_outer_product():
    check_op(
        lambda x, a, b: facula.addr(x, a, b, beta=2, alpha=3),
        lambda x, a, b: 2 * x + 3 * np.outer(a, b),
        [(2, 3), (2,), (3,)],
        dtypes=SOME,
    )


def test_addr_of_bools_takes_its_factors_for_bools():
    yes = facula.ones(2, dtype=facula.bool)
    x = facula.addr(facula.zeros(2, 2, dtype=facula.bool), yes, yes, beta=3, alpha=2)
    assert x.tolist() == [[True, True], [True, True]]
    with pytest.raises(RuntimeError, match=r"addr: expected whole factors of torch.bool, got 0.5"):
        facula.addr(x, yes, yes, alpha=0.5)


@pytest.mark.parametrize("n", [0, 1, 3, 6])
def test_matrix_power_agrees_with_numpy(n):
    x = np.array([[2.0, 1.0], [0.5, 3.0]])
    expected = np.linalg.matrix_power(x, n)
    batch = facula.tensor(np.stack([x, x]))
    for result in facula.matrix_power(batch, n):
        np.testing.assert_allclose(result.numpy(), expected, rtol=1e-12)


def test_chain_matmul_multiplies_in_any_order():
    shapes = [(2, 30), (30, 1), (1, 40), (40, 2)]
    check_op(facula.chain_matmul, lambda *ms: np.linalg.multi_dot(ms), shapes, dtypes=["float64"])


def test_out_receives_the_result():
    out = facula.empty(0)
    result = facula.kron(facula.ones(2), facula.ones(2), out=out)
    assert result is out
    assert out.tolist() == [1, 1, 1, 1]
    with pytest.warns(
        UserWarning, match="kron: the out tensor was resized because it had 4 elements"
    ):
        facula.kron(facula.ones(2), facula.ones(3), out=out)
    with pytest.raises(RuntimeError, match=r"cannot be stored in out of int64"):
        facula.kron(facula.ones(2), facula.ones(2), out=facula.empty(0, dtype=facula.int64))
    with pytest.raises(RuntimeError, match="out= takes no part in differentiation"):
        facula.kron(facula.ones(2, requires_grad=True), facula.ones(2), out=out)


def test_wrong_shapes_are_refused():
    with pytest.raises(RuntimeError, match=r"tensordot: dimension 1 of a \(2, 3\)"):
        facula.tensordot(facula.ones(2, 3), facula.ones(2, 3), 1)
    with pytest.raises(RuntimeError, match=r"inner: expected last dimensions of equal size"):
        facula.inner(facula.ones(2), facula.ones(3))
    with pytest.raises(RuntimeError, match=r"cross: no dimension of \(2, 2\) has size 3"):
        facula.cross(facula.ones(2, 2), facula.ones(2, 2))
    with pytest.raises(RuntimeError, match=r"matrix_power: expected square matrices"):
        facula.matrix_power(facula.ones(2, 3), 2)


@pytest.mark.parametrize("dim, shape", [(0, (3, 1, 1)), (1, (1, 4, 1)), (-2, (1, 4, 1)), (-1, ())])
def test_norm_except_dim_keeps_one_dimension(dim, shape):
    assert facula.norm_except_dim(facula.ones(3, 4, 2), 2, dim).shape == shape


def test_norm_except_dim_refuses_a_dimension_that_is_not_there():
    with pytest.raises(IndexError, match=r"norm_except_dim: expected dim in \[-3, 2\], got 3"):
        facula.norm_except_dim(facula.ones(3, 4, 2), 2, 3)


def test_out_takes_part_in_the_graph_where_the_result_is_copied_to_it():
    x, y = facula.randn(2, 3, requires_grad=True), facula.randn(3, 2)
    out = facula.empty(2, 2)
    assert facula.tensordot(x, y, 1, out=out) is out
    assert out.grad_fn.name() == "torch::autograd::CopyBackwards"
    out.sum().backward()
    assert facula.allclose(x.grad, facula.ones(2, 2) @ y.t())


def test_out_of_a_kernel_has_a_node_without_a_derivative():
    x = facula.randn(2, 3, requires_grad=True)
    out = facula.empty(2, 3)
    facula.softmax(x, 1, out=out)
    assert facula.equal(out, facula.softmax(x, 1))
    assert out.requires_grad and out.grad_fn.name() == "NotImplemented"
    with pytest.raises(RuntimeError, match=r"^softmax: the derivative for out= is not implemented"):
        out.sum().backward()
    with pytest.raises(RuntimeError, match="leaf"):
        facula.softmax(x, 1, out=facula.empty(2, 3, requires_grad=True))


def test_out_of_factories_is_resized_without_a_warning():
    out = facula.empty(3)
    assert facula.ones(2, 2, out=out) is out and out.tolist() == [[1, 1], [1, 1]]
    assert facula.linspace(0, 1, 2, out=out).tolist() == [0, 1]


@pytest.mark.parametrize(
    "name, compute",
    [
        ("VdotBackward0", lambda x: facula.vdot(x[0], x[1])),
        ("LinalgCrossBackward0", lambda x: facula.linalg.cross(x, x + 1)),
        ("RenormBackward0", lambda x: x.renorm(2, 0, 1)),
        ("CdistBackward0", lambda x: facula.cdist(x, x + 1, 1)),
        ("DiagEmbedBackward0", lambda x: facula.diag_embed(x)),
        ("PermuteBackward0_copy", lambda x: facula.permute_copy(x, (1, 0))),
        ("Rot90Backward0", lambda x: facula.rot90(x, 2)),
    ],
)
def test_a_composed_operation_shows_its_own_name(name, compute):
    x = facula.randn(3, 3, dtype=facula.float64, requires_grad=True)
    assert compute(x).grad_fn.name() == type(compute(x).grad_fn).__name__ == name
    assert facula.autograd.gradcheck(compute, x)
