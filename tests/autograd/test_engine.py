"""The graph, backward and the rules about in-place writes."""

import gc
import os
import weakref
from pathlib import Path

import pytest

import facula
from facula.nn import functional as F


@pytest.mark.promise("A1")
def test_the_graph_follows_the_code_of_each_run():
    w = facula.tensor(2.0, requires_grad=True)

    def f(x, n):
        for _ in range(n):
            x = x * w if x < 100 else x + w
        return x

    for n, expected in [(1, 3.0), (3, 3 * 3 * 4), (0, None)]:
        w.grad = None
        y = f(facula.tensor(3.0), n)
        if expected is None:
            assert not y.requires_grad
        else:
            y.backward()
            assert w.grad.item() == expected


@pytest.mark.promise("A2")
def test_only_leaves_and_retained_tensors_keep_grad():
    x = facula.ones(3, requires_grad=True)
    y, z = x * 2, x * 3
    z.retain_grad()
    (y + z).sum().backward()
    assert x.grad.tolist() == [5, 5, 5]
    assert z.grad.tolist() == [1, 1, 1]
    assert not y.is_leaf
    with pytest.warns(UserWarning, match="leaf"):
        assert y.grad is None
    # Memory of its own, though the gradient of a sum is one number, seen three times.
    assert z.grad.stride() == (1,)
    z.grad.mul_(2)
    assert z.grad.tolist() == [2, 2, 2] and x.grad.tolist() == [5, 5, 5]


@pytest.mark.promise("A2")
def test_hooks_see_and_replace_gradients():
    x = facula.ones(2, requires_grad=True)
    seen = []
    handle = x.register_hook(lambda grad: seen.append(grad.tolist()) or grad * 10)
    (x * 3).sum().backward()
    assert seen == [[3, 3]]
    assert x.grad.tolist() == [30, 30]
    handle.remove()
    (x * 3).sum().backward()
    assert x.grad.tolist() == [33, 33]


@pytest.mark.promise("A2")
def test_post_accumulate_hooks_run_after_the_gradient_is_there():
    x = facula.ones(2, requires_grad=True)
    seen = []
    x.register_post_accumulate_grad_hook(lambda leaf: seen.append(leaf.grad.tolist()))
    (x * 3).sum().backward()
    assert seen == [[3, 3]]


@pytest.mark.promise("A3")
def test_grad_fn_names_the_creator_and_what_came_before():
    x = facula.ones(2, requires_grad=True)
    y = x * 2
    assert x.grad_fn is None
    assert y.grad_fn.name() == "MulBackward0"
    assert "<MulBackward0 object at 0x" in repr(y.grad_fn)
    ((before, index), *_) = y.grad_fn.next_functions
    assert "<AccumulateGrad object at 0x" in repr(before)
    assert before.name() == "torch::autograd::AccumulateGrad"
    assert index == 0
    assert before.variable is x


@pytest.mark.promise("A4")
def test_backward_of_a_vector_needs_a_gradient_of_its_shape():
    x = facula.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="scalar"):
        (x * 2).backward()
    with pytest.raises(RuntimeError, match="shape"):
        (x * 2).backward(facula.ones(2))
    (x * 2).backward(facula.tensor([1.0, 2.0, 3.0]))
    assert x.grad.tolist() == [2, 4, 6]


@pytest.mark.promise("A4")
def test_gradients_accumulate():
    x = facula.ones(2, requires_grad=True)
    for n in (1, 2, 3):
        (x * 2).sum().backward()
        assert x.grad.tolist() == [2 * n, 2 * n]


@pytest.mark.promise("A4")
def test_a_second_backward_is_refused_unless_the_graph_was_kept():
    x = facula.ones(2, requires_grad=True)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [4, 4]
    with pytest.raises(RuntimeError, match="retain_graph"):
        y.backward()


def test_backward_without_a_graph_is_refused():
    with pytest.raises(RuntimeError, match=r"requires?[ _]grad"):
        facula.ones(()).backward()


@pytest.mark.promise("A5")
def test_grad_modes_nest_and_decorate():
    x = facula.ones(1, requires_grad=True)
    with facula.no_grad():
        assert not (x * 2).requires_grad
        with facula.enable_grad():
            assert (x * 2).requires_grad
        assert not facula.is_grad_enabled()
    with facula.set_grad_enabled(False):
        assert not (x * 2).requires_grad
    with facula.inference_mode():
        assert (x * 2).is_inference()

    @facula.no_grad()
    def f():
        return x * 2

    assert not f().requires_grad
    assert (x * 2).requires_grad


@pytest.mark.promise("A5")
def test_the_mode_comes_back_after_an_exception():
    with pytest.raises(ValueError, match="stop"), facula.no_grad():
        raise ValueError("stop")
    assert facula.is_grad_enabled()


@pytest.mark.promise("A5")
def test_frozen_tensors_get_no_gradient():
    frozen, head = facula.ones(2), facula.ones(2, requires_grad=True)
    (frozen * head).sum().backward()
    assert frozen.grad is None
    assert head.grad.tolist() == [1, 1]


