"""Borders around the input."""

from __future__ import annotations

from typing import ClassVar

from facula._core import Tensor
from facula.nn import functional as F
from facula.nn.modules.module import Module
from facula.nn.modules.utils import _ntuple

__all__ = [
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
]

_Size = int | tuple[int, ...]


class _PadNd(Module):
    """The base of all layers: a class says how many dimensions it pads, and how."""

    __constants__: tuple[str, ...] = ("padding",)
    _n_dims: ClassVar[int]
    _mode: ClassVar[str]
    padding: tuple[int, ...]

    def __init__(self, padding: _Size) -> None:
        super().__init__()
        self.padding = _ntuple(2 * self._n_dims)(padding)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _CircularPadNd(_PadNd):
    _mode = "circular"

    def forward(self, input: Tensor) -> Tensor:
        n_dims = self._n_dims
        if input.dim() not in (n_dims + 1, n_dims + 2):
            raise ValueError(
                f"{type(self).__name__}: expected an input of {n_dims + 1} or {n_dims + 2} "
                f"dimensions, got {tuple(input.shape)}."
            )
        return super().forward(input)


class _ConstantPadNd(_PadNd):
    __constants__ = ("padding", "value")

    def __init__(self, padding: _Size, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class _ReflectionPadNd(_PadNd):
    _mode = "reflect"


class _ReplicationPadNd(_PadNd):
    _mode = "replicate"


class CircularPad1d(_CircularPadNd):
    """Extend the last dimension by the elements from the other end.

    Args:
        padding: how many elements to add (before, after), or one number for both.

    Shape:
        input ``(N, C, L)`` or ``(C, L)``.

    Example:
        >>> facula.nn.CircularPad1d(1)(facula.arange(3.0).reshape(1, 3))
        tensor([[2., 0., 1., 2., 0.]])
    """

    _n_dims = 1


class CircularPad2d(_CircularPadNd):
    """Extend the last two dimensions by the elements from the other end.

    Args:
        padding: how many elements to add (before, after), the last dimension first, or one number
            for all.

    Shape:
        input ``(N, C, H, W)`` or ``(C, H, W)``.

    Example:
        >>> facula.nn.CircularPad2d((1, 0, 0, 1))(facula.arange(4.0).reshape(1, 2, 2))
        tensor([[[1., 0., 1.],
                 [3., 2., 3.],
                 [1., 0., 1.]]])
    """

    _n_dims = 2


class CircularPad3d(_CircularPadNd):
    """Extend the last three dimensions by the elements from the other end.

    Args:
        padding: how many elements to add (before, after), the last dimension first, or one number
            for all.

    Shape:
        input ``(N, C, D, H, W)`` or ``(C, D, H, W)``.

    Example:
        >>> facula.nn.CircularPad3d((1, 0, 0, 1, 0, 0))(facula.arange(4.0).reshape(1, 1, 2, 2))
        tensor([[[[1., 0., 1.],
                  [3., 2., 3.],
                  [1., 0., 1.]]]])
    """

    _n_dims = 3


class ConstantPad1d(_ConstantPadNd):
    """Extend the last dimension by one value.

    Args:
        padding: how many elements to add (before, after), or one number for both.
        value: what the border is filled with.

    Shape:
        input ``(N, C, L)`` or ``(C, L)`` for example.

    Example:
        >>> facula.nn.ConstantPad1d(1, 3.5)(facula.arange(3.0).reshape(1, 3))
        tensor([[3.5000, 0.0000, 1.0000, 2.0000, 3.5000]])
    """

    _n_dims = 1


class ConstantPad2d(_ConstantPadNd):
    """Extend the last two dimensions by one value.

    Args:
        padding: how many elements to add (before, after), the last dimension first, or one number
            for all.
        value: what the border is filled with.

    Shape:
        input ``(N, C, H, W)`` or ``(C, H, W)`` for example.

    Example:
        >>> facula.nn.ConstantPad2d((1, 0, 0, 1), 3.5)(facula.arange(4.0).reshape(1, 2, 2))
        tensor([[[3.5000, 0.0000, 1.0000],
                 [3.5000, 2.0000, 3.0000],
                 [3.5000, 3.5000, 3.5000]]])
    """

    _n_dims = 2


class ConstantPad3d(_ConstantPadNd):
    """Extend the last three dimensions by one value.

    Args:
        padding: how many elements to add (before, after), the last dimension first, or one number
            for all.
        value: what the border is filled with.

    Shape:
        input ``(N, C, D, H, W)`` or ``(C, D, H, W)`` for example.

    Example:
        >>> facula.nn.ConstantPad3d((1, 0, 0, 1, 0, 0), 3.5)(facula.arange(4.0).reshape(1, 1, 2, 2))
        tensor([[[[3.5000, 0.0000, 1.0000],
                  [3.5000, 2.0000, 3.0000],
                  [3.5000, 3.5000, 3.5000]]]])
    """

    _n_dims = 3


class ReflectionPad1d(_ReflectionPadNd):
    """Extend the last dimension by its reflection; the edge is not repeated.

    Args:
        padding: how many elements to add (before, after), or one number for both.

    Shape:
        input ``(N, C, L)`` or ``(C, L)``.

    Example:
        >>> facula.nn.ReflectionPad1d(1)(facula.arange(3.0).reshape(1, 3))
        tensor([[1., 0., 1., 2., 1.]])
    """

    _n_dims = 1


class ReflectionPad2d(_ReflectionPadNd):
    """Extend the last two dimensions by their reflection; the edge is not repeated.

    Args:
        padding: how many elements to add (before, after), the last dimension first, or one number
            for all.

    Shape:
        input ``(N, C, H, W)`` or ``(C, H, W)``.

    Example:
        >>> facula.nn.ReflectionPad2d((1, 0, 0, 1))(facula.arange(4.0).reshape(1, 2, 2))
        tensor([[[1., 0., 1.],
                 [3., 2., 3.],
                 [1., 0., 1.]]])
    """

    _n_dims = 2


class ReflectionPad3d(_ReflectionPadNd):
    """Extend the last three dimensions by their reflection; the edge is not repeated.

    Args:
        padding: how many elements to add (before, after), the last dimension first, or one number
            for all.

    Shape:
        input ``(N, C, D, H, W)`` or ``(C, D, H, W)``.

    Example:
        >>> facula.nn.ReflectionPad3d((1, 0, 0, 1, 0, 0))(facula.arange(4.0).reshape(1, 1, 2, 2))
        tensor([[[[1., 0., 1.],
                  [3., 2., 3.],
                  [1., 0., 1.]]]])
    """

    _n_dims = 3


class ReplicationPad1d(_ReplicationPadNd):
    """Extend the last dimension by copies of the edge.

    Args:
        padding: how many elements to add (before, after), or one number for both.

    Shape:
        input ``(N, C, L)`` or ``(C, L)``.

    Example:
        >>> facula.nn.ReplicationPad1d(1)(facula.arange(3.0).reshape(1, 3))
        tensor([[0., 0., 1., 2., 2.]])
    """

    _n_dims = 1


class ReplicationPad2d(_ReplicationPadNd):
    """Extend the last two dimensions by copies of the edge.

    Args:
        padding: how many elements to add (before, after), the last dimension first, or one number
            for all.

    Shape:
        input ``(N, C, H, W)`` or ``(C, H, W)``.

    Example:
        >>> facula.nn.ReplicationPad2d((1, 0, 0, 1))(facula.arange(4.0).reshape(1, 2, 2))
        tensor([[[0., 0., 1.],
                 [2., 2., 3.],
                 [2., 2., 3.]]])
    """

    _n_dims = 2


class ReplicationPad3d(_ReplicationPadNd):
    """Extend the last three dimensions by copies of the edge.

    Args:
        padding: how many elements to add (before, after), the last dimension first, or one number
            for all.

    Shape:
        input ``(N, C, D, H, W)`` or ``(C, D, H, W)``.

    Example:
        >>> facula.nn.ReplicationPad3d((1, 0, 0, 1, 0, 0))(facula.arange(4.0).reshape(1, 1, 2, 2))
        tensor([[[[0., 0., 1.],
                  [2., 2., 3.],
                  [2., 2., 3.]]]])
    """

    _n_dims = 3


class ZeroPad1d(ConstantPad1d):
    """Extend the last dimension by zeros.

    Args:
        padding: how many elements to add (before, after), or one number for both.

    Shape:
        input ``(N, C, L)`` or ``(C, L)`` for example.

    Example:
        >>> facula.nn.ZeroPad1d(1)(facula.arange(3.0).reshape(1, 3))
        tensor([[0., 0., 1., 2., 0.]])
    """

    def __init__(self, padding: _Size) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad2d(ConstantPad2d):
    """Extend the last two dimensions by zeros.

    Args:
        padding: how many elements to add (before, after), the last dimension first, or one number
            for all.

    Shape:
        input ``(N, C, H, W)`` or ``(C, H, W)`` for example.

    Example:
        >>> facula.nn.ZeroPad2d((1, 0, 0, 1))(facula.arange(4.0).reshape(1, 2, 2))
        tensor([[[0., 0., 1.],
                 [0., 2., 3.],
                 [0., 0., 0.]]])
    """

    def __init__(self, padding: _Size) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad3d(ConstantPad3d):
    """Extend the last three dimensions by zeros.

    Args:
        padding: how many elements to add (before, after), the last dimension first, or one number
            for all.

    Shape:
        input ``(N, C, D, H, W)`` or ``(C, D, H, W)`` for example.

    Example:
        >>> facula.nn.ZeroPad3d((1, 0, 0, 1, 0, 0))(facula.arange(4.0).reshape(1, 1, 2, 2))
        tensor([[[[0., 0., 1.],
                  [0., 2., 3.],
                  [0., 0., 0.]]]])
    """

    def __init__(self, padding: _Size) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"
