"""The ``out=`` argument of operations written in Python."""

from __future__ import annotations

import warnings

from facula import _core
from facula._core import Tensor


def into(name: str, out: Tensor | None, result: Tensor) -> Tensor:
    """The result itself, or ``out`` with the result in it, resized where it has another shape."""
    if out is None:
        return result
    if _core.is_grad_enabled() and (out.requires_grad or result.requires_grad):
        raise RuntimeError(
            f"{name}: out= takes no part in differentiation, but one of the arguments requires "
            "grad. Leave out= away, or use no_grad()."
        )
    if not _core.can_cast(result.dtype, out.dtype):
        raise RuntimeError(
            f"{name}: the result is {result.dtype} and cannot be stored in out of {out.dtype}."
        )
    if out.device != result.device:
        raise RuntimeError(f"{name}: the result is on {result.device}, but out on {out.device}.")
    if out.shape != result.shape:
        if out.numel() != 0:
            warnings.warn(
                f"{name}: out of shape {tuple(out.shape)} is resized to {tuple(result.shape)}. "
                "Pass an empty tensor, or one of the right shape.",
                stacklevel=3,
            )
        out.resize_(result.shape)
    return out.copy_(result)
