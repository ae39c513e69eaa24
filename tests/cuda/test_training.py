import gc

import pytest

import facula
from check_op import assert_close, to_numpy

pytestmark = pytest.mark.cuda


def cross_entropy(logits, targets):
    shifted = logits - logits.amax(1, keepdim=True)
    return ((shifted.exp().sum(1, keepdim=True).log() - shifted) * targets).sum(1).mean()


def train(device, n_steps):
    """Losses and weights of a small network, trained by hand on fixed data."""
    facula.manual_seed(0)
    data = facula.randn(64, 1000)
    classes = data[:, :10].argmax(1).tolist()
    targets = facula.tensor([[float(i == c) for i in range(10)] for c in classes])
    weights = [
        facula.randn(1000, 100) * 0.03,
        facula.zeros(100),
        facula.randn(100, 10) * 0.1,
        facula.zeros(10),
    ]
    data, targets = data.to(device), targets.to(device)
    w1, b1, w2, b2 = parameters = [w.to(device).requires_grad_() for w in weights]
    losses = []
    for _ in range(n_steps):
        loss = cross_entropy(facula.addmm(b2, facula.relu(facula.addmm(b1, data, w1)), w2), targets)
        loss.backward()
        with facula.no_grad():
            for p in parameters:
                p -= 0.1 * p.grad
                p.grad = None
        losses.append(loss.item())
    return losses, parameters


def test_training_agrees_with_the_cpu():
    losses, parameters = train("cuda", 20)
    expected_losses, expected = train("cpu", 20)
    assert losses == pytest.approx(expected_losses, rel=1e-4)
    assert losses[-1] < losses[0] / 2
    for p, e in zip(parameters, expected, strict=True):
        difference = (p.detach().cpu() - e.detach()).abs().max().item()
        assert difference < 1e-4


def test_gradients_agree_with_the_cpu():
    x = facula.randn(8, 5, dtype=facula.float64)

    def gradients(device):
        a = x.to(device).requires_grad_()
        y = (a.tanh() * a.exp()).sum(0) / (1 + a.sigmoid()).log().mean(0)
        (g,) = facula.autograd.grad(y.sum(), a, create_graph=True)
        (second,) = facula.autograd.grad((g * g).sum(), a)
        return g, second

    for actual, expected in zip(gradients("cuda"), gradients("cpu"), strict=True):
        assert actual.device.type == "cuda"
        assert_close(actual.detach(), to_numpy(expected))


def test_training_keeps_no_memory():
    train("cuda", 2)
    gc.collect()  # networks and optimisers are in cycles
    before = facula.cuda.memory_allocated()
    train("cuda", 5)
    gc.collect()
    assert facula.cuda.memory_allocated() == before
