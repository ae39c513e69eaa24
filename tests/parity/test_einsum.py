"""Random equations of einsum: ellipses, repeated letters, broadcasting, lists of dimensions."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from .outcome import agree
from .strategies import numbered, steady

LETTERS = "ijkLMn"
# Which operations an equation becomes is left open.
INNER = ("grad_fn", "strides")
DTYPES = ("float32", "float64", "int64", "complex64")


@st.composite
def _contraction(draw: st.DrawFn) -> tuple[list[Any], str | None, list[Any]]:
    """Operands, the letters of each and those of the result; ``...`` stands for some of them."""
    sizes = {
        letter: draw(st.integers(0, 3)) if draw(st.integers(0, 9)) == 0 else 2 + i % 2
        for i, letter in enumerate(LETTERS)
    }
    dtype = draw(st.sampled_from(DTYPES))
    has_ellipsis = draw(st.booleans())
    hidden = draw(st.lists(st.integers(1, 3), max_size=2)) if has_ellipsis else []
    operands, terms = [], []
    for i in range(draw(st.integers(1, 4))):
        term = draw(st.lists(st.sampled_from(LETTERS), max_size=3))
        shape = [sizes[letter] for letter in term]
        # A dimension of one element is repeated.
        shape = [1 if draw(st.integers(0, 7)) == 0 else n for n in shape]
        # One that appears twice in a term must have one size.
        shape = [shape[term.index(letter)] for letter in term]
        if has_ellipsis and draw(st.integers(0, 3)) > 0:
            place = draw(st.integers(0, len(term)))
            n_hidden = draw(st.integers(0, len(hidden)))
            shape[place:place] = [
                draw(st.sampled_from([1, n])) for n in hidden[len(hidden) - n_hidden :]
            ]
            term.insert(place, "...")
        x = numbered(tuple(shape), dtype, seed=i)
        if x.is_floating_point() and draw(st.booleans()):
            x.requires_grad_()
        operands.append(x)
        terms.append(term)
    result = None
    if draw(st.booleans()):
        used = sorted({letter for term in terms for letter in term if letter != "..."})
        result = draw(st.permutations(used))[: draw(st.integers(0, len(used)))]
        if any("..." in term for term in terms) and draw(st.integers(0, 3)) > 0:
            result.insert(draw(st.integers(0, len(result))), "...")
        if draw(st.integers(0, 30)) == 0:
            result.append(draw(st.sampled_from(LETTERS)))  # perhaps twice, perhaps not in any term
    return operands, terms, result


def _equation(terms: list[list[str]], result: list[str] | None, space: str) -> str:
    left = ",".join("".join(term) for term in terms)
    return left if result is None else f"{left}{space}->{space}{''.join(result)}"


@steady(500)
@given(_contraction(), st.sampled_from(["", " "]))
def test_equations(case: tuple[Any, Any, Any], space: str) -> None:
    operands, terms, result = case
    equation = _equation(terms, result, space)
    agree(lambda lib, *xs: lib.einsum(equation, *xs), *operands, kind="sum", grad=1, ignore=INNER)


@steady(150)
@given(_contraction())
def test_lists_of_dimensions(case: tuple[Any, Any, Any]) -> None:
    operands, terms, result = case

    def numbers(term: list[str]) -> list[Any]:
        return [... if letter == "..." else LETTERS.index(letter) for letter in term]

    def program(lib: Any, *xs: Any) -> Any:
        arguments = [a for x, term in zip(xs, terms, strict=True) for a in (x, numbers(term))]
        return lib.einsum(*arguments, *([] if result is None else [numbers(result)]))

    agree(program, *operands, kind="sum", ignore=INNER)


def test_a_program_and_a_list_of_operands_agree() -> None:
    x, y = torch.arange(6.0).reshape(2, 3), torch.arange(12.0).reshape(3, 4)
    agree(lambda lib, x, y: lib.einsum("ij,jk", [x, y]), x, y, kind="sum")


@pytest.mark.parametrize(
    "equation",
    [
        *(
            "ij,jk->ki",
            "ij,jk->ik",
            "ij,kj->ki",
            "i,j->ji",
            "ijk,ijl->lki",
            "ijk->ki",
            "ijk,kl->lj",
        ),
        *("bij,bjk->kbi", "bij,jk->bki", "bhij,bjhk->bihk", "ij,jk,kl->li", "kl,ij,jk->il"),
    ],
)
def test_dimensions_lie_in_memory_as_in_pytorch(equation):
    terms = equation.partition("->")[0].split(",")
    shapes = [tuple("bhijkl".index(label) + 2 for label in term) for term in terms]
    operands = [numbered(shape, "float32", seed=i) for i, shape in enumerate(shapes)]
    agree(lambda lib, *xs: lib.einsum(equation, *xs), *operands, kind="sum", ignore=("grad_fn",))
