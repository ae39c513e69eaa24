"""Autograd against PyTorch: random programs with views and in-place writes."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from .outcome import agree
from .strategies import numbered, steady

# Every step takes two of the tensors made so far and gives a new one, or changes the first. A step
# that needs dimensions does nothing without: a program wrong for two reasons says nothing.
STEPS: dict[str, Any] = {
    "x * y": lambda lib, x, y: x * y,
    "x + y": lambda lib, x, y: x + y,
    "x / (y * y + 1)": lambda lib, x, y: x / (y * y + 1),
    "sin(x)": lambda lib, x, y: x.sin(),
    "exp(x / 8)": lambda lib, x, y: (x / 8).exp(),
    "sum(x, 0)": lambda lib, x, y: x.sum(0) if x.dim() else x.sum(),
    "x.clone()": lambda lib, x, y: x.clone(),
    "x.detach()": lambda lib, x, y: x.detach(),
    "x.data": lambda lib, x, y: x.data,
    "x[0]": lambda lib, x, y: x[0] if x.dim() else None,
    "x[1:]": lambda lib, x, y: x[1:] if x.dim() else None,
    "x[..., ::2]": lambda lib, x, y: x[..., ::2] if x.dim() else None,
    "x.t()": lambda lib, x, y: x.t(),
    "x.view(-1)": lambda lib, x, y: x.view(-1),
    "x.unsqueeze(0)": lambda lib, x, y: x.unsqueeze(0),
    "x.diagonal()": lambda lib, x, y: x.diagonal() if x.dim() > 1 else None,
    "x.expand": lambda lib, x, y: x.expand(2, *x.shape),
    "x.chunk(2)[0]": lambda lib, x, y: x.chunk(2)[0] if x.dim() else None,
    "x.unbind()[1]": lambda lib, x, y: x.unbind()[1] if x.dim() and len(x) > 1 else None,
    "x.add_(y)": lambda lib, x, y: x.add_(y),
    "x.mul_(y)": lambda lib, x, y: x.mul_(y),
    "x.mul_(2)": lambda lib, x, y: x.mul_(2),
    "x.copy_(y)": lambda lib, x, y: x.copy_(y),
    "x.zero_()": lambda lib, x, y: x.zero_(),
    "x.unsqueeze_(0)": lambda lib, x, y: x.unsqueeze_(0),
    "x.sigmoid_()": lambda lib, x, y: x.sigmoid_(),
    "x.detach_()": lambda lib, x, y: x.detach_(),
    "x[0] = y": lambda lib, x, y: x.__setitem__(0, y) if x.dim() else None,
    "x[mask] = 1": lambda lib, x, y: x.__setitem__(x > 0, 1.0),
    "x.masked_fill_(x > 1, 0)": lambda lib, x, y: x.masked_fill_(x > 1, 0),
    "no_grad: x.add_(1)": lambda lib, x, y: _without_grad(lib, lambda: x.add_(1)),
    "no_grad: x[0]": lambda lib, x, y: _without_grad(lib, lambda: x[0]) if x.dim() else None,
    "x.requires_grad_()": lambda lib, x, y: x.requires_grad_(),
    "relu": lambda lib, x, y: x.relu(),
    "stack": lambda lib, x, y: lib.stack([x, x]),
    "where": lambda lib, x, y: lib.where(x > y, x, y),
}
# Likely to fit together: what changes its operand is as frequent as what does not.
_NAMES = sorted(STEPS)


def _without_grad(lib: Any, action: Any) -> Any:
    with lib.no_grad():
        return action()


Program = list[tuple[str, int, int]]


def interpret(lib: Any, program: Program, leaves: list[Any]) -> Any:
    made = [leaf * 1 for leaf in leaves] + leaves
    for name, i, j in program:
        result = STEPS[name](lib, made[i % len(made)], made[j % len(made)])
        if result is not None and not any(result is t for t in made):
            made.append(result)
    facts = [(t._version, t.is_leaf, t.requires_grad, t._is_view()) for t in made]
    return [t for t in made if not any(t is leaf for leaf in leaves)], facts


_PROGRAMS = st.lists(
    st.tuples(st.sampled_from(_NAMES), st.integers(0, 7), st.integers(0, 7)),
    min_size=1,
    max_size=7,
)


def _leaves() -> list[Any]:
    return [
        numbered((3, 3), "float64", 1).requires_grad_(),
        numbered((3,), "float64", 2).requires_grad_(),
        numbered((3, 3), "float64", 3),
    ]


@steady(1200)
@given(_PROGRAMS)
def test_random_programs(program: Program) -> None:
    _agree_on(program, 1)


@steady(300)
@given(_PROGRAMS)
def test_second_derivatives_of_random_programs(program: Program) -> None:
    _agree_on(program, 2)


@steady(400)
@given(_PROGRAMS)
def test_gradients_of_one_leaf_alone(program: Program) -> None:
    """The derivatives compute only what leads to it."""

    def gradients(lib: Any, leaves: list[Any]) -> Any:
        made, _ = interpret(lib, program, leaves)
        total = sum(t.sum() for t in made)
        return [
            lib.autograd.grad(total, leaf, retain_graph=True, allow_unused=True)[0]
            for leaf in leaves[:2]
        ]

    agree(gradients, _leaves(), grad=0, ignore=("grad_fn",))


def _agree_on(program: Program, order: int) -> None:
    # Names of nodes are compared for each operation alone, where their differences are known.
    agree(
        lambda lib, leaves: interpret(lib, program, leaves),
        _leaves(),
        kind="sum",
        grad=order,
        ignore=("grad_fn",),
    )
