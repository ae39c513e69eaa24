"""Vision transformer: `An Image is Worth 16x16 Words <https://arxiv.org/abs/2010.11929>`_."""

import math
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import facula
from facula import nn
from facula._core import Tensor
from facula.nn import functional as F
from facula.vision.models._api import builder, weights_enum
from facula.vision.models._utils import init_mlp
from facula.vision.ops.misc import MLP, Conv2dNormActivation

__all__ = [
    "ViT_B_16_Weights",
    "ViT_B_32_Weights",
    "ViT_H_14_Weights",
    "ViT_L_16_Weights",
    "ViT_L_32_Weights",
    "VisionTransformer",
    "vit_b_16",
    "vit_b_32",
    "vit_h_14",
    "vit_l_16",
    "vit_l_32",
]

Layer = Callable[..., nn.Module]
_layer_norm = partial(nn.LayerNorm, eps=1e-6)


class ConvStemConfig(NamedTuple):
    """A convolution of a stem that takes the place of the patches."""

    out_channels: int
    kernel_size: int
    stride: int
    norm_layer: Layer = nn.BatchNorm2d
    activation_layer: Layer = nn.ReLU


class MLPBlock(MLP):
    """The two linear layers of a transformer's block."""

    _version = 2

    def __init__(self, in_dim: int, mlp_dim: int, dropout: float) -> None:
        super().__init__(in_dim, [mlp_dim, in_dim], activation_layer=nn.GELU, dropout=dropout)
        init_mlp(self)

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        *args: Any,
        **kwargs: Any,
    ) -> None:
        if local_metadata.get("version", 1) < 2:
            # The layers had names once, and still have them in most files of trained weights.
            for old, new in (("linear_1", "0"), ("linear_2", "3")):
                for kind in ("weight", "bias"):
                    if (key := f"{prefix}{old}.{kind}") in state_dict:
                        state_dict[f"{prefix}{new}.{kind}"] = state_dict.pop(key)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *args, **kwargs)


def _check_sequence(input: Tensor) -> None:
    shape: Any = input.shape  # a proxy of it while the network is traced
    facula._assert(
        input.dim() == 3,
        "VisionTransformer: expected an input (batch_size, seq_length, hidden_dim), "
        f"got {tuple(shape) if isinstance(shape, facula.Size) else shape}.",
    )


class EncoderBlock(nn.Module):
    """Self-attention and an :class:`MLPBlock`, each after a norm and beside its input."""

    def __init__(
        self,
        num_heads: int,
        hidden_dim: int,
        mlp_dim: int,
        dropout: float,
        attention_dropout: float,
        norm_layer: Layer = _layer_norm,
    ) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.ln_1 = norm_layer(hidden_dim)
        self.self_attention = nn.MultiheadAttention(
            hidden_dim, num_heads, dropout=attention_dropout, batch_first=True
        )
        self.dropout = nn.Dropout(dropout)
        self.ln_2 = norm_layer(hidden_dim)
        self.mlp = MLPBlock(hidden_dim, mlp_dim, dropout)

    def forward(self, input: Tensor) -> Tensor:
        _check_sequence(input)
        x = self.ln_1(input)
        x, _ = self.self_attention(x, x, x, need_weights=False)
        x = self.dropout(x) + input
        result: Tensor = x + self.mlp(self.ln_2(x))
        return result


class Encoder(nn.Module):
    """Positions added to the sequence, blocks, and a last norm."""

    def __init__(
        self,
        seq_length: int,
        num_layers: int,
        num_heads: int,
        hidden_dim: int,
        mlp_dim: int,
        dropout: float,
        attention_dropout: float,
        norm_layer: Layer = _layer_norm,
    ) -> None:
        super().__init__()
        self.pos_embedding = nn.Parameter(facula.empty(1, seq_length, hidden_dim).normal_(std=0.02))
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.Sequential(
            OrderedDict(
                (
                    f"encoder_layer_{i}",
                    EncoderBlock(
                        num_heads, hidden_dim, mlp_dim, dropout, attention_dropout, norm_layer
                    ),
                )
                for i in range(num_layers)
            )
        )
        self.ln = norm_layer(hidden_dim)

    def forward(self, input: Tensor) -> Tensor:
        _check_sequence(input)
        result: Tensor = self.ln(self.layers(self.dropout(input + self.pos_embedding)))
        return result


