"""facula.func: transforms for derivatives, alone and nested."""

import pytest

import facula
from facula import func

pytestmark = pytest.mark.promise("A8")


@pytest.fixture
def x():
    return facula.tensor([1.0, 2.0])


def cube_sum(x):
    return (x**3).sum()


def test_grad_returns_a_plain_gradient(x):
    g = func.grad(cube_sum)(x)
    assert g.tolist() == [3, 12]
    assert not g.requires_grad
    assert not x.requires_grad
    assert x.grad is None


def test_grad_chooses_arguments_by_number(x):
    def f(a, b, *, scale=1):
        return (a * b * scale).sum()

    y = x + 2
    assert func.grad(f, argnums=1)(x, y).tolist() == x.tolist()
    assert func.grad(f, argnums=-2)(x, y, scale=2).tolist() == (2 * y).tolist()
    both = func.grad(f, argnums=(0, 1))(x, y)
    assert [g.tolist() for g in both] == [y.tolist(), x.tolist()]


def test_grad_follows_nested_arguments(x):
    g = func.grad(lambda tree: (tree["a"] * tree["b"][0]).sum())({"a": x, "b": (x + 2,)})
    assert g["a"].tolist() == [3, 4]
    assert g["b"][0].tolist() == [1, 2]


def test_grad_and_value_with_aux(x):
    gradient, (value, aux) = func.grad_and_value(lambda x: (cube_sum(x), x * 2), has_aux=True)(x)
    assert gradient.tolist() == [3, 12]
    assert value.item() == 9
    assert aux.tolist() == [2, 4]
    assert not aux.requires_grad


def test_nested_grads_do_not_confuse_their_levels(x):
    def outer(x):
        inner = func.grad(lambda y: (x * y * y).sum())(x)
        return (x * inner).sum()

    assert func.grad(outer)(x).tolist() == (6 * x**2).tolist()
    assert func.grad(func.grad(lambda x: x**4))(facula.tensor(2.0)).item() == 48


def test_an_outer_backward_reaches_tensors_used_inside(x):
    w = facula.ones(2, requires_grad=True)
    g = func.grad(lambda x: (x**3 * w).sum())(x)
    assert g.requires_grad
    g.sum().backward()
    assert w.grad.tolist() == [3, 12]


def test_grad_works_under_no_grad(x):
    w = facula.ones(2, requires_grad=True)
    with facula.no_grad():
        g = func.grad(lambda x: (x * w).sum())(x)
    assert g.tolist() == [1, 1]
    assert not g.requires_grad


def test_vjp_and_jvp_are_transposes_of_each_other(x):
    def f(a, b):
        return a.sin() * b, (a * a).sum()

    y = x + 1
    output, vjp_fn = func.vjp(f, x, y)
    _, product = func.jvp(f, (x, y), (y, x))
    backward = vjp_fn((x, facula.tensor(2.0)))
    left = sum((a * b).sum() for a, b in zip(backward, (y, x), strict=True))
    right = (product[0] * x).sum() + product[1] * 2
    assert facula.allclose(left, right)
    assert facula.allclose(output[0], x.sin() * y)
    assert not output[0].requires_grad


@pytest.mark.parametrize("jacobian", [func.jacrev, func.jacfwd])
def test_jacobians_are_nested_as_output_then_input(jacobian, x):
    result = jacobian(lambda a, b: {"p": a * b, "s": a.sum()}, argnums=(0, 1))(x, x + 2)
    assert result["p"][0].tolist() == [[3, 0], [0, 4]]
    assert result["p"][1].tolist() == [[1, 0], [0, 2]]
    assert result["s"][0].tolist() == [1, 1]
    assert result["s"][1].tolist() == [0, 0]


@pytest.mark.parametrize("outer", [func.jacrev, func.jacfwd])
@pytest.mark.parametrize("inner", [func.jacrev, func.jacfwd])
def test_second_derivatives_in_every_order(outer, inner, x):
    assert outer(inner(cube_sum))(x).tolist() == [[6, 0], [0, 12]]
    assert func.hessian(cube_sum)(x).tolist() == [[6, 0], [0, 12]]


def test_wrong_functions_are_refused(x):
    with pytest.raises(RuntimeError, match=r"expected the function to return a 0-d tensor"):
        func.grad(lambda x: x)(x)
    with pytest.raises(RuntimeError, match="return a tensor, got int"):
        func.grad(lambda x: 3)(x)
    with pytest.raises(RuntimeError, match="argnums has 2, but there are 1 arguments"):
        func.grad(cube_sum, argnums=2)(x)
    with pytest.raises(RuntimeError, match="must return a tuple"):
        func.grad(cube_sum, has_aux=True)(x)
    with pytest.raises(RuntimeError, match="expected primals to be a tuple"):
        func.jvp(cube_sum, x, (x,))
    with pytest.raises(RuntimeError, match=r"a tangent has shape \(3,\), its primal \(2,\)"):
        func.jvp(cube_sum, (x,), (facula.ones(3),))


