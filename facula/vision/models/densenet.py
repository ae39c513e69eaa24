"""DenseNet: each layer sees the features of all layers before it (arXiv:1608.06993)."""

import re
from typing import Any

from facula import Tensor, cat, nn
from facula.nn import functional as F
from facula.utils.checkpoint import checkpoint
from facula.vision.models._api import builder, weights_enum

__all__ = [
    "DenseNet",
    "DenseNet121_Weights",
    "DenseNet161_Weights",
    "DenseNet169_Weights",
    "DenseNet201_Weights",
    "densenet121",
    "densenet161",
    "densenet169",
    "densenet201",
]


class _DenseLayer(nn.Module):
    def __init__(
        self,
        num_input_features: int,
        growth_rate: int,
        bn_size: int,
        drop_rate: float,
        memory_efficient: bool = False,
    ) -> None:
        super().__init__()
        width = bn_size * growth_rate
        self.norm1 = nn.BatchNorm2d(num_input_features)
        self.relu1 = nn.ReLU(inplace=True)
        self.conv1 = nn.Conv2d(num_input_features, width, kernel_size=1, bias=False)
        self.norm2 = nn.BatchNorm2d(width)
        self.relu2 = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(width, growth_rate, kernel_size=3, padding=1, bias=False)
        self.drop_rate = float(drop_rate)
        self.memory_efficient = memory_efficient

    def _squeeze(self, *features: Tensor) -> Tensor:
        y: Tensor = self.conv1(self.relu1(self.norm1(cat(features, 1))))
        return y

    def forward(self, input: Tensor | list[Tensor]) -> Tensor:
        features = [input] if isinstance(input, Tensor) else input
        if self.memory_efficient and any(feature.requires_grad for feature in features):
            # The concatenation is most of the memory, and little of the time.
            y = checkpoint(self._squeeze, *features, use_reentrant=False)
        else:
            y = self._squeeze(*features)
        y = self.conv2(self.relu2(self.norm2(y)))
        return F.dropout(y, self.drop_rate, self.training) if self.drop_rate > 0 else y

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, *args: Any, **kwargs: Any
    ) -> None:
        # The published files are older than the rule that names hold no dots: norm.1 is norm1.
        for key in list(state_dict):
            if match := re.fullmatch(r"(norm|conv)\.([12]\.\w+)", key.removeprefix(prefix)):
                state_dict[prefix + match[1] + match[2]] = state_dict.pop(key)
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)


class _DenseBlock(nn.ModuleDict):
    def __init__(
        self,
        num_layers: int,
        num_input_features: int,
        bn_size: int,
        growth_rate: int,
        drop_rate: float,
        memory_efficient: bool = False,
    ) -> None:
        super().__init__()
        for i in range(num_layers):
            n_features = num_input_features + i * growth_rate
            layer = _DenseLayer(n_features, growth_rate, bn_size, drop_rate, memory_efficient)
            self.add_module(f"denselayer{i + 1}", layer)

    def forward(self, init_features: Tensor) -> Tensor:
        features = [init_features]
        for layer in self.values():
            features.append(layer(features))
        return cat(features, 1)


class _Transition(nn.Sequential):
    def __init__(self, num_input_features: int, num_output_features: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(num_input_features)
        self.relu = nn.ReLU(inplace=True)
        self.conv = nn.Conv2d(num_input_features, num_output_features, kernel_size=1, bias=False)
        self.pool = nn.AvgPool2d(kernel_size=2, stride=2)


class DenseNet(nn.Module):
    """Blocks of densely connected layers; between two blocks, half the channels and half the size.

    Args:
        growth_rate: how many features each layer adds.
        block_config: number of layers in each block.
        num_init_features: channels of the first convolution.
        bn_size: channels of a layer's first convolution, in units of the growth rate.
        drop_rate: probability of dropping an output of a layer.
        num_classes: number of outputs.
        memory_efficient: compute parts again in the backward pass instead of keeping them.

    Shape:
        input ``(N, 3, H, W)`` of at least 29 x 29; result ``(N, num_classes)``.

    Example:
        >>> from facula.vision.models import DenseNet
        >>> DenseNet(8, (2, 2, 2, 2), 16, num_classes=5)(facula.zeros(2, 3, 32, 32)).shape
        torch.Size([2, 5])
    """

    def __init__(
        self,
        growth_rate: int = 32,
        block_config: tuple[int, int, int, int] = (6, 12, 24, 16),
        num_init_features: int = 64,
        bn_size: int = 4,
        drop_rate: float = 0,
        num_classes: int = 1000,
        memory_efficient: bool = False,
    ) -> None:
        super().__init__()
        self.features = nn.Sequential()
        conv0 = nn.Conv2d(3, num_init_features, kernel_size=7, stride=2, padding=3, bias=False)
        self.features.add_module("conv0", conv0)
        self.features.add_module("norm0", nn.BatchNorm2d(num_init_features))
        self.features.add_module("relu0", nn.ReLU(inplace=True))
        self.features.add_module("pool0", nn.MaxPool2d(kernel_size=3, stride=2, padding=1))
        n_features = num_init_features
        for i, n_layers in enumerate(block_config, 1):
            block = _DenseBlock(
                n_layers, n_features, bn_size, growth_rate, drop_rate, memory_efficient
            )
            self.features.add_module(f"denseblock{i}", block)
            n_features += n_layers * growth_rate
            if i < len(block_config):
                transition = _Transition(n_features, n_features // 2)
                self.features.add_module(f"transition{i}", transition)
                n_features //= 2
        self.features.add_module("norm5", nn.BatchNorm2d(n_features))
        self.classifier = nn.Linear(n_features, num_classes)

        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight)
        if self.classifier.bias is not None:
            nn.init.zeros_(self.classifier.bias)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.features(x), inplace=True)
        y: Tensor = self.classifier(F.adaptive_avg_pool2d(x, (1, 1)).flatten(1))
        return y


DenseNet121_Weights: Any = weights_enum(__name__, "DenseNet121")
DenseNet161_Weights: Any = weights_enum(__name__, "DenseNet161")
DenseNet169_Weights: Any = weights_enum(__name__, "DenseNet169")
DenseNet201_Weights: Any = weights_enum(__name__, "DenseNet201")

densenet121 = builder(DenseNet121_Weights, "DenseNet-121", DenseNet, 32, (6, 12, 24, 16), 64)
densenet161 = builder(DenseNet161_Weights, "DenseNet-161", DenseNet, 48, (6, 12, 36, 24), 96)
densenet169 = builder(DenseNet169_Weights, "DenseNet-169", DenseNet, 32, (6, 12, 32, 32), 64)
densenet201 = builder(DenseNet201_Weights, "DenseNet-201", DenseNet, 32, (6, 12, 48, 32), 64)
