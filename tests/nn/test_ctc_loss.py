"""CTC loss against the sum over all alignments."""

import itertools
import math

import numpy as np
import pytest

import facula
from facula.nn import functional as F

pytestmark = pytest.mark.promise("N2")


def collapse(path, blank):
    merged = [c for c, _ in itertools.groupby(path)]
    return [c for c in merged if c != blank]


def loss_by_paths(log_probs, labels, blank=0):
    """Minus the log of the sum over every path that collapses to the labels."""
    n_steps, n_classes = log_probs.shape
    total = 0.0
    for path in itertools.product(range(n_classes), repeat=n_steps):
        if collapse(path, blank) == list(labels):
            total += math.exp(sum(log_probs[t, c] for t, c in enumerate(path)))
    return -math.log(total) if total else math.inf


def logits(n_steps=5, n_batch=3, n_classes=3):
    rng = np.random.default_rng(0)
    return facula.tensor(rng.standard_normal((n_steps, n_batch, n_classes)), requires_grad=True)


TARGETS = [[1, 2], [1, 1], [2]]
LENGTHS = [2, 2, 1]


@pytest.mark.parametrize("blank", [0, 2])
def test_the_loss_is_that_of_all_alignments(blank):
    log_probs = logits().log_softmax(-1).detach()
    labels = [[1, 0], [1, 1], [0]] if blank == 2 else TARGETS
    padded = facula.tensor([[*row, 1][:2] for row in labels])
    losses = F.ctc_loss(log_probs, padded, (5, 4, 3), LENGTHS, blank=blank, reduction="none")
    expected = [
        loss_by_paths(log_probs.numpy()[:n, i], labels[i], blank) for i, n in enumerate((5, 4, 3))
    ]
    assert np.allclose(losses.numpy(), expected)


def test_rows_and_labels_behind_each_other_are_the_same():
    log_probs = logits().log_softmax(-1)
    padded = facula.tensor([[1, 2], [1, 1], [2, 0]])
    rows = F.ctc_loss(log_probs, padded, (5, 5, 5), LENGTHS)
    flat = F.ctc_loss(
        log_probs, facula.tensor([1, 2, 1, 1, 2]), facula.tensor([5] * 3), facula.tensor(LENGTHS)
    )
    assert rows.item() == flat.item()


def test_one_sequence_needs_no_batch():
    log_probs = logits().log_softmax(-1)
    alone = F.ctc_loss(log_probs[:, 0], facula.tensor([1, 2]), (5,), (2,), reduction="none")
    batch = F.ctc_loss(log_probs, facula.tensor([[1, 2]] * 3), (5,) * 3, (2,) * 3, reduction="none")
    assert alone.shape == ()
    assert alone.item() == batch[0].item()


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_the_gradient_of_logits_is_that_of_finite_differences(reduction):
    target = facula.tensor([[1, 2], [1, 1], [2, 0]])

    def loss(x):
        return F.ctc_loss(x.log_softmax(-1), target, (5, 4, 3), LENGTHS, reduction=reduction).sum()

    x = logits()
    loss(x).backward()
    step = 1e-6
    with facula.no_grad():
        for index in [(0, 0, 0), (2, 1, 1), (4, 0, 2), (2, 2, 1), (4, 1, 0), (3, 2, 2)]:
            high, low = x.clone(), x.clone()
            high[index] += step
            low[index] -= step
            slope = (loss(high) - loss(low)).item() / (2 * step)
            assert abs(slope - x.grad[index].item()) < 1e-6


@pytest.mark.parametrize("n_labels", [0, 1, 7, 8, 15, 16, 17])
def test_long_sequences_agree_with_a_walk_from_state_to_state(n_labels):
    rng = np.random.default_rng(n_labels)
    log_probs = facula.tensor(rng.standard_normal((40, 2, 19))).log_softmax(-1).requires_grad_()
    labels = rng.integers(1, 19, (2, n_labels))
    labels[:, 1::3] = labels[:, : n_labels - 1 : 3]  # repeated ones need the blank between them
    lengths = (40, 37), (n_labels,) * 2
    losses = F.ctc_loss(log_probs, facula.tensor(labels), *lengths, reduction="none")
    (grad,) = facula.autograd.grad(losses.sum(), log_probs)
    for dtype, tolerance in ((facula.float64, 1e-12), (facula.float32, 1e-4)):
        x = log_probs.detach().to(dtype).requires_grad_()
        same = F.ctc_loss(x, facula.tensor(labels), *lengths, reduction="none")
        same.sum().backward()
        for i, n_steps in enumerate(lengths[0]):
            ways = ways_by_steps(log_probs.detach().numpy()[:n_steps, i], labels[i])
            assert abs(same[i].item() + np.logaddexp(*ways[-1, -2:])) < tolerance * 10
        assert (x.grad - grad).abs().max() < tolerance
    # What is expected at a step is one label: the probabilities of all add up to one.
    totals = (grad - log_probs.exp()).sum(-1).detach().numpy()
    assert np.allclose(totals[:37], -1)


def ways_by_steps(log_probs, labels, blank=0):
    states = [blank, *(c for label in labels for c in (label, blank))]
    ways = np.full((len(log_probs), len(states) + 1), -np.inf)  # one that is never reached, first
    ways[0, 1:3] = log_probs[0, states[:2]]
    for t in range(1, len(log_probs)):
        for s, label in enumerate(states):
            skips = s > 1 and label not in (blank, states[s - 2])
            came = np.logaddexp.reduce(ways[t - 1, (s - 1 if skips else s) : s + 2])
            ways[t, s + 1] = came + log_probs[t, label]
    return ways


