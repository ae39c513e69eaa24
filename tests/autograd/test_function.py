"""autograd.Function."""

import gc
import inspect
import weakref

import pytest

import facula
from facula.autograd import Function
from facula.autograd.function import once_differentiable

pytestmark = pytest.mark.promise("A8")


class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x * grad


class SquareOfTwoParts(Function):
    @staticmethod
    def forward(x, scale):
        return x * x * scale

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.scale = inputs
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x * grad * ctx.scale, None


def double_inputs(*shapes):
    return [facula.rand(*s, dtype=facula.float64, requires_grad=True) for s in shapes]


def test_a_function_is_differentiated_by_its_backward():
    (x,) = double_inputs((3,))
    assert facula.autograd.gradcheck(Square.apply, x)
    assert facula.autograd.gradgradcheck(Square.apply, x)


def test_setup_context_separates_forward_from_saving():
    (x,) = double_inputs((3,))
    assert facula.autograd.gradcheck(lambda x: SquareOfTwoParts.apply(x, 3.0), x)


def test_setup_context_sees_defaults_and_arguments_given_by_name():
    seen = set()

    class Scaled(Function):
        @staticmethod
        def forward(x, scale, power=2):
            return x**power * scale

        @staticmethod
        def setup_context(ctx, inputs, output):
            seen.add(inputs[1:])
            ctx.save_for_backward(inputs[0])
            ctx.scale, ctx.power = inputs[1:]

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * ctx.scale * ctx.power * x ** (ctx.power - 1), None, None

    (x,) = double_inputs((3,))
    assert facula.autograd.gradcheck(lambda x: Scaled.apply(x, 3.0), x)
    assert facula.autograd.gradcheck(lambda x: Scaled.apply(x, power=3, scale=2.0), x)
    assert seen == {(3.0, 2), (2.0, 3)}
    with pytest.raises(TypeError):
        Scaled.apply(x)


def test_nothing_is_recorded_without_grad():
    x = facula.ones(2)
    assert Square.apply(x).grad_fn is None
    with facula.no_grad():
        assert Square.apply(x.requires_grad_()).grad_fn is None


def test_needs_input_grad_tells_which_gradients_are_wanted():
    seen = []

    class Product(Function):
        @staticmethod
        def forward(ctx, a, b, c):
            ctx.save_for_backward(b)
            return a * b

        @staticmethod
        def backward(ctx, grad):
            seen.append(ctx.needs_input_grad)
            (b,) = ctx.saved_tensors
            return grad * b, None, None

    a, b = facula.ones(2, requires_grad=True), facula.ones(2)
    Product.apply(a, b, "text").sum().backward()
    assert seen == [(True, False, False)]


def test_unused_outputs_give_zeros_or_none():
    seen = []

    def make(materialize):
        class Pair(Function):
            @staticmethod
            def forward(ctx, x):
                ctx.set_materialize_grads(materialize)
                return x * 2, x * 3

            @staticmethod
            def backward(ctx, first, second):
                seen.append(None if second is None else second.tolist())
                return first * 2

        return Pair

    for materialize in (True, False):
        x = facula.ones(2, requires_grad=True)
        make(materialize).apply(x)[0].sum().backward()
        assert x.grad.tolist() == [2, 2]
    assert seen == [[0, 0], None]


def test_mark_non_differentiable_outputs_do_not_require_grad():
    class SortWithIndex(Function):
        @staticmethod
        def forward(ctx, x):
            values, index = x.sort()
            also = values.clone()
            ctx.mark_non_differentiable(index, also)
            ctx.save_for_backward(index)
            return values, index, also

        @staticmethod
        def backward(ctx, grad, _, __):
            (index,) = ctx.saved_tensors
            return facula.zeros_like(grad).scatter(0, index, grad)

    x = facula.tensor([3.0, 1.0, 2.0], requires_grad=True)
    values, index, also = SortWithIndex.apply(x)
    assert (values.requires_grad, index.requires_grad, also.requires_grad) == (True, False, False)
    (values * facula.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert x.grad.tolist() == [3, 1, 2]


def test_mark_dirty_lets_a_function_work_in_place():
    class AddOne(Function):
        @staticmethod
        def forward(ctx, x):
            x.add_(1)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad * 5

    x = facula.ones(2, requires_grad=True)
    y = x * 2
    z = AddOne.apply(y)
    assert z is y
    assert y.tolist() == [3, 3]
    z.sum().backward()
    assert x.grad.tolist() == [10, 10]


def test_a_saved_tensor_that_changed_is_noticed():
    x = facula.ones(2, requires_grad=True)
    y = x * 1
    z = Square.apply(y)
    y.add_(1)
    with pytest.raises(RuntimeError, match=r"in-?place"):
        z.sum().backward()


def test_a_second_backward_is_refused():
    x = facula.ones(2, requires_grad=True)
    y = Square.apply(x).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="retain_graph"):
        y.backward()


def test_once_differentiable_refuses_a_second_derivative():
    class Once(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @once_differentiable
        def backward(ctx, grad):
            assert not facula.is_grad_enabled()
            return 2 * ctx.saved_tensors[0] * grad

    x = facula.ones(2, requires_grad=True)
    (g,) = facula.autograd.grad(Once.apply(x).sum(), x, create_graph=True)
    assert g.tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="OnceBackward: its backward is marked with @once"):
        g.sum().backward()


def test_a_wrong_number_of_gradients_is_refused():
    class Wrong(Function):
        @staticmethod
        def forward(ctx, a, b):
            return a * b

        @staticmethod
        def backward(ctx, grad):
            return grad

    a = facula.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"Wrong.backward: expected 2 gradients, .* got 1"):
        Wrong.apply(a, a).sum().backward()


def test_a_gradient_of_the_wrong_shape_names_the_function_and_the_line_that_called_it():
    class Wrong(Function):
        @staticmethod
        def forward(ctx, a):
            return a * 2

        @staticmethod
        def backward(ctx, grad):
            return grad[:1]

    a = facula.ones(2, 3, requires_grad=True)
    y = Wrong.apply(a * 1)
    line = inspect.currentframe().f_lineno - 1
    with pytest.raises(RuntimeError) as error:
        y.sum().backward()
    assert str(error.value) == (
        "backward: MulBackward0 got a gradient of shape (1, 3) for an output of shape (2, 3). "
        f"It came from WrongBackward, gradient 0, recorded at {__file__}:{line}."
    )


def test_an_error_in_backward_reaches_the_caller():
    class Broken(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            raise KeyError("lost")

    with pytest.raises(KeyError, match="lost"):
        Broken.apply(facula.ones(1, requires_grad=True)).sum().backward()


def test_saving_an_output_keeps_no_graph_alive():
    class Exp(Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.saved_tensors[0]

    x = facula.zeros(2, requires_grad=True)
    y = Exp.apply(x)
    y.sum().backward()
    assert x.grad.tolist() == [1, 1]
    alive = weakref.ref(y)
    del y
    gc.collect()
    assert alive() is None
