"""The losses: values, gradients of both orders, and what they refuse."""

import pickle

import numpy as np
import pytest

import facula
from facula import nn
from facula.nn import functional as F
from tests.check_op import check_op, check_threads

# Those that are rows of core/tables/loss.def.
ROWS = {name for table, name in facula._core._rows() if table == "loss"}

pytestmark = pytest.mark.promise("N2")


def log_softmax(x, axis):
    shifted = x - x.max(axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis, keepdims=True))


def softplus(x):
    return np.logaddexp(0, x)


REDUCTIONS = {"none": lambda x: x, "mean": np.mean, "sum": np.sum}
BY_ELEMENT = {
    "mse_loss": (F.mse_loss, lambda x, t: (x - t) ** 2),
    "smooth_l1_loss": (
        lambda x, t, **kw: F.smooth_l1_loss(x, t, beta=0.7, **kw),
        lambda x, t: np.where(abs(x - t) < 0.7, (x - t) ** 2 / 1.4, abs(x - t) - 0.35),
    ),
    "huber_loss": (
        lambda x, t, **kw: F.huber_loss(x, t, delta=0.7, **kw),
        lambda x, t: np.where(abs(x - t) < 0.7, (x - t) ** 2 / 2, 0.7 * (abs(x - t) - 0.35)),
    ),
    "binary_cross_entropy_with_logits": (
        F.binary_cross_entropy_with_logits,
        lambda x, t: softplus(x) - t * x,
    ),
}


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("name", BY_ELEMENT)
def test_a_loss_by_element_agrees_with_the_formula(name, reduction, device):
    loss, formula = BY_ELEMENT[name]
    check_op(
        lambda x, t: loss(x, t, reduction=reduction),
        lambda x, t: REDUCTIONS[reduction](formula(x, t)),
        [(3, 4), (3, 4)],
        device,
    )


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_binary_cross_entropy_agrees_with_the_formula(reduction):
    check_op(
        lambda x, t: F.binary_cross_entropy(x, t, reduction=reduction),
        lambda x, t: REDUCTIONS[reduction](-t * np.log(x) - (1 - t) * np.log1p(-x)),
        [(3, 4), (3, 4)],
        low=0.1,
        high=0.9,
        dtypes=("float32", "float64"),
    )


def test_soft_margin_loss_agrees_with_the_formula():
    signs = np.array([1.0, -1.0, 1.0])
    check_op(
        lambda x: F.soft_margin_loss(x, facula.tensor(signs)),
        lambda x: softplus(-signs * x).mean(),
        [(2, 3)],
    )


@pytest.mark.promise("N4")
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 3, 4), (2, 3, 2, 70)])
def test_cross_entropy_agrees_with_the_formula(shape, reduction):
    rng = np.random.default_rng(0)
    dim = 0 if len(shape) == 1 else 1
    target = rng.integers(0, 3, shape[:dim] + shape[dim + 1 :])

    def formula(x):
        picked = np.take_along_axis(log_softmax(x, dim), np.expand_dims(target, dim), dim)
        return REDUCTIONS[reduction](-picked.squeeze(dim))

    check_op(
        lambda x: F.cross_entropy(x, facula.tensor(target), reduction=reduction), formula, [shape]
    )


@pytest.mark.promise("N4")
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("weight", [None, [0.5, 2.0, 1.0]])
@pytest.mark.parametrize("label_smoothing", [0.0, 0.2])
def test_cross_entropy_is_log_softmax_and_nll_loss(reduction, weight, label_smoothing):
    weight = weight and facula.tensor(weight, dtype=facula.float64)
    target = facula.tensor([0, 2, -100, 1])
    x = facula.randn(4, 3, dtype=facula.float64, requires_grad=True)
    hard = F.nll_loss(x.log_softmax(1), target, weight, reduction=reduction)
    fused = F.cross_entropy(x, target, weight, reduction=reduction, label_smoothing=label_smoothing)
    if label_smoothing:
        by_class = -x.log_softmax(1) * (1 if weight is None else weight)
        even = by_class.sum(1).masked_fill(target == -100, 0)
        if reduction != "none":
            even = even.sum()
        if reduction == "mean":
            even = even / (3 if weight is None else 3.5)
        hard = 0.8 * hard + 0.2 / 3 * even
    assert facula.allclose(fused, hard)
    first = facula.autograd.grad(fused.sum(), x, create_graph=True)[0]
    again = facula.autograd.grad(hard.sum(), x, create_graph=True)[0]
    assert facula.allclose(first, again)
    of_first = facula.autograd.grad(first.square().sum(), x)[0]
    assert facula.allclose(of_first, facula.autograd.grad(again.square().sum(), x)[0])