@pytest.mark.promise("A6")
def test_changing_what_backward_needs_is_found_and_named():
    x = facula.ones(3, requires_grad=True)
    y = x * 2
    z = y.exp()
    z.add_(1)
    with pytest.raises(RuntimeError, match=r"(?i)exp.*in-?place|in-?place.*exp"):
        z.sum().backward()


@pytest.mark.promise("A6")
def test_in_place_on_a_leaf_or_a_view_of_it_is_refused():
    x = facula.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf"):
        x.add_(1)
    with pytest.raises(RuntimeError, match="leaf"):
        x[:2].add_(1)
    with facula.no_grad():
        x.add_(1)
    assert x.tolist() == [2, 2, 2]


@pytest.mark.promise("A6")
@pytest.mark.parametrize(
    "make",
    [
        lambda x: facula.nn.functional.embedding(facula.tensor([[0, 1], [2, 0]]), x),
        lambda x: facula.nn.functional.max_unpool2d(
            x.view(1, 1, 4, 4), facula.arange(16).view(1, 1, 4, 4), 2
        ),
        lambda x: facula.nn.functional.channel_shuffle(x.view(1, 4, 2, 2), 2),
        lambda x: facula.nn.functional.pixel_unshuffle(x.view(1, 1, 4, 4), 2),
    ],
)
def test_results_that_an_operation_reshapes_last_can_be_written_to(make):
    x = facula.arange(16.0).view(4, 4).requires_grad_()
    y = make(x)
    assert not y._is_view()
    (expected,) = facula.autograd.grad((2 * make(x)).sum(), x)
    y *= 2
    y.sum().backward()
    assert x.grad.tolist() == expected.tolist()
    assert not x.median()._is_view() and not x.nanmedian()._is_view()


def test_in_place_on_a_view_rebases_the_history_of_its_base():
    x = facula.ones(4, requires_grad=True)
    base = x * 1
    view = base[:2]
    view.mul_(3)
    (base * facula.tensor([1.0, 2.0, 3.0, 4.0])).sum().backward()
    assert x.grad.tolist() == [3, 6, 3, 4]


@pytest.mark.promise("A6")
def test_a_written_view_has_the_history_of_the_write():
    for write, slope in ((lambda v: v.mul_(2), 2), (lambda v: v.zero_(), 0)):
        x = facula.ones(2, 3, requires_grad=True)
        view = (x * 1).t()
        write(view)
        assert facula.autograd.grad(view.sum(), x)[0].tolist() == [[slope] * 3] * 2


def test_a_write_keeps_the_old_values_for_the_gradient_of_its_operand():
    x, y = facula.tensor([2.0, 3.0]), facula.tensor([5.0, 7.0], requires_grad=True)
    x.mul_(y)
    x.sum().backward()
    assert y.grad.tolist() == [2, 3]


def test_a_view_sees_the_history_of_a_write_to_its_base():
    x = facula.ones(4, requires_grad=True)
    base = x * 1
    view = base[:2]
    base.mul_(5)
    view.sum().backward()
    assert x.grad.tolist() == [5, 5, 0, 0]


@pytest.mark.promise("A6")
@pytest.mark.parametrize("made", ["in no_grad mode", "by a function that returns several views"])
def test_a_view_whose_history_cannot_follow_a_write_says_so(made):
    base = facula.ones(4, requires_grad=True) * 1
    if "no_grad" in made:
        with facula.no_grad():
            view = base[:2]
    else:
        view = base.chunk(2)[0]
    base.mul_(5)
    assert repr(view) == "tensor([5., 5.], grad_fn=<Invalid>)"
    with pytest.raises(RuntimeError, match=f"grad_fn: this view was made {made}"):
        view.sum()


@pytest.mark.promise("A6")
def test_a_view_of_a_leaf_follows_a_write_without_grad():
    x = facula.ones(3, requires_grad=True)
    view = x[1:]
    with facula.no_grad():
        x.add_(1)
    (view * 2).sum().backward()
    assert x.grad.tolist() == [0, 2, 2]


@pytest.mark.promise("A6")
def test_indexed_assignment_is_differentiable():
    x = facula.ones(3, requires_grad=True)
    value = facula.tensor(7.0, requires_grad=True)
    y = x * 2
    y[1] = value
    y.sum().backward()
    assert x.grad.tolist() == [2, 0, 2]
    assert value.grad.item() == 1


@pytest.mark.promise("A7")
def test_detach_shares_memory_and_the_version():
    x = facula.ones(3, requires_grad=True)
    y = x.exp()
    cut = y.detach()
    assert cut.data_ptr() == y.data_ptr()
    assert not cut.requires_grad
    cut.zero_()
    with pytest.raises(RuntimeError, match=r"(?i)in-?place"):
        y.sum().backward()


