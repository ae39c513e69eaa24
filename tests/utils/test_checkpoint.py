"""Checkpointing gives the gradients of the plain run."""

import gc
from collections import Counter
from functools import partial

import pytest

import facula
from facula.utils.checkpoint import (
    CheckpointError,
    CheckpointPolicy,
    DefaultDeviceType,
    GraphExecGroup,
    check_backward_validity,
    checkpoint,
    checkpoint_sequential,
    create_selective_checkpoint_contexts,
    detach_variable,
    get_device_states,
    set_checkpoint_early_stop,
    set_device_states,
)

pytestmark = pytest.mark.promise("A8")
both_ways = pytest.mark.parametrize("use_reentrant", [False, True])


def inputs():
    return [facula.rand(4, requires_grad=True) for _ in range(2)]


def gradients(function, *args):
    copies = [a.detach().requires_grad_() for a in args]
    (function(*copies) ** 2).sum().backward()
    return [c.grad.tolist() for c in copies]


def layer(a, b):
    return (a.exp() * b).sin() * a


@both_ways
def test_gradients_are_those_of_the_plain_function(use_reentrant):
    def run(a, b):
        return checkpoint(layer, a * 1, b, use_reentrant=use_reentrant)

    args = inputs()
    assert gradients(run, *args) == gradients(layer, *args)


@both_ways
def test_nothing_of_the_inside_is_saved(use_reentrant):
    saved = []

    def pack(tensor):
        saved.append(tuple(tensor.shape))
        return tensor

    def wide(x):
        return x.expand(1000, 4).exp().sin().sum()

    x = facula.rand(4, requires_grad=True)
    with facula.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        checkpoint(wide, x, use_reentrant=use_reentrant)
    assert (1000, 4) not in saved


