import copy
import pickle

import pytest

import facula
from facula import nn
from facula.amp import GradScaler

pytestmark = pytest.mark.promise("N7")


def parameter(*values):
    return nn.Parameter(facula.tensor(values))


def sgd(*parameters):
    return facula.optim.SGD(parameters, lr=1.0)


def one_step(scaler, w, optimizer, factor=1.0):
    optimizer.zero_grad()
    scaler.scale((w * factor).sum()).backward()
    result = scaler.step(optimizer)
    scaler.update()
    return result


def test_a_step_is_that_of_unscaled_gradients():
    w = parameter(1.0, 2.0)
    optimizer = sgd(w)
    scaler = GradScaler("cpu", init_scale=1024.0)
    one_step(scaler, w, optimizer, 0.5)
    assert w.tolist() == [0.5, 1.5]
    assert w.grad.tolist() == [0.5, 0.5]


@pytest.mark.parametrize("bad", [float("inf"), float("-inf"), float("nan")])
def test_a_step_with_a_bad_gradient_is_left_out_and_the_scale_shrinks(bad):
    w, other = parameter(1.0), parameter(2.0)
    optimizer = sgd(w, other)
    scaler = GradScaler("cpu", init_scale=8.0)
    loss = w.sum() + other.sum() * bad
    scaler.scale(loss).backward()
    assert scaler.step(optimizer) is None
    scaler.update()
    assert (w.item(), other.item(), scaler.get_scale()) == (1.0, 2.0, 4.0)


def test_the_scale_grows_after_enough_good_steps():
    w = parameter(1.0)
    optimizer = sgd(w)
    scaler = GradScaler("cpu", init_scale=4.0, growth_factor=3.0, growth_interval=2)
    scales = []
    for factor in [1, 1, 1, float("inf"), 1, 1]:
        one_step(scaler, w, optimizer, factor)
        scales.append(scaler.get_scale())
    assert scales == [4.0, 12.0, 12.0, 6.0, 6.0, 18.0]


def test_the_scale_does_not_grow_to_infinity():
    w = parameter(1.0)
    scaler = GradScaler("cpu", init_scale=2.0**127, growth_interval=1)
    one_step(scaler, w, sgd(w), 2.0**-60)
    assert scaler.get_scale() == 2.0**127


def test_gradients_can_be_clipped_between():
    w = parameter(1.0)
    optimizer = sgd(w)
    scaler = GradScaler("cpu", init_scale=1024.0)
    scaler.scale(w.sum() * 10).backward()
    scaler.unscale_(optimizer)
    assert w.grad.item() == 10
    nn.utils.clip_grad_norm_([w], 1.0)
    scaler.step(optimizer)
    assert w.item() == pytest.approx(0.0, abs=1e-5)


def test_one_bad_optimiser_does_not_stop_the_other():
    good, bad = parameter(1.0), parameter(1.0)
    first, second = sgd(good), sgd(bad)
    scaler = GradScaler("cpu", init_scale=2.0)
    losses = scaler.scale([good.sum(), (bad.sum() * float("inf"),)])
    assert isinstance(losses, list)
    assert isinstance(losses[1], tuple)
    losses[0].backward()
    losses[1][0].backward()
    scaler.step(first)
    scaler.step(second)
    scaler.update()
    assert (good.item(), bad.item(), scaler.get_scale()) == (0.0, 1.0, 1.0)


def test_disabled_it_is_the_optimiser():
    w = parameter(1.0)
    optimizer = sgd(w)
    scaler = GradScaler("cpu", enabled=False)
    assert scaler.scale(3) == 3
    one_step(scaler, w, optimizer)
    assert (w.item(), scaler.get_scale(), scaler.state_dict()) == (0.0, 1.0, {})
    scaler.load_state_dict({})
    assert not scaler.is_enabled()