@pytest.mark.promise("A7")
def test_data_shares_memory_but_not_the_version():
    x = facula.ones(3, requires_grad=True)
    x.data.mul_(2)
    assert x.tolist() == [2, 2, 2]
    assert x._version == 0


@pytest.mark.promise("A8")
def test_create_graph_gives_any_order():
    x = facula.tensor(2.0, requires_grad=True)
    y = x**5
    for expected in (80, 160, 240, 240, 120):
        (y,) = facula.autograd.grad(y, x, create_graph=True)
        assert y.item() == pytest.approx(expected)


def test_a_chain_of_a_million_nodes_runs_and_is_freed():
    x = facula.ones((), requires_grad=True)
    y = x
    for _ in range(1_000_000):
        y = y + 1
    y.backward()
    assert x.grad.item() == 1
    z = x
    for _ in range(1_000_000):
        z = z + 1
    del y, z


def test_no_cycle_keeps_a_graph_alive():
    def make_cycle():
        y = facula.ones(3, requires_grad=True) * 2
        y.itself = y
        return weakref.ref(y)

    watch = make_cycle()
    gc.collect()
    assert watch() is None


def test_a_hook_that_refers_to_its_tensor_does_not_leak():
    def make_cycle():
        y = facula.ones(3, requires_grad=True) * 2
        y.register_hook(lambda grad: grad + y.detach() * 0)
        return weakref.ref(y)

    watch = make_cycle()
    gc.collect()
    assert watch() is None


def test_grad_is_the_same_object_each_time():
    x = facula.ones(3, requires_grad=True)
    x.sum().backward()
    assert x.grad is x.grad
    x.grad.note = "kept"
    assert x.grad.note == "kept"


def resident_bytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads Linux's /proc")
def test_memory_does_not_grow_with_the_number_of_steps():
    w = facula.ones(64, 64, requires_grad=True)

    def step():
        ((w @ w).tanh() * w).sum().backward()
        w.grad = None

    for _ in range(10):
        step()
    gc.collect()
    before = resident_bytes()
    for _ in range(10_000):
        step()
    gc.collect()
    assert resident_bytes() - before < 2**20


def test_a_gradient_has_the_dtype_of_its_leaf():
    x = facula.ones(2, requires_grad=True)
    assert x.grad_dtype == facula.float32
    x.grad_dtype = facula.float32
    for other in (facula.float16, None):
        with pytest.raises(NotImplementedError, match=f"expected torch.float32, .* got {other}"):
            x.grad_dtype = other
    with pytest.raises(
        RuntimeError, match=r"grad_dtype must be a torch\.dtype or None, but got int"
    ):
        x.grad_dtype = 3
    with pytest.raises(RuntimeError, match="grad_dtype can only be accessed on leaf tensors"):
        _ = (x * 2).grad_dtype


def test_nodes_of_the_engine_itself_name_its_namespace():
    x = facula.ones(3, requires_grad=True)
    y = x * 2
    assert y.grad_fn.next_functions[0][0].name() == "torch::autograd::AccumulateGrad"
    assert type(y.grad_fn.next_functions[0][0]).__name__ == "AccumulateGrad"
    y[0] = x[1]
    assert y.grad_fn.name() == "torch::autograd::CopySlices"


@pytest.mark.parametrize(
    "shape, step",
    [
        ((1, 4, 4), lambda x: F.max_pool2d(x, 2)),
        ((1, 4, 4), lambda x: F.adaptive_max_pool2d(x, 3)),
        ((1, 4, 4), lambda x: F.avg_pool2d(x, 2)),
        ((1, 4, 4), lambda x: F.pad(x, (1, 1, 1, 1), mode="reflect")),
        ((2, 3), lambda x: F.nll_loss(x, facula.tensor([0, 2]))),
    ],
)
def test_the_gradient_of_what_is_linear_in_steps_has_zeros_as_derivative(shape, step):
    x = facula.randn(shape, requires_grad=True)
    y = step(x)
    g = facula.ones_like(y, requires_grad=True)
    (gx,) = facula.autograd.grad(y, x, g, create_graph=True)
    by_x, by_g = facula.autograd.grad(gx, (x, g), facula.ones_like(gx))
    assert facula.equal(by_x, facula.zeros(shape))
    assert by_g.shape == y.shape and by_g.abs().sum() > 0


def test_a_program_may_write_to_gradients_that_it_gets():
    x = facula.ones(2, 3, requires_grad=True)
    assert facula.autograd.grad(x.mean(), x)[0].mul_(6).tolist() == [[1] * 3] * 2
    y = x * 1
    y.register_hook(lambda grad: grad.mul_(2))
    y.mean(0).sum().backward()
    assert x.grad.tolist() == [[1] * 3] * 2

    class Doubled(facula.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad.mul_(2)

    (grad,) = facula.autograd.grad(Doubled.apply(x).mean(), x)
    assert grad.tolist() == [[pytest.approx(1 / 3)] * 3] * 2
