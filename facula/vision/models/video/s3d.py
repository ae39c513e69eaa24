"""S3D: `Rethinking Spatiotemporal Feature Learning <https://arxiv.org/abs/1712.04851>`_."""

from collections.abc import Callable
from functools import partial
from typing import Any

import facula
from facula import nn
from facula._core import Tensor
from facula.vision.models._api import builder, weights_enum
from facula.vision.ops.misc import Conv3dNormActivation

__all__ = ["S3D", "S3D_Weights", "s3d"]

Layer = Callable[..., nn.Module]


class TemporalSeparableConv(nn.Sequential):
    """A convolution over space, and one over time."""

    def __init__(
        self,
        in_planes: int,
        out_planes: int,
        kernel_size: int,
        stride: int,
        padding: int,
        norm_layer: Layer,
    ) -> None:
        k, s, p = kernel_size, stride, padding
        conv = partial(Conv3dNormActivation, norm_layer=norm_layer)
        super().__init__(
            conv(in_planes, out_planes, (1, k, k), (1, s, s), (0, p, p)),
            conv(out_planes, out_planes, (k, 1, 1), (s, 1, 1), (p, 0, 0)),
        )


class SepInceptionBlock3D(nn.Module):
    """Four branches side by side; the names say the channels of branches and layers.

    Shape:
        input ``(N, in_planes, T, H, W)``; result ``(N, b0_out + ... + b3_out, T, H, W)``.
    """

    def __init__(
        self,
        in_planes: int,
        b0_out: int,
        b1_mid: int,
        b1_out: int,
        b2_mid: int,
        b2_out: int,
        b3_out: int,
        norm_layer: Layer,
    ) -> None:
        super().__init__()
        point = partial(Conv3dNormActivation, in_planes, kernel_size=1, norm_layer=norm_layer)
        self.branch0 = point(b0_out)
        self.branch1 = nn.Sequential(
            point(b1_mid), TemporalSeparableConv(b1_mid, b1_out, 3, 1, 1, norm_layer)
        )
        self.branch2 = nn.Sequential(
            point(b2_mid), TemporalSeparableConv(b2_mid, b2_out, 3, 1, 1, norm_layer)
        )
        self.branch3 = nn.Sequential(nn.MaxPool3d((3, 3, 3), stride=1, padding=1), point(b3_out))

    def forward(self, x: Tensor) -> Tensor:
        branches = (self.branch0, self.branch1, self.branch2, self.branch3)
        return facula.cat([branch(x) for branch in branches], dim=1)


class S3D(nn.Module):
    """Inception with convolutions over space and time apart.

    Args:
        num_classes: outputs of the classifier.
        dropout: the probability of dropout before the classifier.
        norm_layer: makes the normalisations; ``None`` for ``nn.BatchNorm3d`` with ``eps`` and
            ``momentum`` of 0.001.

    Shape:
        input ``(N, 3, T, H, W)`` with ``T >= 13`` and ``H, W >= 209``; result
        ``(N, num_classes)``.
    """

    def __init__(
        self, num_classes: int = 400, dropout: float = 0.2, norm_layer: Layer | None = None
    ) -> None:
        super().__init__()
        norm_layer = norm_layer or partial(nn.BatchNorm3d, eps=0.001, momentum=0.001)
        block = partial(SepInceptionBlock3D, norm_layer=norm_layer)
        self.features = nn.Sequential(
            TemporalSeparableConv(3, 64, 7, 2, 3, norm_layer),
            nn.MaxPool3d(kernel_size=(1, 3, 3), stride=(1, 2, 2), padding=(0, 1, 1)),
            Conv3dNormActivation(64, 64, kernel_size=1, norm_layer=norm_layer),
            TemporalSeparableConv(64, 192, 3, 1, 1, norm_layer),
            nn.MaxPool3d(kernel_size=(1, 3, 3), stride=(1, 2, 2), padding=(0, 1, 1)),
            block(192, 64, 96, 128, 16, 32, 32),
            block(256, 128, 128, 192, 32, 96, 64),
            nn.MaxPool3d(kernel_size=(3, 3, 3), stride=(2, 2, 2), padding=(1, 1, 1)),
            block(480, 192, 96, 208, 16, 48, 64),
            block(512, 160, 112, 224, 24, 64, 64),
            block(512, 128, 128, 256, 24, 64, 64),
            block(512, 112, 144, 288, 32, 64, 64),
            block(528, 256, 160, 320, 32, 128, 128),
            nn.MaxPool3d(kernel_size=(2, 2, 2), stride=(2, 2, 2), padding=(0, 0, 0)),
            block(832, 256, 160, 320, 32, 128, 128),
            block(832, 384, 192, 384, 48, 128, 128),
        )
        self.avgpool = nn.AvgPool3d(kernel_size=(2, 7, 7), stride=1)
        self.classifier = nn.Sequential(
            nn.Dropout(p=dropout), nn.Conv3d(1024, num_classes, kernel_size=1)
        )

    def forward(self, x: Tensor) -> Tensor:
        x = self.classifier(self.avgpool(self.features(x)))
        return x.mean(dim=(2, 3, 4))


S3D_Weights: Any = weights_enum(__name__, "S3D")

s3d = builder(S3D_Weights, "S3D", S3D)
