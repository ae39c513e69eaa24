"""Autograd against PyTorch: its rules, one by one."""

from __future__ import annotations

from typing import Any

import pytest

from .outcome import agree

RULES: dict[str, Any] = {}


def rule(function: Any) -> Any:
    RULES[function.__name__] = function
    return function


def _x(lib: Any) -> Any:
    return lib.arange(1.0, 5.0).reshape(2, 2).requires_grad_()


@rule
def gradients_accumulate(lib: Any) -> Any:
    x = _x(lib)
    (x * 2).sum().backward()
    first = x.grad.clone()
    (x * x).sum().backward()
    return first, x.grad, x.grad.requires_grad


@rule
def only_leaves_keep_their_gradient(lib: Any) -> Any:
    x = _x(lib)
    y = x * 2
    y.sum().backward()
    return y.is_leaf, x.is_leaf, x.grad


@rule
def retain_grad_keeps_that_of_an_intermediate(lib: Any) -> Any:
    x = _x(lib)
    y = x * 2
    y.retain_grad()
    (y * y).sum().backward()
    return y.grad, y.retains_grad, x.retains_grad


@rule
def retain_grad_of_what_needs_none(lib: Any) -> Any:
    return lib.ones(2).retain_grad()


@rule
def backward_of_a_matrix_without_gradient(lib: Any) -> Any:
    (_x(lib) * 2).backward()


@rule
def backward_with_a_gradient_of_another_shape(lib: Any) -> Any:
    (_x(lib) * 2).backward(lib.ones(3))


@rule
def backward_without_history(lib: Any) -> Any:
    lib.ones(()).backward()


@rule
def backward_twice(lib: Any) -> Any:
    y = (_x(lib) ** 2).sum()
    y.backward()
    y.backward()


@rule
def backward_twice_through_what_saves_nothing(lib: Any) -> Any:
    x = _x(lib)
    y = x.sum()
    y.backward()
    y.backward()
    return x.grad


@rule
def backward_twice_with_retain_graph(lib: Any) -> Any:
    x = _x(lib)
    y = (x**2).sum()
    y.backward(retain_graph=True)
    y.backward()
    return x.grad


@rule
def backward_into_chosen_inputs(lib: Any) -> Any:
    x, z = _x(lib), _x(lib)
    (x * z).sum().backward(inputs=[x])
    return x.grad, z.grad is None


@rule
def create_graph_makes_the_gradient_differentiable(lib: Any) -> Any:
    x = _x(lib)
    (g,) = lib.autograd.grad((x**3).sum(), x, create_graph=True)
    (h,) = lib.autograd.grad(g.sum(), x, create_graph=True)
    (k,) = lib.autograd.grad(h.sum(), x)
    return g.detach(), h.detach(), k


@rule
def grad_of_an_unused_input(lib: Any) -> Any:
    return lib.autograd.grad(_x(lib).sum(), _x(lib))


@rule
def grad_of_an_unused_input_that_is_allowed(lib: Any) -> Any:
    x, z = _x(lib), _x(lib)
    return [g is None for g in lib.autograd.grad(x.sum(), [x, z], allow_unused=True)]


@rule
def grad_of_an_unused_input_as_zeros(lib: Any) -> Any:
    x, z = _x(lib), _x(lib)
    return lib.autograd.grad(x.sum(), [x, z], materialize_grads=True)


@rule
def grad_does_not_touch_dot_grad(lib: Any) -> Any:
    x = _x(lib)
    return lib.autograd.grad((x * 3).sum(), x), x.grad is None


@rule
def hooks_run_in_order_and_replace_the_gradient(lib: Any) -> Any:
    x = _x(lib)
    y = x * 2
    seen = []
    y.register_hook(lambda g: seen.append(("first", g.sum().item())))
    y.register_hook(lambda g: g * 10)
    y.register_hook(lambda g: seen.append(("third", g.sum().item())))
    y.retain_grad()
    x.register_hook(lambda g: seen.append(("leaf", g.sum().item())) or g + 1)
    x.register_post_accumulate_grad_hook(lambda t: seen.append(("after", t.grad.sum().item())))
    y.sum().backward()
    return seen, x.grad, y.grad


@rule
def a_removed_hook_is_silent(lib: Any) -> Any:
    x = _x(lib)
    handle = x.register_hook(lambda g: g * 100)
    handle.remove()
    x.sum().backward()
    return x.grad


@rule
def a_hook_that_returns_another_shape(lib: Any) -> Any:
    x = _x(lib)
    y = x * 2
    y.register_hook(lambda g: g.sum())
    y.sum().backward()


@rule
def a_hook_that_raises(lib: Any) -> Any:
    x = _x(lib)

    def hook(g: Any) -> None:
        raise KeyError("mine")

    x.register_hook(hook)
    x.sum().backward()


@rule
def a_hook_on_what_needs_no_gradient(lib: Any) -> Any:
    lib.ones(2).register_hook(lambda g: g)


@rule
def a_leaf_that_needs_a_gradient_is_not_written(lib: Any) -> Any:
    _x(lib).add_(1)