@pytest.mark.promise("N4")
def test_soft_targets_are_class_indices_where_they_are_certain():
    x = facula.randn(4, 3, 5)
    target = facula.randint(0, 3, (4, 5))
    soft = F.one_hot(target, 3).movedim(-1, 1).float()
    for reduction in REDUCTIONS:
        assert facula.allclose(
            F.cross_entropy(x, soft, reduction=reduction),
            F.cross_entropy(x, target, reduction=reduction),
            atol=1e-6,
        )


def test_cross_entropy_of_large_logits_does_not_overflow():
    x = facula.tensor([[1e4, 0.0], [-1e4, 1e4]], requires_grad=True)
    loss = F.cross_entropy(x, facula.tensor([0, 1]))
    loss.backward()
    assert loss.item() == 0.0
    assert x.grad.tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_cross_entropy_keeps_two_numbers_a_row_besides_its_input():
    saved = []

    def pack(x):
        saved.append(x.numel())
        return x

    x = facula.randn(8, 1000, requires_grad=True)
    with facula.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
        F.cross_entropy(x, facula.zeros(8, dtype=facula.int64))
    assert sorted(saved) == [1, 8, 16, 8000]


def test_the_mean_of_no_targets_is_nan_and_their_sum_zero():
    x, ignored = facula.ones(2, 3), facula.tensor([-100, -100])
    assert F.cross_entropy(x, ignored).isnan()
    assert F.cross_entropy(x, ignored, reduction="sum").item() == 0.0


def test_results_do_not_depend_on_the_number_of_threads():
    def run():
        facula.manual_seed(0)
        x = facula.randn(6000, 40, requires_grad=True)
        loss = F.cross_entropy(x, facula.randint(0, 40, (6000,)))
        loss = loss + F.mse_loss(x, facula.ones_like(x))
        loss.backward()
        return facula.cat([loss.detach().view(1), x.grad.flatten()])

    check_threads(run)


