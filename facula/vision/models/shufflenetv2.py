"""ShuffleNet v2: half the channels pass each unit unchanged, then are mixed (arXiv:1807.11164)."""

from collections.abc import Callable
from typing import Any

from facula import Tensor, cat, nn
from facula.vision.models._api import builder, weights_enum

__all__ = [
    "ShuffleNetV2",
    "ShuffleNet_V2_X0_5_Weights",
    "ShuffleNet_V2_X1_0_Weights",
    "ShuffleNet_V2_X1_5_Weights",
    "ShuffleNet_V2_X2_0_Weights",
    "shufflenet_v2_x0_5",
    "shufflenet_v2_x1_0",
    "shufflenet_v2_x1_5",
    "shufflenet_v2_x2_0",
]


def _pointwise(inp: int, oup: int) -> list[nn.Module]:
    return [nn.Conv2d(inp, oup, 1, bias=False), nn.BatchNorm2d(oup), nn.ReLU(inplace=True)]


def _depthwise(channels: int, stride: int) -> list[nn.Module]:
    conv = nn.Conv2d(channels, channels, 3, stride, padding=1, bias=False, groups=channels)
    return [conv, nn.BatchNorm2d(channels)]


class InvertedResidual(nn.Module):
    """A unit of ShuffleNet v2: two branches side by side, whose channels are then interleaved.

    Shape:
        input ``(N, inp, H, W)``; result ``(N, oup, H / stride, W / stride)``.
    """

    def __init__(self, inp: int, oup: int, stride: int) -> None:
        super().__init__()
        width = oup // 2
        if not 1 <= stride <= 3:
            raise ValueError(f"InvertedResidual: stride should be 1, 2 or 3, got {stride}")
        if stride == 1 and inp != 2 * width:
            raise ValueError(
                f"InvertedResidual: with stride 1, inp and oup should be equal and even, "
                f"got {inp} and {oup}"
            )
        self.stride = stride
        self.branch1 = nn.Sequential()
        if stride > 1:
            self.branch1.extend([*_depthwise(inp, stride), *_pointwise(inp, width)])
        self.branch2 = nn.Sequential(
            *_pointwise(inp if stride > 1 else width, width),
            *_depthwise(width, stride),
            *_pointwise(width, width),
        )

    def forward(self, x: Tensor) -> Tensor:
        kept, changed = x.chunk(2, dim=1) if self.stride == 1 else (x, x)
        return _shuffled(cat([self.branch1(kept), self.branch2(changed)], 1))


def _shuffled(x: Tensor) -> Tensor:
    """A channel of the first half, one of the second, and so on."""
    n, n_channels, height, width = x.size()
    x = x.view(n, 2, n_channels // 2, height, width).transpose(1, 2).contiguous()
    return x.view(n, n_channels, height, width)


class ShuffleNetV2(nn.Module):
    """A convolution, three stages of units, a convolution and a linear layer.

    Args:
        stages_repeats: number of units in each of the three stages.
        stages_out_channels: channels after the first convolution, each stage and the last
            convolution.
        num_classes: number of outputs.
        inverted_residual: makes a unit.

    Shape:
        input ``(N, 3, H, W)``; result ``(N, num_classes)``.

    Example:
        >>> from facula.vision.models import ShuffleNetV2
        >>> net = ShuffleNetV2([1, 1, 1], [24, 48, 96, 192, 64], num_classes=5)
        >>> net(facula.zeros(2, 3, 32, 32)).shape
        torch.Size([2, 5])
    """

    def __init__(
        self,
        stages_repeats: list[int],
        stages_out_channels: list[int],
        num_classes: int = 1000,
        inverted_residual: Callable[..., nn.Module] = InvertedResidual,
    ) -> None:
        super().__init__()
        if len(stages_repeats) != 3:
            raise ValueError(f"ShuffleNetV2: expected 3 stages_repeats, got {stages_repeats}")
        if len(stages_out_channels) != 5:
            raise ValueError(
                f"ShuffleNetV2: expected 5 stages_out_channels, got {stages_out_channels}"
            )
        self._stage_out_channels = stages_out_channels
        first, *stages, last = stages_out_channels
        self.conv1 = nn.Sequential(
            nn.Conv2d(3, first, 3, 2, 1, bias=False), nn.BatchNorm2d(first), nn.ReLU(inplace=True)
        )
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        channels = first
        for i, (repeats, out) in enumerate(zip(stages_repeats, stages, strict=True), 2):
            units = [inverted_residual(channels, out, 2)]
            units += [inverted_residual(out, out, 1) for _ in range(repeats - 1)]
            self.add_module(f"stage{i}", nn.Sequential(*units))
            channels = out
        self.conv5 = nn.Sequential(*_pointwise(channels, last))
        self.fc = nn.Linear(last, num_classes)

    def forward(self, x: Tensor) -> Tensor:
        x = self.maxpool(self.conv1(x))
        x = self.conv5(self.stage4(self.stage3(self.stage2(x))))
        y: Tensor = self.fc(x.mean([2, 3]))
        return y


def _shufflenet(weights: Any, width: str, *channels: int) -> Callable[..., ShuffleNetV2]:
    title = f"ShuffleNet v2 of {width} times the width"
    return builder(weights, title, ShuffleNetV2, [4, 8, 4], [24, *channels])


ShuffleNet_V2_X0_5_Weights: Any = weights_enum(__name__, "ShuffleNet_V2_X0_5")
ShuffleNet_V2_X1_0_Weights: Any = weights_enum(__name__, "ShuffleNet_V2_X1_0")
ShuffleNet_V2_X1_5_Weights: Any = weights_enum(__name__, "ShuffleNet_V2_X1_5")
ShuffleNet_V2_X2_0_Weights: Any = weights_enum(__name__, "ShuffleNet_V2_X2_0")

shufflenet_v2_x0_5 = _shufflenet(ShuffleNet_V2_X0_5_Weights, "0.5", 48, 96, 192, 1024)
shufflenet_v2_x1_0 = _shufflenet(ShuffleNet_V2_X1_0_Weights, "1.0", 116, 232, 464, 1024)
shufflenet_v2_x1_5 = _shufflenet(ShuffleNet_V2_X1_5_Weights, "1.5", 176, 352, 704, 1024)
shufflenet_v2_x2_0 = _shufflenet(ShuffleNet_V2_X2_0_Weights, "2.0", 244, 488, 976, 2048)
