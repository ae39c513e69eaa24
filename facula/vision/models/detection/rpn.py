"""The region proposal network: boxes that may hold an object."""

from __future__ import annotations

from typing import Any

import facula
from facula import nn
from facula._core import Tensor
from facula.nn import functional as F
from facula.vision.models.detection import _utils as det_utils
from facula.vision.models.detection.anchor_utils import AnchorGenerator
from facula.vision.models.detection.image_list import ImageList
from facula.vision.ops import boxes as box_ops
from facula.vision.ops._utils import move_keys
from facula.vision.ops.misc import Conv2dNormActivation

__all__ = ["RPNHead", "RegionProposalNetwork"]


class RPNHead(nn.Module):
    """Convolutions that give each anchor a score and a code of a box.

    Args:
        in_channels: channels of the feature maps.
        num_anchors: anchors of a place.
        conv_depth: number of 3x3 convolutions before the two results.

    Shape:
        a list of ``(N, in_channels, H, W)``; result: lists of ``(N, num_anchors, H, W)`` and
        ``(N, 4 * num_anchors, H, W)``.

    Example:
        >>> from facula.vision.models.detection.rpn import RPNHead
        >>> scores, codes = RPNHead(8, 3)([facula.zeros(1, 8, 4, 4)])
        >>> scores[0].shape, codes[0].shape
        (torch.Size([1, 3, 4, 4]), torch.Size([1, 12, 4, 4]))
    """

    _version = 2

    def __init__(self, in_channels: int, num_anchors: int, conv_depth: int = 1) -> None:
        super().__init__()
        self.conv = nn.Sequential(
            *(
                Conv2dNormActivation(in_channels, in_channels, kernel_size=3, norm_layer=None)
                for _ in range(conv_depth)
            )
        )
        self.cls_logits = nn.Conv2d(in_channels, num_anchors, kernel_size=1)
        self.bbox_pred = nn.Conv2d(in_channels, num_anchors * 4, kernel_size=1)
        det_utils.init_convs(self, std=0.01)

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any], *args: Any
    ) -> None:
        # In files of version 1 there is one convolution, not a sequence of blocks.
        move_keys(state_dict, prefix, local_metadata, {"conv": "conv.0.0"})
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *args)

    def forward(self, x: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        hidden = [self.conv(level) for level in x]
        return [self.cls_logits(t) for t in hidden], [self.bbox_pred(t) for t in hidden]


class RegionProposalNetwork(nn.Module):
    """Proposes boxes of images, and in training learns to.

    Args:
        anchor_generator: makes the anchors.
        head: gives each anchor a score and a code.
        fg_iou_thresh: anchors that overlap a true box by more have an object.
        bg_iou_thresh: anchors that overlap none by as much have none.
        batch_size_per_image: anchors of an image that the losses are computed of.
        positive_fraction: the share of them that has an object.
        pre_nms_top_n: boxes of a level kept before overlapping ones are dropped, a dictionary of
            ``"training"`` and ``"testing"``.
        post_nms_top_n: boxes of an image kept after it.
        nms_thresh: overlap from which the worse of two boxes is dropped.
        score_thresh: boxes with less are dropped.
    """

    def __init__(
        self,
        anchor_generator: AnchorGenerator,
        head: nn.Module,
        fg_iou_thresh: float,
        bg_iou_thresh: float,
        batch_size_per_image: int,
        positive_fraction: float,
        pre_nms_top_n: dict[str, int],
        post_nms_top_n: dict[str, int],
        nms_thresh: float,
        score_thresh: float = 0.0,
    ) -> None:
        super().__init__()
        self.anchor_generator = anchor_generator
        self.head = head
        self.box_coder = det_utils.BoxCoder(weights=(1.0, 1.0, 1.0, 1.0))
        self.proposal_matcher = det_utils.Matcher(
            fg_iou_thresh, bg_iou_thresh, allow_low_quality_matches=True
        )
        self.fg_bg_sampler = det_utils.BalancedPositiveNegativeSampler(
            batch_size_per_image, positive_fraction
        )
        self._pre_nms_top_n = pre_nms_top_n
        self._post_nms_top_n = post_nms_top_n
        self.nms_thresh = nms_thresh
        self.score_thresh = score_thresh
        self.min_size = 1e-3

    def pre_nms_top_n(self) -> int:
        """Boxes of a level kept before overlapping ones are dropped, in the present mode."""
        return self._pre_nms_top_n["training" if self.training else "testing"]

    def post_nms_top_n(self) -> int:
        """Boxes of an image kept after overlapping ones are dropped, in the present mode."""
        return self._post_nms_top_n["training" if self.training else "testing"]

    def assign_targets_to_anchors(
        self, anchors: list[Tensor], targets: list[det_utils.Target]
    ) -> tuple[list[Tensor], list[Tensor]]:
        """For each anchor 1, 0 or -1 (an object, none, does not count), and its true box."""
        labels, matched_boxes = [], []
        for of_image, target in zip(anchors, targets, strict=True):
            true = target["boxes"]
            if true.numel() == 0:
                matched_boxes.append(facula.zeros_like(of_image))
                labels.append(facula.zeros(len(of_image), device=of_image.device))
                continue
            matched = self.proposal_matcher(box_ops.box_iou(true, of_image))
            matched_boxes.append(true[matched.clamp(min=0)])
            label = (matched >= 0).float()
            label[matched == self.proposal_matcher.BETWEEN_THRESHOLDS] = -1.0
            labels.append(label)
        return labels, matched_boxes

    def _best_of_levels(self, objectness: Tensor, n_anchors: list[int]) -> Tensor:
        """The best anchors of each level, ``(images, anchors)``."""
        chosen, offset = [], 0
        for level in objectness.split(n_anchors, 1):
            n = level.shape[1]
            best = level.topk(min(n, self.pre_nms_top_n()), dim=1)[1]
            chosen.append(best + offset)
            offset += n
        return facula.cat(chosen, dim=1)

    def filter_proposals(
        self,
        proposals: Tensor,
        objectness: Tensor,
        image_shapes: list[tuple[int, int]],
        num_anchors_per_level: list[int],
    ) -> tuple[list[Tensor], list[Tensor]]:
        """The boxes of each image worth a closer look, best first, and their scores."""
        n_images = proposals.shape[0]
        # Proposals are inputs of the second stage, whose losses do not train the first through
        # them.
        objectness = objectness.detach().reshape(n_images, -1)
        levels = facula.cat(
            [
                facula.full((n,), i, dtype=facula.int64, device=proposals.device)
                for i, n in enumerate(num_anchors_per_level)
            ]
        ).expand_as(objectness)
        best = self._best_of_levels(objectness, num_anchors_per_level)
        scores = objectness.gather(1, best).sigmoid()
        levels = levels.gather(1, best)
        proposals = proposals.gather(1, best[..., None].expand(-1, -1, 4))
        final_boxes, final_scores = [], []
        for boxes, score, level, shape in zip(proposals, scores, levels, image_shapes, strict=True):
            boxes = box_ops.clip_boxes_to_image(boxes, shape)
            kept = box_ops.remove_small_boxes(boxes, self.min_size)
            kept = kept[score[kept] >= self.score_thresh]
            boxes, score, level = boxes[kept], score[kept], level[kept]
            # Levels stand for classes here: boxes of different levels do not drop each other.
            kept = box_ops.batched_nms(boxes, score, level, self.nms_thresh)
            kept = kept[: self.post_nms_top_n()]
            final_boxes.append(boxes[kept])
            final_scores.append(score[kept])
        return final_boxes, final_scores

    def compute_loss(
        self,
        objectness: Tensor,
        pred_bbox_deltas: Tensor,
        labels: list[Tensor],
        regression_targets: list[Tensor],
    ) -> tuple[Tensor, Tensor]:
        """The losses of the scores and of the codes, over anchors that are drawn."""
        positive, negative = (
            det_utils.indices(facula.cat(masks)) for masks in self.fg_bg_sampler(labels)
        )
        sampled = facula.cat([positive, negative])
        codes = facula.cat(regression_targets)
        box_loss = F.smooth_l1_loss(
            pred_bbox_deltas[positive], codes[positive], beta=1 / 9, reduction="sum"
        )
        score_loss = F.binary_cross_entropy_with_logits(
            objectness.flatten()[sampled], facula.cat(labels)[sampled]
        )
        return score_loss, box_loss / sampled.numel()

    def forward(
        self,
        images: ImageList,
        features: dict[str, Tensor],
        targets: list[det_utils.Target] | None = None,
    ) -> tuple[list[Tensor], dict[str, Tensor]]:
        levels = list(features.values())
        objectness, codes = self.head(levels)
        anchors = self.anchor_generator(images, levels)
        n_anchors = [level[0].numel() for level in objectness]
        all_scores = facula.cat([det_utils.per_place(level, 1) for level in objectness], dim=1)
        all_codes = facula.cat([det_utils.per_place(level, 4) for level in codes], dim=1)
        scores, codes = all_scores.flatten(0, -2), all_codes.reshape(-1, 4)
        proposals = self.box_coder.decode(codes.detach(), anchors).reshape(len(anchors), -1, 4)
        boxes, _ = self.filter_proposals(proposals, scores, images.image_sizes, n_anchors)
        if not self.training:
            return boxes, {}
        if targets is None:
            raise ValueError("RegionProposalNetwork: expected targets in training mode.")
        labels, matched_boxes = self.assign_targets_to_anchors(anchors, targets)
        regression_targets = self.box_coder.encode(matched_boxes, anchors)
        score_loss, box_loss = self.compute_loss(scores, codes, labels, regression_targets)
        return boxes, {"loss_objectness": score_loss, "loss_rpn_box_reg": box_loss}
