"""L-BFGS: it finds minima, and ends where it should."""

import copy

import pytest

import facula
from facula import optim

pytestmark = pytest.mark.promise("N6")


def rosenbrock(x):
    return 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2


def minimize(n_steps=10, function=rosenbrock, start=(-1.2, 1.0), **options):
    x = facula.tensor(start, dtype=facula.float64, requires_grad=True)
    optimizer = optim.LBFGS([x], **options)
    losses = []

    def closure():
        optimizer.zero_grad()
        loss = function(x)
        loss.backward()
        losses.append(loss.item())
        return loss

    for _ in range(n_steps):
        optimizer.step(closure)
    return optimizer, x, losses


def test_the_strong_wolfe_search_reaches_the_end_of_a_valley():
    _, x, losses = minimize(line_search_fn="strong_wolfe")
    assert x.tolist() == pytest.approx([1.0, 1.0], abs=1e-4) and losses[-1] < 1e-8


def test_steps_without_a_search_reach_the_bottom_of_a_bowl():
    _, x, _ = minimize(function=lambda x: (x * x).sum(), n_steps=3)
    assert x.tolist() == pytest.approx([0.0, 0.0], abs=1e-6)


def test_no_step_is_taken_from_a_minimum():
    optimizer, x, losses = minimize(start=(1.0, 1.0), n_steps=1)
    assert len(losses) == 1 and x.tolist() == [1.0, 1.0]
    assert optimizer.state[x]["n_iter"] == 0


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
def test_the_number_of_evaluations_is_limited(search):
    optimizer, x, losses = minimize(1, max_iter=50, max_eval=7, line_search_fn=search, lr=1e-3)
    assert len(losses) == optimizer.state[x]["func_evals"] <= 8


def test_the_history_is_limited():
    optimizer, x, _ = minimize(1, max_iter=12, history_size=3, line_search_fn="strong_wolfe")
    assert len(optimizer.state[x]["old_dirs"]) == 3


def test_a_state_goes_on_in_another_optimiser():
    optimizer, x, _ = minimize(1, line_search_fn="strong_wolfe", max_iter=4)
    other = optim.LBFGS([y := x.detach().clone().requires_grad_()])
    other.load_state_dict(copy.deepcopy(optimizer.state_dict()))

    def step(optimizer, x):
        def closure():
            optimizer.zero_grad()
            loss = rosenbrock(x)
            loss.backward()
            return loss

        optimizer.step(closure)
        return x.tolist()

    assert step(optimizer, x) == step(other, y)


def test_bad_arguments_are_refused():
    a, b = (facula.ones(1, requires_grad=True) for _ in range(2))
    with pytest.raises(ValueError, match="LBFGS: expected one parameter group"):
        optim.LBFGS([{"params": [a]}, {"params": [b]}])
    with pytest.raises(RuntimeError, match="line_search_fn must be 'strong_wolfe' or None"):
        optim.LBFGS([a], line_search_fn="golden").step(lambda: a)
    with pytest.raises(TypeError, match="closure"):
        optim.LBFGS([a]).step()
