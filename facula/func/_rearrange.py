"""Dimensions named, split, joined and reordered by a pattern."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from facula import _core
from facula._core import Tensor

__all__ = ["functionalize", "rearrange"]

_ELLIPSIS = "..."


def rearrange(tensor: Tensor | Sequence[Tensor], pattern: str, **axes_lengths: int) -> Tensor:
    """Reorder, split and join dimensions, which a pattern gives names.

    Args:
        tensor: the tensor, or a sequence of tensors, which are stacked first.
        pattern: names of the dimensions before and after ``->``; names in brackets are one
            dimension, ``...`` stands for any number of them, and 1 for one of size 1.
        axes_lengths: the sizes of names in brackets; one of each pair of brackets is found out.

    Example:
        >>> images = facula.zeros(32, 30, 40, 3)
        >>> facula.func.rearrange(images, "b h w c -> b c h w").shape
        torch.Size([32, 3, 30, 40])
        >>> facula.func.rearrange(images, "b (h h2) (w w2) c -> b h w (c h2 w2)", h2=2, w2=2).shape
        torch.Size([32, 15, 20, 12])
    """
    if not isinstance(tensor, Tensor):
        tensor = _core.stack(list(tensor))
    left, right = _sides(pattern)
    names = [name for group in left for name in group]
    wanted = [name for group in right for name in group]
    _check_names(pattern, names, wanted, axes_lengths)
    sizes = _sizes(pattern, left, tuple(tensor.shape), axes_lengths)
    # Sizes of 1 come and go: they are no names, and take no part in the order.
    whole = tensor.reshape([n for name in names if name != "1" for n in sizes[name]])
    places: dict[str, list[int]] = {}
    start = 0
    for name in (name for name in names if name != "1"):
        places[name] = list(range(start, start + len(sizes[name])))
        start += len(sizes[name])
    order = [place for name in wanted if name != "1" for place in places[name]]
    shape: list[int] = []
    for group in right:
        if group == [_ELLIPSIS]:
            shape += sizes[_ELLIPSIS]
        else:
            shape.append(math.prod(n for name in group if name != "1" for n in sizes[name]))
    return whole.permute(order).reshape(shape)


def _sides(pattern: str) -> tuple[list[list[str]], list[list[str]]]:
    if pattern.count("->") != 1:
        raise ValueError(f"rearrange: expected a pattern with one '->', got {pattern!r}.")
    left, right = (_groups(pattern, side) for side in pattern.split("->"))
    return left, right


def _groups(pattern: str, side: str) -> list[list[str]]:
    """The dimensions of a side, each with the names that it is made of."""
    tokens = re.findall(r"\.\.\.|\w+|\(|\)|\S", side)
    groups: list[list[str]] = []
    is_open = False
    for token in tokens:
        if token == "(":
            if is_open:
                raise ValueError(f"rearrange: brackets inside of brackets in {pattern!r}.")
            is_open = True
            groups.append([])
        elif token == ")":
            if not is_open:
                raise ValueError(f"rearrange: a bracket is closed but not opened in {pattern!r}.")
            is_open = False
        elif token == _ELLIPSIS or token == "1" or token.isidentifier():
            if is_open:
                groups[-1].append(token)
            else:
                groups.append([token])
        else:
            raise ValueError(f"rearrange: {token!r} is no name of a dimension, in {pattern!r}.")
    if is_open:
        raise ValueError(f"rearrange: a bracket is opened but not closed in {pattern!r}.")
    return groups


def _sizes(
    pattern: str, left: list[list[str]], shape: tuple[int, ...], known: dict[str, int]
) -> dict[str, list[int]]:
    """The size of each name; of the ellipsis all that it stands for."""
    sizes: dict[str, list[int]] = {name: [n] for name, n in known.items()}
    has_ellipsis = [_ELLIPSIS] in left
    n_rest = len(shape) - len(left) + has_ellipsis
    if n_rest < 0 or (n_rest > 0 and not has_ellipsis):
        raise ValueError(
            f"rearrange: {pattern!r} names {len(left)} dimensions, but the tensor has "
            f"{len(shape)}: {shape}."
        )
    at = 0
    for group in left:
        if group == [_ELLIPSIS]:
            sizes[_ELLIPSIS] = list(shape[at : at + n_rest])
            at += n_rest
            continue
        size, open_names = shape[at], [n for n in group if n != "1" and n not in sizes]
        at += 1
        fixed = math.prod(sizes[n][0] for n in group if n != "1" and n in sizes)
        if len(open_names) > 1:
            raise ValueError(
                f"rearrange: the sizes of {open_names} in {pattern!r} are not known: give all but "
                "one."
            )
        if open_names:
            if fixed == 0 or size % fixed:
                raise ValueError(
                    f"rearrange: a dimension of {size} cannot be split into pieces of {fixed}, in "
                    f"{pattern!r}."
                )
            sizes[open_names[0]] = [size // fixed]
        elif fixed != size:
            raise ValueError(
                f"rearrange: a dimension of {size} has the size {fixed} in {pattern!r}."
            )
    return sizes


def _check_names(pattern: str, names: list[str], wanted: list[str], known: dict[str, Any]) -> None:
    for side in (names, wanted):
        own = [name for name in side if name != "1"]
        if len(set(own)) != len(own):
            raise ValueError(f"rearrange: a name is used twice on one side of {pattern!r}.")
    lost = {name for name in names if name != "1"} ^ {name for name in wanted if name != "1"}
    if lost:
        raise ValueError(
            f"rearrange: {sorted(lost)} are on one side of {pattern!r} only: nothing is summed or "
            "repeated."
        )
    unknown = set(known) - set(names)
    if unknown:
        raise ValueError(f"rearrange: {sorted(unknown)} are no names in {pattern!r}.")


def functionalize(func: Any, *, remove: str = "mutations") -> Any:
    """A function without changes in place, for those who record its operations: the function.

    Tensors that are changed in place give the same results here, recorded or not: there is no
    other form of an operation to replace them with.

    Args:
        func: the function.
        remove: ``"mutations"`` or ``"mutations_and_views"``.

    Example:
        >>> facula.func.functionalize(lambda x: x.clone().add_(1))(facula.ones(2))
        tensor([2., 2.])
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            f"functionalize: expected remove='mutations' or 'mutations_and_views', got {remove!r}."
        )
    return func
