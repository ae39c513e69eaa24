"""Blocks that many vision models are built of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import facula
from facula import nn
from facula._core import Tensor
from facula._warnings import warn_user

__all__ = [
    "MLP",
    "Conv2dNormActivation",
    "Conv3dNormActivation",
    "ConvNormActivation",
    "FrozenBatchNorm2d",
    "Permute",
    "SqueezeExcitation",
]

Layer = Callable[..., nn.Module]


def _ntuple(value: int | Sequence[int], n: int) -> tuple[int, ...]:
    return (value,) * n if isinstance(value, int) else tuple(value)


def _same_padding(
    kernel_size: int | Sequence[int], dilation: int | Sequence[int]
) -> int | tuple[int, ...]:
    """What keeps the size at stride 1, for an odd kernel."""
    if isinstance(kernel_size, int) and isinstance(dilation, int):
        return (kernel_size - 1) // 2 * dilation
    n = max(len(value) for value in (kernel_size, dilation) if not isinstance(value, int))
    sizes, steps = _ntuple(kernel_size, n), _ntuple(dilation, n)
    return tuple((size - 1) // 2 * step for size, step in zip(sizes, steps, strict=True))


class ConvNormActivation(nn.Sequential):
    """What :class:`Conv2dNormActivation` and :class:`Conv3dNormActivation` have in common.

    Use one of these two: this class itself warns. ``conv_layer`` is the class of convolution, the
    other arguments are theirs.
    """

    out_channels: int

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, ...] = 3,
        stride: int | tuple[int, ...] = 1,
        padding: int | tuple[int, ...] | str | None = None,
        groups: int = 1,
        norm_layer: Layer | None = nn.BatchNorm2d,
        activation_layer: Layer | None = nn.ReLU,
        dilation: int | tuple[int, ...] = 1,
        inplace: bool | None = True,
        bias: bool | None = None,
        conv_layer: Layer = nn.Conv2d,
    ) -> None:
        layers = [
            conv_layer(
                in_channels,
                out_channels,
                kernel_size,
                stride,
                _same_padding(kernel_size, dilation) if padding is None else padding,
                dilation=dilation,
                groups=groups,
                bias=norm_layer is None if bias is None else bias,
            )
        ]
        if norm_layer is not None:
            layers.append(norm_layer(out_channels))
        if activation_layer is not None:
            layers.append(activation_layer(**{} if inplace is None else {"inplace": inplace}))
        super().__init__(*layers)
        self.out_channels = out_channels
        if type(self) is ConvNormActivation:
            warn_user(
                "ConvNormActivation: use Conv2dNormActivation or Conv3dNormActivation instead.",
                UserWarning,
            )


class Conv2dNormActivation(ConvNormActivation):
    """A 2-d convolution, its normalisation and its activation, in this order.

    Args:
        in_channels: channels of the input.
        out_channels: channels of the result.
        kernel_size: sizes of the kernel, or one number for all of them.
        stride: distance between places of the kernel.
        padding: zeros on each side; ``None`` for ``(kernel_size - 1) // 2 * dilation``.
        groups: groups of channels of the convolution.
        norm_layer: makes the normalisations, called with ``out_channels``; ``None`` for none.
        activation_layer: called with ``inplace``; ``None`` for no activation.
        dilation: distance between elements of the kernel.
        inplace: whether the activation overwrites its input; ``None`` to leave the argument out.
        bias: whether the convolution has a bias; ``None`` for one only where ``norm_layer`` is
            ``None``.

    Shape:
        input ``(N, in_channels, H, W)``; result ``(N, out_channels, H_out, W_out)``.

    Example:
        >>> from facula.vision.ops import Conv2dNormActivation
        >>> Conv2dNormActivation(3, 8, stride=2)(facula.ones(1, 3, 6, 6)).shape
        torch.Size([1, 8, 3, 3])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, int] = 3,
        stride: int | tuple[int, int] = 1,
        padding: int | tuple[int, int] | str | None = None,
        groups: int = 1,
        norm_layer: Layer | None = nn.BatchNorm2d,
        activation_layer: Layer | None = nn.ReLU,
        dilation: int | tuple[int, int] = 1,
        inplace: bool | None = True,
        bias: bool | None = None,
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            groups,
            norm_layer,
            activation_layer,
            dilation,
            inplace,
            bias,
            nn.Conv2d,
        )


