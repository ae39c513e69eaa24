"""Forward mode: values that carry tangents, as :mod:`torch.autograd.forward_ad`."""

from __future__ import annotations

from typing import Any, NamedTuple

from facula import _core
from facula._core import Tensor

__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "unpack_dual",
]


class UnpackedDualTensor(NamedTuple):
    """The value of a dual tensor and its tangent, which is None for an ordinary tensor."""

    primal: Tensor
    tangent: Tensor | None


def _levels() -> list[Any]:
    """The dual levels of this thread, the innermost last."""
    return [level for level in _core._transforms() if getattr(level, "is_dual_level", False)]


def enter_dual_level() -> int:
    """Begin a level of forward mode, and return its number.

    Example:
        >>> facula.autograd.forward_ad.enter_dual_level()
        0
        >>> facula.autograd.forward_ad.exit_dual_level()
    """
    from facula.func._forward import Forward  # which imports autograd

    if _levels():
        raise RuntimeError(
            "Nested forward mode AD is not supported at the moment: a dual level is active. Use "
            "func.jvp, which nests."
        )
    level = Forward()
    level.is_dual_level = True
    level.__enter__()
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """End a level of forward mode; its tangents are gone.

    Args:
        level: the number of the level, which must be the current one; by default that.

    Example:
        >>> level = facula.autograd.forward_ad.enter_dual_level()
        >>> facula.autograd.forward_ad.exit_dual_level(level=level)
    """
    levels = _levels()
    if not levels:
        raise RuntimeError("Trying to exit a forward AD level when no level is currently active.")
    if level is not None and level != len(levels) - 1:
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is "
            "not supported."
        )
    levels[-1].__exit__()
    levels[-1].close()


def _current(name: str, level: int | None) -> Any:
    levels = _levels()
    if not levels or (level is not None and not 0 <= level < len(levels)):
        raise RuntimeError(
            f"{name}: Trying to create a dual Tensor for forward AD but no level exists, make sure "
            "to enter_dual_level() first."
        )
    return levels[-1 if level is None else level]


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """The tensor with a tangent, which operations inside of the level carry on.

    Args:
        tensor: the value.
        tangent: the direction in which derivatives are taken, of the same shape and dtype.
        level: the number of the level; by default the current one.

    Example:
        >>> import facula.autograd.forward_ad as fwAD
        >>> with fwAD.dual_level():
        ...     x = fwAD.make_dual(facula.tensor(3.0), facula.tensor(1.0))
        ...     fwAD.unpack_dual(x * x).tangent
        tensor(6.)
    """
    current = _current("make_dual", level)
    for name, value in (("tensor", tensor), ("tangent", tangent)):
        if not isinstance(value, Tensor):
            raise TypeError(
                f"make_dual: expected {name} to be a tensor, got {type(value).__name__}."
            )
        if not (value.is_floating_point() or value.is_complex()):
            raise ValueError(
                f"Expected {name} to be floating point or complex, but got: {value.dtype}"
            )
    if tensor.shape != tangent.shape or tensor.dtype is not tangent.dtype:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original "
            f"Tensor, this is not supported: make_dual: a tangent {tangent.dtype} "
            f"{tuple(tangent.shape)} for a tensor {tensor.dtype} {tuple(tensor.shape)}."
        )
    dual: Tensor = current.dual(tensor, tangent)
    return dual


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The value and the tangent of a tensor; the tangent of an ordinary one is None.

    Args:
        tensor: a dual tensor, or an ordinary one.
        level: the number of the level; by default the current one.

    Example:
        >>> import facula.autograd.forward_ad as fwAD
        >>> with fwAD.dual_level():
        ...     fwAD.unpack_dual(facula.tensor(3.0)).tangent is None
        True
    """
    if not _levels() and level is None:
        return UnpackedDualTensor(tensor, None)
    current = _current("unpack_dual", level)
    tangent = current.tangent(tensor)
    if tangent is None:
        return UnpackedDualTensor(tensor, None)
    primal = tensor.view_as(tensor)
    current.set_tangent(primal, None)
    return UnpackedDualTensor(primal, tangent)


class dual_level:
    """A context in which :func:`make_dual` gives tensors tangents.

    Example:
        >>> import facula.autograd.forward_ad as fwAD
        >>> with fwAD.dual_level():
        ...     x = fwAD.make_dual(facula.tensor(0.0), facula.tensor(2.0))
        ...     fwAD.unpack_dual(x.sin()).tangent
        tensor(2.)
    """

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *error: object) -> None:
        exit_dual_level()
