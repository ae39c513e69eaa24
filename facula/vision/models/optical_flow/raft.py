"""RAFT: `Recurrent All-Pairs Field Transforms <https://arxiv.org/abs/2003.12039>`_."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import facula
from facula import nn
from facula._core import Tensor
from facula.nn import functional as F
from facula.vision.models._api import builder, weights_enum
from facula.vision.models.optical_flow._utils import grid_sample, make_coords_grid, upsample_flow
from facula.vision.ops.misc import Conv2dNormActivation

__all__ = ["RAFT", "Raft_Large_Weights", "Raft_Small_Weights", "raft_large", "raft_small"]

Layer = Callable[..., nn.Module]
_Pair = tuple[int, int]


class ResidualBlock(nn.Module):
    """Two 3x3 convolutions beside their input."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        norm_layer: Layer | None,
        stride: int = 1,
        always_project: bool = False,
    ) -> None:
        super().__init__()
        conv = partial(Conv2dNormActivation, norm_layer=norm_layer, bias=True)
        self.convnormrelu1 = conv(in_channels, out_channels, stride=stride)
        self.convnormrelu2 = conv(out_channels, out_channels)
        self.downsample: nn.Module = nn.Identity()
        if stride != 1 or always_project:
            self.downsample = conv(
                in_channels, out_channels, kernel_size=1, stride=stride, activation_layer=None
            )
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        y = self.convnormrelu2(self.convnormrelu1(x))
        result: Tensor = self.relu(self.downsample(x) + y)
        return result


class BottleneckBlock(nn.Module):
    """A 3x3 convolution of a quarter of the channels between two of 1x1, beside their input."""

    def __init__(
        self, in_channels: int, out_channels: int, *, norm_layer: Layer | None, stride: int = 1
    ) -> None:
        super().__init__()
        conv = partial(Conv2dNormActivation, norm_layer=norm_layer, bias=True)
        width = out_channels // 4
        self.convnormrelu1 = conv(in_channels, width, kernel_size=1)
        self.convnormrelu2 = conv(width, width, stride=stride)
        self.convnormrelu3 = conv(width, out_channels, kernel_size=1)
        self.relu = nn.ReLU(inplace=True)
        self.downsample: nn.Module = nn.Identity()
        if stride != 1:
            self.downsample = conv(
                in_channels, out_channels, kernel_size=1, stride=stride, activation_layer=None
            )

    def forward(self, x: Tensor) -> Tensor:
        y = self.convnormrelu3(self.convnormrelu2(self.convnormrelu1(x)))
        result: Tensor = self.relu(self.downsample(x) + y)
        return result


class FeatureEncoder(nn.Module):
    """Features of an image at an eighth of its size.

    Args:
        block: class of the blocks, :class:`ResidualBlock` or :class:`BottleneckBlock`.
        layers: channels of the stem, of the three stages of two blocks, and of the result.
        strides: strides of the stem and of the stages.
        norm_layer: makes the normalisations; ``None`` for none.

    Shape:
        input ``(N, 3, H, W)``; result ``(N, layers[4], H / 8, W / 8)``.
    """

    def __init__(
        self,
        *,
        block: Layer = ResidualBlock,
        layers: Sequence[int] = (64, 64, 96, 128, 256),
        strides: Sequence[int] = (2, 1, 2, 2),
        norm_layer: Layer | None = nn.BatchNorm2d,
    ) -> None:
        super().__init__()
        if len(layers) != 5:
            raise ValueError(f"FeatureEncoder: expected 5 numbers in layers, got {layers}.")
        self.convnormrelu = Conv2dNormActivation(
            3, layers[0], kernel_size=7, norm_layer=norm_layer, stride=strides[0], bias=True
        )
        make = partial(self._make_2_blocks, block, norm_layer=norm_layer)
        self.layer1 = make(layers[0], layers[1], first_stride=strides[1])
        self.layer2 = make(layers[1], layers[2], first_stride=strides[2])
        self.layer3 = make(layers[2], layers[3], first_stride=strides[3])
        self.conv = nn.Conv2d(layers[3], layers[4], kernel_size=1)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
        n_halvings = sum(stride == 2 for stride in strides)
        self.output_dim = layers[-1]
        self.downsample_factor = 2**n_halvings

    @staticmethod
    def _make_2_blocks(
        block: Layer,
        in_channels: int,
        out_channels: int,
        norm_layer: Layer | None,
        first_stride: int,
    ) -> nn.Sequential:
        return nn.Sequential(
            block(in_channels, out_channels, norm_layer=norm_layer, stride=first_stride),
            block(out_channels, out_channels, norm_layer=norm_layer, stride=1),
        )

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.conv(self.layer3(self.layer2(self.layer1(self.convnormrelu(x)))))
        return result


