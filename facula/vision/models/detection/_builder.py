"""The functions that build detectors."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from facula import nn
from facula.vision.models._api import WeightsEnum, declare
from facula.vision.models._utils import _ovewrite_value_param
from facula.vision.models.detection._utils import overwrite_eps
from facula.vision.models.detection.backbone_utils import choose_trainable_layers
from facula.vision.ops.misc import FrozenBatchNorm2d


class Backbone(NamedTuple):
    """What a detector's maker needs to know of its backbone."""

    weights: Any
    progress: bool
    is_trained: bool  # by these weights or by those of the whole detector
    trainable_layers: int

    @property
    def norm_layer(self) -> Callable[..., nn.Module]:
        """Frozen where trained: batches of detectors are too small for statistics."""
        return FrozenBatchNorm2d if self.is_trained else nn.BatchNorm2d


def detector(
    weights: Any,
    title: str,
    weights_backbone: Any,
    make: Callable[..., nn.Module],
    *,
    uses_backbone_weights: bool = True,
    n_stages: int = 5,
    n_trained: int = 3,
    n_classes: int = 91,
    was_without_eps: bool = False,
    own_argument: tuple[str, str] | None = None,
) -> Callable[..., Any]:
    """Make and register the builder of ``make(backbone, num_classes, weights, **kwargs)``.

    Args:
        weights: the enumeration of the detector's weights, which names the builder.
        title: the first line of the docstring, without the full stop.
        weights_backbone: the weights of the backbone that are used unless told otherwise.
        uses_backbone_weights: whether the backbone is trained unless told otherwise.
        n_stages, n_trained: the stages of the backbone, and how many are trained by default.
        was_without_eps: whether the weights COCO_V1 were made with normalisations without eps.
        own_argument: an argument of make that the builder has by name, and the one that it comes
            after.
    """
    enum, default = weights, weights_backbone if uses_backbone_weights else None
    kind = make.__annotations__["return"]

    def build(
        *,
        weights: Any = None,
        progress: bool = True,
        num_classes: int | None = None,
        weights_backbone: Any = default,
        trainable_backbone_layers: int | None = None,
        **kwargs: Any,
    ) -> Any:
        if weights is not None:
            weights_backbone = None
            given = len(weights.meta["categories"])
            num_classes = _ovewrite_value_param("num_classes", num_classes, given)
        is_trained = weights is not None or weights_backbone is not None
        n_trainable = choose_trainable_layers(
            is_trained, trainable_backbone_layers, n_stages, n_trained
        )
        backbone = Backbone(weights_backbone, progress, is_trained, n_trainable)
        model = make(backbone, n_classes if num_classes is None else num_classes, weights, **kwargs)
        if weights is not None:
            model.load_state_dict(weights.get_state_dict(progress=progress, check_hash=True))
            if was_without_eps and weights.name == "COCO_V1":
                overwrite_eps(model, 0.0)
        return model

    if own_argument is not None:
        signature = inspect.signature(build)
        parameters = list(signature.parameters.values())
        place = list(signature.parameters).index(own_argument[1]) + 1
        kind_of = inspect.Parameter.KEYWORD_ONLY
        parameters.insert(place, inspect.Parameter(own_argument[0], kind_of, default=None))
        vars(build)["__signature__"] = signature.replace(parameters=parameters)
    doc = f"""{title}.

    Args:
        weights: a member of `{enum.__name__}` or its name; random weights unless given.
        progress: whether a download shows its progress.
        num_classes: number of classes, the background included; {n_classes} unless given.
        weights_backbone: trained weights of the backbone, {default!r} unless given.
        trainable_backbone_layers: stages of a trained backbone that are trained further, from 0
            to {n_stages}, counted from the last; {n_trained} unless given.
        **kwargs: passed to `{kind}`.
    """
    trained = weights_backbone
    first = next(iter(type(trained))) if isinstance(trained, WeightsEnum) else trained
    backbone_enum = type(trained) if trained is first else trained
    return declare(build, kind, doc, weights=enum, weights_backbone=backbone_enum)
