"""Adafactor and Muon, which are composed of operations on tensors."""

import pytest

import facula
from facula import optim

pytestmark = pytest.mark.promise("N6")


def descend(cls, shape, n_steps, **options):
    facula.manual_seed(0)
    target = facula.randn(shape)
    p = facula.zeros(shape, requires_grad=True)
    optimizer = cls([p], **options)

    def closure():
        optimizer.zero_grad()
        loss = (p - target).square().mean()
        loss.backward()
        return loss

    return [optimizer.step(closure).item() for _ in range(n_steps)], optimizer, p


@pytest.mark.parametrize(
    "cls, shape, options",
    [
        (optim.Adafactor, (7,), {"lr": 0.5}),
        (optim.Adafactor, (6, 5), {"lr": 0.5}),
        (optim.Adafactor, (2, 3, 4), {"lr": 0.5, "weight_decay": 1e-4}),
        (optim.Muon, (6, 5), {"lr": 0.02, "weight_decay": 0.0}),
        (optim.Muon, (5, 6), {"lr": 0.1, "weight_decay": 0.0, "adjust_lr_fn": "match_rms_adamw"}),
    ],
)
def test_the_loss_falls(cls, shape, options):
    losses, *_ = descend(cls, shape, 60, **options)
    assert losses[-1] < 0.5 * losses[0]


def test_adafactor_keeps_rows_and_columns_of_a_matrix_and_all_of_a_vector():
    _, optimizer, p = descend(optim.Adafactor, (2, 3, 4), 1)
    shapes = {name: tuple(x.shape) for name, x in optimizer.state[p].items()}
    assert shapes == {"step": (), "row_var": (2, 3, 1), "col_var": (2, 1, 4)}
    _, optimizer, p = descend(optim.Adafactor, (4,), 1)
    assert {name: tuple(x.shape) for name, x in optimizer.state[p].items()} == {
        "step": (),
        "variance": (4,),
    }


def test_muon_makes_all_singular_values_alike():
    p = facula.zeros(3, 3, requires_grad=True)
    p.grad = facula.diag(facula.tensor([100.0, 1.0, 3.0]))
    optim.Muon([p], lr=1.0).step()
    for i in range(3):
        assert 0.6 < -p[i, i].item() < 1.3


@pytest.mark.parametrize("cls", [optim.Adafactor, optim.Muon])
def test_a_step_that_fails_changes_nothing(cls):
    good, bad = (facula.ones(2, 2, requires_grad=True) for _ in range(2))
    good.grad = facula.ones(2, 2)
    bad.grad = facula.ones(2, 2)
    bad.grad.resize_(3, 2)
    optimizer = cls([good, bad])
    with pytest.raises(RuntimeError, match=r"its gradient is .*float32 \(3, 2\)"):
        optimizer.step()
    assert (good == 1).all() and not optimizer.state


@pytest.mark.parametrize("cls", [optim.Adafactor, optim.Muon])
def test_complex_parameters_are_refused(cls):
    p = facula.ones(2, 2, dtype=facula.complex64, requires_grad=True)
    p.grad = facula.ones(2, 2, dtype=facula.complex64)
    with pytest.raises(RuntimeError, match=f"{cls.__name__}: complex parameters are not supported"):
        cls([p]).step()


def test_muon_limits_its_iterations():
    p = facula.ones(2, 2, requires_grad=True)
    p.grad = facula.ones(2, 2)
    with pytest.raises(ValueError, match="Muon: ns_steps must be below 100, got 100"):
        optim.Muon([p], ns_steps=100).step()
    with pytest.raises(ValueError, match="Muon: ns_coefficients must be three numbers"):
        optim.Muon([p], ns_coefficients=(1.0, 2.0)).step()
