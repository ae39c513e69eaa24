"""Inception v3: convolutions of several sizes side by side (arXiv:1512.00567)."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from facula import Tensor, cat, nn
from facula.nn import functional as F
from facula.vision.models._api import accept_weights, build_model, register_model, weights_enum
from facula.vision.models._utils import _ovewrite_named_param

__all__ = [
    "Inception3",
    "InceptionOutputs",
    "Inception_V3_Weights",
    "_InceptionOutputs",
    "inception_v3",
]

Conv = Callable[..., nn.Module] | None


class InceptionOutputs(NamedTuple):
    """What a network with auxiliary outputs returns while it is trained."""

    logits: Tensor
    aux_logits: Tensor | None


_InceptionOutputs = InceptionOutputs


class BasicConv2d(nn.Module):
    """A convolution without bias, batch normalisation and ReLU.

    Args:
        in_channels, out_channels, **kwargs: arguments of `nn.Conv2d`.
    """

    def __init__(self, in_channels: int, out_channels: int, **kwargs: Any) -> None:
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, bias=False, **kwargs)
        self.bn = nn.BatchNorm2d(out_channels, eps=0.001)

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.bn(self.conv(x)), inplace=True)


class _Branches(nn.Module):
    """Named chains of convolutions on the same input.

    A convolution is given as its channels and kernel, and is padded to keep the size; or with a
    stride, and is not padded. The convolutions of a chain of several are numbered from 1.
    """

    def __init__(self, conv_block: Conv) -> None:
        super().__init__()
        self._conv_block = conv_block or BasicConv2d

    def add_chain(self, name: str, in_channels: int, *layers: tuple[Any, ...]) -> None:
        for i, (out_channels, kernel, *stride) in enumerate(layers, 1):
            layer_name = f"{name}_{i}" if len(layers) > 1 else name
            sizes = (kernel, kernel) if isinstance(kernel, int) else kernel
            options = {"stride": stride[0]} if stride else {"padding": [k // 2 for k in sizes]}
            conv = self._conv_block(in_channels, out_channels, kernel_size=kernel, **options)
            self.add_module(layer_name, conv)
            in_channels = out_channels

    def run(self, name: str, x: Tensor) -> Tensor:
        # Found by their names, which is all that an unpickled model of torchvision has.
        layers = self._modules
        names = [name] if name in layers else [f"{name}_{i}" for i in range(1, len(layers) + 1)]
        for layer in filter(None, map(layers.get, names)):
            x = layer(x)
        return x

    def run_pool(self, x: Tensor) -> Tensor:
        return self.run("branch_pool", F.avg_pool2d(x, kernel_size=3, stride=1, padding=1))


class InceptionA(_Branches):
    """Figure 5 of the paper: result ``(N, 224 + pool_features, H, W)``."""

    def __init__(self, in_channels: int, pool_features: int, conv_block: Conv = None) -> None:
        super().__init__(conv_block)
        self.add_chain("branch1x1", in_channels, (64, 1))
        self.add_chain("branch5x5", in_channels, (48, 1), (64, 5))
        self.add_chain("branch3x3dbl", in_channels, (64, 1), (96, 3), (96, 3))
        self.add_chain("branch_pool", in_channels, (pool_features, 1))

    def forward(self, x: Tensor) -> Tensor:
        branches = [self.run(name, x) for name in ("branch1x1", "branch5x5", "branch3x3dbl")]
        return cat([*branches, self.run_pool(x)], 1)


class InceptionB(_Branches):
    """Half the size: result ``(N, 480 + in_channels, (H - 1) // 2, (W - 1) // 2)``."""

    def __init__(self, in_channels: int, conv_block: Conv = None) -> None:
        super().__init__(conv_block)
        self.add_chain("branch3x3", in_channels, (384, 3, 2))
        self.add_chain("branch3x3dbl", in_channels, (64, 1), (96, 3), (96, 3, 2))

    def forward(self, x: Tensor) -> Tensor:
        branches = [self.run(name, x) for name in ("branch3x3", "branch3x3dbl")]
        return cat([*branches, F.max_pool2d(x, kernel_size=3, stride=2)], 1)


class InceptionC(_Branches):
    """Figure 6 of the paper, 7x7 as 1x7 and 7x1: result ``(N, 768, H, W)``."""

    def __init__(self, in_channels: int, channels_7x7: int, conv_block: Conv = None) -> None:
        super().__init__(conv_block)
        c7 = channels_7x7
        row, column = (1, 7), (7, 1)
        self.add_chain("branch1x1", in_channels, (192, 1))
        self.add_chain("branch7x7", in_channels, (c7, 1), (c7, row), (192, column))
        double = [(c7, column), (c7, row), (c7, column), (192, row)]
        self.add_chain("branch7x7dbl", in_channels, (c7, 1), *double)
        self.add_chain("branch_pool", in_channels, (192, 1))

    def forward(self, x: Tensor) -> Tensor:
        branches = [self.run(name, x) for name in ("branch1x1", "branch7x7", "branch7x7dbl")]
        return cat([*branches, self.run_pool(x)], 1)


class InceptionD(_Branches):
    """Half the size: result ``(N, 512 + in_channels, (H - 1) // 2, (W - 1) // 2)``."""

    def __init__(self, in_channels: int, conv_block: Conv = None) -> None:
        super().__init__(conv_block)
        self.add_chain("branch3x3", in_channels, (192, 1), (320, 3, 2))
        self.add_chain(
            "branch7x7x3", in_channels, (192, 1), (192, (1, 7)), (192, (7, 1)), (192, 3, 2)
        )

    def forward(self, x: Tensor) -> Tensor:
        branches = [self.run(name, x) for name in ("branch3x3", "branch7x7x3")]
        return cat([*branches, F.max_pool2d(x, kernel_size=3, stride=2)], 1)


class InceptionE(_Branches):
    """Figure 7 of the paper, ends that fork into 1x3 and 3x1: result ``(N, 2048, H, W)``."""

    def __init__(self, in_channels: int, conv_block: Conv = None) -> None:
        super().__init__(conv_block)
        self.add_chain("branch1x1", in_channels, (320, 1))
        self.add_chain("branch3x3_1", in_channels, (384, 1))
        self.add_chain("branch3x3_2a", 384, (384, (1, 3)))
        self.add_chain("branch3x3_2b", 384, (384, (3, 1)))
        self.add_chain("branch3x3dbl", in_channels, (448, 1), (384, 3))
        self.add_chain("branch3x3dbl_3a", 384, (384, (1, 3)))
        self.add_chain("branch3x3dbl_3b", 384, (384, (3, 1)))
        self.add_chain("branch_pool", in_channels, (192, 1))

    def forward(self, x: Tensor) -> Tensor:
        branches = [self.run("branch1x1", x)]
        y = self.run("branch3x3_1", x)
        branches.append(cat([self.run("branch3x3_2a", y), self.run("branch3x3_2b", y)], 1))
        y = self.run("branch3x3dbl", x)
        branches.append(cat([self.run("branch3x3dbl_3a", y), self.run("branch3x3dbl_3b", y)], 1))
        return cat([*branches, self.run_pool(x)], 1)


class InceptionAux(nn.Module):
    """A second output, which trains the middle of the network: result ``(N, num_classes)``."""

    def __init__(self, in_channels: int, num_classes: int, conv_block: Conv = None) -> None:
        super().__init__()
        conv_block = conv_block or BasicConv2d
        self.conv0 = conv_block(in_channels, 128, kernel_size=1)
        self.conv1 = conv_block(128, 768, kernel_size=5)
        self.conv1.stddev = 0.01
        self.fc = nn.Linear(768, num_classes)
        self.fc.stddev = 0.001

    def forward(self, x: Tensor) -> Tensor:
        x = self.conv1(self.conv0(F.avg_pool2d(x, kernel_size=5, stride=3)))
        y: Tensor = self.fc(F.adaptive_avg_pool2d(x, (1, 1)).flatten(1))
        return y


def init_trunc_normal(model: nn.Module, std: float) -> None:
    """Draw the weights of convolutions and linear layers, within 2 of zero."""
    for module in model.modules():
        if isinstance(module, nn.Conv2d | nn.Linear):
            module_std = getattr(module, "stddev", std)
            nn.init.trunc_normal_(module.weight, mean=0.0, std=module_std, a=-2, b=2)


def to_original_input(x: Tensor) -> Tensor:
    """Turn images normalised as ImageNet's into those of mean and deviation 0.5."""
    mean = x.new_tensor([0.485, 0.456, 0.406]).view(3, 1, 1)
    std = x.new_tensor([0.229, 0.224, 0.225]).view(3, 1, 1)
    return x * (std / 0.5) + (mean - 0.5) / 0.5


class Inception3(nn.Module):
    """Inception v3.

    Args:
        num_classes: number of outputs.
        aux_logits: whether to train with an auxiliary output as well.
        transform_input: whether images come normalised as ImageNet's, though the weights are for
            a mean and deviation of 0.5.
        inception_blocks: replacements for `BasicConv2d`, `InceptionA` to `InceptionE` and
            `InceptionAux`, in this order.
        init_weights: draw the weights from a truncated normal distribution, as also by default;
            ``False`` leaves those that each layer draws.
        dropout: probability of dropping an input of the linear layer.

    Shape:
        input ``(N, 3, H, W)`` of at least 75 x 75; result ``(N, num_classes)``, or
        `InceptionOutputs` of two such in training with auxiliary output.

    Example:
        >>> from facula.vision.models import Inception3
        >>> net = Inception3(num_classes=5, init_weights=False).eval()
        >>> net(facula.zeros(1, 3, 75, 75)).shape
        torch.Size([1, 5])
    """

    def __init__(
        self,
        num_classes: int = 1000,
        aux_logits: bool = True,
        transform_input: bool = False,
        inception_blocks: Sequence[Callable[..., nn.Module]] | None = None,
        init_weights: bool | None = None,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        if inception_blocks is None:
            inception_blocks = [
                BasicConv2d,
                InceptionA,
                InceptionB,
                InceptionC,
                InceptionD,
                InceptionE,
                InceptionAux,
            ]
        if len(inception_blocks) != 7:
            raise ValueError(
                f"Inception3: expected 7 inception_blocks, got {len(inception_blocks)}"
            )
        conv, a, b, c, d, e, aux = inception_blocks
        self.aux_logits = aux_logits
        self.transform_input = transform_input
        self.Conv2d_1a_3x3 = conv(3, 32, kernel_size=3, stride=2)
        self.Conv2d_2a_3x3 = conv(32, 32, kernel_size=3)
        self.Conv2d_2b_3x3 = conv(32, 64, kernel_size=3, padding=1)
        self.maxpool1 = nn.MaxPool2d(kernel_size=3, stride=2)
        self.Conv2d_3b_1x1 = conv(64, 80, kernel_size=1)
        self.Conv2d_4a_3x3 = conv(80, 192, kernel_size=3)
        self.maxpool2 = nn.MaxPool2d(kernel_size=3, stride=2)
        self.Mixed_5b = a(192, pool_features=32)
        self.Mixed_5c = a(256, pool_features=64)
        self.Mixed_5d = a(288, pool_features=64)
        self.Mixed_6a = b(288)
        self.Mixed_6b = c(768, channels_7x7=128)
        self.Mixed_6c = c(768, channels_7x7=160)
        self.Mixed_6d = c(768, channels_7x7=160)
        self.Mixed_6e = c(768, channels_7x7=192)
        self.AuxLogits = aux(768, num_classes) if aux_logits else None
        self.Mixed_7a = d(768)
        self.Mixed_7b = e(1280)
        self.Mixed_7c = e(2048)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.dropout = nn.Dropout(p=dropout)
        self.fc = nn.Linear(2048, num_classes)
        if init_weights is None or init_weights:
            init_trunc_normal(self, std=0.1)

    def forward(self, x: Tensor) -> Tensor | InceptionOutputs:
        if self.transform_input:
            x = to_original_input(x)
        x = self.Conv2d_2b_3x3(self.Conv2d_2a_3x3(self.Conv2d_1a_3x3(x)))
        x = self.Conv2d_4a_3x3(self.Conv2d_3b_1x1(self.maxpool1(x)))
        x = self.Mixed_5d(self.Mixed_5c(self.Mixed_5b(self.maxpool2(x))))
        x = self.Mixed_6e(self.Mixed_6d(self.Mixed_6c(self.Mixed_6b(self.Mixed_6a(x)))))
        aux = self.AuxLogits(x) if self.AuxLogits is not None and self.training else None
        x = self.Mixed_7c(self.Mixed_7b(self.Mixed_7a(x)))
        y: Tensor = self.fc(self.dropout(self.avgpool(x)).flatten(1))
        return InceptionOutputs(y, aux) if self.training and self.aux_logits else y


Inception_V3_Weights: Any = weights_enum(__name__, "Inception_V3")


@register_model()
@accept_weights(weights=Inception_V3_Weights)
def inception_v3(
    *, weights: Inception_V3_Weights | None = None, progress: bool = True, **kwargs: Any
) -> Inception3:
    """Inception v3; unlike the others it expects images of 299 x 299.

    Args:
        weights: a member of `Inception_V3_Weights` or its name; random weights unless given.
            They imply ``transform_input=True`` unless that is given.
        progress: whether a download shows its progress.
        **kwargs: passed to `Inception3`.
    """
    if weights is None:
        return build_model(Inception3, weights, progress, kwargs)
    kwargs.setdefault("transform_input", True)
    _ovewrite_named_param(kwargs, "init_weights", False)
    # The file has the auxiliary output: it is read, and then dropped if not asked for.
    aux_logits = kwargs.pop("aux_logits", True)
    model = build_model(Inception3, weights, progress, {**kwargs, "aux_logits": True})
    if not aux_logits:
        model.aux_logits = False
        model.AuxLogits = None
    return model
