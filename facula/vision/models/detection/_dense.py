"""Detectors of one stage: a prediction for every anchor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from facula import nn
from facula._core import Tensor
from facula.vision.models.detection import _utils as det_utils
from facula.vision.models.detection._utils import Detection, Target


class DenseDetector(nn.Module):
    """What RetinaNet, FCOS and SSD have in common.

    A subclass has ``compute_loss(targets, outputs, anchors, n_anchors)``, a dictionary of losses,
    and ``detect(outputs, anchors, image_sizes, n_anchors)``, the detections of each image.
    ``anchors`` are those of each image, ``n_anchors`` the numbers of them on each level.
    """

    def __init__(
        self,
        backbone: nn.Module,
        anchor_generator: nn.Module,
        head: nn.Module,
        transform: nn.Module,
    ) -> None:
        super().__init__()
        self.backbone = backbone
        self.anchor_generator = anchor_generator
        self.head = head
        self.transform = transform

    def compute_loss(
        self,
        targets: list[Target],
        outputs: dict[str, Tensor],
        anchors: list[Tensor],
        n_anchors: list[int],
    ) -> dict[str, Tensor]:
        raise NotImplementedError

    def detect(
        self,
        outputs: dict[str, Tensor],
        anchors: list[Tensor],
        image_sizes: list[tuple[int, int]],
        n_anchors: list[int],
    ) -> list[Detection]:
        raise NotImplementedError

    def forward(self, images: Sequence[Tensor], targets: Sequence[Target] | None = None) -> Any:
        name = type(self).__name__
        if self.training:
            det_utils.check_training_targets(name, targets)
        original_sizes = det_utils.image_sizes(name, images)
        batch, batch_targets = self.transform(images, targets)
        det_utils.check_proper_boxes(name, batch_targets)
        features = list(det_utils.as_levels(self.backbone(batch.tensors)).values())
        outputs = self.head(features)
        anchors = self.anchor_generator(batch, features)
        n_per_place = self.anchor_generator.num_anchors_per_location()
        n_anchors = [
            level.size(2) * level.size(3) * n
            for level, n in zip(features, n_per_place, strict=True)
        ]
        if self.training:
            return self.compute_loss(batch_targets, outputs, anchors, n_anchors)
        detections = self.detect(outputs, anchors, batch.image_sizes, n_anchors)
        return self.transform.postprocess(detections, batch.image_sizes, original_sizes)
