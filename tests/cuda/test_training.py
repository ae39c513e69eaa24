import gc
import importlib
import sys
from importlib.util import find_spec
from types import SimpleNamespace

import pytest

import facula
from check_op import assert_close, to_numpy
from examples import char_gpt as gpt_example

pytestmark = [pytest.mark.cuda, pytest.mark.promise("G1")]


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


def without_dropout(model):
    """Its numbers come from another generator on a GPU."""
    for module in model.modules():
        if isinstance(module, facula.nn.Dropout):
            module.p = 0.0
    return model


def digits():
    with pytest.MonkeyPatch.context() as patch:
        if find_spec("tensorboardX") is None:  # the network does without the demo's logs
            logs = SimpleNamespace(SummaryWriter=None)
            patch.setitem(sys.modules, "facula.utils.tensorboard", logs)
        network = importlib.import_module("examples.digits").Net()
    return without_dropout(network), facula.rand(8, 1, 8, 8), facula.randint(10, (8,))


def writer():
    model = without_dropout(gpt_example.GPT(20, 16, width=32, n_layers=2))
    return model, facula.randint(20, (4, 16)), facula.randint(20, (4, 16))


def images():
    model = facula.vision.models.resnet18(num_classes=5)
    # The sign of an element that is all but 0 is rounding, and a ReLU makes a gradient of it.
    for module in [m for m in model.modules() if hasattr(m, "relu")]:
        module.relu = facula.nn.SiLU()
    return model, facula.randn(4, 3, 64, 64), facula.randint(5, (4,))


def losses_of(make, device, n_steps=4):
    facula.manual_seed(0)
    model, x, y = make()
    model, x, y = model.to(device), x.to(device), y.to(device)
    # Adam would make a whole step of a gradient that is but rounding.
    optimizer = facula.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    losses = []
    for _ in range(n_steps):
        loss = facula.nn.functional.cross_entropy(model(x).flatten(0, -2), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("make", [digits, writer, images])
def test_networks_train_as_on_the_cpu_and_twice_with_the_same_bits(make, monkeypatch):
    monkeypatch.setattr(facula.backends.cudnn, "allow_tf32", False)
    losses = losses_of(make, "cuda")
    # Of a loss that has all but vanished, the distance counts: rounding is that of the first.
    assert losses == pytest.approx(losses_of(make, "cpu"), rel=1e-3, abs=1e-4)
    assert losses[-1] < losses[0]
    assert losses_of(make, "cuda") == losses
