"""Schedules of learning rates: warnings, states, and arguments that are refused.

Their rates are compared with PyTorch's in tests/parity/test_lr_scheduler.py.
"""

import warnings

import pytest

import facula
from facula import optim
from facula.optim import lr_scheduler

pytestmark = pytest.mark.promise("N6")


def sgd(lr=1.0, n_groups=1):
    groups = [{"params": [facula.ones(1, requires_grad=True)]} for _ in range(n_groups)]
    return optim.SGD(groups, lr=lr, momentum=0.9)


def rates(scheduler, n_epochs):
    seen = [scheduler.get_last_lr()[0]]
    for _ in range(n_epochs):
        scheduler.optimizer.step()
        scheduler.step()
        seen.append(scheduler.get_last_lr()[0])
    return seen


@pytest.mark.parametrize(
    "make, expected",
    [
        (lambda o: lr_scheduler.StepLR(o, 2, 0.5), [1, 1, 0.5, 0.5, 0.25]),
        (lambda o: lr_scheduler.MultiStepLR(o, [1, 3], 0.5), [1, 0.5, 0.5, 0.25, 0.25]),
        (lambda o: lr_scheduler.ConstantLR(o, 0.5, 3), [0.5, 0.5, 0.5, 1, 1]),
        (lambda o: lr_scheduler.LinearLR(o, 0.5, 1.0, 2), [0.5, 0.75, 1, 1, 1]),
        (lambda o: lr_scheduler.ExponentialLR(o, 0.5), [1, 0.5, 0.25, 0.125, 0.0625]),
        (lambda o: lr_scheduler.PolynomialLR(o, 4), [1, 0.75, 0.5, 0.25, 0]),
        (lambda o: lr_scheduler.CosineAnnealingLR(o, 2), [1, 0.5, 0, 0.5, 1]),
        (lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 2), [1, 0.5, 1, 0.5, 1]),
        (lambda o: lr_scheduler.LambdaLR(o, lambda e: 0.5 * e), [0, 0.5, 1, 1.5, 2]),
        (lambda o: lr_scheduler.MultiplicativeLR(o, lambda e: 0.5), [1, 0.5, 0.25, 0.125, 0.0625]),
        (lambda o: lr_scheduler.CyclicLR(o, 1.0, 2.0, 2), [1, 1.5, 2, 1.5, 1]),
        (
            lambda o: lr_scheduler.OneCycleLR(
                o, 2.0, 5, pct_start=0.6, div_factor=2.0, anneal_strategy="linear"
            ),
            [1, 1.5, 2, 1, 0],
        ),
    ],
)
def test_rates_follow_their_formula(make, expected):
    assert rates(make(sgd()), 4) == pytest.approx(expected, abs=1e-4)


def test_a_scheduler_that_steps_first_warns():
    scheduler = lr_scheduler.StepLR(sgd(), 1)
    with pytest.warns(UserWarning, match=r"StepLR: scheduler.step\(\) was called before optimizer"):
        scheduler.step()


