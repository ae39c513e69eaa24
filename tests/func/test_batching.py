"""The rules of vmap: an operation on a batch gives what it gives for each example."""

import pytest

import facula
import facula.nn.functional as F
from facula import nn
from facula.func import _batching, vmap
from facula.func._batching._batch import ALWAYS, RULES

pytestmark = pytest.mark.promise("A8")
N = 3


def values(*shape):
    n = facula.Size(shape).numel()
    return (facula.arange(float(n)) * 0.7).sin().reshape(shape) + 0.1


def places(high, *shape):
    n = facula.Size(shape).numel()
    return (facula.arange(n) * 7 % high).reshape(shape)


def check(function, *args, batched=None):
    """The function of the batch, and its gradient, against a loop over the examples."""
    which = range(len(args)) if batched is None else batched
    own = [
        a.clone().requires_grad_(a.is_floating_point() and i in which) for i, a in enumerate(args)
    ]
    rows = [function(*(a[k] if i in which else a for i, a in enumerate(own))) for k in range(N)]
    expected = facula.stack(rows)
    in_dims = tuple(0 if i in which else None for i in range(len(args)))
    actual = vmap(function, in_dims)(*own)
    assert actual.shape == expected.shape
    assert actual.dtype == expected.dtype
    assert facula.allclose(actual, expected, atol=1e-5)
    inputs = [a for a in own if a.requires_grad]
    if expected.requires_grad:
        seed = values(*expected.shape)
        grads = [
            facula.autograd.grad(y, inputs, seed, allow_unused=True, materialize_grads=True)
            for y in (expected, actual)
        ]
        for e, a in zip(*grads, strict=True):
            assert facula.allclose(a, e, atol=1e-5)


