"""Errors that people search for have PyTorch's words in them, beside what went wrong here."""

import copy

import pytest

import facula
from facula import nn
from facula.nn import functional as F

pytestmark = pytest.mark.promise("U3")


def write_to_what_backward_needs():
    x = facula.ones(3, requires_grad=True)
    y = x.exp()
    y.add_(1)
    y.sum().backward()


def go_back_twice():
    y = (facula.ones(3, requires_grad=True) ** 2).sum()
    y.backward()
    y.backward()


def write_to_a_leaf():
    facula.ones(3, requires_grad=True).add_(1)


def write_to_a_view_of_a_leaf():
    facula.ones(3, requires_grad=True)[0] = 1


def ask_for_an_unused_gradient():
    x, y = (facula.ones(1, requires_grad=True) for _ in range(2))
    facula.autograd.grad(x.sum(), y)


@pytest.mark.parametrize(
    "call, error, words",
    [
        (write_to_what_backward_needs, RuntimeError, "modified by an inplace operation"),
        (go_back_twice, RuntimeError, "Trying to backward through the graph a second time"),
        (write_to_a_leaf, RuntimeError, "a leaf Variable that requires grad is being used in an"),
        (write_to_a_view_of_a_leaf, RuntimeError, "a view of a leaf Variable that requires grad"),
        (ask_for_an_unused_gradient, RuntimeError, "appears to not have been used in the graph"),
        (
            lambda: facula.ones(3, requires_grad=True).mul(2).backward(),
            RuntimeError,
            "grad can be implicitly created only for scalar outputs",
        ),
        (
            lambda: facula.ones(1).sum().backward(),
            RuntimeError,
            "element 0 of tensors does not require grad and does not have a grad_fn",
        ),
        (
            lambda: facula.ones(2, 3) @ facula.ones(4, 5),
            RuntimeError,
            "mat1 and mat2 shapes cannot be multiplied",
        ),
        (
            lambda: nn.Linear(3, 4)(facula.ones(2, 5)),
            RuntimeError,
            "mat1 and mat2 shapes cannot be multiplied",
        ),
        (
            lambda: nn.Linear(3, 4)(facula.ones(2, 3).double()),
            RuntimeError,
            "mat1 and mat2 must have the same dtype",
        ),
        (
            lambda: facula.ones(2, 3) + facula.ones(2, 4),
            RuntimeError,
            "must match the size of tensor b at non-singleton dimension 1",
        ),
        (lambda: facula.ones(2, 3).view(4, 2), RuntimeError, "is invalid for input of size 6"),
        (
            lambda: facula.ones(2, 3).t().view(6),
            RuntimeError,
            "view size is not compatible with input tensor's size and stride",
        ),
        (
            lambda: facula.ones(2, 3).expand(2, 4),
            RuntimeError,
            "The expanded size of the tensor must match the existing size",
        ),
        (
            lambda: facula.cat([facula.ones(2, 3), facula.ones(2, 4)]),
            RuntimeError,
            "Sizes of tensors must match except in dimension 0",
        ),
        (
            lambda: facula.stack([facula.ones(2), facula.ones(3)]),
            RuntimeError,
            "stack expects each tensor to be equal size",
        ),
        (lambda: nn.Embedding(3, 2)(facula.tensor([5])), IndexError, "index out of range in self"),
        (
            lambda: facula.ones(3)[5],
            IndexError,
            "index 5 is out of bounds for dimension 0 with size 3",
        ),
        (
            lambda: facula.ones(3).gather(0, facula.tensor([7])),
            RuntimeError,
            "is out of bounds for a dimension of size 3",
        ),
        (lambda: facula.ones(3).sum(4), IndexError, "Dimension out of range"),
        (
            lambda: F.cross_entropy(facula.ones(2, 3), facula.tensor([0, 7])),
            IndexError,
            "Target 7 is out of bounds",
        ),
        (
            lambda: F.cross_entropy(facula.ones(2, 3), facula.tensor([0])),
            ValueError,
            "Expected input batch_size to match target batch_size",
        ),
        (
            lambda: F.binary_cross_entropy(facula.tensor([1.5]), facula.ones(1)),
            RuntimeError,
            "all elements of input should be between 0 and 1",
        ),
        (
            lambda: nn.Conv2d(3, 4, 3)(facula.ones(1, 1, 8, 8)),
            RuntimeError,
            "to have 3 channels, but got 1 channels instead",
        ),
        (
            lambda: nn.Conv2d(3, 4, 5)(facula.ones(1, 3, 3, 3)),
            RuntimeError,
            "Kernel size can't be greater than actual input size",
        ),
        (
            lambda: nn.BatchNorm1d(3)(facula.ones(1, 3)),
            ValueError,
            "Expected more than 1 value per channel when training",
        ),
        (
            lambda: facula.ones(2).item(),
            RuntimeError,
            "a Tensor with 2 elements cannot be converted to Scalar",
        ),
        (
            lambda: bool(facula.ones(2)),
            RuntimeError,
            "Boolean value of Tensor with more than one value is ambiguous",
        ),
        (
            lambda: facula.ones(2, requires_grad=True).numpy(),
            RuntimeError,
            r"Can't call numpy\(\) on Tensor that requires grad",
        ),
        (
            lambda: facula.ones(2, dtype=facula.int64, requires_grad=True),
            RuntimeError,
            "Only Tensors of floating point and complex dtype can require gradients",
        ),
        (
            lambda: copy.deepcopy(facula.ones(1, requires_grad=True) * 2),
            RuntimeError,
            "Only Tensors created explicitly by the user",
        ),
        (
            lambda: facula.optim.SGD([facula.ones(1, requires_grad=True) * 2]),
            ValueError,
            "can't optimize a non-leaf Tensor",
        ),
        (
            lambda: nn.Linear(2, 3).load_state_dict(nn.Linear(3, 3).state_dict()),
            RuntimeError,
            r"Error\(s\) in loading state_dict for Linear:\s+size mismatch for weight",
        ),
        (
            lambda: facula.ones(2) + facula.ones(2, device="meta"),
            RuntimeError,
            "Expected all tensors to be on the same device",
        ),
    ],
)
def test_the_words_that_people_search_for_are_in_the_message(call, error, words):
    with pytest.raises(error, match=words):
        call()
