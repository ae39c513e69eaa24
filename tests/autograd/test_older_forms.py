"""Autograd as PyTorch 0.1 to 0.4 had it: volatile, functions as objects, older names."""

import pytest

import facula
from facula import _notes, nn
from facula.autograd import Function, NestedIOFunction, Variable
from facula.nn import functional as F

pytestmark = pytest.mark.promise("A9")


@pytest.fixture(autouse=True)
def _nothing_told(monkeypatch):
    monkeypatch.setattr(_notes, "_told", set())


def volatile(x):
    return Variable(x, volatile=True)


W = facula.ones(3, requires_grad=True)
INDEX = facula.tensor([0, 2])
MASK = facula.tensor([True, False, True])


@pytest.mark.parametrize(
    "make",
    [
        lambda: W + volatile(facula.ones(3)),
        lambda: W[volatile(INDEX)],
        lambda: W[volatile(MASK)],
        lambda: W.index_select(0, volatile(INDEX)),
        lambda: W.gather(0, volatile(INDEX)),
        lambda: W.masked_select(volatile(MASK)),
        lambda: W.masked_fill(volatile(MASK), 0),
        lambda: facula.where(volatile(MASK), W, W),
        lambda: facula.cat([W, volatile(facula.ones(1))]),
        lambda: facula.stack((W, volatile(facula.ones(3)))),
        lambda: F.embedding(volatile(INDEX), W.view(3, 1)),
        lambda: F.nll_loss(W.view(1, 3), volatile(facula.tensor([1]))),
        lambda: F.cross_entropy(W.view(1, 3), target=volatile(facula.tensor([1]))),
        lambda: nn.Linear(3, 2)(volatile(facula.ones(1, 3))),
        lambda: nn.LSTM(3, 2)(volatile(facula.ones(4, 1, 3)))[0],
        lambda: (W * 2).add_(volatile(facula.ones(3))),
        lambda: volatile(facula.ones(3)).detach(),
        lambda: volatile(facula.ones(3)).clone(),
        lambda: volatile(facula.ones(4)).view(2, 2).t()[0],
        lambda: (volatile(facula.ones(3)) > 0).float(),
        lambda: facula.max(volatile(facula.ones(2, 2)) * W[:2], 1)[0],
    ],
)
def test_a_volatile_argument_of_any_kind_makes_the_result_volatile(make):
    result = make()
    assert result.volatile
    assert not result.requires_grad
    assert result.grad_fn is None


def test_writing_something_volatile_makes_a_tensor_volatile():
    x = W * 1
    x[0] = volatile(facula.zeros(1))[0]
    assert x.volatile
    assert not x.requires_grad


def test_volatile_ends_with_data_and_by_assignment():
    x = volatile(facula.ones(3))
    assert not x.data.volatile
    x.volatile = False
    assert (x * W).requires_grad


def test_a_leaf_is_not_made_volatile_in_place():
    with pytest.raises(RuntimeError, match="leaf"):
        W.add_(volatile(facula.ones(3)))
    assert W.requires_grad


def test_volatile_goes_through_functions_of_the_user():
    class Double(Function):
        @staticmethod
        def forward(ctx, x, y):
            return x * 2, y * 2

        @staticmethod
        def backward(ctx, a, b):
            return a * 2, b * 2

    for result in Double.apply(W, volatile(facula.ones(3))):
        assert result.volatile
        assert not result.requires_grad


class Square(Function):
    def __init__(self, factor=1):
        super().__init__()
        self.factor = factor

    def forward(self, x):
        self.save_for_backward(x)
        return x * x * self.factor

    def backward(self, grad):
        (x,) = self.saved_tensors
        return 2 * x * grad * self.factor


def test_a_function_can_be_an_object_with_methods():
    x = facula.tensor([1.0, 3.0], requires_grad=True)
    with pytest.warns(_notes.OlderFormWarning, match=r"Square.apply") as notes:
        y = Square(2)(x)
    assert notes[0].filename == __file__
    assert y.grad_fn.factor == 2
    y.sum().backward()
    assert x.grad.tolist() == [4, 12]


def test_each_call_of_such_an_object_is_a_node_of_its_own():
    x = facula.tensor([3.0], requires_grad=True)
    square = Square()
    square(square(x)).sum().backward()
    assert x.grad.tolist() == [108]


def test_a_function_takes_options_only_where_it_has_a_constructor():
    class Plain(Function):
        pass

    with pytest.raises(TypeError, match="constructor takes no arguments"):
        Plain(3)


def test_nested_arguments_and_gradients():
    class Mix(NestedIOFunction):
        def forward_extended(self, pair, z):
            return [pair[0] * 2, (pair[1] * 3, z * 4)]

        def backward_extended(self, a, bc):
            return (a * 2, bc[0] * 3), bc[1] * 4

    x, y, z = (facula.ones(1, requires_grad=True) for _ in range(3))
    a, (b, c) = Mix()((x, y), z)
    (a + 10 * b + 100 * c).sum().backward()
    assert [t.grad.item() for t in (x, y, z)] == [2, 30, 400]


def test_older_names_of_the_graph():
    x = facula.ones(2, requires_grad=True)
    y = (x * 2).sum()
    with pytest.warns(_notes.OlderFormWarning, match="next_functions"):
        assert y.creator.previous_functions == y.grad_fn.next_functions
    with pytest.warns(_notes.OlderFormWarning, match="retain_graph"):
        y.backward(retain_variables=True)
    facula.autograd.backward([y], retain_variables=True)
    y.backward()
    assert x.grad.tolist() == [6, 6]


def test_variable_is_the_type_of_tensors():
    x = Variable(facula.ones(1))
    assert type(x) == Variable  # noqa: E721
    assert type(x) in (Variable, tuple)
    assert type([]) != Variable  # noqa: E721
    assert isinstance(x, Variable)
    assert hash(Variable) == hash(facula.Tensor)


def test_saved_variables_is_an_older_name():
    class Cube(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.mark_shared_storage((x, x))
            return x**3

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_variables
            return 3 * x * x * grad

    x = facula.tensor([2.0], requires_grad=True)
    Cube.apply(x).backward()
    assert x.grad.tolist() == [12]