CASES = {
    "numbers beside tensors": (lambda x, s: x * s + s, (values(N, 2, 3), values(N))),
    "different ranks": (lambda a, b: a / (b.abs() + 1), (values(N, 4), values(N, 2, 4))),
    "where": (lambda x: facula.where(x > 0, x, x.sum()), (values(N, 4),)),
    "a reduction over all": (
        lambda x: x.std() + x.amax() + x.logsumexp((0, 1)),
        (values(N, 2, 3),),
    ),
    "a reduction from behind": (lambda x: x.var(-1, keepdim=True), (values(N, 2, 3),)),
    "reductions of numbers": (lambda x: x.sum() + x.mean(0) + x.max(), (values(N),)),
    "a value and its place": (lambda x: x.max(0).values + x.argmax(0), (values(N, 4, 2),)),
    "sorting": (lambda x: x.sort(descending=True)[0] + x.topk(4, 0)[0], (values(N, 4),)),
    "shapes": (
        lambda x: x.view(3, -1).t().reshape(2, 3).unsqueeze(1).expand(2, 4, 3).flip(0, 2),
        (values(N, 6),),
    ),
    "squeezing": (lambda x: x.squeeze() + x.squeeze(0).squeeze(-1), (values(N, 1, 4, 1),)),
    "joining": (
        lambda a, b: facula.cat([a, b]).sum(0) + facula.stack([a, a], 1).sum(),
        (values(N, 2), values(N, 3)),
    ),
    "splitting": (
        lambda x: x.chunk(2)[1] * x.unbind(0)[0] + x.split(2, 0)[0],
        (values(N, 4, 3),),
    ),
    "matmul of vectors": (lambda a, b: (a @ b) * a.dot(b), (values(N, 4), values(N, 4))),
    "matmul of batches": (lambda a, b: a @ b, (values(N, 2, 3, 4), values(N, 4, 5))),
    "addmm": (
        lambda c, a, b: facula.addmm(c, a, b, beta=0.5, alpha=2),
        (values(N, 5), values(N, 2, 3), values(N, 3, 5)),
    ),
    "linear": (lambda x, w, b: F.linear(x, w, b), (values(N, 2, 4), values(N, 3, 4), values(N, 3))),
    "conv1d": (lambda x, w: F.conv1d(x, w, padding=1), (values(N, 2, 3, 6), values(N, 4, 3, 3))),
    "conv2d with groups": (
        lambda x, w, b: F.conv2d(x, w, b, stride=2, groups=2),
        (values(N, 2, 4, 6, 6), values(N, 4, 2, 3, 3), values(N, 4)),
    ),
    "conv2d of one image": (F.conv2d, (values(N, 3, 6, 6), values(N, 2, 3, 3, 3))),
    "conv_transpose2d": (
        lambda x, w: F.conv_transpose2d(x, w, stride=2),
        (values(N, 2, 3, 4, 4), values(N, 3, 2, 3, 3)),
    ),
    "gather": (lambda x, i: x.gather(1, i), (values(N, 2, 5), places(5, N, 2, 3))),
    "scatter_add": (
        lambda x, i, s: x.scatter_add(0, i, s),
        (values(N, 5), places(5, N, 4), values(N, 4)),
    ),
    "index_select": (lambda x, i: x.index_select(0, i), (values(N, 5, 2), places(5, N, 3))),
    "embedding": (lambda w, i: F.embedding(i, w), (values(N, 6, 3), places(6, N, 4))),
    "x[i]": (lambda x, i: x[i], (values(N, 5, 2), places(5, N, 3))),
    "x[:, i]": (lambda x, i: x[:, i, 1], (values(N, 2, 5, 3), places(5, N, 4))),
    "x[i, :, j]": (lambda x, i: x[i, :, i], (values(N, 5, 2, 5), places(5, N, 4))),
    "x[number]": (lambda x, i: x[i[0]] * x[0:2, None].sum(), (values(N, 5, 2), places(5, N, 1))),
    "softmax": (lambda x: x.softmax(0) * x.log_softmax(-1), (values(N, 2, 4),)),
    "cross_entropy": (lambda x, y: F.cross_entropy(x, y), (values(N, 4, 5), places(5, N, 4))),
    "cross_entropy of one": (
        lambda x, y: F.cross_entropy(x, y[0]),
        (values(N, 5), places(5, N, 1)),
    ),
    "mse_loss": (lambda x, y: F.mse_loss(x, y, reduction="sum"), (values(N, 4), values(N, 4))),
    "layer_norm": (
        lambda x, w, b: F.layer_norm(x, (4,), w, b),
        (values(N, 3, 4), values(N, 4), values(N, 4)),
    ),
    "group_norm": (
        lambda x, w, b: F.group_norm(x, 2, w, b),
        (values(N, 2, 4, 3), values(N, 4), values(N, 4)),
    ),
    "batch_norm": (
        lambda x, w: F.batch_norm(x, None, None, w, training=True),
        (values(N, 5, 4, 3), values(N, 4)),
    ),
    "pooling": (lambda x: F.max_pool2d(x, 2) + F.avg_pool2d(x, 2), (values(N, 2, 3, 4, 4),)),
    "resampling": (lambda x: F.interpolate(x, scale_factor=2), (values(N, 2, 3, 4),)),
    "a native norm": (
        lambda x: facula.native_layer_norm(x, (4,), None, None, 1e-5)[0],
        (values(N, 3, 4),),
    ),
    "a grid": (
        lambda a: F.affine_grid(a, (2, 1, 3, 3), align_corners=False),
        (values(N, 2, 2, 3),),
    ),
    "attention": (
        lambda q, k: F.scaled_dot_product_attention(q, k, k, is_causal=True),
        (values(N, 2, 4, 8), values(N, 2, 4, 8)),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_batch_gives_what_its_examples_give(name):
    function, args = CASES[name]
    check(function, *args)
    if len(args) > 1:
        for i in range(len(args)):
            others = [a if k == i else a[0] for k, a in enumerate(args)]
            check(function, *others, batched=[i])


def test_a_result_in_place_differs_between_examples():
    def f(x):
        y = x.clone()
        y[1:] = x[0] * 2
        y.mul_(x).add_(1)
        y[y > 2] = 0
        z = x.new_zeros(2, 4)
        z[1] = y
        z.transpose_(0, 1)
        return z

    check(f, values(N, 4))


def test_a_number_weighs_as_little_in_a_batch_as_alone():
    x = facula.ones(N, 2)
    s = facula.ones(N, dtype=facula.float64)
    assert vmap(facula.mul)(x, s).dtype == facula.float32
    assert vmap(facula.mul, (0, None))(
        facula.ones(N), facula.ones((), dtype=facula.float64)
    ).dtype == (facula.float64)


@pytest.mark.parametrize(
    "layer",
    [
        lambda: nn.LSTM(3, 4, batch_first=True),
        lambda: nn.GRU(3, 4, num_layers=2, batch_first=True, bidirectional=True),
        lambda: nn.TransformerEncoderLayer(3, 3, 5, dropout=0.0, batch_first=True),
    ],
)
def test_layers_that_examples_share_run_as_one_batch(layer):
    module = layer()
    x = values(N, 2, 5, 3)

    def first(y):
        return y[0] if isinstance(y, tuple) else y

    expected = facula.stack([first(module(row)) for row in x])
    actual = vmap(lambda row: first(module(row)))(x)
    assert facula.allclose(actual, expected, atol=1e-5)


def test_running_statistics_of_an_ensemble_are_updated():
    mean, var = facula.zeros(N, 2), facula.ones(N, 2)
    x = values(N, 5, 2)
    vmap(lambda x, m, v: F.batch_norm(x, m, v, training=True))(x, mean, var)
    assert facula.allclose(mean, 0.1 * x.mean(1))
    assert facula.allclose(var, 0.9 + 0.1 * x.var(1))
    with pytest.raises(RuntimeError, match="replace_all_batch_norm_modules_"):
        vmap(lambda x: F.batch_norm(x, mean[0], var[0], training=True))(x)


def test_in_place_on_a_view_writes_to_what_it_is_a_view_of():
    def f(x):
        y = x * 1
        y[0].mul_(2)
        y.t()[1].zero_()
        return y

    check(f, values(N, 2, 3))


def test_arguments_may_be_given_by_name_in_numpys_way_too():
    x = values(N, 2, 3)
    assert facula.equal(
        vmap(lambda a: facula.sum(input=a, axis=1, keepdims=True))(x), x.sum(2, True)
    )
    assert facula.equal(vmap(lambda a: facula.mul(a, other=a))(x), x * x)
    assert facula.allclose(
        vmap(lambda a: facula.addmm(a, mat1=a @ a.t(), mat2=a))(x),
        facula.stack([a + a @ a.t() @ a for a in x]),
    )


# Done one example at a time, with a warning: rare, or of another size for every example.
LOOPED = {
    "_count_bins", "_csr_dots", "_csr_mm", "_ctc_loss", "_fractional_max_pool",
    "_pair_distances", "_ps_roi_align",
    "_ps_roi_pool", "_roi_align", "_roi_pool", "argwhere", "conv_tbc", "embedding_bag", "is_set_to",
    "linspace", "logspace", "native_batch_norm", "native_group_norm", "_sample_dirichlet",
}  # fmt: skip
# They compute nothing with the elements of a tensor.
STATE = {
    "_gradient_edge", "_one_example", "_post_accumulate_hooks", "_reaches_others", "_tensor_hooks",
    "as_subclass",
    "set_rng_state",
}  # fmt: skip


def operations_of_the_core():
    """The names of bound functions and methods that take tensors."""
    core = facula._core
    kinds = (type(core.add), type(facula.Tensor.__dict__["add"]))
    for space in (vars(core), facula.Tensor.__dict__):
        for function in space.values():
            if type(function) in kinds:
                signature = str(function.__nb_signature__).partition("->")[0]
                if space is not vars(core) or "Tensor" in signature:
                    yield function.__name__


def test_every_operation_of_the_core_has_a_rule():
    _batching.load()
    factories = {"arange", "empty", "eye", "full", "ones", "zeros"}  # their tensor is out=
    known = RULES.keys() | ALWAYS.keys() | LOOPED | STATE | factories
    assert set(operations_of_the_core()) - known == set()
    assert not LOOPED & RULES.keys()


def test_matrices_are_factored_and_solved_with_all_at_once():
    a = facula.randn(5, 3, 3) + 4 * facula.eye(3)
    b, c = facula.randn(5, 3), facula.randn(3)
    linalg = facula.linalg
    programs = [
        (linalg.det, (a,), 0),
        (linalg.inv, (a,), 0),
        (lambda m: linalg.svd(m).S, (a,), 0),
        (lambda m: linalg.qr(m).R, (a,), 0),
        (lambda m: linalg.cholesky(m @ m.T), (a,), 0),
        (linalg.solve, (a, b), (0, 0)),
        (linalg.solve, (a, c), (0, None)),
        (linalg.solve, (a[0], b), (None, 0)),
        (lambda m, v: facula.cholesky_solve(v[:, None], facula.eye(3) + m.tril()), (a, b), (0, 0)),
    ]
    for function, args, dims in programs:
        batched = vmap(function, dims)(*args)
        axes = (dims,) if isinstance(dims, int) else dims
        pick = lambda i: [x if d is None else x[i] for x, d in zip(args, axes, strict=True)]  # noqa: E731, B023
        expected = facula.stack([function(*pick(i)) for i in range(5)])
        assert facula.allclose(batched, expected, atol=1e-5)
        gradients = vmap(facula.func.grad(lambda *x, f=function: f(*x).sum()), dims)(*args)
        alone = facula.stack(
            [facula.func.grad(lambda *x, f=function: f(*x).sum())(*pick(i)) for i in range(5)]
        )
        assert facula.allclose(gradients, alone, atol=1e-4)
