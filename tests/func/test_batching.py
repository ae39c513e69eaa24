"""The rules of vmap: an operation on a batch gives what it gives for each example."""

import functools
import itertools

import pytest

import facula
import facula.nn.functional as F
from facula import nn
from facula.func import _batching, vmap
from facula.func._batching._batch import ALWAYS, RULES
from facula.vision import ops

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


def _written(x, index, value, *others):
    y = _own(x, value, *others)
    y[index] = value
    return y


def _own(x, *others):
    """A copy of ``x`` that differs between examples where one of the others does."""
    return sum((0 * t.sum() for t in others if isinstance(t, facula.Tensor)), start=x * 1)


def _boxes(n, k):
    """Boxes ``(n, k, 5)``: the number of one of two images and corners within six pixels."""
    corners = values(n, k, 2).abs() * 2
    return facula.cat([places(2, n, k, 1).float(), corners, corners + 2.5], -1)


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
    "values at places": (
        lambda x, i, v: x.put(i, v) + x.put(i, v, accumulate=True),
        (values(N, 2, 3), places(6, N, 2) - 1, values(N, 2)),
    ),
    "index_put": (
        lambda x, i, v: (
            x.index_put((i,), v) + x.index_put((i, None, i), v[0, :, 0], accumulate=True)
        ),
        (values(N, 5, 2, 5), places(5, N, 4), values(N, 4, 2, 5)),
    ),
    "x[i, :, j] = v": (
        lambda x, i, v: _written(x, (slice(None), i, 1), v, i),
        (values(N, 2, 5, 3), facula.tensor([[0, 3], [1, 2], [4, 0]]), values(N, 2, 2)),
    ),
    "x[:, i] = number": (
        lambda x, i: _written(x, (slice(0, 1), i), 2.0, i),
        (values(N, 2, 5), places(5, N, 2)),
    ),
    "x[mask] = v": (
        lambda x, v: _written(x, facula.tensor([True, False, True]), v),
        (values(N, 3, 2), values(N, 2, 2)),
    ),
    "index_add": (
        lambda x, i, v: x.index_add(1, i, v, alpha=2) + x.index_reduce(1, i, v, "amax"),
        (values(N, 2, 5), places(5, N, 4), values(N, 2, 4)),
    ),
    "index_copy": (
        lambda x, i, v: x.index_copy(0, i, v) + _own(x, i, v).index_copy_(0, i, v),
        (values(N, 5, 2), facula.tensor([[0, 3], [1, 2], [4, 0]]), values(N, 2, 2)),
    ),
    "index_fill": (
        lambda x, i, v: x.index_fill(0, i, 2.0) + x.index_fill(0, i - 1, v),
        (values(N, 5, 2), places(5, N, 3), values(N)),
    ),
    "index_add of numbers": (
        lambda x, i, v: x.index_add(0, i, v) + x.index_select(0, i),
        (values(N), places(1, N, 1), values(N, 1)),
    ),
    "scatter of a number": (
        lambda x, i, v: x.scatter(0, i, v) + x.scatter(0, i, value=3.0),
        (values(N, 5), places(5, N, 1), values(N)),
    ),
    "masked_scatter": (
        lambda x, s: x.masked_scatter(x > 0, s) + _own(x, s).masked_scatter_(x < 0, s * 2),
        (values(N, 2, 3), values(N, 7)),
    ),
    "embedding with padding": (
        lambda w, i: F.embedding(i, w, padding_idx=2, scale_grad_by_freq=True),
        (values(N, 6, 3), places(6, N, 4) % 4),
    ),
    "bags": (
        lambda w, i: F.embedding_bag(i, w) + F.embedding_bag(i, w, mode="max", padding_idx=1),
        (values(N, 6, 3), places(6, N, 4, 2)),
    ),
    "bags with weights": (
        lambda w, i, f: F.embedding_bag(
            i,
            w,
            facula.tensor([0, 3, 3]),
            mode="sum",
            per_sample_weights=f,
            padding_idx=2,
            include_last_offset=True,
        ),
        (values(N, 6, 3), places(6, N, 5), values(N, 5)),
    ),
    "bags with offsets": (
        lambda w, i, o: F.embedding_bag(i, w, o, scale_grad_by_freq=True),
        (values(N, 6, 3), places(6, N, 5), facula.tensor([[0, 1], [0, 4], [0, 0]])),
    ),
    "ctc_loss": (
        lambda x, y: F.ctc_loss(x.log_softmax(-1), y, (6, 5), (2, 1)),
        (values(N, 6, 2, 4), places(3, N, 2, 3) + 1),
    ),
    "ctc_loss of one": (
        lambda x, n: F.ctc_loss(
            x.log_softmax(-1), facula.tensor([1, 2]), n, facula.tensor(2), reduction="sum"
        ),
        (values(N, 6, 4), facula.tensor([6, 4, 5])),
    ),
    "ctc_loss of labels in a row": (
        lambda x, y: F.ctc_loss(x.log_softmax(-1), y, (6, 5), (2, 1), reduction="none"),
        (values(N, 6, 2, 4), places(3, N, 3) + 1),
    ),
    "multi_margin_loss": (
        lambda x, y, w: F.multi_margin_loss(x, y, weight=w) + F.multi_margin_loss(x, y, p=2),
        (values(N, 4, 5), places(5, N, 4), values(N, 5).abs()),
    ),
    "multilabel_margin_loss": (
        lambda x, y: F.multilabel_margin_loss(x, y, reduction="none"),
        (values(N, 4, 5), places(6, N, 4, 5) - 1),
    ),
    "cross_entropy with weights": (
        lambda x, y, w: F.cross_entropy(x, y, w) + F.cross_entropy(x, x.softmax(1), w),
        (values(N, 4, 5), places(5, N, 4), values(N, 5).abs()),
    ),
    "a norm with statistics": (
        lambda x, m: (
            F.instance_norm(x, m, m.exp(), use_input_stats=False)
            + facula.native_batch_norm(x, None, None, m, m.exp(), False, 0.1, 1e-5)[0]
        ),
        (values(N, 2, 4, 3), values(N, 4)),
    ),
    "native norms with weights": (
        lambda x, w: (
            facula.native_group_norm(x, w, w, 2, 4, 3, 2, 1e-5)[0]
            + facula.native_layer_norm(x, (3,), w[1:], None, 1e-5)[0]
        ),
        (values(N, 2, 4, 3), values(N, 4)),
    ),
    "pdist": (facula.pdist, (values(N, 4, 3),)),
    "fractional pooling": (
        lambda x, s: F.fractional_max_pool2d(x, 2, 3, _random_samples=s.sigmoid()),
        (values(N, 2, 3, 5, 5), values(N, 2, 3, 2)),
    ),
    "conv_tbc": (facula.conv_tbc, (values(N, 5, 2, 3), values(N, 2, 3, 4), values(N, 4))),
    "boxes": (
        lambda x, y, b: (
            ops.roi_align(x, b, 2)
            + ops.roi_pool(x, b, 2)
            + facula.cat([ops.ps_roi_align(y, b, 2), ops.ps_roi_pool(y, b, 2)], 1)
        ),
        (values(N, 2, 2, 6, 6), values(N, 2, 4, 6, 6), _boxes(N, 3)),
    ),
    "matrices of a batch": (
        lambda a, b: (
            facula.linalg.solve(a @ a.mT + facula.eye(3), b)
            + facula.linalg.lstsq(a + 3 * facula.eye(3), b).solution
            + facula.linalg.solve_triangular(a.tril() + facula.eye(3), b, upper=False)
        ),
        (values(N, 2, 3, 3), values(N, 3, 2)),
    ),
    "vectors of a batch": (
        lambda a, b: facula.linalg.solve(a + 3 * facula.eye(3), b),
        (values(N, 2, 3, 3), values(N, 3)),
    ),
    "repeating": (
        lambda x: x.repeat_interleave(2) + x.repeat_interleave(facula.tensor([2, 3, 1]), 1).ravel(),
        (values(N, 2, 3),),
    ),
    "repeating by counts": (
        lambda x, c: x.repeat_interleave(c, 0),
        (values(N, 3, 2), facula.tensor([[1, 0, 3], [2, 2, 0], [1, 1, 2]])),
    ),
    "among others": (
        lambda x, t: facula.isin(x, t).to(x.dtype) * x,
        (values(N, 4), values(N, 2, 3)),
    ),
    "intervals": (
        lambda x, b: facula.bucketize(x, b) + facula.searchsorted(b, 0.3) + b.numel() * x,
        (values(N, 4), values(N, 5).sort()[0]),
    ),
    "counts": (
        lambda i, w: facula.bincount(i, minlength=6) + facula.bincount(i, w, minlength=6),
        (places(5, N, 4), values(N, 4)),
    ),
    "histograms": (
        lambda x: (
            facula.histc(x, 4)
            + facula.histogram(x, 4).hist
            + facula.histogram(x, 4, range=(-0.5, 0.5), density=True).hist
            + facula.histogramdd(x.reshape(2, 3), [2, 1, 2]).hist.ravel()
        ),
        (values(N, 6),),
    ),
    "equal distances": (
        lambda a, b: facula.linspace(a, b, 5) + facula.logspace(a, 1.0, 5, base=2),
        (values(N), values(N)),
    ),
    "nuclear norm": (lambda x: x.norm("nuc") + x.norm("nuc", (1, 0)), (values(N, 3, 2),)),
    "attention of one head": (
        lambda q, k: F.scaled_dot_product_attention(q, k, k),
        (values(N, 4, 8), values(N, 4, 8)),
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


@pytest.mark.parametrize("name", CASES)
def test_batches_nest_and_may_lie_in_any_dimension(name):
    function, args = CASES[name]
    twice = [facula.stack([a, a.flip(0)]) for a in args]
    expected = facula.stack([vmap(function)(*pair) for pair in zip(*twice, strict=True)])
    assert facula.allclose(vmap(vmap(function))(*twice), expected, atol=1e-5)
    swapped = [a.movedim(0, 1) for a in twice]
    actual = vmap(vmap(function), in_dims=1, out_dims=-1)(*swapped)
    assert facula.allclose(actual, expected.movedim(0, -1), atol=1e-5)
    if args[0].is_floating_point() and expected.requires_grad is False:

        def total(*given):
            return function(*given).square().sum()

        rows = [facula.func.grad(total)(*row) for row in zip(*args, strict=True)]
        each = vmap(facula.func.grad(total))(*args)
        assert facula.allclose(each, facula.stack(rows), atol=1e-4)


@pytest.mark.parametrize(
    "function, args",
    [
        (lambda w, i: F.embedding(i, w), (values(N, 4, 2), facula.tensor([[0], [4], [1]]))),
        (
            lambda w, i: F.embedding_bag(i, w),
            (values(N, 4, 2), facula.tensor([[[0]], [[4]], [[1]]])),
        ),
        (lambda x, i: x.put(i, x[:1]), (values(N, 4), facula.tensor([[0], [4], [1]]))),
        (lambda x, i: x.index_add(0, i, x[:1]), (values(N, 4), facula.tensor([[0], [4], [1]]))),
        (lambda x, i: x.index_put((i,), x[0]), (values(N, 4), facula.tensor([[0], [4], [1]]))),
        (lambda x, m: x.masked_scatter(m, x[:1]), (values(N, 2), facula.ones(N, 2) > 0)),
    ],
)
def test_a_place_outside_of_an_example_is_not_looked_for_in_the_next(function, args):
    with pytest.raises((IndexError, RuntimeError)):
        vmap(function)(*args)


@pytest.mark.parametrize(
    "name",
    ["bags", "values at places", "index_add", "index_copy", "masked_scatter", "boxes", "pdist",
     "matrices of a batch", "multi_margin_loss", "repeating", "among others", "equal distances",
     "native norms with weights", "cross_entropy with weights"],
)  # fmt: skip
def test_a_batch_may_have_no_examples(name):
    function, args = CASES[name]
    expected = vmap(function)(*args)
    actual = vmap(function)(*(a[:0] for a in args))
    assert actual.shape == (0, *expected.shape[1:])
    assert actual.dtype == expected.dtype


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


# Seen only inside of operations that have a rule themselves, or derivatives of sparse tensors.
INNER = {
    "_check_out", "_count_bins", "_count_numbers", "_csr_dots", "_ctc_loss", "_into_out",
    "_is_rising", "_margin_losses", "_places", "_resize_out", "_rrelu_slopes", "_scatter_places",
}  # fmt: skip
# They compute nothing with the elements of a tensor.
STATE = {
    "_gradient_edge", "_is_plain", "_one_example", "_post_accumulate_hooks", "_reaches_others",
    "_tensor_hooks",
    "_disabled_torch_dispatch_impl", "as_subclass", "set_rng_state",
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
    known = RULES.keys() | ALWAYS.keys() | INNER | STATE | factories
    assert set(operations_of_the_core()) - known == set()
    assert not INNER & RULES.keys()


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


def test_istft_takes_the_examples_as_more_signals():
    window = facula.hann_window(8, dtype=facula.float64)
    for shape in ((3, 5, 6), (3, 2, 5, 6)):
        x = facula.randn(shape, dtype=facula.complex128)
        together = facula.vmap(lambda x: facula.istft(x, 8, window=window))(x)
        alone = facula.stack([facula.istft(x[i], 8, window=window) for i in range(3)])
        facula.testing.assert_close(together, alone)


def test_what_differs_by_example_is_done_for_all_at_once(monkeypatch):
    _batching.load()
    for module in (_batching._index, _batching._reduce):
        monkeypatch.delattr(module, "loop_quietly")
    x, mask, start = values(N, 5, 2), values(N, 5) > 0, facula.tensor([0, -3, 2])[:N]
    by_mask = vmap(lambda a, m, v: a.index_put((m,), v))(x, mask, x[:, 0, 0])
    assert facula.equal(
        by_mask, facula.stack([a.index_put((m,), a[0, 0]) for a, m in zip(x, mask, strict=True)])
    )
    added = vmap(lambda a, m: a.index_put((m,), facula.tensor(1.0), accumulate=True))(x, mask)
    assert facula.equal(added, x + mask.unsqueeze(2))
    parts = vmap(lambda a, i: facula.narrow(a, 0, i, 2))(x, start)
    assert facula.equal(
        parts, facula.stack([a.narrow(0, int(i), 2) for a, i in zip(x, start, strict=True)])
    )
    assert facula.equal(vmap(lambda i: x[0].narrow(0, i, 2))(start)[2], x[0][2:4])
    q = facula.rand(N, 4)
    assert facula.equal(vmap(lambda q: x[0].quantile(q, 0))(q)[1], x[0].quantile(q[1], 0))
    x[0, 1] = facula.nan
    for name, mode in itertools.product(
        ("quantile", "nanquantile"), ("linear", "lower", "higher", "midpoint", "nearest")
    ):
        for dim, keepdim in ((None, False), (None, True), (0, True), (-1, False)):
            call = functools.partial(
                getattr(facula, name), dim=dim, keepdim=keepdim, interpolation=mode
            )
            alone = facula.stack([call(*pair) for pair in zip(x, q, strict=True)])
            facula.testing.assert_close(vmap(call)(x, q), alone, equal_nan=True)
    monkeypatch.undo()
    with pytest.raises(RuntimeError, match="quantile: expected q from 0 to 1, got 2"):
        vmap(facula.quantile)(x, facula.full((N,), 2.0))
    with pytest.raises(RuntimeError, match="narrow"):
        vmap(lambda a, i: facula.narrow(a, 0, i, 2))(x, start + 2)


def test_the_sum_of_a_bool_without_dimensions_is_an_integer():
    summed = vmap(lambda x: x.sum_to_size(()))(facula.ones(3, dtype=facula.bool))
    assert summed.dtype == facula.int64
    assert summed.tolist() == [1, 1, 1]


def test_nonzero_static_finds_as_many_rows_in_every_example():
    x = facula.tensor([[0, 3, 4], [5, 0, 0]])
    found = vmap(lambda x: x.nonzero_static(size=2, fill_value=-1))(x)
    assert found.tolist() == [[[1], [2]], [[0], [-1]]]