class Conv3dNormActivation(ConvNormActivation):
    """A 3-d convolution, its normalisation and its activation, in this order.

    The arguments are those of :class:`Conv2dNormActivation`.

    Shape:
        input ``(N, in_channels, D, H, W)``; result ``(N, out_channels, D_out, H_out, W_out)``.

    Example:
        >>> from facula.vision.ops import Conv3dNormActivation
        >>> Conv3dNormActivation(3, 8, stride=(1, 2, 2))(facula.ones(1, 3, 4, 6, 6)).shape
        torch.Size([1, 8, 4, 3, 3])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, int, int] = 3,
        stride: int | tuple[int, int, int] = 1,
        padding: int | tuple[int, int, int] | str | None = None,
        groups: int = 1,
        norm_layer: Layer | None = nn.BatchNorm3d,
        activation_layer: Layer | None = nn.ReLU,
        dilation: int | tuple[int, int, int] = 1,
        inplace: bool | None = True,
        bias: bool | None = None,
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            groups,
            norm_layer,
            activation_layer,
            dilation,
            inplace,
            bias,
            nn.Conv3d,
        )


class SqueezeExcitation(nn.Module):
    """Scales each channel by a number computed from the means of all channels.

    Described in `Squeeze-and-Excitation Networks <https://arxiv.org/abs/1709.01507>`_.

    Args:
        input_channels: channels of the input.
        squeeze_channels: channels of the layer between.
        activation: makes the activation after the first convolution.
        scale_activation: makes the activation after the second convolution.

    Shape:
        input ``(N, input_channels, H, W)``; result the same.

    Example:
        >>> from facula.vision.ops import SqueezeExcitation
        >>> SqueezeExcitation(8, 2)(facula.ones(1, 8, 3, 3)).shape
        torch.Size([1, 8, 3, 3])
    """

    def __init__(
        self,
        input_channels: int,
        squeeze_channels: int,
        activation: Layer = nn.ReLU,
        scale_activation: Layer = nn.Sigmoid,
    ) -> None:
        super().__init__()
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc1 = nn.Conv2d(input_channels, squeeze_channels, 1)
        self.fc2 = nn.Conv2d(squeeze_channels, input_channels, 1)
        self.activation = activation()
        self.scale_activation = scale_activation()

    def forward(self, input: Tensor) -> Tensor:
        squeezed = self.activation(self.fc1(self.avgpool(input)))
        scale: Tensor = self.scale_activation(self.fc2(squeezed))
        return scale * input


class MLP(nn.Sequential):
    """Linear layers, each but the last one followed by normalisation, activation and dropout.

    Args:
        in_channels: size of the input's last dimension.
        hidden_channels: sizes of the results of the linear layers, the last one's included.
        norm_layer: makes the normalisations, called with a size; ``None`` for none.
        activation_layer: makes the activations of the hidden layers.
        inplace: whether activation and dropout overwrite their input; ``None`` for their defaults.
        bias: whether the linear layers have a bias.
        dropout: the probability of dropout, which also follows the last linear layer.

    Shape:
        input ``(*, in_channels)``; result ``(*, hidden_channels[-1])``.

    Example:
        >>> from facula.vision.ops import MLP
        >>> MLP(4, [8, 2])(facula.ones(3, 4)).shape
        torch.Size([3, 2])
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: Sequence[int],
        norm_layer: Layer | None = None,
        activation_layer: Layer = nn.ReLU,
        inplace: bool | None = None,
        bias: bool = True,
        dropout: float = 0.0,
    ) -> None:
        options: dict[str, Any] = {} if inplace is None else {"inplace": inplace}
        if not hidden_channels:
            raise IndexError("MLP: expected hidden_channels with at least one size, got none.")
        *hidden, last = hidden_channels
        layers: list[nn.Module] = []
        for channels in hidden:
            layers.append(nn.Linear(in_channels, channels, bias=bias))
            if norm_layer is not None:
                layers.append(norm_layer(channels))
            layers += [activation_layer(**options), nn.Dropout(dropout, **options)]
            in_channels = channels
        layers += [nn.Linear(in_channels, last, bias=bias), nn.Dropout(dropout, **options)]
        super().__init__(*layers)


class Permute(nn.Module):
    """The input with its dimensions in the order ``dims``, as a view.

    Args:
        dims: the dimensions of the input, in their new order.

    Shape:
        input of ``len(dims)`` dimensions; dimension ``i`` of the result is ``dims[i]`` of it.

    Example:
        >>> from facula.vision.ops import Permute
        >>> Permute([0, 2, 3, 1])(facula.ones(1, 3, 4, 5)).shape
        torch.Size([1, 4, 5, 3])
    """

    dims: list[int]

    def __init__(self, dims: list[int]) -> None:
        super().__init__()
        self.dims = dims

    def forward(self, x: Tensor) -> Tensor:
        return x.permute(self.dims)


class FrozenBatchNorm2d(nn.Module):
    """Batch normalisation whose statistics, weight and bias are buffers that never change.

    Args:
        num_features: channels of the input.
        eps: added to the variance.

    Shape:
        input ``(N, num_features, H, W)``; result the same.

    Example:
        >>> from facula.vision.ops import FrozenBatchNorm2d
        >>> m = FrozenBatchNorm2d(2, eps=0.0)
        >>> m.running_var.fill_(4.0)
        tensor([4., 4.])
        >>> m(facula.ones(1, 2, 1, 1)).flatten()
        tensor([0.5000, 0.5000])
    """

    eps: float
    weight: Tensor
    bias: Tensor
    running_mean: Tensor
    running_var: Tensor

    def __init__(self, num_features: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        self.register_buffer("weight", facula.ones(num_features))
        self.register_buffer("bias", facula.zeros(num_features))
        self.register_buffer("running_mean", facula.zeros(num_features))
        self.register_buffer("running_var", facula.ones(num_features))

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, *args: Any, **kwargs: Any
    ) -> None:
        # Checkpoints of ordinary batch norms have a counter that this one does without.
        state_dict.pop(prefix + "num_batches_tracked", None)
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)

    def forward(self, x: Tensor) -> Tensor:
        weight, bias, mean, var = (
            buffer.reshape(1, -1, 1, 1)
            for buffer in (self.weight, self.bias, self.running_mean, self.running_var)
        )
        scale = weight * (var + self.eps).rsqrt()
        return x * scale + (bias - mean * scale)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.weight.shape[0]}, eps={self.eps})"
