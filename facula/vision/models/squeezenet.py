"""SqueezeNet: AlexNet's accuracy with a fiftieth of its parameters (arXiv:1602.07360)."""

from typing import Any

from facula import Tensor, cat, nn
from facula.vision.models._api import builder, weights_enum

__all__ = [
    "SqueezeNet",
    "SqueezeNet1_0_Weights",
    "SqueezeNet1_1_Weights",
    "squeezenet1_0",
    "squeezenet1_1",
]


class Fire(nn.Module):
    """A 1x1 convolution to few channels, from which a 1x1 and a 3x3 one make many.

    Shape:
        input ``(N, inplanes, H, W)``; result ``(N, expand1x1_planes + expand3x3_planes, H, W)``.
    """

    def __init__(
        self, inplanes: int, squeeze_planes: int, expand1x1_planes: int, expand3x3_planes: int
    ) -> None:
        super().__init__()
        self.inplanes = inplanes
        self.squeeze = nn.Conv2d(inplanes, squeeze_planes, kernel_size=1)
        self.squeeze_activation = nn.ReLU(inplace=True)
        self.expand1x1 = nn.Conv2d(squeeze_planes, expand1x1_planes, kernel_size=1)
        self.expand1x1_activation = nn.ReLU(inplace=True)
        self.expand3x3 = nn.Conv2d(squeeze_planes, expand3x3_planes, kernel_size=3, padding=1)
        self.expand3x3_activation = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        x = self.squeeze_activation(self.squeeze(x))
        small = self.expand1x1_activation(self.expand1x1(x))
        return cat([small, self.expand3x3_activation(self.expand3x3(x))], 1)


# By version: the first convolution, and before which of the eight Fires a pooling comes.
_VERSIONS = {"1_0": ((96, 7), (0, 3, 7)), "1_1": ((64, 3), (0, 2, 4))}


class SqueezeNet(nn.Module):
    """A convolution, eight `Fire` modules, and a convolution that gives the classes.

    Args:
        version: ``"1_0"``, that of the paper, or ``"1_1"``, which computes 2.4 times less.
        num_classes: number of outputs.
        dropout: probability of dropping an input of the last convolution.

    Shape:
        input ``(N, 3, H, W)`` of at least 21 x 21; result ``(N, num_classes)``.

    Example:
        >>> from facula.vision.models import SqueezeNet
        >>> SqueezeNet("1_1", num_classes=5)(facula.zeros(2, 3, 32, 32)).shape
        torch.Size([2, 5])
    """

    def __init__(self, version: str = "1_0", num_classes: int = 1000, dropout: float = 0.5) -> None:
        super().__init__()
        if version not in _VERSIONS:
            raise ValueError(f"SqueezeNet: version should be '1_0' or '1_1', got {version!r}")
        self.num_classes = num_classes
        (channels, kernel_size), pools = _VERSIONS[version]
        self.features = nn.Sequential(
            nn.Conv2d(3, channels, kernel_size, stride=2), nn.ReLU(inplace=True)
        )
        for i in range(8):
            if i in pools:
                self.features.append(nn.MaxPool2d(kernel_size=3, stride=2, ceil_mode=True))
            squeeze = 16 * (i // 2 + 1)
            self.features.append(Fire(channels, squeeze, 4 * squeeze, 4 * squeeze))
            channels = 8 * squeeze
        self.classifier = nn.Sequential(
            nn.Dropout(p=dropout),
            nn.Conv2d(512, num_classes, kernel_size=1),
            nn.ReLU(inplace=True),
            nn.AdaptiveAvgPool2d((1, 1)),
        )
        for module in self.modules():
            if isinstance(module, nn.Conv2d) and module.bias is not None:
                if module is self.classifier[1]:
                    nn.init.normal_(module.weight, mean=0.0, std=0.01)
                else:
                    nn.init.kaiming_uniform_(module.weight)
                nn.init.zeros_(module.bias)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.classifier(self.features(x))
        return y.flatten(1)


SqueezeNet1_0_Weights: Any = weights_enum(__name__, "SqueezeNet1_0")
SqueezeNet1_1_Weights: Any = weights_enum(__name__, "SqueezeNet1_1")

squeezenet1_0 = builder(SqueezeNet1_0_Weights, "SqueezeNet 1.0", SqueezeNet, "1_0")
squeezenet1_1 = builder(SqueezeNet1_1_Weights, "SqueezeNet 1.1", SqueezeNet, "1_1")