def test_the_state_can_be_saved_loaded_and_pickled():
    w = parameter(1.0)
    optimizer = sgd(w)
    scaler = GradScaler("cpu", init_scale=16.0, growth_interval=3)
    one_step(scaler, w, optimizer)
    state = scaler.state_dict()
    assert state == {
        "scale": 16.0,
        "growth_factor": 2.0,
        "backoff_factor": 0.5,
        "growth_interval": 3,
        "_growth_tracker": 1,
    }
    loaded = GradScaler("cpu")
    loaded.load_state_dict(copy.deepcopy(state))
    for other in (loaded, pickle.loads(pickle.dumps(scaler)), scaler):
        for _ in range(2):
            one_step(other, w, optimizer)
        assert other.get_scale() == 32.0
    with pytest.raises(RuntimeError, match="The source state dict is empty"):
        loaded.load_state_dict({})


def test_factors_can_be_changed():
    scaler = GradScaler("cpu")
    scaler.set_growth_factor(4.0)
    scaler.set_backoff_factor(0.25)
    scaler.set_growth_interval(7)
    factors = scaler.get_growth_factor(), scaler.get_backoff_factor(), scaler.get_growth_interval()
    assert factors == (4.0, 0.25, 7)


def test_a_new_scale_can_be_set():
    scaler = GradScaler("cpu")
    scaler.scale(facula.ones(()))
    scaler.update(3.0)
    assert scaler.get_scale() == 3.0
    scaler.update(facula.tensor([5.0]))
    assert scaler.get_scale() == 5.0
    with pytest.raises(AssertionError, match="new_scale should be"):
        scaler.update(facula.ones(2))


def test_optimisers_that_unscale_themselves_get_scale_and_flag():
    seen = []

    class Own(facula.optim.SGD):
        _step_supports_amp_scaling = True

        def step(self, closure=None):
            seen.append((self.grad_scale.item(), self.found_inf.item()))

    w = parameter(1.0)
    optimizer = Own([w], lr=1.0)
    scaler = GradScaler("cpu", init_scale=4.0)
    one_step(scaler, w, optimizer)
    one_step(scaler, w, optimizer, float("inf"))
    assert seen == [(4.0, 0.0), (4.0, 1.0)]
    assert not hasattr(optimizer, "grad_scale")
    assert scaler.get_scale() == 2.0


def test_calls_out_of_order_are_refused():
    w = parameter(1.0)
    optimizer = sgd(w)
    scaler = GradScaler("cpu")
    with pytest.raises(AssertionError, match="Attempted step but _scale is None"):
        scaler.step(optimizer)
    scaler.scale(w.sum()).backward()
    with pytest.raises(AssertionError, match="No inf checks were recorded prior to update"):
        scaler.update()
    with pytest.raises(RuntimeError, match="Closure use is not currently supported"):
        scaler.step(optimizer, closure=lambda: 0)
    scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="has already been called on this optimizer"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match=r"step\(\) has already been called"):
        scaler.step(optimizer)
    with pytest.raises(RuntimeError, match=r"being called after step\(\)"):
        scaler.unscale_(optimizer)
    with pytest.raises(AssertionError, match="may only be pickled"):
        pickle.dumps(scaler)


def test_bad_arguments_are_refused():
    with pytest.raises(AssertionError, match="growth factor must be > 1"):
        GradScaler("cpu", growth_factor=1.0)
    with pytest.raises(AssertionError, match="backoff factor must be < 1"):
        GradScaler("cpu", backoff_factor=1.0)
    with pytest.raises(ValueError, match="outputs must be a Tensor or an iterable"):
        GradScaler("cpu").scale(3)
    half = nn.Parameter(facula.ones(1, dtype=facula.float16))
    scaler = GradScaler("cpu", init_scale=1.0)
    scaler.scale(half.sum()).backward()
    with pytest.raises(ValueError, match="Attempting to unscale FP16 gradients"):
        scaler.unscale_(sgd(half))
    scaler = GradScaler("cpu")
    scaler.scale(facula.ones(()))
    with pytest.raises(AssertionError, match="none of its parameters has a gradient"):
        scaler.step(sgd(parameter(1.0)))


@pytest.mark.skipif(facula.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_its_scaler_is_off():
    with pytest.warns(UserWarning, match="CUDA is not available"):
        assert not GradScaler().is_enabled()
    with pytest.warns(FutureWarning, match="facula.amp.GradScaler"):
        facula.cuda.amp.GradScaler(enabled=False)
    with pytest.warns(FutureWarning, match="facula.amp.GradScaler"):
        assert facula.cpu.amp.GradScaler().is_enabled()
