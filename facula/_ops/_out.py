"""The ``out=`` argument of operations written in Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from facula import _core, return_types
from facula._core import Tensor
from facula._warnings import warn_user


def into(name: str, out: Tensor | None, result: Tensor) -> Tensor:
    """The result itself, or ``out`` with the result in it, resized where it has another shape."""
    if out is None:
        return result
    check_out(name, out, result)
    if out.shape != result.shape:
        _resize(name, out, result)
    return out.copy_(result)


def into_like(name: str, out: Tensor | None, result: Tensor) -> Tensor:
    """The same; where ``out`` is resized it gets the strides of the result, too."""
    if out is None:
        return result
    check_out(name, out, result)
    if out.shape != result.shape:
        _resize(name, out, result)
        if result.is_contiguous() or result.mT.is_contiguous():
            out.as_strided_(result.shape, result.stride())
    return out.copy_(result)


def into_each(name: str, out: Sequence[Tensor] | None, results: tuple[Tensor, ...]) -> Any:
    """The results as the named tuple of ``return_types``, stored in the tensors of ``out``."""
    if out is not None:
        if isinstance(out, Tensor) or len(out) != len(results):
            raise TypeError(f"{name}: expected a tuple of {len(results)} tensors as out.")
        for one, result in zip(out, results, strict=True):  # all, before one is written to
            check_out(name, one, result)
        results = tuple(into_like(name, o, r) for o, r in zip(out, results, strict=True))
    return getattr(return_types, name.replace(".", "_"))(results)


def check_out(name: str, out: Tensor, result: Tensor) -> None:
    """Raise unless the result may be stored in ``out``."""
    if _core.is_grad_enabled() and (out.requires_grad or result.requires_grad):
        raise RuntimeError(
            f"{name}: out= takes no part in differentiation, but one of the arguments requires "
            "grad. Leave out= away, or use no_grad()."
        )
    _core._check_out_dtype(name, result.dtype, out.dtype)
    if out.device != result.device:
        raise RuntimeError(f"{name}: the result is on {result.device}, but out on {out.device}.")


def _resize(name: str, out: Tensor, result: Tensor) -> None:
    if out.numel() != 0:
        warn_user(
            f"{name}: out of shape {tuple(out.shape)} is resized to {tuple(result.shape)}. "
            "Pass an empty tensor, or one of the right shape.",
        )
    out.resize_(result.shape)
