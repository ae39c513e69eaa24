"""backward and grad as functions, saved-tensor hooks, anomaly mode."""

import gc

import pytest

import facula
from facula.autograd import graph
from facula.autograd.graph import (
    GradientEdge,
    allow_mutation_on_saved_tensors,
    get_gradient_edge,
    increment_version,
)

pytestmark = pytest.mark.promise("A8")


@pytest.fixture
def x():
    return facula.tensor([1.0, 2.0], requires_grad=True)


def test_grad_leaves_the_grad_attribute_alone(x):
    (g,) = facula.autograd.grad((x * x).sum(), x)
    assert g.tolist() == [2, 4]
    assert x.grad is None


def test_grad_of_unused_inputs_raises_or_gives_none_or_zeros(x):
    other = facula.ones(2, requires_grad=True)
    y = (x * x).sum()
    with pytest.raises(RuntimeError, match="allow_unused"):
        facula.autograd.grad(y, [x, other], retain_graph=True)
    assert facula.autograd.grad(y, other, retain_graph=True, allow_unused=True) == (None,)
    (zeros,) = facula.autograd.grad(y, other, materialize_grads=True)
    assert zeros.tolist() == [0, 0]


def test_grad_of_a_batch_of_output_gradients(x):
    (rows,) = facula.autograd.grad(x * x, x, facula.eye(2), is_grads_batched=True)
    assert rows.tolist() == [[2, 0], [0, 4]]


def test_higher_derivatives_of_any_order(x):
    y = (x**5).sum()
    for expected in ([5, 80], [20, 160], [60, 240], [120, 240], [120, 120]):
        (g,) = facula.autograd.grad(y, x, create_graph=True)
        assert g.tolist() == expected
        y = g.sum()


def test_backward_reaches_only_the_inputs_asked_for(x):
    other = facula.ones(2, requires_grad=True)
    facula.autograd.backward((x * other).sum(), inputs=[other])
    assert x.grad is None
    assert other.grad.tolist() == [1, 2]


def test_a_derivative_computes_only_the_gradients_asked_for():
    x, w = facula.randn(3, 4, requires_grad=True), facula.randn(4, 5, requires_grad=True)
    y, seen = x @ w, []
    y.grad_fn.register_hook(lambda grads, _: seen.append([g is not None for g in grads]))
    facula.autograd.grad(y.sum(), x, retain_graph=True)
    y.sum().backward(inputs=[w], retain_graph=True)
    y.sum().backward()
    assert seen == [[True, False], [False, True], [True, True]]


def test_a_hook_gives_no_gradient_where_none_was_asked_for(x):
    other = facula.ones(2, requires_grad=True)
    y = x * other
    y.grad_fn.register_hook(lambda grads, outer: (grads[0], outer[0]))
    with pytest.raises(RuntimeError, match="register_hook: expected None at index 1 of the hook"):
        facula.autograd.grad(y.sum(), x, retain_graph=True)
    y.sum().backward()
    assert other.grad.tolist() == [1, 1]


def test_a_run_inside_a_restricted_one_computes_all(x):
    other = facula.ones(2, requires_grad=True)

    def inner(grad):
        with facula.enable_grad():
            (x * other).sum().backward()

    y = x * 3
    y.register_hook(inner)
    (g,) = facula.autograd.grad((y * other).sum(), x)
    assert (g.tolist(), x.grad.tolist(), other.grad.tolist()) == ([3, 3], [1, 1], [1, 2])


def test_wrong_gradients_are_refused(x):
    with pytest.raises(RuntimeError, match="an output that is no scalar"):
        facula.autograd.backward(x * 2)
    with pytest.raises(RuntimeError, match=r"of its output, \(2,\), got \(3,\)"):
        facula.autograd.grad(x * 2, x, facula.ones(3))
    with pytest.raises(RuntimeError, match="got 1 tensors and 2 gradients"):
        facula.autograd.backward([x.sum()], [None, None])
    with pytest.raises(RuntimeError, match="inputs is empty"):
        facula.autograd.backward(x.sum(), inputs=[])
    with pytest.raises(RuntimeError, match="grad: inputs is empty"):
        facula.autograd.grad(x.sum(), [])


def test_a_complex_scalar_needs_a_gradient(x):
    y = (x * (1 + 1j)).sum()
    with pytest.raises(RuntimeError, match="backward: an output that is not real"):
        facula.autograd.backward(y)
    with pytest.raises(RuntimeError, match="grad: an output that is not real"):
        facula.autograd.grad(y, x)
    (g,) = facula.autograd.grad(y, x, facula.ones_like(y))
    assert g.tolist() == [1, 1]


