"""AlexNet, in the variant of https://arxiv.org/abs/1404.5997."""

from typing import Any

from facula import Tensor, nn
from facula.vision.models._api import builder, weights_enum

__all__ = ["AlexNet", "AlexNet_Weights", "alexnet"]


class AlexNet(nn.Module):
    """Five convolutions and three linear layers.

    Args:
        num_classes: number of outputs.
        dropout: probability of dropping an input of the first two linear layers.

    Shape:
        input ``(N, 3, H, W)`` of at least 63 x 63; result ``(N, num_classes)``.

    Example:
        >>> from facula.vision.models import AlexNet
        >>> AlexNet(num_classes=5)(facula.zeros(2, 3, 63, 63)).shape
        torch.Size([2, 5])
    """

    def __init__(self, num_classes: int = 1000, dropout: float = 0.5) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 64, kernel_size=11, stride=4, padding=2),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(kernel_size=3, stride=2),
            nn.Conv2d(64, 192, kernel_size=5, padding=2),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(kernel_size=3, stride=2),
            nn.Conv2d(192, 384, kernel_size=3, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(384, 256, kernel_size=3, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(256, 256, kernel_size=3, padding=1),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(kernel_size=3, stride=2),
        )
        self.avgpool = nn.AdaptiveAvgPool2d((6, 6))
        self.classifier = nn.Sequential(
            nn.Dropout(p=dropout),
            nn.Linear(256 * 6 * 6, 4096),
            nn.ReLU(inplace=True),
            nn.Dropout(p=dropout),
            nn.Linear(4096, 4096),
            nn.ReLU(inplace=True),
            nn.Linear(4096, num_classes),
        )

    def forward(self, x: Tensor) -> Tensor:
        x = self.avgpool(self.features(x))
        y: Tensor = self.classifier(x.flatten(1))
        return y


AlexNet_Weights: Any = weights_enum(__name__, "AlexNet")
alexnet = builder(AlexNet_Weights, "AlexNet", AlexNet)