def test_an_unknown_probability_that_no_way_takes_spoils_its_own_gradient_only():
    x = logits().log_softmax(-1).detach()
    x[4, 0, 1] = math.nan  # at the last step the label before the last
    x.requires_grad_()
    loss = F.ctc_loss(x, facula.tensor([[1, 2]] * 3), (5,) * 3, LENGTHS, reduction="sum")
    loss.backward()
    assert loss.isfinite()
    assert x.grad.isnan().nonzero().tolist() == [[4, 0, 1]]


@pytest.mark.parametrize("dtype", [facula.float32, facula.float64])
def test_a_sequence_has_the_loss_that_it_has_alone(dtype):
    # Of several lengths, more than are computed together; what is wrong with one stays there.
    rng = np.random.default_rng(0)
    n_batch, n_steps, n_classes = 41, 12, 5
    x = facula.tensor(rng.standard_normal((n_steps, n_batch, n_classes)), dtype=dtype)
    x = x.log_softmax(-1)
    x[:, 3], x[2, 10, 0], x[:, 17] = math.nan, math.inf, -math.inf
    input_lengths = [i % (n_steps + 1) for i in range(n_batch)]
    labels = [rng.integers(1, n_classes, i % 4).tolist() for i in range(n_batch)]
    padded = facula.tensor([[*row, 0, 0, 0][:3] for row in labels])
    x.requires_grad_()
    lengths = input_lengths, list(map(len, labels))
    losses = F.ctc_loss(x, padded, *lengths, reduction="none")
    losses.sum().backward()
    for i, row in enumerate(labels):
        one = x.detach()[:, i : i + 1].requires_grad_()
        target = facula.tensor([row]) if row else facula.zeros(1, 0, dtype=facula.int64)
        loss = F.ctc_loss(one, target, input_lengths[i : i + 1], [len(row)], reduction="none")
        loss.backward()
        assert np.array_equal(loss.detach().numpy(), losses[i : i + 1].detach().numpy(), True)
        assert np.array_equal(one.grad.numpy(), x.grad[:, i : i + 1].numpy(), True)


def test_a_target_longer_than_its_input_is_infinitely_unlikely():
    log_probs = logits().log_softmax(-1)
    target = facula.tensor([[1, 1], [1, 2], [2, 1]])
    losses = F.ctc_loss(log_probs, target, (2, 5, 5), (2, 2, 2), reduction="none")
    assert losses.isinf().tolist() == [True, False, False]


def test_zero_infinity_takes_such_losses_and_their_gradients_out():
    x = logits()
    target = facula.tensor([[1, 1], [1, 2], [2, 1]])
    losses = F.ctc_loss(
        x.log_softmax(-1), target, (2, 5, 5), (2, 2, 2), reduction="none", zero_infinity=True
    )
    losses.sum().backward()
    assert losses[0].item() == 0.0
    assert x.grad[:, 0].abs().max().item() == 0.0
    assert x.grad.isfinite().all()


def test_steps_beyond_the_input_length_have_no_gradient():
    log_probs = logits().log_softmax(-1).detach().requires_grad_()
    F.ctc_loss(log_probs, facula.tensor([[1]] * 3), (2, 3, 5), (1, 1, 1)).backward()
    assert log_probs.grad[2:, 0].abs().max().item() == 0.0
    assert log_probs.grad[3:, 1].abs().max().item() == 0.0


@pytest.mark.parametrize(
    "changes, error, message",
    [
        ({"input_lengths": (5, -1, 5)}, RuntimeError, "input_lengths from 0 to 5, got -1 at"),
        ({"input_lengths": (5, 6, 5)}, RuntimeError, "input_lengths from 0 to 5, got 6 at index 1"),
        ({"target_lengths": (2, -1, 1)}, RuntimeError, "target_lengths from 0 to 2, got -1"),
        ({"target_lengths": (2, 3, 1)}, RuntimeError, "target_lengths from 0 to 2, got 3"),
        ({"target_lengths": (2, 1)}, RuntimeError, "target_lengths of 3 sequences, got 2"),
        ({"targets": facula.tensor([1, 2])}, RuntimeError, "expected 5 targets, the sum of"),
        ({"targets": facula.tensor([[1, 3]] * 3)}, IndexError, "label 3 at index 1 of sequence 0"),
        ({"blank": 3}, RuntimeError, "expected a blank from 0 to 2, got 3"),
        (
            {"input_lengths": 5},
            TypeError,
            "ctc_loss: expected a tensor or a sequence of ints as input_lengths",
        ),
        ({"input_lengths": facula.ones(3)}, RuntimeError, "input_lengths must be integers"),
        ({"log_probs": facula.ones(0, 3, 3)}, RuntimeError, "expected log_probs with elements"),
    ],
)
def test_wrong_arguments_are_refused(changes, error, message):
    args = {
        "log_probs": facula.zeros(5, 3, 3),
        "targets": facula.tensor([[1, 2], [1, 1], [2, 0]]),
        "input_lengths": (5, 5, 5),
        "target_lengths": (2, 2, 1),
    }
    with pytest.raises(error, match=message):
        F.ctc_loss(**{**args, **changes})


def test_its_gradient_has_no_derivative():
    x = logits()
    loss = F.ctc_loss(x.log_softmax(-1), facula.tensor([[1]] * 3), (5,) * 3, (1,) * 3)
    (gx,) = facula.autograd.grad(loss, x, create_graph=True)
    with pytest.raises(RuntimeError, match="ctc_loss: its gradient cannot be differentiated"):
        gx.sum().backward()
