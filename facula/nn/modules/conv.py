"""Convolutions: layers that slide the same kernels over every place."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import FunctionType
from typing import Any, ClassVar, TypeVar

import facula
from facula._core import Tensor
from facula.nn import functional as F
from facula.nn import init
from facula.nn.modules.lazy import LazyModuleMixin
from facula.nn.modules.module import Module
from facula.nn.modules.utils import _changed, _ntuple, _reverse_repeat_tuple
from facula.nn.parameter import Parameter, UninitializedParameter

__all__ = [
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "LazyConv1d",
    "LazyConv2d",
    "LazyConv3d",
    "LazyConvTranspose1d",
    "LazyConvTranspose2d",
    "LazyConvTranspose3d",
]

_Conv_T = TypeVar("_Conv_T", bound=Module)
_Size = int | tuple[int, ...]
_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


def _with_own_init(cls: type[_Conv_T]) -> type[_Conv_T]:
    """Give the class a copy of the ``__init__`` it inherits, so that errors show its name."""
    shared: Any = cls.__init__
    own: Any = FunctionType(
        shared.__code__, shared.__globals__, "__init__", shared.__defaults__, shared.__closure__
    )
    own.__annotations__ = shared.__annotations__
    own.__module__, own.__qualname__ = cls.__module__, f"{cls.__name__}.__init__"
    cls.__init__ = own  # type: ignore[method-assign]
    return cls


class _ConvNd(Module):
    """The arguments, parameters and initial values that all convolutions share."""

    __constants__ = (
        "stride",
        "padding",
        "dilation",
        "groups",
        "padding_mode",
        "output_padding",
        "in_channels",
        "out_channels",
        "kernel_size",
    )
    # The name of the operation: programs that count calls put their own into nn.functional.
    _function: ClassVar[str]
    _n_spatial: ClassVar[int]
    weight: Tensor
    bias: Tensor | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple[int, ...],
        stride: tuple[int, ...],
        padding: str | tuple[int, ...],
        dilation: tuple[int, ...],
        transposed: bool,
        output_padding: tuple[int, ...],
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.transposed = transposed
        self.output_padding = output_padding
        self.groups = groups
        self.padding_mode = padding_mode
        self._check_arguments()
        # Under PyTorch's name, since it is part of pickles.
        self._reversed_padding_repeated_twice = self._borders()
        kind = {"device": device, "dtype": dtype}
        self.weight = Parameter(facula.empty(self._weight_shape(), **kind))
        self.bias = Parameter(facula.empty(out_channels, **kind)) if bias else None
        self.reset_parameters()

    def _check_arguments(self) -> None:
        name, groups, padding = type(self).__name__, self.groups, self.padding
        if groups <= 0:
            raise ValueError(f"{name}: expected groups of at least 1, got {groups}.")
        for side, n in (("in_channels", self.in_channels), ("out_channels", self.out_channels)):
            if n % groups != 0:
                raise ValueError(f"{name}: expected groups to divide {side}={n}, got {groups}.")
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(
                    f"{name}: expected padding as numbers, 'same' or 'valid', got {padding!r}."
                )
            if padding == "same" and any(s != 1 for s in self.stride):
                raise ValueError(f"{name}: padding='same' needs a stride of 1, got {self.stride}.")
        if self.padding_mode not in _PADDING_MODES:
            raise ValueError(
                f"{name}: expected padding_mode as one of {', '.join(_PADDING_MODES)}, got "
                f"{self.padding_mode!r}."
            )

    def _borders(self) -> Sequence[int]:
        """The padding as F.pad wants it: before and after, the last dimension first."""
        if not isinstance(self.padding, str):
            return _reverse_repeat_tuple(self.padding, 2)
        borders = []
        for dilation, size in zip(reversed(self.dilation), reversed(self.kernel_size), strict=True):
            # An odd number has its extra element at the end, as in PyTorch.
            total = dilation * (size - 1) if self.padding == "same" else 0
            borders += [total // 2, total - total // 2]
        return borders

    def _weight_shape(self) -> tuple[int, ...]:
        first, second = self.out_channels, self.in_channels
        if self.transposed:
            first, second = second, first
        return (first, second // self.groups, *self.kernel_size)

    def reset_parameters(self) -> None:
        """Draw weight and bias from ``[-bound, bound)``, where ``bound`` is 1/√fan_in."""
        # With a = √5 the gain is 1/√3, and the bound of the uniform numbers 1/√fan_in.
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in != 0:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        n = len(self.kernel_size)
        parts = [f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}"]
        parts.append(f"stride={self.stride}")
        parts += _changed(
            self, padding=(0,) * n, dilation=(1,) * n, output_padding=(0,) * n, groups=1
        )
        if self.bias is None:
            parts.append("bias=False")
        parts += _changed(self, padding_mode="zeros")
        return ", ".join(parts)


class _Conv(_ConvNd):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: _Size,
        stride: _Size = 1,
        padding: str | _Size = 0,
        dilation: _Size = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        each = _ntuple(self._n_spatial)
        around = padding if isinstance(padding, str) else each(padding)
        rest = False, each(0), groups, bias, padding_mode, device, dtype
        super().__init__(
            in_channels,
            out_channels,
            each(kernel_size),
            each(stride),
            around,
            each(dilation),
            *rest,
        )

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        padding = self.padding
        # The operation itself pads with zeros only.
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            padding = (0,)
        function = getattr(F, self._function)
        result: Tensor = function(
            input, weight, bias, self.stride, padding, self.dilation, self.groups
        )
        return result

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)


@_with_own_init
class Conv1d(_Conv):
    """Slides kernels along sequences.

    Args:
        in_channels: the number of channels of the input.
        out_channels: the number of channels of the result, for each of which there is a kernel.
        kernel_size: the size of the kernels.
        stride: the distance between windows.
        padding: how many elements to add at both ends; or ``"same"``, as many as keep the length,
            or ``"valid"``, none.
        dilation: the distance between neighbouring elements of a window.
        groups: the number of groups of channels; each kernel sees the inputs of its group only.
        bias: whether the layer has a bias.
        padding_mode: what the padding holds: ``"zeros"``, ``"reflect"``, ``"replicate"`` or
            ``"circular"``.
        device: where the parameters are created.
        dtype: the dtype of the parameters.

    Shape:
        input ``(N, in_channels, L)`` or ``(in_channels, L)``; result ``(N, out_channels, L_out)``
        or ``(out_channels, L_out)``. ``weight`` is
        ``(out_channels, in_channels // groups, kernel_size)``.

    Example:
        >>> facula.nn.Conv1d(16, 33, 3, stride=2)(facula.ones(20, 16, 50)).shape
        torch.Size([20, 33, 24])
    """

    _n_spatial = 1
    _function = "conv1d"


@_with_own_init
class Conv2d(_Conv):
    """Slides kernels over images.

    The arguments are those of :class:`Conv1d`, one number or a pair.

    Shape:
        input ``(N, in_channels, H, W)`` or ``(in_channels, H, W)``; result
        ``(N, out_channels, H_out, W_out)`` or ``(out_channels, H_out, W_out)``.

    Example:
        >>> facula.nn.Conv2d(3, 8, 3, padding=1)(facula.ones(2, 3, 32, 32)).shape
        torch.Size([2, 8, 32, 32])
    """

    _n_spatial = 2
    _function = "conv2d"


@_with_own_init
class Conv3d(_Conv):
    """Slides kernels over volumes.

    The arguments are those of :class:`Conv1d`, one number or three.

    Shape:
        input ``(N, in_channels, D, H, W)`` or ``(in_channels, D, H, W)``; result
        ``(N, out_channels, D_out, H_out, W_out)``, or the same without ``N``.

    Example:
        >>> facula.nn.Conv3d(1, 2, 3)(facula.ones(1, 1, 4, 4, 4)).shape
        torch.Size([1, 2, 2, 2, 2])
    """

    _n_spatial = 3
    _function = "conv3d"


class _ConvTransposeNd(_ConvNd):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: _Size,
        stride: _Size = 1,
        padding: _Size = 0,
        output_padding: _Size = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: _Size = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(
                f"{type(self).__name__}: expected padding_mode='zeros', the only one of transposed "
                f"convolutions, got {padding_mode!r}."
            )
        each = _ntuple(self._n_spatial)
        around = each(padding)
        rest = True, each(output_padding), groups, bias, padding_mode, device, dtype
        super().__init__(
            in_channels,
            out_channels,
            each(kernel_size),
            each(stride),
            around,
            each(dilation),
            *rest,
        )

    def _output_padding(self, input: Tensor, output_size: Sequence[int]) -> tuple[int, ...]:
        """The output padding that makes the result this large."""
        n = len(self.kernel_size)
        is_batched = input.dim() == n + 2
        size = list(output_size)
        if len(size) == input.dim() and len(size) > n:
            size = size[-n:]
        if len(size) != n:
            raise ValueError(
                f"{type(self).__name__}: expected an output_size of {n} or {n + 1 + is_batched} "
                f"numbers for an input {tuple(input.shape)}, got {len(size)}."
            )
        # A stride makes several lengths collapse to one: the result may have any of `stride`
        # lengths.
        padding = [p for p in self.padding if isinstance(p, int)]
        smallest = [
            (length - 1) * s - 2 * p + d * (k - 1) + 1
            for length, s, p, d, k in zip(
                input.shape[-n:], self.stride, padding, self.dilation, self.kernel_size, strict=True
            )
        ]
        largest = [low + s - 1 for low, s in zip(smallest, self.stride, strict=True)]
        if not all(a <= v <= b for a, v, b in zip(smallest, size, largest, strict=True)):
            raise ValueError(
                f"{type(self).__name__}: expected an output_size from {smallest} to {largest} for "
                f"an input {tuple(input.shape)}, got {tuple(output_size)}."
            )
        return tuple(v - a for v, a in zip(size, smallest, strict=True))

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        output_padding = self.output_padding
        if output_size is not None:
            output_padding = self._output_padding(input, output_size)
        window = self.stride, self.padding, output_padding
        function = getattr(F, self._function)
        result: Tensor = function(
            input, self.weight, self.bias, *window, self.groups, self.dilation
        )
        return result


class _ConvTransposeMixin(_ConvTransposeNd):
    """What PyTorch once derived its layers from: packages import it, no layer is one."""


@_with_own_init
class ConvTranspose1d(_ConvTransposeNd):
    """The transposed map of :class:`Conv1d`: each input element adds a kernel to the output.

    Args:
        in_channels: the number of channels of the input.
        out_channels: the number of channels of the result.
        kernel_size: the size of the kernels.
        stride: the distance between kernels in the output.
        padding: how many elements to leave out at both ends of the output.
        output_padding: how many elements to add at one end of the output.
        groups: the number of groups of channels; each output sees the inputs of its group only.
        bias: whether the layer has a bias.
        dilation: the distance between neighbouring elements of a kernel.
        padding_mode: what the padding holds; transposed convolutions have ``"zeros"`` only.
        device: where the parameters are created.
        dtype: the dtype of the parameters.

    Shape:
        input ``(N, in_channels, L)`` or ``(in_channels, L)``; result ``(N, out_channels, L_out)``
        or ``(out_channels, L_out)``. ``weight`` is
        ``(in_channels, out_channels // groups, kernel_size)``. With a stride several lengths are
        possible; a call may choose one by ``output_size``.

    Example:
        >>> m = facula.nn.ConvTranspose1d(16, 8, 3, stride=2)
        >>> m(facula.ones(1, 16, 5)).shape
        torch.Size([1, 8, 11])
        >>> m(facula.ones(1, 16, 5), output_size=[12]).shape
        torch.Size([1, 8, 12])
    """

    _n_spatial = 1
    _function = "conv_transpose1d"


@_with_own_init
class ConvTranspose2d(_ConvTransposeNd):
    """The transposed map of :class:`Conv2d`.

    The arguments are those of :class:`ConvTranspose1d`, one number or a pair.

    Shape:
        input ``(N, in_channels, H, W)`` or ``(in_channels, H, W)``; result
        ``(N, out_channels, H_out, W_out)`` or ``(out_channels, H_out, W_out)``.

    Example:
        >>> facula.nn.ConvTranspose2d(16, 3, 4, stride=2, padding=1)(facula.ones(2, 16, 8, 8)).shape
        torch.Size([2, 3, 16, 16])
    """

    _n_spatial = 2
    _function = "conv_transpose2d"


@_with_own_init
class ConvTranspose3d(_ConvTransposeNd):
    """The transposed map of :class:`Conv3d`.

    The arguments are those of :class:`ConvTranspose1d`, one number or three.

    Shape:
        input ``(N, in_channels, D, H, W)`` or ``(in_channels, D, H, W)``; result
        ``(N, out_channels, D_out, H_out, W_out)``, or the same without ``N``.

    Example:
        >>> facula.nn.ConvTranspose3d(2, 1, 2, stride=2)(facula.ones(1, 2, 2, 2, 2)).shape
        torch.Size([1, 1, 4, 4, 4])
    """

    _n_spatial = 3
    _function = "conv_transpose3d"


class _LazyConvNd(LazyModuleMixin, _ConvNd):
    """A convolution without parameters until its first input says how many channels there are."""

    def _wait_for_input(self, out_channels: int, bias: bool, device: Any, dtype: Any) -> None:
        # The constructor was given 0 channels and no bias, so that it drew no random numbers: they
        # are drawn at the first call.
        self.out_channels = out_channels
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        if not isinstance(self.weight, UninitializedParameter):
            if self.in_channels == 0:  # a state_dict has given the shapes
                channels = self.weight.shape[0 if self.transposed else 1]
                self.in_channels = channels if self.transposed else channels * self.groups
            return
        n = self._n_spatial
        if input.dim() not in (n + 1, n + 2):
            raise RuntimeError(
                f"{type(self).__name__}: expected an input of {n + 1} (unbatched) or {n + 2} "
                f"(batched) dimensions, got shape {tuple(input.shape)}."
            )
        self.in_channels = input.shape[-n - 1]
        if self.in_channels % self.groups != 0:
            raise ValueError(
                f"{type(self).__name__}: expected an input whose channels {self.groups} groups "
                f"divide, got {tuple(input.shape)}."
            )
        self.weight.materialize(self._weight_shape())
        if isinstance(self.bias, UninitializedParameter):
            self.bias.materialize((self.out_channels,))
        self.reset_parameters()


class _LazyConv(_LazyConvNd, _Conv):
    def __init__(
        self,
        out_channels: int,
        kernel_size: _Size,
        stride: _Size = 1,
        padding: str | _Size = 0,
        dilation: _Size = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode)
        self._wait_for_input(out_channels, bias, device, dtype)


class _LazyConvTranspose(_LazyConvNd, _ConvTransposeNd):
    def __init__(
        self,
        out_channels: int,
        kernel_size: _Size,
        stride: _Size = 1,
        padding: _Size = 0,
        output_padding: _Size = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: _Size = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation,
            padding_mode,
        )  # fmt: skip
        self._wait_for_input(out_channels, bias, device, dtype)


@_with_own_init
class LazyConv1d(_LazyConv, Conv1d):
    """A :class:`Conv1d` that takes ``in_channels`` from its first input.

    Example:
        >>> m = facula.nn.LazyConv1d(8, 3)
        >>> m(facula.ones(1, 4, 9)).shape
        torch.Size([1, 8, 7])
        >>> m
        Conv1d(4, 8, kernel_size=(3,), stride=(1,))
    """

    cls_to_become = Conv1d


@_with_own_init
class LazyConv2d(_LazyConv, Conv2d):
    """A :class:`Conv2d` that takes ``in_channels`` from its first input.

    Example:
        >>> facula.nn.LazyConv2d(8, 3)(facula.ones(1, 4, 9, 9)).shape
        torch.Size([1, 8, 7, 7])
    """

    cls_to_become = Conv2d


@_with_own_init
class LazyConv3d(_LazyConv, Conv3d):
    """A :class:`Conv3d` that takes ``in_channels`` from its first input.

    Example:
        >>> facula.nn.LazyConv3d(8, 3)(facula.ones(1, 4, 5, 5, 5)).shape
        torch.Size([1, 8, 3, 3, 3])
    """

    cls_to_become = Conv3d


@_with_own_init
class LazyConvTranspose1d(_LazyConvTranspose, ConvTranspose1d):
    """A :class:`ConvTranspose1d` that takes ``in_channels`` from its first input.

    Example:
        >>> facula.nn.LazyConvTranspose1d(8, 3)(facula.ones(1, 4, 9)).shape
        torch.Size([1, 8, 11])
    """

    cls_to_become = ConvTranspose1d


@_with_own_init
class LazyConvTranspose2d(_LazyConvTranspose, ConvTranspose2d):
    """A :class:`ConvTranspose2d` that takes ``in_channels`` from its first input.

    Example:
        >>> facula.nn.LazyConvTranspose2d(8, 3)(facula.ones(1, 4, 9, 9)).shape
        torch.Size([1, 8, 11, 11])
    """

    cls_to_become = ConvTranspose2d


@_with_own_init
class LazyConvTranspose3d(_LazyConvTranspose, ConvTranspose3d):
    """A :class:`ConvTranspose3d` that takes ``in_channels`` from its first input.

    Example:
        >>> facula.nn.LazyConvTranspose3d(8, 3)(facula.ones(1, 4, 5, 5, 5)).shape
        torch.Size([1, 8, 7, 7, 7])
    """

    cls_to_become = ConvTranspose3d