@pytest.mark.parametrize(
    "loss, target, error, message",
    [
        (
            F.cross_entropy,
            [0, 7],
            IndexError,
            r"cross_entropy: target has class 7 at index 1, but input \(2, 3\) has 3 classes.",
        ),
        (F.nll_loss, [0, -1], IndexError, "nll_loss: target has class -1 at index 1"),
        (F.cross_entropy, [0.0, 1.0], RuntimeError, "cross_entropy: expected class indices"),
        (F.cross_entropy, [0, 1, 2], ValueError, "cross_entropy: expected 2 targets"),
        (F.cross_entropy, [[0, 1, 2]] * 2, RuntimeError, "expected a floating-point target"),
        (F.multi_margin_loss, [0, 7], RuntimeError, "multi_margin_loss: target has class 7 at"),
        (
            F.multilabel_margin_loss,
            [[0, -2, 1]] * 2,
            RuntimeError,
            r"multilabel_margin_loss: target has class -2 at index \(0, 1\)",
        ),
        (
            F.binary_cross_entropy,
            [[0.5, 0.5, 2.0]] * 2,
            RuntimeError,
            "expected target with values from 0 to 1",
        ),
        (F.binary_cross_entropy, [0.5], ValueError, r"input's shape \(2, 3\), got \(1,\)"),
        (F.binary_cross_entropy_with_logits, [0.5], ValueError, "expected a target of the input's"),
        (F.kl_div, [[1, 1, 1]] * 2, RuntimeError, "kl_div: expected a floating-point input"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_wrong_targets_are_refused(loss, target, error, message):
    with pytest.raises(error, match=message):
        loss(facula.full((2, 3), 0.5), facula.tensor(target))


def test_a_nan_target_is_refused_where_probabilities_are_wanted_and_shown_elsewhere():
    nan = facula.full((2, 3), float("nan"))
    with pytest.raises(RuntimeError, match="all elements of target should be between 0 and 1"):
        F.binary_cross_entropy(facula.full((2, 3), 0.5), nan)
    assert F.mse_loss(facula.ones(2, 3), nan).isnan()
    assert F.cross_entropy(facula.ones(2, 3), nan).isnan()


@pytest.mark.parametrize(
    "weight, message",
    [
        (facula.ones(2), "expected a weight for each of the 3 classes"),
        (facula.ones(3, dtype=facula.float64), "expected a weight of the input's dtype"),
    ],
)
def test_wrong_class_weights_are_refused(weight, message):
    with pytest.raises(RuntimeError, match=message):
        F.cross_entropy(facula.ones(2, 3), facula.tensor([0, 1]), weight)


def test_a_wrong_reduction_is_named():
    with pytest.raises(
        ValueError, match="reduction: expected 'none', 'mean' or 'sum', got 'average'"
    ):
        F.mse_loss(facula.ones(2), facula.ones(2), reduction="average")


def test_shapes_that_differ_are_broadcast_with_a_warning():
    with pytest.warns(UserWarning, match=r"mse_loss: the target \(3,\) and the input \(2, 3\)"):
        assert F.mse_loss(facula.ones(2, 3), facula.zeros(3)).item() == 1.0


@pytest.mark.parametrize(
    "flags, reduction",
    [({"reduce": False}, "none"), ({"size_average": False}, "sum"), ({"reduce": True}, "mean")],
)
def test_the_flags_of_old_warn_and_still_count(flags, reduction):
    x, t = facula.randn(3), facula.randn(3)
    with pytest.warns(UserWarning, match=f"pass reduction='{reduction}' instead"):
        old = F.mse_loss(x, t, **flags)
    assert facula.equal(old, F.mse_loss(x, t, reduction=reduction))
    with pytest.warns(UserWarning, match=f"pass reduction='{reduction}' instead"):
        assert nn.MSELoss(**flags).reduction == reduction


def test_modules_keep_weights_as_buffers():
    loss = nn.CrossEntropyLoss(weight=facula.ones(3))
    assert list(loss.state_dict()) == ["weight"]
    assert list(nn.BCEWithLogitsLoss(pos_weight=facula.ones(3)).state_dict()) == ["pos_weight"]


def test_adaptive_softmax_gives_the_log_probabilities_of_all_classes():
    m = nn.AdaptiveLogSoftmaxWithLoss(8, 20, cutoffs=[4, 10], div_value=2.0)
    x, target = facula.randn(6, 8), facula.tensor([0, 3, 4, 9, 10, 19])
    output, loss = m(x, target)
    log_probs = m.log_prob(x)
    assert facula.allclose(log_probs.exp().sum(1), facula.ones(6))
    assert facula.allclose(output, log_probs[range(6), target], atol=1e-6)
    assert facula.allclose(loss, -output.mean())
    assert facula.equal(m.predict(x), log_probs.argmax(1))
    assert m(x[0], target[0]).output.shape == ()


def test_adaptive_softmax_refuses_classes_and_cutoffs_out_of_range():
    with pytest.raises(ValueError, match=r"cutoffs that rise, each from 1 to 19, got \[\]"):
        nn.AdaptiveLogSoftmaxWithLoss(8, 20, cutoffs=[])
    m = nn.AdaptiveLogSoftmaxWithLoss(8, 20, cutoffs=[4])
    with pytest.raises(RuntimeError, match="expected targets from 0 to 19, got 20"):
        m(facula.ones(2, 8), facula.tensor([0, 20]))


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("weight", [None, [0.5, 2.0, 1.0]])
def test_linear_cross_entropy_in_pieces_is_that_of_the_whole(reduction, weight):
    weight = weight and facula.tensor(weight)
    x, target = facula.randn(5, 4, requires_grad=True), facula.tensor([0, 2, -100, 1, 1])
    rows = facula.randn(3, 4, requires_grad=True)
    results = []
    for options in (None, nn.LinearCrossEntropyOptions(batch_chunk_size=2)):
        loss = F.linear_cross_entropy(
            x, rows, target, weight=weight, reduction=reduction, options=options
        )
        results.append([loss, *facula.autograd.grad(loss.sum(), [x, rows])])
    for whole, pieces in zip(*results, strict=True):
        assert facula.allclose(whole, pieces, atol=1e-6)


@pytest.mark.parametrize("name", ["MSELoss", "L1Loss", "CrossEntropyLoss", "KLDivLoss"])
def test_a_loss_that_is_made_with_data_says_how_it_is_called(name):
    message = (
        rf"^{name}: expected options, got a tensor \(4, 3\). The loss is made first and then "
        rf"called: write nn.{name}\(\)\(input, target\).$"
    )
    with pytest.raises(RuntimeError, match=message):
        getattr(nn, name)(facula.ones(4, 3), facula.ones(4, 3))


@pytest.mark.filterwarnings("ignore:.*size_average and reduce")
def test_flags_of_old_count_by_their_truth():
    assert nn.MSELoss(0).reduction == "sum"
    assert nn.MSELoss(None, 0).reduction == "none"
    with pytest.raises(RuntimeError, match="bool: expected a tensor of one element"):
        F.mse_loss(facula.ones(2), facula.ones(2), facula.ones(2))


@pytest.mark.filterwarnings("ignore:.*broadcast together")
@pytest.mark.parametrize(
    "target, got",
    [
        ([0, 1, 2], r"list\[int\]\. Convert it with facula\.tensor\(\)"),
        (np.array([0, 1, 2]), r"numpy\.ndarray\. Convert it with facula\.from_numpy\(\)"),
        (None, "NoneType"),
    ],
)
@pytest.mark.parametrize("as_keyword", [False, True])
@pytest.mark.parametrize("name", ["cross_entropy", "nll_loss", "mse_loss", "soft_margin_loss"])
def test_a_target_that_is_no_tensor_is_refused(name, as_keyword, target, got):
    args, kwargs = ((), {"target": target}) if as_keyword else ((target,), {})
    with pytest.raises(TypeError, match=rf"^{name}: expected a tensor as target, got {got}\.$"):
        getattr(F, name)(facula.ones(3, 3), *args, **kwargs)


def test_a_missing_target_is_named():
    with pytest.raises(TypeError, match=r"^mse_loss\(\) missing 1 required positional .*'target'$"):
        F.mse_loss(facula.ones(2))


@pytest.mark.parametrize(
    "name",
    [
        "hinge_embedding_loss",
        "huber_loss",
        "kl_div",
        "l1_loss",
        "mse_loss",
        "poisson_nll_loss",
        "smooth_l1_loss",
        "soft_margin_loss",
    ],
)
@pytest.mark.filterwarnings("ignore:.*(broadcast together|reduction='mean')")
def test_shapes_that_do_not_fit_are_refused_in_the_name_of_the_loss(name):
    composed = r"shapes do not broadcast: \(3,\), \(2,\) differ in dimension -1\."
    of_a_row = (
        r"the shapes \(3,\) and \(2,\) cannot be broadcast together: dimension 0 has sizes 3 and "
        r"2\. Sizes must be equal, or one of them 1\. \(The size of tensor a must match the size "
        r"of tensor b at non-singleton dimension 0\.\)"
    )
    message = rf"^{name}: {of_a_row if name in ROWS else composed}$"
    with pytest.raises(RuntimeError, match=message):
        getattr(F, name)(facula.ones(3), facula.ones(2))


@pytest.mark.parametrize("shapes", [((3, 2), (3, 2), (2,)), ((3, 2), (2, 2), (2,))])
def test_cosine_embedding_loss_names_itself_where_shapes_do_not_fit(shapes):
    with pytest.raises(RuntimeError, match=r"^cosine_embedding_loss: shapes do not broadcast: "):
        nn.CosineEmbeddingLoss()(*map(facula.ones, shapes))


def test_warnings_point_to_the_call_of_the_loss():
    with pytest.warns(UserWarning) as found:
        F.mse_loss(facula.ones(2), facula.ones(1))
        F.mse_loss(facula.ones(2), facula.ones(2), True)
        F.kl_div(facula.ones(2), facula.ones(2))
        nn.MSELoss(True)
    assert [warning.filename for warning in found] == [__file__] * 4


@pytest.mark.parametrize("name", ["cross_entropy", "mse_loss", "pairwise_distance", "relu"])
def test_functions_survive_pickling(name):
    function = getattr(F, name)
    assert pickle.loads(pickle.dumps(function)) is function


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(1, 1), (3, 7), (5, 8), (4, 33), (40, 600)])
def test_margin_losses_are_the_same_without_a_graph(dtype, shape):
    facula.manual_seed(0)
    scores = facula.randn(shape).to(getattr(facula, dtype))
    scores = facula.cat([scores, scores], 1)[:, ::2] if shape[1] % 2 else scores
    recorded = scores.detach().requires_grad_()
    target = facula.randint(shape[1], shape[:1])
    # With repetitions, and with what follows a -1.
    several = facula.randint(-shape[1] // 8, shape[1], shape).clamp_min(-1)
    weight = facula.rand(shape[1]).to(scores.dtype)
    tolerance = {"rtol": 0.02, "atol": 0.02} if dtype.endswith("16") else {}
    for reduction in ("none", "mean", "sum"):
        for options in (
            {},
            {"p": 2, "margin": 0.5},
            {"weight": weight},
            {"weight": weight, "p": 2},
        ):
            found = F.multi_margin_loss(scores, target, reduction=reduction, **options)
            expected = F.multi_margin_loss(recorded, target, reduction=reduction, **options)
            facula.testing.assert_close(found, expected.detach(), **tolerance)
        found = F.multilabel_margin_loss(scores, several, reduction=reduction)
        expected = F.multilabel_margin_loss(recorded, several, reduction=reduction)
        facula.testing.assert_close(found, expected.detach(), **tolerance)
    assert F.multi_margin_loss(scores[0], target[0], reduction="none").shape == ()
    scores[0, 0] = facula.nan
    assert F.multi_margin_loss(scores, target * 0).isnan() or shape[1] == 1


@pytest.mark.parametrize("p", [1, 2])
def test_margin_losses_have_tangents(p):
    facula.manual_seed(0)
    x, t = facula.randn(4, 6), facula.randn(4, 6)
    target, several = facula.tensor([0, 5, 2, 2]), facula.tensor([[1, 4, -1, 0, 0, 0]] * 4)
    for loss in (
        lambda x: F.multi_margin_loss(x, target, p=p, reduction="sum"),
        lambda x: F.multilabel_margin_loss(x, several, reduction="sum"),
        lambda x: facula.cdist(x, x[:1], float(p)).sum(),
        lambda x: facula.pdist(x, 3.0).sum(),
    ):
        _, tangent = facula.func.jvp(loss, (x,), (t,))
        facula.testing.assert_close(tangent, (facula.func.grad(loss)(x) * t).sum())
        assert facula.func.jacfwd(loss)(x).allclose(facula.func.grad(loss)(x))

        def loss_of_all(examples, loss=loss):
            return facula.vmap(loss)(examples).sum()

        examples, tangents = facula.stack([x, 2 * t]), facula.stack([t, x])
        _, tangent = facula.func.jvp(loss_of_all, (examples,), (tangents,))
        expected = (facula.func.grad(loss_of_all)(examples) * tangents).sum()
        facula.testing.assert_close(tangent, expected)


def test_margin_losses_refuse_classes_anywhere():
    x = facula.zeros(2, 3)
    for grad in (False, True):
        x.requires_grad_(grad)
        with pytest.raises(RuntimeError, match="multi_margin_loss: target has class -1 at index 0"):
            F.multi_margin_loss(x, facula.tensor([-1, 0]))
        with pytest.raises(RuntimeError, match=r"target has class 3 at index \(1, 2\)"):
            F.multilabel_margin_loss(x, facula.tensor([[0, -1, 1], [-1, 0, 3]]))
        with pytest.raises(RuntimeError, match="weight of"):
            F.multi_margin_loss(x, facula.tensor([0, 1]), weight=facula.ones(3).double())