def test_saved_tensors_pass_through_the_hooks(x):
    packed, unpacked = [], []

    def pack(tensor):
        packed.append(tensor.tolist())
        return tensor.tolist()

    def unpack(values):
        unpacked.append(values)
        return facula.tensor(values)

    with graph.saved_tensors_hooks(pack, unpack):
        y = x.exp() * x
    assert packed
    assert not unpacked
    y.sum().backward()
    assert unpacked
    assert all(values in packed for values in unpacked)
    assert facula.allclose(x.grad, (x.exp() * (1 + x)).detach())


def test_the_inner_hooks_are_used_and_the_outer_ones_restored(x):
    calls = []

    def hooks(name):
        return graph.saved_tensors_hooks(lambda t: calls.append(name) or t, lambda t: t)

    with hooks("outer"):
        with hooks("inner"):
            x.exp()
        x.exp()
    x.exp()
    assert list(dict.fromkeys(calls)) == ["inner", "outer"]
    assert calls == sorted(calls)  # after the inner block only the outer hooks are called


@pytest.mark.parametrize("pin_memory", [False, True])
def test_save_on_cpu_gives_the_same_gradient(x, pin_memory):
    with graph.save_on_cpu(pin_memory, device_type="cpu"):
        y = x.exp()
    y.sum().backward()
    assert facula.allclose(x.grad, x.exp().detach())


def test_disabled_hooks_raise_the_given_message(x):
    with (
        graph.disable_saved_tensors_hooks("not here"),
        pytest.raises(RuntimeError, match="not here"),
        graph.saved_tensors_hooks(lambda t: t, lambda t: t),
    ):
        x.exp()
    with graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        x.exp()


def test_a_multi_grad_hook_runs_once_all_gradients_are_there(x):
    other = facula.ones(2, requires_grad=True)
    seen = []
    handle = graph.register_multi_grad_hook(
        [x, other], lambda grads: seen.append([None if g is None else g.tolist() for g in grads])
    )
    (x * 2 + other * 3).sum().backward()
    (x * 2).sum().backward()
    assert seen == [[[2, 2], [3, 3]], [[2, 2], None]]
    handle.remove()
    x.sum().backward()
    assert len(seen) == 2


def test_a_multi_grad_hook_for_any_runs_once_a_backward(x):
    other = facula.ones(2, requires_grad=True)
    seen = []
    graph.register_multi_grad_hook([x, other], lambda g: seen.append(g.tolist()), mode="any")
    (x * 2 + other * 2).sum().backward()
    (x * 3).sum().backward()
    assert seen == [[2, 2], [3, 3]]


def test_anomaly_mode_finds_the_operation_that_makes_nan(x):
    with pytest.warns(UserWarning, match="detect_anomaly"):
        anomaly = facula.autograd.detect_anomaly()
    y = facula.zeros(1, requires_grad=True)
    with anomaly, pytest.raises(RuntimeError, match=r"SqrtBackward0 gave NaN.* nan values in"):
        (y.sqrt() * 0).sum().backward()
    assert not facula.is_anomaly_enabled()


def test_set_detect_anomaly_acts_at_once_and_as_a_context():
    facula.autograd.set_detect_anomaly(True)
    assert facula.is_anomaly_enabled()
    facula.autograd.set_detect_anomaly(False)
    with facula.autograd.set_detect_anomaly(True, check_nan=False):
        assert not facula.is_anomaly_check_nan_enabled()
    assert not facula.is_anomaly_enabled()


@pytest.mark.parametrize("change", [lambda x: x[:1], lambda x: x.double(), lambda x: x[None]])
def test_an_unpack_hook_must_return_the_form_that_was_packed(change):
    x = facula.ones(2, 3, requires_grad=True)
    with facula.autograd.graph.saved_tensors_hooks(lambda t: t, change):
        y = facula.nn.functional.layer_norm(x, (3,)).sum()
    with pytest.raises(RuntimeError, match="the unpack hook returned"):
        y.backward()


@pytest.mark.parametrize("save", [lambda x: x * x, lambda x: x.exp(), lambda x: facula.stack([x])])
def test_a_pack_hook_that_raises_leaves_no_node_behind(x, save):
    def pack(saved):
        raise ValueError("no room")

    def count():
        gc.collect()
        return sum("Backward0" in type(o).__name__ for o in gc.get_objects())

    before = count()
    for _ in range(5):
        with graph.saved_tensors_hooks(pack, lambda packed: packed):
            try:
                save(x) * x
            except ValueError as error:
                assert str(error) == "no room"
    assert count() == before
    (x * x).sum().backward()
    assert x.grad.tolist() == (2 * x).tolist()


def test_numbers_do_not_pass_through_the_hooks(x):
    packed = []

    def pack(saved):
        packed.append(saved.shape)
        return saved

    with graph.saved_tensors_hooks(pack, lambda saved: saved):
        x * 3 / 2
        x * facula.tensor(3)
    assert packed == [()]