def test_steps_before_the_first_scheduler_was_made_do_not_count():
    optimizer = sgd()
    optimizer.step()
    first = lr_scheduler.StepLR(optimizer, 1)
    with pytest.warns(UserWarning, match=r"StepLR: scheduler.step\(\) was called before optimizer"):
        first.step()
    optimizer.step()
    second = lr_scheduler.StepLR(optimizer, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        second.step()


def test_a_step_that_was_replaced_warns():
    optimizer = sgd()
    scheduler = lr_scheduler.StepLR(optimizer, 1)
    optimizer.step = lambda: None
    optimizer.step()
    with pytest.warns(UserWarning, match="optimizer.step was replaced"):
        scheduler.step()


def test_the_right_order_does_not_warn():
    scheduler = lr_scheduler.StepLR(sgd(), 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rates(scheduler, 3)


def test_asking_for_the_next_rates_warns():
    scheduler = lr_scheduler.ExponentialLR(sgd(), 0.5)
    with pytest.warns(UserWarning, match="The last ones are those of get_last_lr"):
        assert scheduler.get_lr() == [0.5]


def test_a_jump_to_an_epoch_is_deprecated():
    scheduler = lr_scheduler.ExponentialLR(sgd(), 0.5)
    scheduler.optimizer.step()
    with pytest.warns(UserWarning, match=r"ExponentialLR: step\(epoch\) is deprecated"):
        scheduler.step(3)
    assert scheduler.get_last_lr() == [0.125]


def test_a_state_goes_on_in_another_scheduler():
    scheduler = lr_scheduler.CosineAnnealingLR(sgd(), 10)
    rates(scheduler, 4)
    other = lr_scheduler.CosineAnnealingLR(sgd(), 3)
    other.load_state_dict(scheduler.state_dict())
    other.optimizer.load_state_dict(scheduler.optimizer.state_dict())
    assert rates(other, 8) == rates(scheduler, 8)


def test_functions_are_not_saved_but_objects_called_as_such_are():
    class Warmup:
        def __init__(self, n):
            self.n = n

        def __call__(self, epoch):
            return epoch / self.n

    state = lr_scheduler.LambdaLR(sgd(n_groups=2), [lambda e: 1.0, Warmup(5)]).state_dict()
    assert state["lr_lambdas"] == [None, {"n": 5}]
    other = lr_scheduler.LambdaLR(sgd(n_groups=2), [lambda e: 1.0, warmup := Warmup(2)])
    other.load_state_dict(state)
    assert other.lr_lambdas[1] is warmup and warmup.n == 5


def _chained(optimizer):
    parts = [lr_scheduler.StepLR(optimizer, 2), lr_scheduler.LambdaLR(optimizer, lambda e: 1.0)]
    return lr_scheduler.ChainedScheduler(parts)


@pytest.mark.parametrize(
    "make, key",
    [
        (lambda o: lr_scheduler.LambdaLR(o, lambda e: 1.0), "lr_lambdas"),
        (lambda o: lr_scheduler.CyclicLR(o, 0.1, 0.2, cycle_momentum=False), "_scale_fn_custom"),
        (_chained, "_schedulers"),
    ],
)
def test_what_is_no_state_is_refused_and_changes_nothing(make, key):
    scheduler = make(sgd())
    before = str(scheduler.state_dict())
    other = lr_scheduler.StepLR(sgd(), 7)
    rates(other, 2)
    with pytest.raises(KeyError, match=f"load_state_dict: the state has no '{key}', which"):
        scheduler.load_state_dict(other.state_dict())
    with pytest.raises(TypeError, match="load_state_dict: expected the state as a dict, got list"):
        scheduler.load_state_dict([])
    assert str(scheduler.state_dict()) == before


def test_a_part_that_does_not_fit_leaves_all_parts_as_they_were():
    scheduler = _chained(sgd())
    before = str(scheduler.state_dict())
    rates(other := _chained(sgd()), 2)
    state = other.state_dict()
    del state["_schedulers"][1]["lr_lambdas"]
    with pytest.raises(KeyError, match=r"LambdaLR\.load_state_dict: .* no 'lr_lambdas'"):
        scheduler.load_state_dict(state)
    del state["_schedulers"][1]
    with pytest.raises(ValueError, match="the state has 1 in '_schedulers', and the scheduler 2"):
        scheduler.load_state_dict(state)
    assert str(scheduler.state_dict()) == before


def test_a_schedule_goes_on_from_the_optimisers_first_rates():
    optimizer = sgd()
    with pytest.raises(KeyError, match="has no 'initial_lr'"):
        lr_scheduler.StepLR(optimizer, 2, last_epoch=3)
    optimizer.param_groups[0]["initial_lr"] = 1.0
    assert lr_scheduler.StepLR(optimizer, 2, 0.5, last_epoch=3).last_epoch == 4


@pytest.mark.parametrize(
    "make, error, message",
    [
        (lambda o: lr_scheduler.StepLR(None, 2), TypeError, "StepLR: expected an Optimizer, got N"),
        (lambda o: lr_scheduler.LambdaLR(o, []), ValueError, "lr_lambda has 0 values for 1 param"),
        (lambda o: lr_scheduler.ConstantLR(o, 2.0), ValueError, "factor must be between 0 and 1"),
        (lambda o: lr_scheduler.LinearLR(o, 0.0), ValueError, "start_factor must be above 0"),
        (lambda o: lr_scheduler.SequentialLR(o, [], []), ValueError, "at least one scheduler"),
        (lambda o: lr_scheduler.ChainedScheduler([]), ValueError, "at least one scheduler"),
        (
            lambda o: lr_scheduler.SequentialLR(o, [lr_scheduler.StepLR(o, 1)], [1]),
            ValueError,
            "1 schedulers need 0 milestones, got 1",
        ),
        (
            lambda o: lr_scheduler.ChainedScheduler([lr_scheduler.StepLR(sgd(), 1)], o),
            ValueError,
            "scheduler 0 has another optimizer",
        ),
        (
            lambda o: lr_scheduler.SequentialLR(o, [lr_scheduler.ReduceLROnPlateau(o)], []),
            ValueError,
            "whose step needs the metrics",
        ),
        (lambda o: lr_scheduler.ReduceLROnPlateau(o, factor=2.0), ValueError, "must be below 1"),
        (lambda o: lr_scheduler.ReduceLROnPlateau(o, "x"), ValueError, "mode must be 'min' or"),
        (lambda o: lr_scheduler.CyclicLR(o, 0.1, 1.0, mode="x"), ValueError, "mode must be"),
        (lambda o: lr_scheduler.OneCycleLR(o, 1.0), ValueError, "give total_steps, or both"),
        (lambda o: lr_scheduler.OneCycleLR(o, 1.0, -5), ValueError, "total_steps must be an int"),
        (
            lambda o: lr_scheduler.CyclicLR(
                optim.Rprop([facula.ones(1, requires_grad=True)]), 0.1, 1.0
            ),
            ValueError,
            "Rprop has neither: pass cycle_momentum=False",
        ),
    ],
)
def test_bad_arguments_are_refused(make, error, message):
    with pytest.raises(error, match=message):
        make(sgd())


def test_one_cycle_ends():
    scheduler = lr_scheduler.OneCycleLR(sgd(), 1.0, 3)
    rates(scheduler, 3)
    scheduler.optimizer.step()
    with pytest.raises(ValueError, match="step 4 is beyond the 3 steps of the cycle"):
        scheduler.step()


def test_a_plateau_needs_as_many_lowest_rates_as_groups():
    optimizer = sgd()
    scheduler = lr_scheduler.ReduceLROnPlateau(optimizer, patience=0, min_lr=[0.1])
    optimizer.add_param_group({"params": [facula.ones(1, requires_grad=True)]})
    scheduler.step(1.0)
    with pytest.raises(RuntimeError, match="2 parameter groups now, but min_lr has 1"):
        scheduler.step(1.0)
