"""Checkpointing gives the gradients of the plain run."""

import gc

import pytest

import facula
from facula.utils.checkpoint import CheckpointError, checkpoint, checkpoint_sequential

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