def test_jacobians_call_the_function_once_and_take_its_way(x):
    calls = []

    def f(x):
        calls.append(1)
        y = x * 3 if x.sum() > 0 else -x
        out = facula.zeros(2)
        out[1] = y[0] * y[1]
        out[:1].add_(y[1])
        return out

    expected = [[0.0, 3.0], [18.0, 9.0]]
    assert func.jacrev(f)(x).tolist() == expected
    assert func.jacfwd(f)(x).tolist() == expected
    assert len(calls) == 2


@pytest.mark.parametrize(
    "f",
    [
        lambda x: cube_sum(x) if x.sum() > 0 else x.sum(),
        lambda x: cube_sum(x) + x.sum() * x.max().item(),
        lambda x: (x[x > 0] ** 3).sum(),
        lambda x: (x[x.nonzero()[:, 0]] ** 3).sum(),
    ],
    ids=["if", "item", "mask", "nonzero"],
)
def test_a_function_whose_way_depends_on_values_has_a_hessian(f, x):
    assert func.hessian(f)(x).tolist() == [[6, 0], [0, 12]]
    with pytest.raises(RuntimeError, match="vmap"):
        func.vmap(func.hessian(f))(facula.stack([x, x]))


def test_what_is_written_without_a_record_has_a_tangent_with_its_history(x):
    def f(x):
        y, part = x**2, x.clone()
        with facula.no_grad():
            y.clamp_(min=1e-6)
            part[:1].mul_(1)
        return (y.log() * part).sum()

    expected = func.jacrev(func.grad(f))(x)
    facula.testing.assert_close(func.jacfwd(func.grad(f))(x), expected)
    (tangent,) = func.jvp(func.grad(f), (x,), (facula.ones(2),))[1:]
    facula.testing.assert_close(tangent, expected.sum(1))


def test_an_argument_that_comes_back_stays_the_argument(x):
    def f(x):
        total = x.sum().sin()  # before contiguous(), whose result is x here and a copy elsewhere
        return (x.contiguous() * total).sum()

    expected = func.jacfwd(func.jacfwd(f))(x)
    facula.testing.assert_close(func.jacrev(func.grad(f))(x), expected)


def test_a_jacobian_of_something_random_is_that_of_the_numbers_drawn():
    x = facula.ones(20)
    facula.manual_seed(0)
    value = facula.nn.functional.dropout(x, 0.5)
    facula.manual_seed(0)
    jacobian = func.jacrev(lambda x: facula.nn.functional.dropout(x, 0.5))(x)
    assert facula.equal(jacobian, facula.diag(value))


def test_vectors_in_a_batch_go_through_vjp_fn_and_jvp_fn_at_once(x):
    w = facula.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])

    def f(x):
        return (w @ x) ** 2

    jacobian = func.jacrev(f)(x)
    _, vjp_fn = func.vjp(f, x)
    assert facula.allclose(func.vmap(vjp_fn)(facula.eye(3))[0], jacobian)
    output, jvp_fn = func.linearize(f, x)
    assert facula.equal(output, f(x))
    assert facula.allclose(func.vmap(jvp_fn, out_dims=1)(facula.eye(2)), jacobian)


def test_linearize_computes_with_new_vectors_what_jvp_does(x):
    def f(x, y):
        return {"a": x.sin() * y, "b": y.sum()}

    y = facula.ones(2)
    _, jvp_fn = func.linearize(f, x, y)
    for scale in (1.0, -2.0):
        tangents = (x * scale, y)
        expected = func.jvp(f, (x, y), tangents)[1]
        found = jvp_fn(*tangents)
        assert facula.allclose(found["a"], expected["a"])
        assert facula.equal(found["b"], expected["b"])
    with pytest.raises(RuntimeError, match="linearize: expected a tangent as"):
        jvp_fn(x, facula.ones(3))
    with pytest.raises(RuntimeError, match="nested as the primals"):
        jvp_fn(x)


def test_per_example_gradients_of_second_order(x):
    batch = facula.stack([x, 2 * x, -x])

    def penalty(w, x):
        g = func.grad(lambda x: (w * x**3).sum())(x)
        return g.square().sum()

    w = facula.tensor([1.0, 0.5])
    grads = func.vmap(func.grad(penalty), in_dims=(None, 0))(w, batch)
    assert facula.allclose(grads, 18 * w * batch**4)


def test_transforms_leave_nothing_at_the_seam(x):
    func.vmap(func.hessian(lambda x: x.tanh().sum()))(facula.stack([x, x]))
    assert facula._core._transforms() == []


class _Scaled(facula.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x, w):
        return x * w

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        return g * w, (g * x).sum()


def test_a_function_runs_by_the_rules_of_its_operations(x):
    batch = facula.stack([x, 2 * x])
    w = facula.tensor(3.0)
    assert facula.equal(func.vmap(_Scaled.apply, (0, None))(batch, w), 3 * batch)
    inside = func.vmap(func.grad(lambda x, w: _Scaled.apply(x, w).sum(), 1), (0, None))(batch, w)
    assert facula.equal(inside, batch.sum(1))
    outside = func.grad(lambda w: func.vmap(_Scaled.apply, (0, None))(batch, w).sum())(w)
    assert facula.equal(outside, batch.sum())