class VisionTransformer(nn.Module):
    """Patches of the image and a class token through a transformer; the token is classified.

    Args:
        image_size: height and width of the images, which are always the same.
        patch_size: height and width of a patch.
        num_layers: blocks of the encoder.
        num_heads: heads of the attention.
        hidden_dim: size of a patch's vector.
        mlp_dim: size of the layer inside each block.
        dropout: the probability of dropout.
        attention_dropout: the probability of dropout of the attention's weights.
        num_classes: outputs of the classifier.
        representation_size: size of a layer with tanh before the classifier; ``None`` for no layer.
        norm_layer: makes the normalisations, called with ``hidden_dim``.
        conv_stem_configs: convolutions that take the place of the patches; their strides make
            ``patch_size``.

    Shape:
        input ``(N, 3, image_size, image_size)``; result ``(N, num_classes)``.

    Example:
        >>> from facula.vision.models import VisionTransformer
        >>> model = VisionTransformer(32, 16, 1, 2, hidden_dim=8, mlp_dim=16, num_classes=5)
        >>> model(facula.ones(1, 3, 32, 32)).shape
        torch.Size([1, 5])
    """

    def __init__(
        self,
        image_size: int,
        patch_size: int,
        num_layers: int,
        num_heads: int,
        hidden_dim: int,
        mlp_dim: int,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        num_classes: int = 1000,
        representation_size: int | None = None,
        norm_layer: Layer = _layer_norm,
        conv_stem_configs: list[ConvStemConfig] | None = None,
    ) -> None:
        super().__init__()
        if image_size % patch_size != 0:
            raise AssertionError(
                f"VisionTransformer: an image_size of {image_size} is no multiple of the "
                f"patch_size {patch_size}."
            )
        self.image_size = image_size
        self.patch_size = patch_size
        self.hidden_dim = hidden_dim
        self.mlp_dim = mlp_dim
        self.attention_dropout = attention_dropout
        self.dropout = dropout
        self.num_classes = num_classes
        self.representation_size = representation_size
        self.norm_layer = norm_layer

        self.conv_proj: nn.Module
        if conv_stem_configs is None:
            patches = nn.Conv2d(3, hidden_dim, kernel_size=patch_size, stride=patch_size)
            self.conv_proj = patches
        else:
            stem, patches = _conv_stem(conv_stem_configs, hidden_dim)
            self.conv_proj = stem
        self.class_token = nn.Parameter(facula.zeros(1, 1, hidden_dim))
        self.seq_length = (image_size // patch_size) ** 2 + 1
        self.encoder = Encoder(
            self.seq_length,
            num_layers,
            num_heads,
            hidden_dim,
            mlp_dim,
            dropout,
            attention_dropout,
            norm_layer,
        )
        heads: OrderedDict[str, nn.Module] = OrderedDict()
        if representation_size is not None:
            heads["pre_logits"] = nn.Linear(hidden_dim, representation_size)
            heads["act"] = nn.Tanh()
        head = nn.Linear(representation_size or hidden_dim, num_classes)
        heads["head"] = head
        self.heads = nn.Sequential(heads)

        if conv_stem_configs is None:
            _init_lecun(patches)
        else:
            _init(patches, partial(nn.init.normal_, std=math.sqrt(2.0 / patches.out_channels)))
        if representation_size is not None:
            _init_lecun(heads["pre_logits"])
        _init(head, nn.init.zeros_)

    def _process_input(self, x: Tensor) -> Tensor:
        """The vectors of the patches ``(N, n_patches, hidden_dim)``."""
        n, _, height, width = x.shape
        for size in (height, width):
            facula._assert(
                size == self.image_size,
                f"VisionTransformer: expected images of {self.image_size} x {self.image_size} "
                f"pixels, got {height} x {width}.",
            )
        n_rows, n_columns = height // self.patch_size, width // self.patch_size
        patches: Tensor = self.conv_proj(x)
        return patches.reshape(n, self.hidden_dim, n_rows * n_columns).permute(0, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = self._process_input(x)
        n = x.shape[0]
        x = facula.cat([self.class_token.expand(n, -1, -1), x], dim=1)
        result: Tensor = self.heads(self.encoder(x)[:, 0])
        return result


def _conv_stem(configs: list[ConvStemConfig], hidden_dim: int) -> tuple[nn.Sequential, nn.Conv2d]:
    stem = nn.Sequential()
    channels = 3
    for i, config in enumerate(configs):
        layer = Conv2dNormActivation(
            channels,
            config.out_channels,
            config.kernel_size,
            config.stride,
            norm_layer=config.norm_layer,
            activation_layer=config.activation_layer,
        )
        stem.add_module(f"conv_bn_relu_{i}", layer)
        channels = config.out_channels
    last = nn.Conv2d(channels, hidden_dim, kernel_size=1)
    stem.add_module("conv_last", last)
    return stem, last


def _init(layer: nn.Module, draw: Callable[[Tensor], Any]) -> None:
    draw(layer.get_parameter("weight"))
    nn.init.zeros_(layer.get_parameter("bias"))


def _init_lecun(layer: nn.Module) -> None:
    fan_in = layer.get_parameter("weight")[0].numel()
    _init(layer, partial(nn.init.trunc_normal_, std=math.sqrt(1 / fan_in)))


ViT_B_16_Weights: Any = weights_enum(__name__, "ViT_B_16")
ViT_B_32_Weights: Any = weights_enum(__name__, "ViT_B_32")
ViT_L_16_Weights: Any = weights_enum(__name__, "ViT_L_16")
ViT_L_32_Weights: Any = weights_enum(__name__, "ViT_L_32")
ViT_H_14_Weights: Any = weights_enum(__name__, "ViT_H_14")


def _vit(
    weights: Any, title: str, patch_size: int, num_layers: int, num_heads: int, hidden_dim: int
) -> Callable[..., VisionTransformer]:
    return builder(
        weights,
        title,
        VisionTransformer,
        needs=lambda weights: {"image_size": weights.meta["min_size"][0]},
        image_size=224,
        patch_size=patch_size,
        num_layers=num_layers,
        num_heads=num_heads,
        hidden_dim=hidden_dim,
        mlp_dim=4 * hidden_dim,
    )


vit_b_16 = _vit(ViT_B_16_Weights, "ViT-B/16", 16, 12, 12, 768)
vit_b_32 = _vit(ViT_B_32_Weights, "ViT-B/32", 32, 12, 12, 768)
vit_l_16 = _vit(ViT_L_16_Weights, "ViT-L/16", 16, 24, 16, 1024)
vit_l_32 = _vit(ViT_L_32_Weights, "ViT-L/32", 32, 24, 16, 1024)
vit_h_14 = _vit(ViT_H_14_Weights, "ViT-H/14", 14, 32, 16, 1280)


def interpolate_embeddings(
    image_size: int,
    patch_size: int,
    model_state: OrderedDict[str, Tensor],
    interpolation_mode: str = "bicubic",
    reset_heads: bool = False,
) -> OrderedDict[str, Tensor]:
    """Resample the positions of trained weights for images of another size.

    Args:
        image_size: the height and width of the new model's images.
        patch_size: the height and width of a patch, in both models.
        model_state: the weights; the positions in it are replaced.
        interpolation_mode: the mode of ``nn.functional.interpolate``.
        reset_heads: whether to leave the classifier out of the result.

    Example:
        >>> from facula.vision.models import VisionTransformer
        >>> from facula.vision.models.vision_transformer import interpolate_embeddings
        >>> small = VisionTransformer(32, 16, 1, 2, hidden_dim=8, mlp_dim=16)
        >>> large = VisionTransformer(64, 16, 1, 2, hidden_dim=8, mlp_dim=16)
        >>> large.load_state_dict(interpolate_embeddings(64, 16, small.state_dict()))
        <All keys matched successfully>
    """
    key = "encoder.pos_embedding"
    positions = model_state[key]
    n, seq_length, hidden_dim = positions.shape
    if n != 1:
        raise ValueError(
            f"interpolate_embeddings: expected a {key} of shape (1, seq_length, hidden_dim), "
            f"got {tuple(positions.shape)}."
        )
    new_side = image_size // patch_size
    if new_side**2 + 1 == seq_length:
        return model_state
    side = math.isqrt(seq_length - 1)
    if side**2 != seq_length - 1:
        raise ValueError(
            "interpolate_embeddings: expected the positions of a square of patches, "
            f"got those of {seq_length - 1} patches."
        )
    token, grid = positions.split([1, seq_length - 1], dim=1)
    grid = grid.permute(0, 2, 1).reshape(1, hidden_dim, side, side)
    # The corners keep their places, whatever the sizes.
    grid = F.interpolate(
        grid, size=(new_side, new_side), mode=interpolation_mode, align_corners=True
    )
    model_state[key] = facula.cat([token, grid.flatten(2).permute(0, 2, 1)], dim=1)
    if reset_heads:
        return OrderedDict(
            (name, value) for name, value in model_state.items() if not name.startswith("heads")
        )
    return model_state
