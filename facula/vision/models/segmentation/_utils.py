"""What the models for segmentation share."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from facula import nn
from facula._core import Tensor
from facula.nn import functional as F
from facula.vision.models._api import declare
from facula.vision.models._utils import IntermediateLayerGetter, _ovewrite_value_param


def resize(x: Tensor, size: Any) -> Tensor:
    """``x`` at another height and width."""
    return F.interpolate(x, size=size, mode="bilinear", align_corners=False)


class _SimpleSegmentationModel(nn.Module):
    """A backbone, and a head on its last features; in training a second head on earlier ones.

    Args:
        backbone: makes a dictionary with ``"out"`` and, for the second head, ``"aux"``.
        classifier: makes the scores of the classes from ``"out"``.
        aux_classifier: makes the scores of the second head from ``"aux"``; ``None`` for no second
            head.

    Shape:
        input ``(N, 3, H, W)``; the result is a dictionary of scores ``(N, num_classes, H, W)``:
        ``"out"`` and, with ``aux_classifier``, ``"aux"``.
    """

    def __init__(
        self, backbone: nn.Module, classifier: nn.Module, aux_classifier: nn.Module | None = None
    ) -> None:
        super().__init__()
        self.backbone = backbone
        self.classifier = classifier
        self.aux_classifier = aux_classifier

    def forward(self, x: Tensor) -> OrderedDict[str, Tensor]:
        size = x.shape[-2:]
        features = self.backbone(x)
        result = OrderedDict(out=resize(self.classifier(features["out"]), size))
        if self.aux_classifier is not None:
            result["aux"] = resize(self.aux_classifier(features["aux"]), size)
        return result


def cut_resnet(resnet: nn.Module, aux: bool | None) -> IntermediateLayerGetter:
    """The features of a ResNet: ``"out"`` has 2048 channels, ``"aux"`` 1024."""
    return IntermediateLayerGetter(
        resnet, {"layer4": "out", "layer3": "aux"} if aux else {"layer4": "out"}
    )


def cut_mobilenet(mobilenet: Any, **names: int) -> tuple[IntermediateLayerGetter, dict[str, int]]:
    """The features of a MobileNet v3 and their channels.

    Each name stands for the end of a stage, counted from the last one: stages end before a block
    with a stride.
    """
    layers = list(mobilenet.features)
    strided = [i for i, layer in enumerate(layers) if getattr(layer, "_is_cn", False)]
    ends = [0, *strided, len(layers) - 1]
    places = {name: ends[i] for name, i in names.items()}
    body = IntermediateLayerGetter(
        mobilenet.features, {str(place): name for name, place in places.items()}
    )
    return body, {name: layers[place].out_channels for name, place in places.items()}


def segmentation_builder(
    weights: Any,
    title: str,
    make: Callable[[Any, int, bool | None], Any],
    backbone: Callable[..., Any],
    backbone_weights: Any,
    **options: Any,
) -> Any:
    """Make and register the builder of ``make(backbone(**options), num_classes, aux_loss)``."""
    enum = weights

    def build(
        *,
        weights: Any = None,
        progress: bool = True,
        num_classes: int | None = None,
        aux_loss: bool | None = None,
        weights_backbone: Any = backbone_weights,
        **kwargs: Any,
    ) -> Any:
        if weights is not None:
            n_trained = len(weights.meta["categories"])
            num_classes = _ovewrite_value_param("num_classes", num_classes, n_trained)
            aux_loss = _ovewrite_value_param("aux_loss", aux_loss, True)
            weights_backbone = None  # those of the whole model include them
        body = backbone(weights=weights_backbone, progress=progress, **options)
        model = make(body, 21 if num_classes is None else num_classes, aux_loss)
        if weights is not None:
            model.load_state_dict(weights.get_state_dict(progress=progress, check_hash=True))
        return model

    doc = f"""{title}.

    Args:
        weights: a member of `{enum.__name__}` or its name; random weights unless given.
        progress: whether a download shows its progress.
        num_classes: channels of the result, the background's included; 21 unless given.
        aux_loss: whether there is a second head, whose loss helps to train the backbone.
        weights_backbone: trained weights of the backbone, a member of
            `{type(backbone_weights).__name__}`; ``None`` for random ones.
        **kwargs: ignored.
    """
    kind = make.__annotations__["return"]
    return declare(build, kind, doc, weights=enum, weights_backbone=backbone_weights)
