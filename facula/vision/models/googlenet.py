"""GoogLeNet, the first Inception network (arXiv:1409.4842)."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from facula import Tensor, cat, nn
from facula._warnings import warn_user
from facula.nn import functional as F
from facula.vision.models._api import accept_weights, build_model, register_model, weights_enum
from facula.vision.models._utils import _ovewrite_named_param
from facula.vision.models.inception import BasicConv2d, Conv, init_trunc_normal, to_original_input

__all__ = ["GoogLeNet", "GoogLeNetOutputs", "GoogLeNet_Weights", "_GoogLeNetOutputs", "googlenet"]


class GoogLeNetOutputs(NamedTuple):
    """What a network with auxiliary outputs returns while it is trained."""

    logits: Tensor
    aux_logits2: Tensor | None
    aux_logits1: Tensor | None


_GoogLeNetOutputs = GoogLeNetOutputs


class Inception(nn.Module):
    """Convolutions of three sizes and a pooling, side by side.

    What is called 5x5 has 3x3 convolutions, as in the published weights.
    """

    def __init__(
        self,
        in_channels: int,
        ch1x1: int,
        ch3x3red: int,
        ch3x3: int,
        ch5x5red: int,
        ch5x5: int,
        pool_proj: int,
        conv_block: Conv = None,
    ) -> None:
        super().__init__()
        conv = conv_block or BasicConv2d
        self.branch1 = conv(in_channels, ch1x1, kernel_size=1)
        self.branch2 = nn.Sequential(
            conv(in_channels, ch3x3red, kernel_size=1),
            conv(ch3x3red, ch3x3, kernel_size=3, padding=1),
        )
        self.branch3 = nn.Sequential(
            conv(in_channels, ch5x5red, kernel_size=1),
            conv(ch5x5red, ch5x5, kernel_size=3, padding=1),
        )
        self.branch4 = nn.Sequential(
            nn.MaxPool2d(kernel_size=3, stride=1, padding=1, ceil_mode=True),
            conv(in_channels, pool_proj, kernel_size=1),
        )

    def forward(self, x: Tensor) -> Tensor:
        return cat([self.branch1(x), self.branch2(x), self.branch3(x), self.branch4(x)], 1)


class InceptionAux(nn.Module):
    """A second output, which trains the middle of the network: result ``(N, num_classes)``."""

    def __init__(
        self, in_channels: int, num_classes: int, conv_block: Conv = None, dropout: float = 0.7
    ) -> None:
        super().__init__()
        self.conv = (conv_block or BasicConv2d)(in_channels, 128, kernel_size=1)
        self.fc1 = nn.Linear(2048, 1024)
        self.fc2 = nn.Linear(1024, num_classes)
        self.dropout = nn.Dropout(p=dropout)

    def forward(self, x: Tensor) -> Tensor:
        x = self.conv(F.adaptive_avg_pool2d(x, (4, 4)))
        x = F.relu(self.fc1(x.flatten(1)), inplace=True)
        y: Tensor = self.fc2(self.dropout(x))
        return y


# The channels of each Inception: input, then as its arguments.
_INCEPTIONS = {
    "3a": (192, 64, 96, 128, 16, 32, 32),
    "3b": (256, 128, 128, 192, 32, 96, 64),
    "4a": (480, 192, 96, 208, 16, 48, 64),
    "4b": (512, 160, 112, 224, 24, 64, 64),
    "4c": (512, 128, 128, 256, 24, 64, 64),
    "4d": (512, 112, 144, 288, 32, 64, 64),
    "4e": (528, 256, 160, 320, 32, 128, 128),
    "5a": (832, 256, 160, 320, 32, 128, 128),
    "5b": (832, 384, 192, 384, 48, 128, 128),
}


class GoogLeNet(nn.Module):
    """GoogLeNet, with batch normalisation.

    Args:
        num_classes: number of outputs.
        aux_logits: whether to train with two auxiliary outputs as well.
        transform_input: whether images come normalised as ImageNet's, though the weights are for
            a mean and deviation of 0.5.
        init_weights: draw the weights from a truncated normal distribution, as also by default;
            ``False`` leaves those that each layer draws.
        blocks: replacements for `BasicConv2d`, `Inception` and `InceptionAux`, in this order.
        dropout, dropout_aux: probability of dropping an input of the last linear layer, of the
            output and of the auxiliary ones.

    Shape:
        input ``(N, 3, H, W)`` of at least 15 x 15; result ``(N, num_classes)``, or
        `GoogLeNetOutputs` of three such in training with auxiliary outputs.

    Example:
        >>> from facula.vision.models import GoogLeNet
        >>> net = GoogLeNet(num_classes=5, init_weights=False)
        >>> net(facula.zeros(2, 3, 32, 32)).aux_logits1.shape
        torch.Size([2, 5])
    """

    def __init__(
        self,
        num_classes: int = 1000,
        aux_logits: bool = True,
        transform_input: bool = False,
        init_weights: bool | None = None,
        blocks: Sequence[Callable[..., nn.Module]] | None = None,
        dropout: float = 0.2,
        dropout_aux: float = 0.7,
    ) -> None:
        super().__init__()
        blocks = [BasicConv2d, Inception, InceptionAux] if blocks is None else blocks
        if len(blocks) != 3:
            raise ValueError(f"GoogLeNet: expected 3 blocks, got {len(blocks)}")
        conv, inception, aux = blocks
        self.aux_logits = aux_logits
        self.transform_input = transform_input
        self.conv1 = conv(3, 64, kernel_size=7, stride=2, padding=3)
        self.maxpool1 = nn.MaxPool2d(3, stride=2, ceil_mode=True)
        self.conv2 = conv(64, 64, kernel_size=1)
        self.conv3 = conv(64, 192, kernel_size=3, padding=1)
        self.maxpool2 = nn.MaxPool2d(3, stride=2, ceil_mode=True)
        for name, channels in _INCEPTIONS.items():
            self.add_module(f"inception{name}", inception(*channels))
            if name == "3b":
                self.maxpool3 = nn.MaxPool2d(3, stride=2, ceil_mode=True)
            elif name == "4e":
                self.maxpool4 = nn.MaxPool2d(2, stride=2, ceil_mode=True)
        self.aux1 = aux(512, num_classes, dropout=dropout_aux) if aux_logits else None
        self.aux2 = aux(528, num_classes, dropout=dropout_aux) if aux_logits else None
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.dropout = nn.Dropout(p=dropout)
        self.fc = nn.Linear(1024, num_classes)
        if init_weights is None or init_weights:
            init_trunc_normal(self, std=0.01)

    def forward(self, x: Tensor) -> Tensor | GoogLeNetOutputs:
        if self.transform_input:
            x = to_original_input(x)
        x = self.conv3(self.conv2(self.maxpool1(self.conv1(x))))
        x = self.inception3b(self.inception3a(self.maxpool2(x)))
        x = self.inception4a(self.maxpool3(x))
        aux1 = self.aux1(x) if self.aux1 is not None and self.training else None
        x = self.inception4d(self.inception4c(self.inception4b(x)))
        aux2 = self.aux2(x) if self.aux2 is not None and self.training else None
        x = self.maxpool4(self.inception4e(x))
        x = self.inception5b(self.inception5a(x))
        y: Tensor = self.fc(self.dropout(self.avgpool(x).flatten(1)))
        return GoogLeNetOutputs(y, aux2, aux1) if self.training and self.aux_logits else y


GoogLeNet_Weights: Any = weights_enum(__name__, "GoogLeNet")


@register_model()
@accept_weights(weights=GoogLeNet_Weights)
def googlenet(
    *, weights: GoogLeNet_Weights | None = None, progress: bool = True, **kwargs: Any
) -> GoogLeNet:
    """GoogLeNet.

    Args:
        weights: a member of `GoogLeNet_Weights` or its name; random weights unless given. They
            imply ``transform_input=True`` and ``aux_logits=False`` unless those are given.
        progress: whether a download shows its progress.
        **kwargs: passed to `GoogLeNet`.
    """
    if weights is None:
        return build_model(GoogLeNet, weights, progress, kwargs)
    kwargs.setdefault("transform_input", True)
    _ovewrite_named_param(kwargs, "init_weights", False)
    # The file has values for the auxiliary outputs, but they are not trained.
    aux_logits = kwargs.pop("aux_logits", False)
    model = build_model(GoogLeNet, weights, progress, {**kwargs, "aux_logits": True})
    if aux_logits:
        warn_user("googlenet: the published weights leave the auxiliary outputs untrained")
    else:
        model.aux_logits = False
        model.aux1 = model.aux2 = None
    return model
