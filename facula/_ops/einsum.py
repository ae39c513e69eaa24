"""Einstein summation.

Labels are ints: 0 to 25 for A to Z, 26 to 51 for a to z (the order in which an implicit output
lists them), and from 52 on the dimensions under an ellipsis.
"""

from __future__ import annotations

import functools
import math
from typing import Any

from facula import _core
from facula._core import Tensor
from facula._ops._mark import operation

_N_LETTERS = 52
_ELLIPSIS = -1

_Labels = list[int]


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
    n_ellipsis = max(map(_ellipsis_size, inputs, operands, range(len(operands))))
    labels = [_numbered(i, x.dim(), n_ellipsis) for i, x in zip(inputs, operands, strict=True)]
    result_labels = _output_labels(labels, output, n_ellipsis)
    tensors = []
    for index, x in enumerate(operands):
        labels[index], x = _diagonals(labels[index], x, index)
        tensors.append(x)
    _check_sizes(labels, tensors)
    return _contract(labels, tensors, result_labels)


def _parse_call(args: tuple[Any, ...]) -> tuple[list[_Labels], _Labels | None, list[Tensor]]:
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
        return [_sublist(s) for s in pairs[1::2]], output, list(pairs[::2])
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
    return labels


@functools.lru_cache(maxsize=256)
def _parse_equation(equation: str) -> tuple[list[_Labels], _Labels | None]:
    left, arrow, right = equation.replace(" ", "").partition("->")
    inputs = [_parse_term(term, equation) for term in left.split(",")]
    return inputs, _parse_term(right, equation) if arrow else None


def _parse_term(term: str, equation: str) -> _Labels:
    labels: _Labels = []
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
    return labels


def _letter(label: int) -> str:
    if label >= _N_LETTERS:
        return "..."
    return chr(label + ord("A")) if label < 26 else chr(label - 26 + ord("a"))


def _ellipsis_size(labels: _Labels, x: Tensor, index: int) -> int:
    n_named = len(labels) - labels.count(_ELLIPSIS)
    n_rest = int(x.dim()) - n_named
    if n_rest < 0 or (n_rest > 0 and _ELLIPSIS not in labels):
        raise RuntimeError(
            f"einsum: operand {index} has {x.dim()} dimensions, but {n_named} subscripts"
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
    return [*labels[:start], *hidden, *labels[start + 1 :]]


def _output_labels(inputs: list[_Labels], output: _Labels | None, n_ellipsis: int) -> _Labels:
    seen = [label for labels in inputs for label in labels]
    hidden = list(range(_N_LETTERS, _N_LETTERS + n_ellipsis))
    if output is None:
        return hidden + sorted(x for x in set(seen) if x < _N_LETTERS and seen.count(x) == 1)
    result: _Labels = []
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
    return result


def _diagonals(labels: _Labels, x: Tensor, index: int) -> tuple[_Labels, Tensor]:
    """Merge repeated labels of one operand; the merged dimension goes to the end."""
    if len(set(labels)) == len(labels):
        return labels, x
    labels = list(labels)
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            if x.size(first) != x.size(second):
                raise RuntimeError(
                    f"einsum: subscript {_letter(label)} is repeated in operand {index} for "
                    f"sizes {x.size(first)} and {x.size(second)}, which must be equal."
                )
            x = x.diagonal(0, first, second)
            del labels[second], labels[first]
            labels.append(label)
    return labels, x


def _check_sizes(inputs: list[_Labels], operands: list[Tensor]) -> None:
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


def _contract(inputs: list[_Labels], operands: list[Tensor], output: _Labels) -> Tensor:
    labels, x = inputs[0], operands[0]
    for step in range(1, len(operands)):
        needed = set(output).union(*inputs[step + 1 :])
        labels, x = _contract_pair(labels, x, inputs[step], operands[step], needed)
    labels, x = _sum_out(labels, x, [label for label in labels if label not in output])
    return x.permute([labels.index(label) for label in output])


def _sum_out(labels: _Labels, x: Tensor, gone: _Labels) -> tuple[_Labels, Tensor]:
    if not gone:
        return labels, x
    dims = [labels.index(label) for label in gone]
    return [label for label in labels if label not in gone], x.sum(dims)


def _contract_pair(
    a_labels: _Labels, a: Tensor, b_labels: _Labels, b: Tensor, needed: set[int]
) -> tuple[_Labels, Tensor]:
    a_labels, a = _sum_out(
        a_labels, a, [x for x in a_labels if x not in b_labels and x not in needed]
    )
    b_labels, b = _sum_out(
        b_labels, b, [x for x in b_labels if x not in a_labels and x not in needed]
    )
    batch = [x for x in a_labels if x in b_labels and x in needed]
    inner = [x for x in a_labels if x in b_labels and x not in needed]
    # A size of 1 against n: the sum over n is taken first, and nothing has to be expanded.
    for label in inner:
        a_dim, b_dim = a_labels.index(label), b_labels.index(label)
        if a.size(a_dim) != b.size(b_dim):
            a, b = a.sum(a_dim, keepdim=True), b.sum(b_dim, keepdim=True)
    a_only = [x for x in a_labels if x not in b_labels]
    b_only = [x for x in b_labels if x not in a_labels]
    a = a.permute([a_labels.index(x) for x in batch + a_only + inner])
    b = b.permute([b_labels.index(x) for x in batch + inner + b_only])
    return batch + a_only + b_only, _batched_product(a, b, len(batch), len(inner))


def _batched_product(a: Tensor, b: Tensor, n_batch: int, n_inner: int) -> Tensor:
    """``a`` of dims (batch, rows, inner) times ``b`` of dims (batch, inner, columns)."""
    a_shape, b_shape = tuple(a.shape), tuple(b.shape)
    n_rows = len(a_shape) - n_batch - n_inner
    rows = a_shape[n_batch : n_batch + n_rows]
    columns = b_shape[n_batch + n_inner :]
    if n_inner == 0:
        return a.reshape(a_shape + (1,) * len(columns)) * b.reshape(
            b_shape[:n_batch] + (1,) * n_rows + columns
        )
    batch = tuple(
        x if y == 1 else y for x, y in zip(a_shape[:n_batch], b_shape[:n_batch], strict=True)
    )
    inner = math.prod(a_shape[n_batch + n_rows :])
    a = a.expand(batch + a_shape[n_batch:]).reshape(math.prod(batch), math.prod(rows), inner)
    b = b.expand(batch + b_shape[n_batch:]).reshape(math.prod(batch), inner, math.prod(columns))
    product: Tensor = _core.bmm(a, b)
    return product.reshape(batch + rows + columns)