class MotionEncoder(nn.Module):
    """Flow and correlations to the features of motion, the flow itself included.

    Args:
        in_channels_corr: channels of the correlations.
        corr_layers: channels of the one or two convolutions of the correlations.
        flow_layers: channels of the two convolutions of the flow.
        out_channels: channels of the result.
    """

    def __init__(
        self,
        *,
        in_channels_corr: int,
        corr_layers: Sequence[int] = (256, 192),
        flow_layers: Sequence[int] = (128, 64),
        out_channels: int = 128,
    ) -> None:
        super().__init__()
        if len(flow_layers) != 2:
            raise ValueError(
                f"MotionEncoder: expected 2 numbers in flow_layers, got {flow_layers}."
            )
        if len(corr_layers) not in (1, 2):
            raise ValueError(
                f"MotionEncoder: expected 1 or 2 numbers in corr_layers, got {corr_layers}."
            )
        conv = partial(Conv2dNormActivation, norm_layer=None)
        self.convcorr1 = conv(in_channels_corr, corr_layers[0], kernel_size=1)
        self.convcorr2 = conv(*corr_layers) if len(corr_layers) == 2 else nn.Identity()
        self.convflow1 = conv(2, flow_layers[0], kernel_size=7)
        self.convflow2 = conv(*flow_layers)
        # Two channels are left for the flow itself.
        self.conv = conv(corr_layers[-1] + flow_layers[-1], out_channels - 2)
        self.out_channels = out_channels

    def forward(self, flow: Tensor, corr_features: Tensor) -> Tensor:
        corr = self.convcorr2(self.convcorr1(corr_features))
        moved = self.convflow2(self.convflow1(flow))
        return facula.cat([self.conv(facula.cat([corr, moved], dim=1)), flow], dim=1)


class ConvGRU(nn.Module):
    """A gated recurrent unit of convolutions."""

    def __init__(
        self,
        *,
        input_size: int,
        hidden_size: int,
        kernel_size: int | _Pair,
        padding: int | _Pair,
    ) -> None:
        super().__init__()
        conv = partial(
            nn.Conv2d,
            hidden_size + input_size,
            hidden_size,
            kernel_size=kernel_size,
            padding=padding,
        )
        self.convz, self.convr, self.convq = conv(), conv(), conv()

    def forward(self, h: Tensor, x: Tensor) -> Tensor:
        hx = facula.cat([h, x], dim=1)
        z, r = facula.sigmoid(self.convz(hx)), facula.sigmoid(self.convr(hx))
        q = facula.tanh(self.convq(facula.cat([r * h, x], dim=1)))
        return (1 - z) * h + z * q


class RecurrentBlock(nn.Module):
    """One :class:`ConvGRU`, or two of them one after the other.

    Args:
        input_size: channels of the input.
        hidden_size: channels of the state.
        kernel_size: kernel of each unit.
        padding: padding of each unit.
    """

    def __init__(
        self,
        *,
        input_size: int,
        hidden_size: int,
        kernel_size: Sequence[int | _Pair] = ((1, 5), (5, 1)),
        padding: Sequence[int | _Pair] = ((0, 2), (2, 0)),
    ) -> None:
        super().__init__()
        if len(kernel_size) != len(padding) or len(kernel_size) not in (1, 2):
            raise ValueError(
                "RecurrentBlock: expected one or two kernel sizes and a padding for each, "
                f"got {kernel_size} and {padding}."
            )
        for i, (size, pad) in enumerate(zip(kernel_size, padding, strict=True), start=1):
            unit = ConvGRU(
                input_size=input_size, hidden_size=hidden_size, kernel_size=size, padding=pad
            )
            self.add_module(f"convgru{i}", unit)
        self.hidden_size = hidden_size

    def forward(self, h: Tensor, x: Tensor) -> Tensor:
        for unit in self.children():
            h = unit(h, x)
        return h


