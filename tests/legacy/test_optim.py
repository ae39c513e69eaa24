"""torch.legacy.optim: functions that change a vector in place."""

import pytest

import facula
from facula import optim as today
from facula.legacy import optim

pytestmark = pytest.mark.promise("A9")


def quadratic(x):
    return ((x - 3) ** 2).sum().item(), 2 * (x - 3)


@pytest.mark.parametrize("name", sorted(set(optim.__all__) - {"lbfgs"}))
def test_every_rule_goes_down(name):
    x, config = facula.zeros(2), {"learningRate": 0.05, "stepsize": 0.05, "eta0": 0.05}
    losses = [getattr(optim, name)(quadratic, x, config)[1] for _ in range(30)]
    assert losses[-1] < losses[0]


@pytest.mark.parametrize(
    "name, config, kind, options",
    [
        ("sgd", {"learningRate": 0.1, "momentum": 0.5, "dampening": 0.0}, "SGD",
         {"lr": 0.1, "momentum": 0.5}),
        ("sgd", {"learningRate": 0.1, "momentum": 0.5}, "SGD",
         {"lr": 0.1, "momentum": 0.5, "dampening": 0.5}),
        ("adam", {"learningRate": 0.1, "beta1": 0.8}, "Adam", {"lr": 0.1, "betas": (0.8, 0.999)}),
        ("adagrad", {"learningRate": 0.1, "learningRateDecay": 0.1}, "Adagrad",
         {"lr": 0.1, "lr_decay": 0.1}),
        ("rmsprop", {"learningRate": 0.1}, "RMSprop", {"lr": 0.1}),
    ],
)  # fmt: skip
def test_steps_are_those_of_the_optimiser_of_today(name, config, kind, options):
    x, state = facula.zeros(2), {}
    param = facula.zeros(2, requires_grad=True)
    optimizer = getattr(today, kind)([param], **options)
    for _ in range(3):
        result, _ = getattr(optim, name)(quadratic, x, config, state)
        assert result is x
        param.grad = quadratic(param.detach())[1]
        optimizer.step()
    facula.testing.assert_close(x, param.detach())


def test_the_rate_of_sgd_decays():
    x, config = facula.zeros(1), {"learningRate": 0.1, "learningRateDecay": 1.0}
    line = lambda x: (x.item(), facula.ones(1))  # noqa: E731
    places = [optim.sgd(line, x, config)[0].item() for _ in range(3)]
    assert places == pytest.approx([-0.1, -0.15, -0.1 * (1 + 1 / 2 + 1 / 3)])


def test_lbfgs_gives_all_losses():
    x = facula.zeros(2)
    _, losses = optim.lbfgs(quadratic, x, {"maxIter": 10})
    assert losses[-1] < 1e-6 < losses[0]
    facula.testing.assert_close(x, facula.full((2,), 3.0))
