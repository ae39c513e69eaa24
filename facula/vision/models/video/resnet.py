"""ResNets for video: `A Closer Look at Spatiotemporal Convolutions
<https://arxiv.org/abs/1711.11248>`_.
"""

from collections.abc import Callable, Sequence
from typing import Any

from facula import nn
from facula._core import Tensor
from facula.vision.models._api import builder, weights_enum

__all__ = [
    "MC3_18_Weights",
    "R2Plus1D_18_Weights",
    "R3D_18_Weights",
    "VideoResNet",
    "mc3_18",
    "r2plus1d_18",
    "r3d_18",
]


class Conv3DSimple(nn.Conv3d):
    """A 3x3x3 convolution."""

    def __init__(
        self,
        in_planes: int,
        out_planes: int,
        midplanes: int | None = None,
        stride: int = 1,
        padding: int = 1,
    ) -> None:
        super().__init__(in_planes, out_planes, 3, stride, padding, bias=False)

    @staticmethod
    def get_downsample_stride(stride: int) -> tuple[int, int, int]:
        return stride, stride, stride


class Conv2Plus1D(nn.Sequential):
    """A convolution over space and one over time, with ``midplanes`` channels between them."""

    def __init__(
        self, in_planes: int, out_planes: int, midplanes: int, stride: int = 1, padding: int = 1
    ) -> None:
        over_space = (1, 3, 3), (1, stride, stride), (0, padding, padding)
        over_time = (3, 1, 1), (stride, 1, 1), (padding, 0, 0)
        super().__init__(
            nn.Conv3d(in_planes, midplanes, *over_space, bias=False),
            nn.BatchNorm3d(midplanes),
            nn.ReLU(inplace=True),
            nn.Conv3d(midplanes, out_planes, *over_time, bias=False),
        )

    @staticmethod
    def get_downsample_stride(stride: int) -> tuple[int, int, int]:
        return stride, stride, stride


class Conv3DNoTemporal(nn.Conv3d):
    """A 3x3 convolution of each frame."""

    def __init__(
        self,
        in_planes: int,
        out_planes: int,
        midplanes: int | None = None,
        stride: int = 1,
        padding: int = 1,
    ) -> None:
        super().__init__(
            in_planes, out_planes, (1, 3, 3), (1, stride, stride), (0, padding, padding), bias=False
        )

    @staticmethod
    def get_downsample_stride(stride: int) -> tuple[int, int, int]:
        return 1, stride, stride


def _norm_relu(conv: nn.Module, channels: int) -> nn.Sequential:
    return nn.Sequential(conv, nn.BatchNorm3d(channels), nn.ReLU(inplace=True))


def _n_midplanes(inplanes: int, planes: int) -> int:
    """With so many channels, (2+1)-d convolutions have as many weights as 3-d ones."""
    return (inplanes * planes * 3 * 3 * 3) // (inplanes * 3 * 3 + 3 * planes)


class BasicBlock(nn.Module):
    """Two convolutions beside their input."""

    expansion = 1

    def __init__(
        self,
        inplanes: int,
        planes: int,
        conv_builder: Callable[..., nn.Module],
        stride: int = 1,
        downsample: nn.Module | None = None,
    ) -> None:
        super().__init__()
        midplanes = _n_midplanes(inplanes, planes)
        self.conv1 = _norm_relu(conv_builder(inplanes, planes, midplanes, stride), planes)
        self.conv2 = nn.Sequential(conv_builder(planes, planes, midplanes), nn.BatchNorm3d(planes))
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        y = self.conv2(self.conv1(x))
        result: Tensor = self.relu(y + (x if self.downsample is None else self.downsample(x)))
        return result


class Bottleneck(nn.Module):
    """A convolution between two of 1x1x1, beside their input."""

    expansion = 4

    def __init__(
        self,
        inplanes: int,
        planes: int,
        conv_builder: Callable[..., nn.Module],
        stride: int = 1,
        downsample: nn.Module | None = None,
    ) -> None:
        super().__init__()
        midplanes = _n_midplanes(inplanes, planes)
        width = planes * self.expansion
        self.conv1 = _norm_relu(nn.Conv3d(inplanes, planes, 1, bias=False), planes)
        self.conv2 = _norm_relu(conv_builder(planes, planes, midplanes, stride), planes)
        self.conv3 = nn.Sequential(nn.Conv3d(planes, width, 1, bias=False), nn.BatchNorm3d(width))
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        y = self.conv3(self.conv2(self.conv1(x)))
        result: Tensor = self.relu(y + (x if self.downsample is None else self.downsample(x)))
        return result