@rule
def nor_is_a_view_of_it(lib: Any) -> Any:
    _x(lib)[0].add_(1)


@rule
def without_grad_it_is(lib: Any) -> Any:
    x = _x(lib)
    with lib.no_grad():
        x.add_(1)
    return x.detach(), x.requires_grad, x._version


@rule
def writing_to_what_backward_needs(lib: Any) -> Any:
    x = _x(lib)
    y = x * 2
    z = y * y
    y.add_(1)
    z.sum().backward()


@rule
def writing_through_a_detached_tensor_is_noticed(lib: Any) -> Any:
    x = _x(lib)
    y = x.exp()
    y.detach().zero_()
    y.sum().backward()


@rule
def writing_through_data_is_not(lib: Any) -> Any:
    x = _x(lib)
    y = x.exp()
    y.data.zero_()
    y.sum().backward()
    return x.grad


@rule
def writing_to_one_of_several_views(lib: Any) -> Any:
    a, _b = _x(lib).clone().unbind()
    a.mul_(2)


@rule
def an_in_place_write_to_a_view_changes_the_history_of_its_base(lib: Any) -> Any:
    x = _x(lib)
    y = x.clone()
    y[0].mul_(10)
    y.sum().backward()
    return x.grad, y.grad_fn.name().rsplit("::", 1)[-1]


@rule
def a_view_made_without_grad_is_not_written_with_it(lib: Any) -> Any:
    x = _x(lib).clone()
    with lib.no_grad():
        v = x[0]
    v.mul_(2)


@rule
def integers_need_no_gradient(lib: Any) -> Any:
    lib.ones(2, dtype=lib.int64).requires_grad_()


@rule
def requires_grad_of_an_intermediate_cannot_be_dropped(lib: Any) -> Any:
    y = _x(lib) * 2
    y.requires_grad = False


@rule
def grad_must_have_the_shape_of_its_tensor(lib: Any) -> Any:
    x = _x(lib)
    x.grad = lib.ones(3)


@rule
def grad_must_have_the_dtype_of_its_tensor(lib: Any) -> Any:
    x = _x(lib)
    x.grad = lib.ones(2, 2, dtype=lib.float64)


@rule
def numpy_of_what_needs_a_gradient(lib: Any) -> Any:
    return _x(lib).numpy()


@rule
def deepcopy_of_an_intermediate(lib: Any) -> Any:
    import copy

    return copy.deepcopy(_x(lib) * 2)


@rule
def deepcopy_of_a_leaf(lib: Any) -> Any:
    import copy

    x = _x(lib)
    (x * x).sum().backward()
    y = copy.deepcopy(x)
    return y.detach(), y.grad, y.requires_grad


@rule
def grad_modes(lib: Any) -> Any:
    x = _x(lib)
    with lib.no_grad():
        a = x * 2
        with lib.enable_grad():
            b = x * 2
    with lib.set_grad_enabled(False):
        c = x * 2
    with lib.inference_mode():
        d = x * 2
    decorated = lib.no_grad()(lambda: x * 2)()
    made = (a, b, c, d, decorated)
    return [t.requires_grad for t in made], [t.is_inference() for t in made], lib.is_grad_enabled()


@rule
def an_inference_tensor_cannot_be_saved(lib: Any) -> Any:
    with lib.inference_mode():
        a = lib.ones(2, 2)
    return _x(lib) * a


@rule
def an_inference_tensor_cannot_be_written_outside(lib: Any) -> Any:
    with lib.inference_mode():
        a = lib.ones(2, 2)
    a.add_(1)


@rule
def next_functions_lead_to_the_leaves(lib: Any) -> Any:
    x = _x(lib)
    y = (x * 2 + 1).sum()
    names = []
    node = y.grad_fn
    while node is not None:
        names.append(node.name().rsplit("::", 1)[-1])
        node = node.next_functions[0][0] if node.next_functions else None
    return names


@rule
def a_node_knows_its_leaf(lib: Any) -> Any:
    x = _x(lib)
    y = x * 2
    return y.grad_fn.next_functions[0][0].variable is x, len(y.grad_fn.next_functions)


@rule
def the_gradient_of_an_expanded_leaf_has_its_shape(lib: Any) -> Any:
    x = lib.ones(1, 3).requires_grad_()
    x.expand(4, 3).sum().backward()
    return x.grad


@rule
def a_gradient_keeps_the_strides_of_its_leaf(lib: Any) -> Any:
    x = lib.arange(6.0).reshape(2, 3).t().detach().requires_grad_()
    (x * x).sum().backward()
    return x.grad


@rule
def functions_of_ones_own(lib: Any) -> Any:
    class Cube(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, scale: float) -> Any:
            ctx.save_for_backward(x)
            ctx.scale = scale
            return x**3 * scale

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * 3 * x * x * ctx.scale, None

    x = _x(lib)
    y = Cube.apply(x, 2.0)
    (first,) = lib.autograd.grad(y.sum(), x, create_graph=True)
    (second,) = lib.autograd.grad(first.sum(), x)
    return y.detach(), y.grad_fn.name(), first.detach(), second


