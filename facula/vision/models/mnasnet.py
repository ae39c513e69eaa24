"""MnasNet: found by a search for accuracy and speed on a telephone (arXiv:1807.11626)."""

from collections.abc import Callable
from typing import Any

from facula import Tensor, nn
from facula._warnings import warn_user
from facula.vision.models._api import builder, weights_enum
from facula.vision.models._utils import _make_divisible, init_fan_out

__all__ = [
    "MNASNet",
    "MNASNet0_5_Weights",
    "MNASNet0_75_Weights",
    "MNASNet1_0_Weights",
    "MNASNet1_3_Weights",
    "mnasnet0_5",
    "mnasnet0_75",
    "mnasnet1_0",
    "mnasnet1_3",
]

# TensorFlow's momentum of 0.9997, in PyTorch's convention.
_BN_MOMENTUM = 1 - 0.9997

# channels, kernel, stride, expansion, repeats
_STACKS = (
    (24, 3, 2, 3, 3),
    (40, 5, 2, 3, 3),
    (80, 5, 2, 6, 3),
    (96, 3, 1, 6, 2),
    (192, 5, 2, 6, 4),
    (320, 3, 1, 6, 1),
)


def _depthwise(channels: int, out: int, kernel: int, stride: int, momentum: float) -> list[Any]:
    """One convolution for each channel, and a projection."""
    depthwise = nn.Conv2d(
        channels, channels, kernel, stride, kernel // 2, groups=channels, bias=False
    )
    return [
        depthwise,
        nn.BatchNorm2d(channels, momentum=momentum),
        nn.ReLU(inplace=True),
        nn.Conv2d(channels, out, 1, bias=False),
        nn.BatchNorm2d(out, momentum=momentum),
    ]


def _conv(
    channels: int, out: int, kernel: int, stride: int = 1, momentum: float = _BN_MOMENTUM
) -> list[Any]:
    return [
        nn.Conv2d(channels, out, kernel, stride, kernel // 2, bias=False),
        nn.BatchNorm2d(out, momentum=momentum),
        nn.ReLU(inplace=True),
    ]


class _InvertedResidual(nn.Module):
    def __init__(
        self,
        in_ch: int,
        out_ch: int,
        kernel_size: int,
        stride: int,
        expansion_factor: int,
        bn_momentum: float = 0.1,
    ) -> None:
        super().__init__()
        if stride not in (1, 2):
            raise ValueError(f"_InvertedResidual: stride should be 1 or 2, got {stride}")
        if kernel_size not in (3, 5):
            raise ValueError(f"_InvertedResidual: kernel_size should be 3 or 5, got {kernel_size}")
        width = in_ch * expansion_factor
        self.apply_residual = in_ch == out_ch and stride == 1
        self.layers = nn.Sequential(
            *_conv(in_ch, width, 1, momentum=bn_momentum),
            *_depthwise(width, out_ch, kernel_size, stride, bn_momentum),
        )

    def forward(self, input: Tensor) -> Tensor:
        y: Tensor = self.layers(input)
        return y + input if self.apply_residual else y


def _stack(
    channels: int, out: int, kernel: int, stride: int, expansion: int, repeats: int
) -> nn.Sequential:
    first = _InvertedResidual(channels, out, kernel, stride, expansion, _BN_MOMENTUM)
    rest = (
        _InvertedResidual(out, out, kernel, 1, expansion, _BN_MOMENTUM) for _ in range(repeats - 1)
    )
    return nn.Sequential(first, *rest)


class MNASNet(nn.Module):
    """MnasNet-B1.

    Args:
        alpha: factor of all channels but the last.
        num_classes: number of outputs.
        dropout: probability of dropping an input of the linear layer.

    Shape:
        input ``(N, 3, H, W)``; result ``(N, num_classes)``.

    Example:
        >>> from facula.vision.models import MNASNet
        >>> MNASNet(0.5, num_classes=5)(facula.zeros(2, 3, 32, 32)).shape
        torch.Size([2, 5])
    """

    # 1: the first two widths were 32 and 16 for every alpha.
    _version = 2

    def __init__(self, alpha: float, num_classes: int = 1000, dropout: float = 0.2) -> None:
        super().__init__()
        if alpha <= 0.0:
            raise ValueError(f"MNASNet: alpha should be greater than 0, got {alpha}")
        self.alpha = alpha
        self.num_classes = num_classes
        first, second, *widths = (
            _make_divisible(alpha * channels, 8) for channels in (32, 16, *(s[0] for s in _STACKS))
        )
        layers = [*_conv(3, first, 3, 2), *_depthwise(first, second, 3, 1, _BN_MOMENTUM)]
        channels = second
        for out, stack in zip(widths, _STACKS, strict=True):
            layers.append(_stack(channels, out, *stack[1:]))
            channels = out
        layers += _conv(channels, 1280, 1)
        self.layers = nn.Sequential(*layers)
        self.classifier = nn.Sequential(
            nn.Dropout(p=dropout, inplace=True), nn.Linear(1280, num_classes)
        )
        init_fan_out(self)
        linear = self.classifier[1]
        nn.init.kaiming_uniform_(linear.weight, mode="fan_out", nonlinearity="sigmoid")
        nn.init.zeros_(linear.bias)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.classifier(self.layers(x).mean([2, 3]))
        return y

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        *args: Any,
    ) -> None:
        version = local_metadata.get("version", 2)
        if version not in (1, 2):
            raise ValueError(f"MNASNet: the file's version should be 1 or 2, got {version}")
        if version == 1 and self._version != 1 and self.alpha != 1.0:
            width = _make_divisible(self.alpha * _STACKS[0][0], 8)
            old = [*_conv(3, 32, 3, 2), *_depthwise(32, 16, 3, 1, _BN_MOMENTUM)]
            for i, layer in enumerate([*old, _stack(16, width, *_STACKS[0][1:])]):
                self.layers[i] = layer
            self._version = 1
            warn_user(
                "MNASNet: this file is of the first version, whose first layers are wider; "
                "the model now has these layers",
            )
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *args)


def _mnasnet(weights: Any, alpha: float) -> Callable[..., MNASNet]:
    return builder(weights, f"MnasNet of {alpha} times the width", MNASNet, alpha)


MNASNet0_5_Weights: Any = weights_enum(__name__, "MNASNet0_5")
MNASNet0_75_Weights: Any = weights_enum(__name__, "MNASNet0_75")
MNASNet1_0_Weights: Any = weights_enum(__name__, "MNASNet1_0")
MNASNet1_3_Weights: Any = weights_enum(__name__, "MNASNet1_3")

mnasnet0_5 = _mnasnet(MNASNet0_5_Weights, 0.5)
mnasnet0_75 = _mnasnet(MNASNet0_75_Weights, 0.75)
mnasnet1_0 = _mnasnet(MNASNet1_0_Weights, 1.0)
mnasnet1_3 = _mnasnet(MNASNet1_3_Weights, 1.3)
