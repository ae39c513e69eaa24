"""Detectors of two stages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from facula import nn
from facula._core import Tensor
from facula.vision.models.detection._utils import (
    Target,
    as_levels,
    check_proper_boxes,
    check_training_targets,
    image_sizes,
)

__all__ = ["GeneralizedRCNN"]


class GeneralizedRCNN(nn.Module):
    """A detector that proposes boxes and then looks at what is in them.

    In training mode the result is a dictionary of losses; else it is a dictionary of ``boxes``,
    ``labels`` and ``scores`` for each image, with what the heads add.

    Args:
        backbone: makes feature maps of images.
        rpn: proposes boxes.
        roi_heads: says what is in them.
        transform: resizes and normalises images, and brings the results back.
    """

    def __init__(
        self, backbone: nn.Module, rpn: nn.Module, roi_heads: nn.Module, transform: nn.Module
    ) -> None:
        super().__init__()
        self.transform = transform
        self.backbone = backbone
        self.rpn = rpn
        self.roi_heads = roi_heads

    def forward(self, images: Sequence[Tensor], targets: Sequence[Target] | None = None) -> Any:
        name = type(self).__name__
        if self.training:
            check_training_targets(name, targets)
        original_sizes = image_sizes(name, images)
        batch, batch_targets = self.transform(images, targets)
        check_proper_boxes(name, batch_targets)
        features = as_levels(self.backbone(batch.tensors))
        proposals, rpn_losses = self.rpn(batch, features, batch_targets)
        detections, losses = self.roi_heads(features, proposals, batch.image_sizes, batch_targets)
        if self.training:
            return {**losses, **rpn_losses}
        return self.transform.postprocess(detections, batch.image_sizes, original_sizes)