@both_ways
@pytest.mark.parametrize("preserve", [True, False])
def test_random_numbers_are_repeated_on_request(use_reentrant, preserve):
    masks = []

    def drop(x):
        mask = facula.rand(100)
        masks.append(mask)
        return x * mask

    x = facula.ones(100, requires_grad=True)
    y = checkpoint(drop, x, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    before = facula.get_rng_state()
    y.sum().backward()
    assert facula.equal(masks[0], masks[1]) == preserve
    if preserve:
        assert facula.equal(before, facula.get_rng_state())


def test_keyword_arguments_reach_the_function():
    x = facula.ones(2, requires_grad=True)
    checkpoint(lambda x, scale: x.exp() * scale, x, scale=3, use_reentrant=False).sum().backward()
    assert facula.allclose(x.grad, 3 * facula.ones(2).exp())
    with pytest.raises(ValueError, match="unexpected keyword arguments scale"):
        checkpoint(lambda x, scale: x, x, scale=3, use_reentrant=True)


def test_a_gradient_of_other_inputs_does_not_use_what_the_first_left_over():
    x = facula.tensor([1.0, 2.0], requires_grad=True)
    w = facula.tensor([3.0, 4.0], requires_grad=True)
    factor = facula.tensor([2.0, 2.0])
    y = checkpoint(lambda x, w: (x * factor) * w, x, w, use_reentrant=False).sum()
    facula.autograd.grad(y, x, retain_graph=True)
    factor.mul_(10)
    (grad,) = facula.autograd.grad(y, w)
    assert grad.tolist() == [20, 40]


def test_checkpoints_nest_and_survive_a_second_backward():
    def inner(a, b):
        return checkpoint(layer, a, b, use_reentrant=False) * b

    def outer(a, b):
        return checkpoint(inner, a, b, use_reentrant=False)

    args = inputs()
    assert gradients(outer, *args) == gradients(lambda a, b: layer(a, b) * b, *args)
    a, b = inputs()
    y = checkpoint(layer, a, b, use_reentrant=False).sum()
    y.backward(retain_graph=True)
    first = a.grad.clone()
    y.backward()
    assert facula.equal(a.grad, 2 * first)


def test_second_derivatives_pass_through_a_checkpoint():
    def second(function):
        x = facula.tensor([0.5, 1.0], dtype=facula.float64, requires_grad=True)
        (g,) = facula.autograd.grad(function(x * 1).sum(), x, create_graph=True)
        (h,) = facula.autograd.grad(g.sum(), x)
        return h.tolist()

    def function(x):
        return x.exp() * x.sin()

    assert second(lambda x: checkpoint(function, x, use_reentrant=False)) == second(function)


def test_a_run_that_saves_other_tensors_is_refused():
    runs = []

    def changing(x):
        runs.append(None)
        return x.exp().sin() if len(runs) == 1 else x.exp()

    x = facula.ones(2, requires_grad=True)
    y = checkpoint(changing, x, use_reentrant=False)
    with pytest.raises(CheckpointError, match=r"the first run saved 2 tensors .* the second 1"):
        y.sum().backward()


def test_a_run_that_saves_other_shapes_is_refused():
    runs = []

    def changing(x):
        runs.append(None)
        return x.expand(2 if len(runs) == 1 else 3, 1).exp().sum()

    x = facula.ones(1, requires_grad=True)
    y = checkpoint(changing, x, use_reentrant=False)
    with pytest.raises(CheckpointError, match=r"saved other tensors .* first \(\(2, 1\)"):
        y.backward()


@pytest.mark.parametrize(
    "differentiate",
    [
        lambda y, x: facula.autograd.grad(y, x),
        lambda y, x: facula.autograd.backward(y, inputs=x),
        lambda y, x: y.backward(inputs=x),
    ],
    ids=["grad", "backward", "Tensor.backward"],
)
def test_the_reentrant_form_refuses_gradients_of_some_inputs_only(differentiate):
    a, b = inputs()
    y = checkpoint(layer, a, b, use_reentrant=True).sum()
    with pytest.raises(RuntimeError, match="Pass use_reentrant=False"):
        differentiate(y, a)


def test_the_form_should_be_chosen():
    a, b = inputs()
    with pytest.warns(UserWarning, match="pass use_reentrant"):
        checkpoint(layer, a, b)


@both_ways
def test_checkpoint_sequential_runs_the_functions_in_segments(use_reentrant):
    functions = [facula.exp, facula.sin, facula.cos, facula.tanh, facula.exp]

    def plain(x):
        for function in functions:
            x = function(x)
        return x

    def run(x):
        return checkpoint_sequential(functions, 2, x, use_reentrant=use_reentrant)

    (x, _) = inputs()
    assert gradients(run, x) == gradients(plain, x)


def test_the_graph_of_the_second_run_is_freed():
    def count():
        gc.collect()
        return sum("Backward0" in type(o).__name__ for o in gc.get_objects())

    a, b = inputs()
    before = count()
    for _ in range(3):
        checkpoint(layer, a, b, use_reentrant=False).sum().backward()
    assert count() == before


@both_ways
def test_the_second_run_has_the_autocast_of_the_first(use_reentrant):
    layer = facula.nn.Sequential(
        facula.nn.Linear(4, 8), facula.nn.GELU(), facula.nn.Linear(8, 4), facula.nn.Softmax(-1)
    )
    x = facula.rand(3, 4, requires_grad=True)
    seen = []

    def run(x):
        y = layer(x)
        seen.append((y.dtype, facula.is_autocast_enabled("cpu")))
        return y

    with facula.autocast("cpu"):
        plain = layer(x)
        y = checkpoint(run, x, use_reentrant=use_reentrant)
    (expected,) = facula.autograd.grad(plain.sum(0)[0], x)
    y.sum(0)[0].backward()
    assert set(seen) == {(facula.bfloat16, True)}
    assert x.grad.tolist() == expected.tolist()
    assert not facula.is_autocast_enabled("cpu")


def counting(counts):
    """A function whose operations are counted, and one of which is a product."""

    class Count(facula.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            counts[func.__name__] += 1
            return func(*args, **(kwargs or {}))

    def function(x, w):
        with Count():
            return facula.tanh(facula.matmul(x, w)).exp().sum()

    return function


@pytest.mark.parametrize("kept", ["list", "aten", "policy"])
def test_operations_that_a_policy_keeps_run_once(kept):
    x = facula.randn(3, 4, requires_grad=True)
    w = facula.randn(4, 2, requires_grad=True)
    expected = facula.autograd.grad(facula.tanh(x @ w).exp().sum(), [x, w])
    asked = []

    def policy(ctx, op, *args, **kwargs):
        asked.append((ctx.is_recompute, str(op)))
        if op is facula.ops.aten.matmul.default:
            return CheckpointPolicy.MUST_SAVE
        return CheckpointPolicy.PREFER_RECOMPUTE

    choice = {
        "list": [facula.matmul],
        "aten": [facula.ops.aten.matmul.default],
        "policy": policy,
    }[kept]
    counts = Counter()
    result = checkpoint(
        counting(counts),
        x,
        w,
        use_reentrant=False,
        context_fn=partial(create_selective_checkpoint_contexts, choice),
    )
    assert counts["matmul"] == 1 and counts["tanh"] == 1
    grads = facula.autograd.grad(result, [x, w], retain_graph=True)
    facula.testing.assert_close(grads, expected)
    assert counts["tanh"] == 2
    facula.testing.assert_close(facula.autograd.grad(result, [x, w]), expected)
    if kept == "policy":
        assert (True, "aten.matmul.default") in asked


def test_policies_are_checked():
    with pytest.raises(TypeError, match="expected a list of operations or a function"):
        create_selective_checkpoint_contexts(3)


def test_kept_results_may_not_change():
    x = facula.ones(2, requires_grad=True)

    def function(x):
        y = facula.exp(x)
        y.detach().zero_()
        return y.sin()

    context_fn = partial(create_selective_checkpoint_contexts, [facula.exp])
    y = checkpoint(function, x, use_reentrant=False, context_fn=context_fn)
    with pytest.raises(RuntimeError, match="changed in place"):
        y.sum().backward()


def test_several_backwards_of_a_group_run_the_function_again_once():
    runs = []

    def function(x):
        runs.append(1)
        return x.exp().sin()

    x = facula.ones(2, requires_grad=True)
    y = checkpoint(function, x, use_reentrant=False)
    with GraphExecGroup():
        y[0].backward(retain_graph=True)
        y[1].backward()
    assert len(runs) == 2
    assert facula.allclose(x.grad, facula.autograd.grad(x.exp().sin().sum(), x)[0])


def test_the_second_run_goes_to_its_end_without_early_stop():
    runs = []

    def function(x):
        y = x.exp()
        runs.append("begin")
        z = y * 2
        runs.append("end")
        return z

    x = facula.ones(2, requires_grad=True)
    for enable, expected in ((True, ["begin", "end"]), (False, ["begin", "end"] * 2)):
        runs.clear()
        with set_checkpoint_early_stop(enable):
            checkpoint(function, x, use_reentrant=False).sum().backward()
        assert runs == expected


def test_small_helpers():
    with pytest.warns(UserWarning, match="None of the inputs"):
        check_backward_validity([facula.ones(1), 3])
    x = facula.ones(1, requires_grad=True)
    (y, z) = detach_variable((x, "a"))
    assert y.requires_grad and y.grad_fn is None and y is not x and z == "a"
    with pytest.raises(RuntimeError, match="expected a tuple"):
        detach_variable([x])
    assert get_device_states(x) == ([], [])
    set_device_states([], [])
    assert DefaultDeviceType.get_device_type() == "cuda"
