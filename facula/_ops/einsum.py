"""Einstein summation.

Labels are ints: 0 to 25 for A to Z, 26 to 51 for a to z (the order in which an implicit output
lists them), and from 52 on the dimensions under an ellipsis.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

from facula import _core
from facula._core import Tensor
from facula._ops._mark import operation

_N_LETTERS = 52
_ELLIPSIS = -1

_Labels = tuple[int, ...]


@operation
def einsum(*args: Any) -> Tensor:
    """Sum of products of tensors, in Einstein's notation.

    Operands are contracted from left to right, two at a time, through batched matrix products.

    Args:
        args: an equation and the operands, which are tensors. The equation has letters for the
            dimensions of each operand, separated by commas, then optionally ``->`` and the letters
            of the result. A letter absent from the result is summed over; a repeated one takes the
            diagonal; ``...`` stands for any further dimensions. Without ``->`` the result has the
            letters that occur once, in alphabetical order. Instead of an equation each operand may
            be followed by a list of ints, for letters, and ``Ellipsis``, with the list of the
            result last.

    Example:
        >>> x = facula.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> facula.einsum("ij,jk->ik", x, x)
        tensor([[ 7., 10.],
                [15., 22.]])
        >>> facula.einsum("ii", x)
        tensor(5.)
        >>> facula.einsum(x, [0, 1], [1, 0])
        tensor([[1., 3.],
                [2., 4.]])
    """
    inputs, output, operands = _parse_call(args)
    if len(inputs) != len(operands):
        raise RuntimeError(
            f"einsum: the equation has {len(inputs)} operands, but {len(operands)} were given."
        )
    for x in operands:
        if not isinstance(x, Tensor):
            raise TypeError(f"einsum: expected tensors as operands, got {type(x).__name__}.")
    plan = _plan(inputs, output, tuple([x.dim() for x in operands]))
    if plan.diagonals:
        for index, first, second, label in plan.diagonals:
            operands[index] = _diagonal(operands[index], first, second, label, index)
    _check_sizes(plan.labels, operands)
    result = operands[0]
    for pair, x in zip(plan.pairs, operands[1:], strict=True):
        result = _contract_pair(pair, result, x)
    # A single operand that nothing was done to must still not be the result itself.
    if plan.order is not None or not (plan.pairs or plan.gone):
        result = result.permute(plan.order or tuple(range(result.dim())))
    return result.sum(plan.gone) if plan.gone else result


class _Sum(NamedTuple):
    """A sum over the last dimensions, once the others lie in the order of the result."""

    order: _Labels
    dims: _Labels


class _Pair(NamedTuple):
    """How two operands are contracted, by their dimensions."""

    a_gone: _Sum | None  # what is summed over before all else: no other operand has it
    b_gone: _Sum | None
    inner: tuple[tuple[int, int], ...]  # dimensions of both that the product sums over
    a_order: _Labels | None  # None where the dimensions lie as they must: batch, rows, inner
    b_order: _Labels | None  # and batch, inner, columns
    n_batch: int
    is_matrix_product: bool
    a_ones: _Labels  # without inner dimensions: those of the product that the operand has not
    b_ones: _Labels
    is_swapped: bool  # the second operand has the rows, and the first the columns


class _Plan(NamedTuple):
    """All that follows from the labels and the numbers of dimensions alone."""

    labels: tuple[_Labels, ...]
    diagonals: tuple[tuple[int, int, int, int], ...]  # operand, first and second dimension, label
    pairs: tuple[_Pair, ...]
    order: _Labels | None  # of the dimensions at the end, those of the result first
    gone: _Labels  # the others, which are summed over


# Programs call einsum with few equations, and many times with each.
@functools.lru_cache(maxsize=256)
def _plan(inputs: tuple[_Labels, ...], output: _Labels | None, n_dims: tuple[int, ...]) -> _Plan:
    n_ellipsis = max(map(_ellipsis_size, inputs, n_dims, range(len(n_dims))))
    labels = [_numbered(i, n, n_ellipsis) for i, n in zip(inputs, n_dims, strict=True)]
    result = _output_labels(labels, output, n_ellipsis)
    diagonals: list[tuple[int, int, int, int]] = []
    for index, of_operand in enumerate(labels):
        labels[index] = _diagonals(of_operand, index, diagonals)
    pairs = []
    current = labels[0]
    # Dimensions lie in memory in the order that the result has them in.
    rest = sorted({label for of_operand in labels for label in of_operand}.difference(result))
    place = {label: i for i, label in enumerate((*result, *rest))}
    for step in range(1, len(labels)):
        needed = set(result).union(*labels[step + 1 :])
        a, b = current, labels[step]
        is_swapped = _is_reversed(a, b, needed, place)
        pair, current = _plan_pair(*((b, a) if is_swapped else (a, b)), needed, place)
        pairs.append(pair._replace(is_swapped=is_swapped))
    wanted = [*result, *(label for label in current if label not in result)]
    return _Plan(
        tuple(labels),
        tuple(diagonals),
        tuple(pairs),
        _order(current, wanted),
        tuple(range(len(result), len(wanted))),
    )


def _is_reversed(a: _Labels, b: _Labels, needed: set[int], place: dict[int, int]) -> bool:
    """Whether all dimensions that a has not come before those that b has not: the product of both
    transposed then has its elements where the result wants them."""
    a_only = [place[label] for label in a if label not in b and label in needed]
    others = [i for label, i in place.items() if label not in a or label not in needed.union(b)]
    b_only = any(label in needed for label in b if label not in a)
    return bool(a_only) and b_only and max(others) < min(a_only)


def _plan_pair(
    a: _Labels, b: _Labels, needed: set[int], place: dict[int, int]
) -> tuple[_Pair, _Labels]:
    a_gone, a_left = _plan_sum(a, needed.union(b), place)
    b_gone, b_left = _plan_sum(b, needed.union(a), place)
    a, b = a_left, b_left
    batch = sorted((label for label in a if label in b and label in needed), key=place.__getitem__)
    inner = sorted(label for label in a if label in b and label not in needed)
    a_only = sorted((label for label in a if label not in b), key=place.__getitem__)
    b_only = sorted((label for label in b if label not in a), key=place.__getitem__)
    if inner:
        both, a_wanted, b_wanted = (
            batch + a_only + b_only,
            batch + a_only + inner,
            batch + inner + b_only,
        )
    else:
        both = sorted({*a, *b}, key=place.__getitem__)
        a_wanted = [label for label in both if label in a]
        b_wanted = [label for label in both if label in b]
    pair = _Pair(
        a_gone,
        b_gone,
        tuple((a.index(label), b.index(label)) for label in inner),
        _order(a, a_wanted),
        _order(b, b_wanted),
        len(batch),
        not batch and len(a_only) == len(inner) == len(b_only) == 1,
        tuple(i for i, label in enumerate(both) if label not in a),
        tuple(i for i, label in enumerate(both) if label not in b),
        False,
    )
    return pair, tuple(both)


def _plan_sum(
    labels: _Labels, needed: set[int], place: dict[int, int]
) -> tuple[_Sum | None, _Labels]:
    left = [label for label in labels if label in needed]
    if len(left) == len(labels):
        return None, labels
    left.sort(key=place.__getitem__)
    gone = [label for label in labels if label not in needed]
    order = tuple(map(labels.index, left + gone))
    return _Sum(order, tuple(range(len(left), len(order)))), tuple(left)


def _order(labels: _Labels, wanted: list[int]) -> _Labels | None:
    return None if tuple(wanted) == labels else tuple(map(labels.index, wanted))


def _parse_call(
    args: tuple[Any, ...],
) -> tuple[tuple[_Labels, ...], _Labels | None, list[Tensor]]:
    if len(args) < 2:
        raise ValueError("einsum: expected an equation and at least one operand.")
    if isinstance(args[0], str):
        operands = args[1:]
        if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
            operands = tuple(operands[0])
        inputs, output = _parse_equation(args[0])
        return inputs, output, list(operands)
    if isinstance(args[0], Tensor):
        has_output = len(args) % 2 == 1
        output = _sublist(args[-1]) if has_output else None
        pairs = args[:-1] if has_output else args
        return tuple(map(_sublist, pairs[1::2])), output, list(pairs[::2])
    raise TypeError(
        f"einsum: expected an equation or a tensor first, got {type(args[0]).__name__}."
    )


def _sublist(items: Any) -> _Labels:
    labels = []
    for item in items:
        if item is Ellipsis:
            labels.append(_ELLIPSIS)
        elif isinstance(item, int) and 0 <= item < _N_LETTERS:
            labels.append(item)
        else:
            raise ValueError(f"einsum: expected subscripts of 0 to 51 or Ellipsis, got {item!r}.")
    return tuple(labels)


@functools.lru_cache(maxsize=256)
def _parse_equation(equation: str) -> tuple[tuple[_Labels, ...], _Labels | None]:
    left, arrow, right = equation.replace(" ", "").partition("->")
    inputs = tuple([_parse_term(term, equation) for term in left.split(",")])
    return inputs, _parse_term(right, equation) if arrow else None


def _parse_term(term: str, equation: str) -> _Labels:
    labels = []
    head, dots, tail = term.partition("...")
    for part in (head, tail):
        for letter in part:
            if not ("a" <= letter <= "z" or "A" <= letter <= "Z"):
                raise RuntimeError(
                    f"einsum: {letter!r} in {equation!r} is no subscript; those are letters, with "
                    "one ... in each term."
                )
            labels.append(ord(letter) - (ord("a") - 26 if letter >= "a" else ord("A")))
        if dots and part is head:
            labels.append(_ELLIPSIS)
            dots = ""
    return tuple(labels)


def _letter(label: int) -> str:
    if label >= _N_LETTERS:
        return "..."
    return chr(label + ord("A")) if label < 26 else chr(label - 26 + ord("a"))


def _ellipsis_size(labels: _Labels, n_dims: int, index: int) -> int:
    n_named = len(labels) - labels.count(_ELLIPSIS)
    n_rest = n_dims - n_named
    if n_rest < 0 or (n_rest > 0 and _ELLIPSIS not in labels):
        raise RuntimeError(
            f"einsum: operand {index} has {n_dims} dimensions, but {n_named} subscripts"
            f"{'' if _ELLIPSIS in labels else ' and no ellipsis'}."
        )
    return n_rest


def _numbered(labels: _Labels, n_dims: int, n_ellipsis: int) -> _Labels:
    """Replace the ellipsis by labels of its own, aligned at the right as in broadcasting."""
    if _ELLIPSIS not in labels:
        return labels
    n_hidden = n_dims - (len(labels) - 1)
    start = labels.index(_ELLIPSIS)
    hidden = range(_N_LETTERS + n_ellipsis - n_hidden, _N_LETTERS + n_ellipsis)
    return (*labels[:start], *hidden, *labels[start + 1 :])


def _output_labels(inputs: list[_Labels], output: _Labels | None, n_ellipsis: int) -> _Labels:
    seen = [label for labels in inputs for label in labels]
    hidden = list(range(_N_LETTERS, _N_LETTERS + n_ellipsis))
    if output is None:
        once = [x for x in set(seen) if x < _N_LETTERS and seen.count(x) == 1]
        return (*hidden, *sorted(once))
    result: list[int] = []
    for label in output:
        if label == _ELLIPSIS:
            result += hidden
            continue
        if label in result:
            raise RuntimeError(f"einsum: subscript {_letter(label)} is twice in the output.")
        if label not in seen:
            raise RuntimeError(
                f"einsum: subscript {_letter(label)} of the output is in no operand."
            )
        result.append(label)
    return tuple(result)


def _diagonals(labels: _Labels, index: int, found: list[tuple[int, int, int, int]]) -> _Labels:
    """Merge repeated labels of one operand; the merged dimension goes to the end."""
    left = list(labels)
    for label in dict.fromkeys(labels):
        while left.count(label) > 1:
            first = left.index(label)
            second = left.index(label, first + 1)
            found.append((index, first, second, label))
            del left[second], left[first]
            left.append(label)
    return tuple(left)


def _diagonal(x: Tensor, first: int, second: int, label: int, index: int) -> Tensor:
    if x.size(first) != x.size(second):
        raise RuntimeError(
            f"einsum: subscript {_letter(label)} is repeated in operand {index} for "
            f"sizes {x.size(first)} and {x.size(second)}, which must be equal."
        )
    return x.diagonal(0, first, second)


def _check_sizes(inputs: tuple[_Labels, ...], operands: list[Tensor]) -> None:
    sizes: dict[int, int] = {}
    for index, (labels, x) in enumerate(zip(inputs, operands, strict=True)):
        for label, size in zip(labels, x.shape, strict=True):
            known = sizes.get(label, 1)
            if size != known and size != 1 and known != 1:
                raise RuntimeError(
                    f"einsum: operand {index} has size {size} for subscript {_letter(label)}, "
                    f"which does not broadcast with the {known} of an earlier operand."
                )
            sizes[label] = max(known, size) if size != 0 and known != 0 else 0


def _contract_pair(pair: _Pair, a: Tensor, b: Tensor) -> Tensor:
    if pair.is_swapped:
        a, b = b, a
    if pair.a_gone is not None:
        a = a.permute(pair.a_gone.order).sum(pair.a_gone.dims)
    if pair.b_gone is not None:
        b = b.permute(pair.b_gone.order).sum(pair.b_gone.dims)
    # A size of 1 against n: the sum over n is taken first, and nothing has to be expanded.
    for a_dim, b_dim in pair.inner:
        if a.size(a_dim) != b.size(b_dim):
            a, b = a.sum(a_dim, keepdim=True), b.sum(b_dim, keepdim=True)
    if pair.a_order is not None:
        a = a.permute(pair.a_order)
    if pair.b_order is not None:
        b = b.permute(pair.b_order)
    if pair.is_matrix_product:
        product = _core.mm(a, b)
        return product.view(product.shape)  # as the batched one: the graph shows PyTorch's node
    if pair.inner:
        return _batched_product(a, b, pair.n_batch, len(pair.inner))
    for dim in pair.a_ones:
        a = a.unsqueeze(dim)
    for dim in pair.b_ones:
        b = b.unsqueeze(dim)
    return a * b


def _batched_product(a: Tensor, b: Tensor, n_batch: int, n_inner: int) -> Tensor:
    """``a`` of dims (batch, rows, inner) times ``b`` of dims (batch, inner, columns)."""
    a_shape, b_shape = tuple(a.shape), tuple(b.shape)
    n_rows = len(a_shape) - n_batch - n_inner
    rows = a_shape[n_batch : n_batch + n_rows]
    columns = b_shape[n_batch + n_inner :]
    batch = tuple(
        x if y == 1 else y for x, y in zip(a_shape[:n_batch], b_shape[:n_batch], strict=True)
    )
    inner = math.prod(a_shape[n_batch + n_rows :])
    a = a.expand(batch + a_shape[n_batch:]).reshape(math.prod(batch), math.prod(rows), inner)
    b = b.expand(batch + b_shape[n_batch:]).reshape(math.prod(batch), inner, math.prod(columns))
    product: Tensor = _core.bmm(a, b)
    return product.reshape(batch + rows + columns)
