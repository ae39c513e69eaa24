"""einsum against NumPy's."""

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

import facula
from check_op import check_op

SOME = ["float32", "float64", "complex128"]


@pytest.mark.parametrize(
    "equation, shapes",
    [
        ("ij,jk->ik", [(2, 3), (3, 4)]),
        ("ij,jk", [(2, 3), (3, 4)]),
        ("ji", [(2, 3)]),
        ("ii", [(3, 3)]),
        ("ii->i", [(3, 3)]),
        ("iij->j", [(3, 3, 2)]),
        ("ij->", [(2, 3)]),
        ("i,j->ji", [(2,), (3,)]),
        ("bij,bjk->bik", [(2, 3, 4), (2, 4, 2)]),
        ("...ij,...jk->...ik", [(2, 1, 3, 4), (3, 4, 2)]),
        ("i...->...", [(2, 3)]),
        ("i...,j...->ij...", [(2, 3), (4, 3)]),
        ("bn,anm,bm->ba", [(2, 3), (4, 3, 2), (2, 2)]),
        ("ij,ij->", [(2, 3), (2, 3)]),
        ("ij,ij->i", [(2, 3), (1, 3)]),
        (",i->i", [(), (3,)]),
        ("aB,Ba", [(2, 3), (3, 2)]),
        (" i j , j k -> i k ", [(2, 3), (3, 4)]),
        ("ij,jk->ik", [(0, 3), (3, 4)]),
        ("ij,jk->ik", [(2, 0), (0, 4)]),
    ],
)
def test_einsum_agrees_with_numpy(equation, shapes):
    check_op(
        lambda *xs: facula.einsum(equation, *xs),
        lambda *xs: np.einsum(equation.replace(" ", ""), *xs),
        shapes,
        dtypes=SOME,
    )


def test_sublists_say_the_same_as_an_equation():
    a, b = facula.rand(2, 3), facula.rand(3, 4)
    expected = a @ b
    assert facula.allclose(facula.einsum(a, [0, 1], b, [1, 2], [0, 2]), expected)
    assert facula.allclose(facula.einsum(a, [0, 1], b, [1, 2]), expected)
    assert facula.allclose(facula.einsum(a, [..., 1], b, [1, 2], [..., 2]), expected)
    assert facula.allclose(facula.einsum("ij,jk", [a, b]), expected)


def test_a_dimension_of_size_one_broadcasts():
    a, b = facula.rand(2, 1), facula.rand(2, 3)
    assert facula.allclose(facula.einsum("ij,ij->", a, b), (a * b).sum())


@pytest.mark.parametrize(
    "equation, shapes, message",
    [
        ("ij,jk->il", [(2, 3), (3, 4)], "subscript l of the output is in no operand"),
        ("ij->ii", [(2, 3)], "subscript i is twice in the output"),
        ("ijk", [(2, 3)], "operand 0 has 2 dimensions, but 3 subscripts"),
        ("i", [(2, 3)], "operand 0 has 2 dimensions, but 1 subscripts and no ellipsis"),
        ("ij,jk", [(2, 3)], "the equation has 2 operands, but 1 were given"),
        ("ij,jk", [(2, 3), (4, 5)], "operand 1 has size 4 for subscript j"),
        ("ii", [(2, 3)], "subscript i is repeated in operand 0 for sizes 2 and 3"),
        ("i1", [(2, 3)], "'1' in 'i1' is no subscript"),
        ("...i...", [(2, 3)], "is no subscript"),
    ],
)
def test_wrong_equations_are_refused(equation, shapes, message):
    with pytest.raises(RuntimeError, match=message):
        facula.einsum(equation, *(facula.ones(*s) for s in shapes))


@st.composite
def contractions(draw):
    """An equation and arrays for it: letters may repeat in a term, and an ellipsis broadcasts."""
    sizes = {letter: 2 + i % 3 for i, letter in enumerate("abcd")}
    hidden = draw(st.lists(st.integers(1, 3), max_size=2))
    terms, arrays = [], []
    for i in range(draw(st.integers(1, 3))):
        term = draw(st.lists(st.sampled_from("abcd"), max_size=3))
        shape = [sizes[letter] for letter in term]
        if draw(st.booleans()):
            place, n_hidden = draw(st.integers(0, len(term))), draw(st.integers(0, len(hidden)))
            outer = hidden[len(hidden) - n_hidden :]
            shape[place:place] = [draw(st.sampled_from([1, n])) for n in outer]
            term.insert(place, "...")
        terms.append("".join(term))
        arrays.append(np.random.default_rng(i).integers(-4, 5, shape).astype(np.float64))
    equation = ",".join(terms)
    letters = sorted(set(equation) - set(".,"))
    if draw(st.booleans()) or "..." in equation:
        result = draw(st.permutations(letters))[: draw(st.integers(0, len(letters)))]
        # NumPy does not sum over what an ellipsis stands for.
        result.insert(draw(st.integers(0, len(result))), "..." if "..." in equation else "")
        equation += "->" + "".join(result)
    return equation, arrays


@hypothesis.settings(max_examples=300, deadline=None)
@hypothesis.given(contractions())
def test_random_equations_agree_with_numpy(case):
    equation, arrays = case
    actual = facula.einsum(equation, *(facula.from_numpy(a) for a in arrays))
    expected = np.einsum(equation, *arrays)
    assert actual.shape == expected.shape
    np.testing.assert_array_equal(actual.numpy(), expected)  # small integers: exact


@pytest.mark.parametrize(
    "equation, strides",
    [("ij,jk->ik", (4, 1)), ("ij,jk->ki", (2, 1)), ("i,j->ji", (2, 1)), ("ijk->ki", (2, 1))],
)
def test_einsum_computes_in_the_order_of_its_result(equation, strides):
    terms = equation.partition("->")[0].split(",")
    operands = [facula.ones(["ijk".index(label) + 2 for label in term]) for term in terms]
    assert facula.einsum(equation, *operands).stride() == strides
