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


def test_transforms_differentiate_what_inference_mode_made():
    with facula.inference_mode():
        x = facula.tensor([1.0, 2.0])
    assert facula.func.grad(lambda a: (a**2).sum())(x).tolist() == [2, 4]
    assert facula.func.hessian(lambda a: (a**2).sum())(x).tolist() == [[2, 0], [0, 2]]
    assert facula.func.vjp(facula.sin, x)[1](x)[0].equal(x.cos() * x)
    assert facula.func.vmap(facula.func.grad(facula.square))(x).tolist() == [2, 4]
    assert x.is_inference() and not x.requires_grad


def test_transforms_differentiate_in_inference_mode():
    with facula.inference_mode():
        x = facula.tensor([1.0, 2.0])
        factor = facula.tensor(3.0)
        assert facula.func.grad(lambda x: (x**3 * factor).sum())(x).tolist() == [9, 36]
        assert facula.func.jacrev(facula.square)(x).tolist() == [[2, 0], [0, 4]]
        _, pull = facula.func.vjp(facula.exp, facula.zeros(2))
        assert pull(x)[0].tolist() == [1, 2]


@pytest.mark.parametrize("switch", [facula.enable_grad, lambda: facula.set_grad_enabled(True)])
def test_nothing_switches_recording_on_in_inference_mode(x, switch):
    with facula.inference_mode():
        with switch():
            y = x * 2
        assert not y.requires_grad and y.is_inference()
        with facula.inference_mode(False), switch():
            assert (x * 2).requires_grad
    with facula.inference_mode():
        facula.set_grad_enabled(True)
        assert not (x * 2).requires_grad
    assert (x * 2).requires_grad


def test_a_transform_in_inference_mode_goes_on_recording_after_no_grad():
    def cube(x):
        with facula.no_grad():
            x * 2
        with facula.enable_grad():
            return (x**3).sum()

    with facula.inference_mode():
        assert facula.func.grad(cube)(facula.tensor([1.0, 2.0])).tolist() == [3, 12]


def test_inference_tensors_count_no_writes():
    with facula.inference_mode():
        y = facula.ones(3)
    for tensor in (y, y[0], y.detach()):
        assert tensor.is_inference()
        with pytest.raises(RuntimeError, match="Inference tensors do not track version counter"):
            _ = tensor._version
    assert not y.clone().is_inference() and y.clone()._version == 0


def test_a_view_of_a_normal_tensor_stays_one_in_inference_mode(x):
    with facula.inference_mode():
        assert not x[0:].is_inference() and not x.detach().is_inference()
        assert x.clone().is_inference()


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
