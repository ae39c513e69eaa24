"""ResNet, ResNeXt and Wide ResNet: layers that learn what to add to their input.

Shape of the input: ``(N, 3, H, W)``; of the output: ``(N, num_classes)``.
"""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from facula import Tensor, flatten, nn
from facula.vision.models._api import builder, weights_enum
from facula.vision.models._utils import init_fan_out

__all__ = [
    "ResNeXt50_32X4D_Weights",
    "ResNeXt101_32X8D_Weights",
    "ResNeXt101_64X4D_Weights",
    "ResNet",
    "ResNet18_Weights",
    "ResNet34_Weights",
    "ResNet50_Weights",
    "ResNet101_Weights",
    "ResNet152_Weights",
    "Wide_ResNet50_2_Weights",
    "Wide_ResNet101_2_Weights",
    "resnet18",
    "resnet34",
    "resnet50",
    "resnet101",
    "resnet152",
    "resnext50_32x4d",
    "resnext101_32x8d",
    "resnext101_64x4d",
    "wide_resnet50_2",
    "wide_resnet101_2",
]


def conv3x3(
    in_planes: int, out_planes: int, stride: int = 1, groups: int = 1, dilation: int = 1
) -> nn.Conv2d:
    """A 3x3 convolution without bias that keeps the size, but for its stride."""
    return nn.Conv2d(
        in_planes,
        out_planes,
        kernel_size=3,
        stride=stride,
        padding=dilation,
        groups=groups,
        bias=False,
        dilation=dilation,
    )


def conv1x1(in_planes: int, out_planes: int, stride: int = 1) -> nn.Conv2d:
    """A 1x1 convolution without bias."""
    return nn.Conv2d(in_planes, out_planes, kernel_size=1, stride=stride, bias=False)