class FlowHead(nn.Module):
    """From the state to the change of the flow."""

    def __init__(self, *, in_channels: int, hidden_size: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(in_channels, hidden_size, 3, padding=1)
        self.conv2 = nn.Conv2d(hidden_size, 2, 3, padding=1)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.conv2(self.relu(self.conv1(x)))
        return result


class UpdateBlock(nn.Module):
    """One step: the next state, and the change of the flow that it stands for."""

    def __init__(
        self, *, motion_encoder: nn.Module, recurrent_block: Any, flow_head: nn.Module
    ) -> None:
        super().__init__()
        self.motion_encoder = motion_encoder
        self.recurrent_block = recurrent_block
        self.flow_head = flow_head
        self.hidden_state_size: int = recurrent_block.hidden_size

    def forward(
        self, hidden_state: Tensor, context: Tensor, corr_features: Tensor, flow: Tensor
    ) -> tuple[Tensor, Tensor]:
        motion = self.motion_encoder(flow, corr_features)
        hidden_state = self.recurrent_block(hidden_state, facula.cat([context, motion], dim=1))
        return hidden_state, self.flow_head(hidden_state)


class MaskPredictor(nn.Module):
    """From the state to the weights with which the flow is made eight times as large.

    Args:
        in_channels: channels of the state.
        hidden_size: channels between.
        multiplier: factor of the result.
    """

    def __init__(self, *, in_channels: int, hidden_size: int, multiplier: float = 0.25) -> None:
        super().__init__()
        self.convrelu = Conv2dNormActivation(in_channels, hidden_size, norm_layer=None)
        # Each of 8 x 8 new pixels has weights for 9 old ones.
        self.conv = nn.Conv2d(hidden_size, 8 * 8 * 9, 1)
        self.multiplier = multiplier

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.multiplier * self.conv(self.convrelu(x))
        return result


class CorrBlock(nn.Module):
    """How alike the features of each two places of two images are, at several scales.

    Args:
        num_levels: scales, each half of the one before.
        radius: half the side of the square of places that is looked up around a point.
    """

    def __init__(self, *, num_levels: int = 4, radius: int = 4) -> None:
        super().__init__()
        self.num_levels = num_levels
        self.radius = radius
        self.corr_pyramid: list[Tensor] = []
        self.out_channels = num_levels * (2 * radius + 1) ** 2

    def build_pyramid(self, fmap1: Tensor, fmap2: Tensor) -> None:
        """Compare all places of two images of features ``(N, C, H, W)``."""
        if fmap1.shape != fmap2.shape:
            raise ValueError(
                "CorrBlock: expected features of the same shape, "
                f"got {tuple(fmap1.shape)} and {tuple(fmap2.shape)}."
            )
        n, channels, h, w = fmap1.shape
        # The last level must have 2 x 2 places: grid_sample would divide by zero at one.
        smallest = 2 * 2 ** (self.num_levels - 1)
        if min(h, w) < smallest:
            raise ValueError(
                f"CorrBlock: {self.num_levels} levels need features of at least {smallest} x "
                f"{smallest} places, got {h} x {w}. Images have eight times as many pixels: give "
                f"the model at least {8 * smallest} x {8 * smallest}."
            )
        # All pairs are compared once: steps only look up. No other tensor is as large.
        corr = fmap1.flatten(2).transpose(1, 2) @ fmap2.flatten(2) / channels**0.5
        corr = corr.view(n * h * w, 1, h, w)
        self.corr_pyramid = [corr]
        for _ in range(self.num_levels - 1):
            corr = F.avg_pool2d(corr, kernel_size=2, stride=2)
            self.corr_pyramid.append(corr)

    def index_pyramid(self, centroids_coords: Tensor) -> Tensor:
        """Look up the squares around points ``(N, 2, H, W)`` of the second image.

        The result is ``(N, out_channels, H, W)``.
        """
        side = 2 * self.radius + 1
        steps = facula.linspace(-self.radius, self.radius, side)
        delta = facula.stack(facula.meshgrid(steps, steps, indexing="ij"), dim=-1)
        delta = delta.to(centroids_coords.device).view(1, side, side, 2)
        n, _, h, w = centroids_coords.shape
        centre = centroids_coords.permute(0, 2, 3, 1).reshape(n * h * w, 1, 1, 2)
        found = []
        for corr in self.corr_pyramid:
            values = grid_sample(corr, centre + delta, align_corners=True, mode="bilinear")
            found.append(values.view(n, h, w, -1))
            centre = centre / 2
        return facula.cat(found, dim=-1).permute(0, 3, 1, 2).contiguous()


class RAFT(nn.Module):
    """The flow between two images, improved step by step.

    Args:
        feature_encoder: features of both images at an eighth of their size.
        context_encoder: features of the first image alone: the first state of the recurrent
            unit, and the context that it sees at each step.
        corr_block: has ``build_pyramid`` and ``index_pyramid``, see :class:`CorrBlock`.
        update_block: makes a step; its ``hidden_state_size`` says how many channels of the
            context are the state.
        mask_predictor: makes the weights that enlarge the flow; ``None`` to interpolate it.

    Shape:
        ``image1`` and ``image2`` ``(N, 3, H, W)``, sizes that are multiples of 8; the result is a
        list with the flow ``(N, 2, H, W)`` after each of ``num_flow_updates`` steps.
    """

    def __init__(
        self,
        *,
        feature_encoder: nn.Module,
        context_encoder: nn.Module,
        corr_block: Any,
        update_block: Any,
        mask_predictor: nn.Module | None = None,
    ) -> None:
        super().__init__()
        if not hasattr(update_block, "hidden_state_size"):
            raise ValueError("RAFT: update_block has no attribute hidden_state_size.")
        self.feature_encoder = feature_encoder
        self.context_encoder = context_encoder
        self.corr_block = corr_block
        self.update_block = update_block
        self.mask_predictor = mask_predictor

    def forward(self, image1: Tensor, image2: Tensor, num_flow_updates: int = 12) -> list[Tensor]:
        n, _, h, w = image1.shape
        if image2.shape[-2:] != (h, w):
            raise ValueError(
                "RAFT: expected two images of the same size, "
                f"got {tuple(image1.shape)} and {tuple(image2.shape)}."
            )
        if h % 8 or w % 8:
            raise ValueError(
                f"RAFT: expected images whose sizes are multiples of 8, got {tuple(image1.shape)}."
            )
        features = self.feature_encoder(facula.cat([image1, image2], dim=0))
        self.corr_block.build_pyramid(*features.chunk(2, dim=0))
        context = self.context_encoder(image1)
        n_state = self.update_block.hidden_state_size
        state, context = context.split([n_state, context.shape[1] - n_state], dim=1)
        state, context = facula.tanh(state), F.relu(context)

        start = make_coords_grid(n, h // 8, w // 8, device=image1.device)
        place = start
        predictions = []
        for _ in range(num_flow_updates):
            # Each step learns by itself: no gradient goes back through the points looked up.
            place = place.detach()
            corr_features = self.corr_block.index_pyramid(place)
            state, change = self.update_block(state, context, corr_features, place - start)
            place = place + change
            mask = None if self.mask_predictor is None else self.mask_predictor(state)
            predictions.append(upsample_flow(place - start, mask))
        return predictions


Raft_Large_Weights: Any = weights_enum(__name__, "Raft_Large")
Raft_Small_Weights: Any = weights_enum(__name__, "Raft_Small")


def _make_raft(
    feature_layers: Sequence[int],
    context_layers: Sequence[int],
    block: Layer,
    context_norm: Layer | None,
    radius: int,
    corr_layers: Sequence[int],
    flow_layers: Sequence[int],
    motion_channels: int,
    hidden_size: int,
    kernels: dict[str, Any],
    head_size: int,
    has_mask: bool,
    **parts: Any,
) -> RAFT:
    """The model, but for the parts that the caller gives."""
    encoder = partial(FeatureEncoder, block=block, strides=(2, 1, 2, 2))
    feature_encoder = parts.pop("feature_encoder", None) or encoder(
        layers=feature_layers, norm_layer=nn.InstanceNorm2d
    )
    context_encoder = parts.pop("context_encoder", None) or encoder(
        layers=context_layers, norm_layer=context_norm
    )
    corr_block = parts.pop("corr_block", None) or CorrBlock(num_levels=4, radius=radius)
    update_block = parts.pop("update_block", None)
    if update_block is None:
        motion_encoder = MotionEncoder(
            in_channels_corr=corr_block.out_channels,
            corr_layers=corr_layers,
            flow_layers=flow_layers,
            out_channels=motion_channels,
        )
        n_context = context_layers[-1] - hidden_size
        update_block = UpdateBlock(
            motion_encoder=motion_encoder,
            recurrent_block=RecurrentBlock(
                input_size=motion_channels + n_context, hidden_size=hidden_size, **kernels
            ),
            flow_head=FlowHead(in_channels=hidden_size, hidden_size=head_size),
        )
    mask_predictor = parts.pop("mask_predictor", None)
    if mask_predictor is None and has_mask:
        mask_predictor = MaskPredictor(in_channels=hidden_size, hidden_size=256)
    return RAFT(
        feature_encoder=feature_encoder,
        context_encoder=context_encoder,
        corr_block=corr_block,
        update_block=update_block,
        mask_predictor=mask_predictor,
        **parts,
    )


raft_large = builder(
    Raft_Large_Weights.C_T_SKHT_V2,
    "RAFT as in the paper",
    _make_raft,
    (64, 64, 96, 128, 256),
    (64, 64, 96, 128, 256),
    ResidualBlock,
    nn.BatchNorm2d,
    kwargs_are="parts that take the place of the usual ones, passed to",
    radius=4,
    corr_layers=(256, 192),
    flow_layers=(128, 64),
    motion_channels=128,
    hidden_size=128,
    kernels={},
    head_size=256,
    has_mask=True,
)
raft_small = builder(
    Raft_Small_Weights.C_T_V2,
    "RAFT with a fifth of the parameters",
    _make_raft,
    (32, 32, 64, 96, 128),
    (32, 32, 64, 96, 160),
    BottleneckBlock,
    None,
    kwargs_are="parts that take the place of the usual ones, passed to",
    radius=3,
    corr_layers=(96,),
    flow_layers=(64, 32),
    motion_channels=82,
    hidden_size=96,
    kernels={"kernel_size": (3,), "padding": (1,)},
    head_size=128,
    has_mask=False,
)
