"""VGG: 3x3 convolutions between poolings, and three linear layers (arXiv:1409.1556)."""

from collections.abc import Callable
from typing import Any

from facula import Tensor, nn
from facula.vision.models._api import builder, weights_enum
from facula.vision.models._utils import init_fan_out

__all__ = [
    "VGG",
    "VGG11_BN_Weights",
    "VGG11_Weights",
    "VGG13_BN_Weights",
    "VGG13_Weights",
    "VGG16_BN_Weights",
    "VGG16_Weights",
    "VGG19_BN_Weights",
    "VGG19_Weights",
    "vgg11",
    "vgg11_bn",
    "vgg13",
    "vgg13_bn",
    "vgg16",
    "vgg16_bn",
    "vgg19",
    "vgg19_bn",
]


class VGG(nn.Module):
    """Features of images, pooled to 7 x 7, and three linear layers.

    Args:
        features: the convolutions, whose result has 512 channels, as `make_layers` makes them.
        num_classes: number of outputs.
        init_weights: draw the weights for ReLUs, instead of as each layer does.
        dropout: probability of dropping an output of the first two linear layers.

    Shape:
        input ``(N, 3, H, W)`` of at least 32 x 32; result ``(N, num_classes)``.

    Example:
        >>> from facula.vision.models.vgg import VGG, make_layers
        >>> VGG(make_layers([8, "M", 512, "M"]), num_classes=5)(facula.zeros(2, 3, 9, 9)).shape
        torch.Size([2, 5])
    """

    def __init__(
        self,
        features: nn.Module,
        num_classes: int = 1000,
        init_weights: bool = True,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        self.features = features
        self.avgpool = nn.AdaptiveAvgPool2d((7, 7))
        self.classifier = nn.Sequential(
            nn.Linear(512 * 7 * 7, 4096),
            nn.ReLU(True),
            nn.Dropout(p=dropout),
            nn.Linear(4096, 4096),
            nn.ReLU(True),
            nn.Dropout(p=dropout),
            nn.Linear(4096, num_classes),
        )
        if init_weights:
            init_fan_out(self, linear_std=0.01)

    def forward(self, x: Tensor) -> Tensor:
        x = self.avgpool(self.features(x))
        y: Tensor = self.classifier(x.flatten(1))
        return y


def make_layers(cfg: list[str | int], batch_norm: bool = False) -> nn.Sequential:
    """Stack convolutions, given by their channels, and poolings, given by ``"M"``.

    Example:
        >>> from facula.vision.models.vgg import make_layers
        >>> len(make_layers([8, "M"], batch_norm=True))
        4
    """
    layers: list[nn.Module] = []
    in_channels = 3
    for v in cfg:
        if isinstance(v, str):
            layers.append(nn.MaxPool2d(kernel_size=2, stride=2))
        else:
            layers.append(nn.Conv2d(in_channels, v, kernel_size=3, padding=1))
            layers += [nn.BatchNorm2d(v)] if batch_norm else []
            layers.append(nn.ReLU(inplace=True))
            in_channels = v
    return nn.Sequential(*layers)


# By depth: how many convolutions are in each of the five stages.
_REPEATS = {
    11: (1, 1, 2, 2, 2),
    13: (2, 2, 2, 2, 2),
    16: (2, 2, 3, 3, 3),
    19: (2, 2, 4, 4, 4),
}


def _make_vgg(depth: int, batch_norm: bool, **kwargs: Any) -> VGG:
    cfg: list[str | int] = []
    for channels, repeats in zip((64, 128, 256, 512, 512), _REPEATS[depth], strict=True):
        cfg += [*[channels] * repeats, "M"]
    return VGG(make_layers(cfg, batch_norm), **kwargs)


def _vgg(weights: Any, depth: int, batch_norm: bool = False) -> Callable[..., VGG]:
    title = f"VGG-{depth}" + " with batch normalisation" * batch_norm
    loaded = {"init_weights": False}
    return builder(weights, title, _make_vgg, depth, batch_norm, loaded=loaded)


VGG11_Weights: Any = weights_enum(__name__, "VGG11")
VGG11_BN_Weights: Any = weights_enum(__name__, "VGG11_BN")
VGG13_Weights: Any = weights_enum(__name__, "VGG13")
VGG13_BN_Weights: Any = weights_enum(__name__, "VGG13_BN")
VGG16_Weights: Any = weights_enum(__name__, "VGG16")
VGG16_BN_Weights: Any = weights_enum(__name__, "VGG16_BN")
VGG19_Weights: Any = weights_enum(__name__, "VGG19")
VGG19_BN_Weights: Any = weights_enum(__name__, "VGG19_BN")

vgg11 = _vgg(VGG11_Weights, 11)
vgg11_bn = _vgg(VGG11_BN_Weights, 11, batch_norm=True)
vgg13 = _vgg(VGG13_Weights, 13)
vgg13_bn = _vgg(VGG13_BN_Weights, 13, batch_norm=True)
vgg16 = _vgg(VGG16_Weights, 16)
vgg16_bn = _vgg(VGG16_BN_Weights, 16, batch_norm=True)
vgg19 = _vgg(VGG19_Weights, 19)
vgg19_bn = _vgg(VGG19_BN_Weights, 19, batch_norm=True)