def test_inputs_of_backward_may_be_any_iterable():
    x = facula.ones(1, requires_grad=True)
    x.sum().backward(inputs=(t for t in [x]))
    assert x.grad.item() == 1
    with pytest.raises(TypeError, match="backward: expected tensors as inputs, got int"):
        x.sum().backward(inputs=[5])


# ---- edges


def test_an_edge_stands_for_its_tensor_as_output_and_as_input():
    x = facula.tensor([1.0, 2.0], requires_grad=True)
    middle = x * 3
    edge = get_gradient_edge(middle)
    assert (edge.node, edge.output_nr) == (middle.grad_fn, 0)
    assert facula.autograd.grad(edge, x, facula.ones(2))[0].tolist() == [3.0, 3.0]
    y = (x * 3).square()
    inner = get_gradient_edge(y)
    loss = y.sum()
    assert facula.autograd.grad(loss, [inner], retain_graph=True)[0].tolist() == [1.0, 1.0]
    facula.autograd.backward(get_gradient_edge(loss), inputs=[get_gradient_edge(x)])
    assert x.grad.tolist() == [18.0, 36.0]


def test_the_edge_of_a_leaf_leads_to_its_accumulation():
    x = facula.ones(2, requires_grad=True)
    edge = get_gradient_edge(x)
    assert edge.node.variable is x
    assert facula.autograd.grad((x * 2).sum(), edge)[0].tolist() == [2.0, 2.0]


def test_the_second_output_of_an_operation_has_an_edge_of_its_own():
    x = facula.tensor([3.0, 1.0], requires_grad=True)
    first, second = x.split(1)
    assert [get_gradient_edge(t).output_nr for t in (first, second)] == [0, 1]
    edge = get_gradient_edge(second)
    del first, second
    assert facula.autograd.grad(edge, x, facula.ones(1))[0].tolist() == [0.0, 1.0]


def test_edges_that_are_none_are_refused():
    with pytest.raises(RuntimeError, match="expected a tensor that requires grad"):
        get_gradient_edge(facula.ones(2))
    node = (facula.ones(1, requires_grad=True) * 2).grad_fn
    with pytest.raises(RuntimeError, match="has 1 outputs, got output_nr 7"):
        facula.autograd.backward(GradientEdge(node, 7))
    with pytest.raises(TypeError, match="expected a node"):
        facula.autograd.backward(GradientEdge(3, 0))


def test_counted_writes_are_noticed():
    x = facula.ones(2, requires_grad=True)
    y = x.exp()
    z = y.sin()
    increment_version([y])
    with pytest.raises(RuntimeError, match="overwritten in-place"):
        z.sum().backward()


# ---- writing to saved tensors


@pytest.mark.parametrize(
    "write",
    [
        lambda y: y.zero_(),
        lambda y: y.mul_(7),
        lambda y: y.__setitem__(0, 5.0),
        lambda y: facula.nn.functional.relu(y.neg_(), inplace=True),
        lambda y: y[1:].add_(1),
        lambda y: y.detach().fill_(9.0),
    ],
)
def test_saved_tensors_may_be_written_to(write):
    x = facula.tensor([1.0, 2.0], requires_grad=True)
    with allow_mutation_on_saved_tensors():
        y = x.clone()
        z = y * y
        write(y)
        z.sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]


def test_results_may_be_written_to_by_out_and_operators():
    x = facula.tensor([1.0, 2.0], requires_grad=True)
    with allow_mutation_on_saved_tensors():
        y = x.clone()
        z = y.exp() * y
        saved = z.exp()
        saved_values = saved.tolist()
        with facula.no_grad():
            facula.add(x, 1, out=y)
            saved *= 0
        z.sum().backward()
    exp = [2.718281828, 7.389056099]
    assert saved_values != saved.tolist()
    assert x.grad.tolist() == pytest.approx([2 * exp[0], 3 * exp[1]])


def test_backward_outside_of_the_block_is_refused():
    x = facula.ones(2, requires_grad=True)
    with allow_mutation_on_saved_tensors():
        y = x * x
    with pytest.raises(AssertionError, match="Trying to backward outside of the"):
        y.sum().backward()


@pytest.mark.parametrize(
    "block",
    [
        lambda: graph.saved_tensors_hooks(lambda x: x, lambda x: x),
        lambda: graph.save_on_cpu(),
        lambda: facula.inference_mode(),
        lambda: facula.autocast("cpu"),
        lambda: facula.overrides.TorchFunctionMode(),
    ],
)
def test_a_block_that_was_not_entered_cannot_be_left(block):
    with pytest.raises(RuntimeError, match=r"that was not entered|no mode is active"):
        block().__exit__(None, None, None)
