"""no_grad, enable_grad, set_grad_enabled and inference_mode."""

import pytest

import facula

pytestmark = pytest.mark.promise("A5")


@pytest.fixture
def x():
    return facula.ones(2, requires_grad=True)


def test_no_grad_and_enable_grad_nest(x):
    with facula.no_grad():
        assert not (x * 2).requires_grad
        with facula.enable_grad():
            assert (x * 2).requires_grad
        assert not facula.is_grad_enabled()
    assert facula.is_grad_enabled()


def test_the_mode_is_restored_after_an_exception():
    with pytest.raises(ZeroDivisionError), facula.no_grad():
        _ = 1 / 0
    assert facula.is_grad_enabled()


@pytest.mark.parametrize("decorate", [facula.no_grad, facula.no_grad(), facula.set_grad_enabled])
def test_decorators_work_with_and_without_parentheses(decorate, x):
    if decorate is facula.set_grad_enabled:
        decorate = facula.set_grad_enabled(False)

    @decorate
    def double(value, factor=2):
        """Doubles."""
        return value * factor

    assert double.__name__ == "double"
    assert double.__doc__ == "Doubles."
    assert not double(x, factor=3).requires_grad
    assert facula.is_grad_enabled()


def test_a_decorated_function_may_call_itself(x):
    @facula.no_grad()
    def countdown(n):
        assert not facula.is_grad_enabled()
        return x * 2 if n == 0 else countdown(n - 1)

    assert not countdown(3).requires_grad
    assert facula.is_grad_enabled()


def test_a_decorated_generator_has_its_mode_only_while_it_runs(x):
    closed = []

    @facula.no_grad()
    def steps():
        try:
            received = yield facula.is_grad_enabled()
            while True:
                received = yield (received, facula.is_grad_enabled())
        except ValueError:
            yield "caught", facula.is_grad_enabled()
        finally:
            closed.append(facula.is_grad_enabled())

    generator = steps()
    assert next(generator) is False
    assert facula.is_grad_enabled()
    assert generator.send("a") == ("a", False)
    assert generator.throw(ValueError()) == ("caught", False)
    generator.close()
    assert closed == [False]
    assert facula.is_grad_enabled()


def test_a_decorated_generator_returns_its_value():
    @facula.no_grad()
    def one():
        yield 1
        return "end"

    def outer():
        return (yield from one())

    generator = outer()
    next(generator)
    with pytest.raises(StopIteration) as stop:
        next(generator)
    assert stop.value.value == "end"


def test_set_grad_enabled_acts_at_once_and_as_a_context(x):
    facula.set_grad_enabled(False)
    try:
        assert not facula.is_grad_enabled()
    finally:
        facula.set_grad_enabled(True)
    with facula.set_grad_enabled(False):
        assert not (x * 2).requires_grad
    assert facula.is_grad_enabled()


def test_inference_mode_makes_inference_tensors(x):
    with facula.inference_mode():
        assert facula.is_inference_mode_enabled()
        y = x * 2
        with facula.inference_mode(False):
            assert not facula.is_inference_mode_enabled()
            assert (x * 2).requires_grad
    assert y.is_inference()
    assert not y.requires_grad
    assert not facula.is_inference_mode_enabled()


def test_inference_mode_decorates(x):
    @facula.inference_mode
    def double(value):
        return value * 2

    @facula.inference_mode()
    def triple(value):
        return value * 3

    assert double(x).is_inference()
    assert triple(x).is_inference()


def test_an_inference_tensor_may_not_be_saved_for_backward(x):
    with facula.inference_mode():
        y = facula.ones(2)
    with pytest.raises(RuntimeError, match=r"[Ii]nference"):
        _ = x * y


def test_transforms_differentiate_in_inference_mode():
    with facula.inference_mode():
        x = facula.tensor([1.0, 2.0])
        factor = facula.tensor(3.0)
        assert facula.func.grad(lambda x: (x**3 * factor).sum())(x).tolist() == [9, 36]
        assert facula.func.jacrev(facula.square)(x).tolist() == [[2, 0], [0, 4]]
        _, pull = facula.func.vjp(facula.exp, facula.zeros(2))
        assert pull(x)[0].tolist() == [1, 2]


def test_packages_can_make_modes_of_their_own():
    from facula.utils._contextlib import _DecoratorContextManager

    entered = []

    class Mode(_DecoratorContextManager):
        def __enter__(self):
            entered.append("in")

        def __exit__(self, *exc_info):
            entered.append("out")

    @Mode()
    def double(x):
        return 2 * x

    assert double(3) == 6
    assert entered == ["in", "out"]