def test_a_function_without_a_rule_for_batches_is_refused(x):
    class Plain(facula.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    class Both(Plain):
        generate_vmap_rule = True

        @staticmethod
        def vmap(info, in_dims, x):
            return x, in_dims[0]

    class Own(Plain):
        @staticmethod
        def vmap(info, in_dims, x):
            assert (info.batch_size, info.randomness, in_dims) == (2, "error", (0,))
            return x.t() * 2, 1

    batch = facula.stack([x, 2 * x])
    with pytest.raises(RuntimeError, match="does not have vmap support"):
        func.vmap(Plain.apply)(batch)
    with pytest.raises(RuntimeError, match="Choose one of them"):
        func.vmap(Both.apply)(batch)
    assert facula.equal(func.vmap(Own.apply)(batch), 2 * batch)


@pytest.mark.parametrize("n", [1, 2])
def test_what_is_beside_a_jacobian_stays_with_its_example(n):
    batch = facula.arange(3.0 * n).reshape(3, n)

    def f(x):
        return x**2, (x.sum(), facula.ones(2))

    for jacobian in (func.jacfwd, func.jacrev):
        rows, (total, ones) = func.vmap(jacobian(f, has_aux=True))(batch)
        assert facula.equal(rows, facula.stack([facula.diag(2 * x) for x in batch]))
        assert facula.equal(total, batch.sum(1))
        assert ones.shape == (3, 2)


def test_running_statistics_are_updated_once_for_a_jacobian():
    x = facula.arange(6.0).reshape(3, 2).square()
    for jacobian in (func.jacrev, func.jacfwd):
        mean, var = facula.zeros(2), facula.ones(2)

        def norm(x, mean=mean, var=var):
            return facula.nn.functional.batch_norm(x, mean, var, training=True)

        found = jacobian(norm)(x)
        assert facula.allclose(mean, 0.1 * x.mean(0))
        assert facula.allclose(var, 0.9 + 0.1 * x.var(0))
        expected = facula.autograd.functional.jacobian(norm, x)
        assert facula.allclose(found, expected, atol=1e-6)


def test_copies_of_an_input_are_told_apart_in_memory():
    x = facula.arange(6.0)

    def f(x):
        return x.as_strided((2, 2), (1, 2), 1) ** 2

    expected = facula.autograd.functional.jacobian(f, x)
    assert facula.equal(func.jacrev(f)(x), expected)
    assert facula.equal(func.jacfwd(f)(x), expected)


def _from_eigenvalues(a):
    values, vectors = facula.linalg.eig(a)
    return vectors @ facula.diag_embed(values) @ facula.linalg.inv(vectors)


def _from_symmetric_eigenvalues(a):
    values, vectors = facula.linalg.eigh(a)
    return vectors * values.unsqueeze(-2) @ vectors.mH


def _from_singular_values(a):
    u, values, vh = facula.linalg.svd(a, full_matrices=False)
    return u * values.unsqueeze(-2) @ vh


def _from_triangles(a):
    lower, upper = facula.linalg.cholesky(a), facula.linalg.cholesky(a, upper=True)
    return (lower @ lower.mH + upper.mH @ upper) / 2


@pytest.mark.parametrize("dtype", [facula.float64, facula.complex128])
@pytest.mark.parametrize(
    "compose, shape",
    [
        (_from_eigenvalues, (3, 3)),
        (_from_symmetric_eigenvalues, (2, 3, 3)),
        (_from_singular_values, (4, 3)),
        (_from_singular_values, (2, 3, 4)),
        (_from_triangles, (3, 3)),
    ],
)
def test_tangents_of_factors_make_the_tangent_of_the_matrix(compose, shape, dtype):
    facula.manual_seed(0)
    a, t = facula.randn(*shape, dtype=dtype), facula.randn(*shape, dtype=dtype)
    if compose in (_from_symmetric_eigenvalues, _from_triangles):
        a, t = a @ a.mH, t + t.mH
    value, tangent = facula.func.jvp(compose, (a,), (t,))
    assert facula.allclose(value.to(facula.complex128), a.to(facula.complex128))
    assert facula.allclose(tangent.to(facula.complex128), t.to(facula.complex128))
    many = facula.stack([t, 2 * t])
    each = facula.func.vmap(lambda t: facula.func.jvp(compose, (a,), (t,))[1])(many)
    assert facula.allclose(each.to(facula.complex128), many.to(facula.complex128))


def test_a_tangent_of_eigenvalues_is_differentiated_again():
    a = facula.tensor([[2.0, 1.0], [0.5, 3.0]], dtype=facula.float64)

    def f(a):
        return facula.linalg.eigvals(a).real.square().sum()

    # The sum of squared eigenvalues is the trace of the square.
    expected = facula.func.hessian(lambda a: (a @ a).trace())(a)
    for order in (
        facula.func.jacfwd(facula.func.jacrev(f)),
        facula.func.jacrev(facula.func.jacfwd(f)),
    ):
        assert facula.allclose(order(a), expected)