class BasicStem(nn.Sequential):
    """The first layer: a convolution over 3 frames that halves their height and width."""

    def __init__(self) -> None:
        conv = nn.Conv3d(3, 64, (3, 7, 7), (1, 2, 2), (1, 3, 3), bias=False)
        super().__init__(conv, nn.BatchNorm3d(64), nn.ReLU(inplace=True))


class R2Plus1dStem(nn.Sequential):
    """The first layers: :class:`BasicStem` as a convolution over space and one over time."""

    def __init__(self) -> None:
        super().__init__(
            *_norm_relu(nn.Conv3d(3, 45, (1, 7, 7), (1, 2, 2), (0, 3, 3), bias=False), 45),
            *_norm_relu(nn.Conv3d(45, 64, (3, 1, 1), 1, (1, 0, 0), bias=False), 64),
        )


class VideoResNet(nn.Module):
    """A stem, four stages of residual blocks, and a linear classifier.

    Args:
        block: class of the blocks, :class:`BasicBlock` or :class:`Bottleneck`.
        conv_makers: the convolution of each stage.
        layers: blocks of each stage.
        stem: makes the first layers.
        num_classes: outputs of the classifier.
        zero_init_residual: whether bottlenecks begin as the identity.

    Shape:
        input ``(N, 3, T, H, W)``; result ``(N, num_classes)``.
    """

    def __init__(
        self,
        block: type[BasicBlock | Bottleneck],
        conv_makers: Sequence[type[Conv3DSimple | Conv3DNoTemporal | Conv2Plus1D]],
        layers: list[int],
        stem: Callable[..., nn.Module],
        num_classes: int = 400,
        zero_init_residual: bool = False,
    ) -> None:
        super().__init__()
        self.inplanes = 64
        self.stem = stem()
        self.layer1 = self._make_layer(block, conv_makers[0], 64, layers[0], stride=1)
        self.layer2 = self._make_layer(block, conv_makers[1], 128, layers[1], stride=2)
        self.layer3 = self._make_layer(block, conv_makers[2], 256, layers[2], stride=2)
        self.layer4 = self._make_layer(block, conv_makers[3], 512, layers[3], stride=2)
        self.avgpool = nn.AdaptiveAvgPool3d((1, 1, 1))
        self.fc = nn.Linear(512 * block.expansion, num_classes)

        for m in self.modules():
            if isinstance(m, nn.Conv3d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, std=0.01)
            else:
                continue
            if m.bias is not None:
                nn.init.zeros_(m.bias)
        if zero_init_residual:
            for m in self.modules():
                if isinstance(m, Bottleneck):
                    nn.init.zeros_(m.conv3.get_parameter("1.weight"))

    def _make_layer(
        self,
        block: type[BasicBlock | Bottleneck],
        conv_builder: type[Conv3DSimple | Conv3DNoTemporal | Conv2Plus1D],
        planes: int,
        blocks: int,
        stride: int = 1,
    ) -> nn.Sequential:
        width = planes * block.expansion
        downsample = None
        if stride != 1 or self.inplanes != width:
            step = conv_builder.get_downsample_stride(stride)
            downsample = nn.Sequential(
                nn.Conv3d(self.inplanes, width, 1, step, bias=False), nn.BatchNorm3d(width)
            )
        first = block(self.inplanes, planes, conv_builder, stride, downsample)
        self.inplanes = width
        return nn.Sequential(first, *(block(width, planes, conv_builder) for _ in range(1, blocks)))

    def forward(self, x: Tensor) -> Tensor:
        x = self.layer4(self.layer3(self.layer2(self.layer1(self.stem(x)))))
        result: Tensor = self.fc(self.avgpool(x).flatten(1))
        return result


R3D_18_Weights: Any = weights_enum(__name__, "R3D_18")
MC3_18_Weights: Any = weights_enum(__name__, "MC3_18")
R2Plus1D_18_Weights: Any = weights_enum(__name__, "R2Plus1D_18")


def _resnet(
    weights: Any, title: str, convs: list[Any], stem: type[nn.Module] = BasicStem
) -> Callable[..., VideoResNet]:
    return builder(weights, title, VideoResNet, BasicBlock, convs, [2, 2, 2, 2], stem)


r3d_18 = _resnet(R3D_18_Weights, "ResNet-18 of 3-d convolutions", [Conv3DSimple] * 4)
mc3_18 = _resnet(
    MC3_18_Weights,
    "ResNet-18 of 3-d convolutions, with 2-d ones from the second stage on",
    [Conv3DSimple] + [Conv3DNoTemporal] * 3,
)
r2plus1d_18 = _resnet(
    R2Plus1D_18_Weights,
    "ResNet-18 of convolutions over space and then over time",
    [Conv2Plus1D] * 4,
    R2Plus1dStem,
)