class BasicBlock(nn.Module):
    """Two 3x3 convolutions, added to their input; for ResNet-18 and 34."""

    expansion: ClassVar[int] = 1

    def __init__(
        self,
        inplanes: int,
        planes: int,
        stride: int = 1,
        downsample: nn.Module | None = None,
        groups: int = 1,
        base_width: int = 64,
        dilation: int = 1,
        norm_layer: Callable[..., nn.Module] | None = None,
    ) -> None:
        super().__init__()
        if groups != 1 or base_width != 64:
            raise ValueError(
                f"BasicBlock: expected groups=1 and base_width=64, got {groups} and {base_width}"
            )
        if dilation > 1:
            raise NotImplementedError(f"BasicBlock: expected dilation=1, got {dilation}")
        norm_layer = norm_layer or nn.BatchNorm2d
        self.conv1 = conv3x3(inplanes, planes, stride)
        self.bn1 = norm_layer(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = conv3x3(planes, planes)
        self.bn2 = norm_layer(planes)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += x if self.downsample is None else self.downsample(x)
        out = self.relu(out)
        return out


class Bottleneck(nn.Module):
    """1x1, 3x3 and 1x1 convolutions, added to their input; for ResNet-50 and deeper.

    The stride is that of the 3x3 convolution (ResNet v1.5), not of the first one as in the paper.
    """

    expansion: ClassVar[int] = 4

    def __init__(
        self,
        inplanes: int,
        planes: int,
        stride: int = 1,
        downsample: nn.Module | None = None,
        groups: int = 1,
        base_width: int = 64,
        dilation: int = 1,
        norm_layer: Callable[..., nn.Module] | None = None,
    ) -> None:
        super().__init__()
        norm_layer = norm_layer or nn.BatchNorm2d
        width = int(planes * (base_width / 64.0)) * groups
        self.conv1 = conv1x1(inplanes, width)
        self.bn1 = norm_layer(width)
        self.conv2 = conv3x3(width, width, stride, groups, dilation)
        self.bn2 = norm_layer(width)
        self.conv3 = conv1x1(width, planes * self.expansion)
        self.bn3 = norm_layer(planes * self.expansion)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        out += x if self.downsample is None else self.downsample(x)
        out = self.relu(out)
        return out


class ResNet(nn.Module):
    """Residual network of https://arxiv.org/abs/1512.03385.

    Args:
        block: class of the blocks, `BasicBlock` or `Bottleneck`.
        layers: number of blocks in each of the four stages.
        num_classes: number of outputs.
        zero_init_residual: start each block as the identity, with a last normalisation of zero.
        groups, width_per_group: number of groups and channels of each in the 3x3 convolutions of a
            `Bottleneck`.
        replace_stride_with_dilation: whether each of the last three stages keeps the size and
            dilates its convolutions instead.
        norm_layer: makes the normalisations; `nn.BatchNorm2d` unless given.

    Example:
        >>> from facula.vision.models.resnet import BasicBlock, ResNet
        >>> ResNet(BasicBlock, [1, 1, 1, 1], num_classes=5)(facula.zeros(2, 3, 32, 32)).shape
        torch.Size([2, 5])
    """

    def __init__(
        self,
        block: type[BasicBlock | Bottleneck],
        layers: Sequence[int],
        num_classes: int = 1000,
        zero_init_residual: bool = False,
        groups: int = 1,
        width_per_group: int = 64,
        replace_stride_with_dilation: Sequence[bool] | None = None,
        norm_layer: Callable[..., nn.Module] | None = None,
    ) -> None:
        super().__init__()
        if replace_stride_with_dilation is None:
            replace_stride_with_dilation = [False, False, False]
        dilate = [False, *replace_stride_with_dilation]
        if len(dilate) != 4:
            raise ValueError(
                "ResNet: replace_stride_with_dilation should be None or three bools, "
                f"got {replace_stride_with_dilation}"
            )
        self._norm_layer = norm_layer or nn.BatchNorm2d
        self.inplanes = 64
        self.dilation = 1
        self.groups = groups
        self.base_width = width_per_group
        self.conv1 = nn.Conv2d(3, self.inplanes, kernel_size=7, stride=2, padding=3, bias=False)
        self.bn1 = self._norm_layer(self.inplanes)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        for i, n_blocks in enumerate(layers):
            stage = self._make_layer(block, 64 << i, n_blocks, 1 if i == 0 else 2, dilate[i])
            self.add_module(f"layer{i + 1}", stage)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(512 * block.expansion, num_classes)

        init_fan_out(self)
        if zero_init_residual:
            for module in self.modules():
                last = {BasicBlock: "bn2", Bottleneck: "bn3"}.get(type(module))
                if last and getattr(module, last).weight is not None:
                    nn.init.zeros_(getattr(module, last).weight)

    def _make_layer(
        self,
        block: type[BasicBlock | Bottleneck],
        planes: int,
        blocks: int,
        stride: int = 1,
        dilate: bool = False,
    ) -> nn.Sequential:
        dilation = self.dilation
        if dilate:
            self.dilation *= stride
            stride = 1
        downsample = None
        if stride != 1 or self.inplanes != planes * block.expansion:
            downsample = nn.Sequential(
                conv1x1(self.inplanes, planes * block.expansion, stride),
                self._norm_layer(planes * block.expansion),
            )
        stage = nn.Sequential()
        for i in range(blocks):
            first = (stride, downsample) if i == 0 else (1, None)
            stage.append(
                block(
                    self.inplanes,
                    planes,
                    *first,
                    self.groups,
                    self.base_width,
                    dilation if i == 0 else self.dilation,
                    self._norm_layer,
                )
            )
            self.inplanes = planes * block.expansion
        return stage

    def forward(self, x: Tensor) -> Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        x = self.fc(flatten(self.avgpool(x), 1))
        return x


ResNet18_Weights: Any = weights_enum(__name__, "ResNet18")
ResNet34_Weights: Any = weights_enum(__name__, "ResNet34")
ResNet50_Weights: Any = weights_enum(__name__, "ResNet50")
ResNet101_Weights: Any = weights_enum(__name__, "ResNet101")
ResNet152_Weights: Any = weights_enum(__name__, "ResNet152")
ResNeXt50_32X4D_Weights: Any = weights_enum(__name__, "ResNeXt50_32X4D")
ResNeXt101_32X8D_Weights: Any = weights_enum(__name__, "ResNeXt101_32X8D")
ResNeXt101_64X4D_Weights: Any = weights_enum(__name__, "ResNeXt101_64X4D")
Wide_ResNet50_2_Weights: Any = weights_enum(__name__, "Wide_ResNet50_2")
Wide_ResNet101_2_Weights: Any = weights_enum(__name__, "Wide_ResNet101_2")


# By depth: how many blocks are in each of the four stages.
_LAYERS = {
    18: [2, 2, 2, 2],
    34: [3, 4, 6, 3],
    50: [3, 4, 6, 3],
    101: [3, 4, 23, 3],
    152: [3, 8, 36, 3],
}
_NEXT = "ResNeXt-{} of {groups} groups {width_per_group} wide, of https://arxiv.org/abs/1611.05431"
_WIDE = "ResNet-{} with 3x3 convolutions twice as wide, of https://arxiv.org/abs/1605.07146"


def _resnet(
    weights: Any, depth: int, title: str = "ResNet-{}", **widths: Any
) -> Callable[..., ResNet]:
    block = BasicBlock if depth < 50 else Bottleneck
    title = title.format(depth, **widths)
    return builder(weights, title, ResNet, block, _LAYERS[depth], **widths)


resnet18 = _resnet(ResNet18_Weights, 18)
resnet34 = _resnet(ResNet34_Weights, 34)
resnet50 = _resnet(ResNet50_Weights, 50)
resnet101 = _resnet(ResNet101_Weights, 101)
resnet152 = _resnet(ResNet152_Weights, 152)
resnext50_32x4d = _resnet(ResNeXt50_32X4D_Weights, 50, _NEXT, groups=32, width_per_group=4)
resnext101_32x8d = _resnet(ResNeXt101_32X8D_Weights, 101, _NEXT, groups=32, width_per_group=8)
resnext101_64x4d = _resnet(ResNeXt101_64X4D_Weights, 101, _NEXT, groups=64, width_per_group=4)
wide_resnet50_2 = _resnet(Wide_ResNet50_2_Weights, 50, _WIDE, width_per_group=128)
wide_resnet101_2 = _resnet(Wide_ResNet101_2_Weights, 101, _WIDE, width_per_group=128)