@rule
def a_function_with_too_few_gradients(lib: Any) -> Any:
    class Bad(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            return x + y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    Bad.apply(_x(lib), _x(lib)).sum().backward()


@rule
def a_function_differentiated_more_often_than_it_allows(lib: Any) -> Any:
    from importlib import import_module

    once = import_module(f"{lib.__name__}.autograd.function").once_differentiable

    class Square(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @once
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2 * ctx.saved_tensors[0]

    x = _x(lib)
    (g,) = lib.autograd.grad(Square.apply(x).sum(), x, create_graph=True)
    g.sum().backward()


@rule
def saved_tensors_go_through_hooks(lib: Any) -> Any:
    seen = []
    x = _x(lib)
    with lib.autograd.graph.saved_tensors_hooks(
        lambda t: seen.append("pack") or t * 2, lambda t: seen.append("unpack") or t
    ):
        y = x * x
    y.sum().backward()
    return x.grad, seen


@rule
def complex_gradients(lib: Any) -> Any:
    z = lib.tensor([1 + 2j, 3 - 1j]).requires_grad_()
    (z.abs() ** 2 + (z * z).real).sum().backward()
    return z.grad


@rule
def backward_of_a_complex_scalar_needs_a_gradient(lib: Any) -> Any:
    z = lib.tensor([1 + 2j]).requires_grad_()
    (z * z).sum().backward()


@rule
def the_gradient_of_max_is_shared_by_equals(lib: Any) -> Any:
    x = lib.tensor([1.0, 3.0, 3.0]).requires_grad_()
    y = lib.tensor([3.0, 3.0, 1.0]).requires_grad_()
    (x.max() + x.amax() * 10 + lib.maximum(x, y).sum() * 100 + x.median() * 1000).backward()
    return x.grad, y.grad


@rule
def gradients_at_kinks(lib: Any) -> Any:
    x = lib.tensor([0.0, -0.0, 1.0, -1.0]).requires_grad_()
    total = x.abs() + x.relu() * 10 + x.clamp(-1, 1) * 100 + x.sign() + x.norm()
    total.sum().backward()
    return x.grad


def _derivatives(lib: Any, function: Any, x: Any, order: int) -> list[Any]:
    """Of a weighted sum, so that every element counts differently."""
    found = []
    value = function(x)
    for nth in range(order):
        weights = lib.arange(1.0, value.numel() + 1, dtype=value.dtype).reshape(value.shape)
        (value,) = lib.autograd.grad((value * (weights + nth)).sum(), x, create_graph=True)
        found.append(value.detach())
    return found


@rule
def products_with_zeros_have_derivatives_of_any_order(lib: Any) -> Any:
    found = []
    for line in ([0.0, 2, 3, 4], [0.0, 2, 0, 4], [0.0, 0, 0, 4], [1.0, 2, 3, 0], [0.0, 0, 0, 0]):
        x = lib.tensor([line, [2.0, 1, 5, 3]], dtype=lib.float64).requires_grad_()
        found += _derivatives(lib, lambda x: x.prod(), x, 4)
        found += _derivatives(lib, lambda x: x.prod(1, keepdim=True), x, 3)
        found += _derivatives(lib, lambda x: x.cumprod(1), x, 3)
    return found


@rule
def a_view_made_without_grad_cannot_follow_its_base(lib: Any) -> Any:
    x = _x(lib).clone()
    with lib.no_grad():
        v = x[0]
    x.mul_(2)
    return v.grad_fn


@rule
def one_of_several_views_cannot_follow_its_base(lib: Any) -> Any:
    x = _x(lib).clone()
    a, _b = x.chunk(2)
    x.mul_(2)
    return a * 2


@rule
def a_view_follows_a_write_to_it_and_to_its_base(lib: Any) -> Any:
    x = _x(lib)
    y = x * 1
    v = y[0]
    v.mul_(3)
    y.mul_(2)
    (v.sum() + y.sum()).backward()
    return x.grad


@rule
def a_write_with_an_operand_that_needs_a_gradient(lib: Any) -> Any:
    x = _x(lib)
    y = lib.full((2, 2), 3.0)
    y.mul_(x).div_(x + 1)
    y.sum().backward()
    return x.grad


@rule
def a_saved_tensor_detached_in_place(lib: Any) -> Any:
    x = _x(lib)
    y = x * 1
    z = y * x
    y.detach_()
    z.sum().backward()


@rule
def reentrant_checkpoint_and_gradients_of_some_inputs(lib: Any) -> Any:
    import importlib

    x = _x(lib)
    checkpoint = importlib.import_module(f"{lib.__name__}.utils.checkpoint").checkpoint
    checkpoint(lambda x: x.sin(), x * 1, use_reentrant=True).sum().backward(inputs=[x])


@pytest.mark.parametrize("name", RULES)
def test_rule(name: str) -> None:
    agree(RULES[name], kind="sum")
