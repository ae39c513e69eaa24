"""The ``out=`` argument of operations written in Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from facula import _core, return_types
from facula._core import Tensor


def into(name: str, out: Tensor | None, result: Tensor) -> Tensor:
    """The result itself, or ``out`` with the result in it, resized where it has another shape."""
    return result if out is None else _core._into_out(name, result, out)


def named(node: str, result: Tensor) -> Tensor:
    """The result, new, of an operation that was composed of others; its node gets this name."""
    if result.requires_grad:
        _core._name_node(result, node)
    return result


def into_like(name: str, out: Tensor | None, result: Tensor) -> Tensor:
    """The same; where ``out`` is resized it gets the strides of the result, too."""
    if out is not None and out.shape != result.shape:
        _core._check_out(name, result, out)
        _core._resize_out(name, out, result.shape)
        if result.is_contiguous() or result.mT.is_contiguous():
            out.as_strided_(result.shape, result.stride())
    return into(name, out, result)


def into_each(name: str, out: Sequence[Tensor] | None, results: tuple[Tensor, ...]) -> Any:
    """The results as the named tuple of ``return_types``, stored in the tensors of ``out``."""
    if out is not None:
        if isinstance(out, Tensor) or len(out) != len(results):
            raise TypeError(f"{name}: expected a tuple of {len(results)} tensors as out.")
        for one, result in zip(out, results, strict=True):  # all, before one is written to
            _core._check_out(name, result, one)
        results = tuple(into_like(name, o, r) for o, r in zip(out, results, strict=True))
    return getattr(return_types, name.replace(".", "_"))(results)
