"""What detectors share: matching, sampling and coding of boxes, checks, candidates."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import facula
from facula import nn
from facula._core import Tensor
from facula.nn import functional as F
from facula.vision.ops import boxes as box_ops
from facula.vision.ops._iou_loss import ciou_loss, compare, diou_loss, giou_loss
from facula.vision.ops.misc import FrozenBatchNorm2d

Target = dict[str, Tensor]
Detection = dict[str, Tensor]


def indices(mask: Tensor) -> Tensor:
    """Where a mask of one dimension is true."""
    chosen: Tensor = mask.nonzero()[:, 0]
    return chosen


class BalancedPositiveNegativeSampler:
    """Draws boxes with an object and boxes without, in a fixed proportion where it can.

    Args:
        batch_size_per_image: boxes of an image.
        positive_fraction: the share of those with an object; the rest is without.
    """

    def __init__(self, batch_size_per_image: int, positive_fraction: float) -> None:
        self.batch_size_per_image = batch_size_per_image
        self.positive_fraction = positive_fraction

    def __call__(self, matched_idxs: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        """Masks of the chosen boxes with and without an object, of each image.

        Args:
            matched_idxs: the kinds of the boxes, 1 or more: an object; 0: none; less: not to be
                chosen.
        """
        positive_masks: list[Tensor] = []
        negative_masks: list[Tensor] = []
        for matched in matched_idxs:
            positive, negative = indices(matched >= 1), indices(matched == 0)
            n_positive = int(self.batch_size_per_image * self.positive_fraction)
            n_positive = min(positive.numel(), n_positive)
            n_negative = min(negative.numel(), self.batch_size_per_image - n_positive)
            # Boxes with objects draw first, and all of them: a seed gives torchvision's choice.
            for chosen, n, masks in (
                (positive, n_positive, positive_masks),
                (negative, n_negative, negative_masks),
            ):
                order = facula.randperm(chosen.numel(), device=chosen.device)[:n]
                mask = facula.zeros_like(matched, dtype=facula.uint8)
                mask[chosen[order]] = 1
                masks.append(mask)
        return positive_masks, negative_masks


def _centers_and_sizes(boxes: Tensor) -> tuple[Tensor, Tensor]:
    sizes = boxes[:, 2:] - boxes[:, :2]
    return boxes[:, :2] + 0.5 * sizes, sizes


class BoxCoder:
    """Boxes as what a network learns: shifts of the center and logarithms of the scale.

    Args:
        weights: factors of the four numbers.
        bbox_xform_clip: the largest logarithm that is decoded.
    """

    def __init__(
        self,
        weights: tuple[float, float, float, float],
        bbox_xform_clip: float = math.log(1000.0 / 16),
    ) -> None:
        self.weights = weights
        self.bbox_xform_clip = bbox_xform_clip

    def encode(self, reference_boxes: list[Tensor], proposals: list[Tensor]) -> list[Tensor]:
        """The codes of the first boxes relative to the second, image by image."""
        n_boxes = [len(boxes) for boxes in reference_boxes]
        codes = self.encode_single(facula.cat(reference_boxes), facula.cat(proposals))
        return list(codes.split(n_boxes, 0))

    def encode_single(self, reference_boxes: Tensor, proposals: Tensor) -> Tensor:
        """The codes of boxes ``(N, 4)`` relative to ``(N, 4)``."""
        weights = facula.tensor(
            self.weights, dtype=reference_boxes.dtype, device=reference_boxes.device
        )
        center, size = _centers_and_sizes(proposals)
        true_center, true_size = _centers_and_sizes(reference_boxes)
        shift = weights[:2] * (true_center - center) / size
        return facula.cat([shift, weights[2:] * (true_size / size).log()], dim=1)

    def decode(self, rel_codes: Tensor, boxes: list[Tensor]) -> Tensor:
        """Codes ``(N, 4 * K)`` for the boxes of all images together: ``(N, K, 4)``."""
        all_boxes = facula.cat(boxes)
        return self.decode_single(rel_codes, all_boxes).unflatten(1, (rel_codes.shape[1] // 4, 4))

    def decode_single(self, rel_codes: Tensor, boxes: Tensor) -> Tensor:
        """Codes ``(N, 4 * K)`` for boxes ``(N, 4)``: boxes ``(N, 4 * K)``."""
        center, size = _centers_and_sizes(boxes.to(rel_codes.dtype))
        codes = rel_codes.unflatten(1, (rel_codes.shape[1] // 4, 4))
        weights = facula.tensor(self.weights, dtype=codes.dtype, device=codes.device)
        codes = codes / weights
        # Without a limit, one wild prediction of an untrained network would be an infinite box.
        scale = codes[..., 2:].clamp(max=self.bbox_xform_clip).exp()
        middle = codes[..., :2] * size[:, None] + center[:, None]
        half = 0.5 * (scale * size[:, None])
        return facula.cat([middle - half, middle + half], dim=-1).flatten(1)


class BoxLinearCoder:
    """Boxes as distances of their sides from the center of another box (FCOS).

    Args:
        normalize_by_size: whether the unit is the size of that box.
    """

    def __init__(self, normalize_by_size: bool = True) -> None:
        self.normalize_by_size = normalize_by_size

    def encode(self, reference_boxes: Tensor, proposals: Tensor) -> Tensor:
        """The sides of ``proposals`` as seen from ``reference_boxes``, both ``(..., 4)``."""
        center = 0.5 * (reference_boxes[..., :2] + reference_boxes[..., 2:])
        sides = facula.cat([center - proposals[..., :2], proposals[..., 2:] - center], dim=-1)
        return sides / self._unit(reference_boxes) if self.normalize_by_size else sides

    def decode(self, rel_codes: Tensor, boxes: Tensor) -> Tensor:
        """The boxes with these sides as seen from ``boxes``, both ``(..., 4)``."""
        boxes = boxes.to(rel_codes.dtype)
        center = 0.5 * (boxes[..., :2] + boxes[..., 2:])
        sides = rel_codes * self._unit(boxes) if self.normalize_by_size else rel_codes
        return facula.cat([center - sides[..., :2], center + sides[..., 2:]], dim=-1)

    @staticmethod
    def _unit(boxes: Tensor) -> Tensor:
        size = boxes[..., 2:] - boxes[..., :2]
        return facula.cat([size, size], dim=-1)


class Matcher:
    """Gives each predicted box the true box that it covers best, if it covers it well.

    Args:
        high_threshold: quality from which a box is matched.
        low_threshold: quality below which it has no object; between the two it does not count.
        allow_low_quality_matches: whether each true box also gets the predictions that are best
            for it, however bad.
    """

    BELOW_LOW_THRESHOLD = -1
    BETWEEN_THRESHOLDS = -2

    def __init__(
        self, high_threshold: float, low_threshold: float, allow_low_quality_matches: bool = False
    ) -> None:
        if low_threshold > high_threshold:
            raise AssertionError(
                f"Matcher: expected low_threshold <= high_threshold, got {low_threshold} and "
                f"{high_threshold}."
            )
        self.high_threshold = high_threshold
        self.low_threshold = low_threshold
        self.allow_low_quality_matches = allow_low_quality_matches

    def __call__(self, match_quality_matrix: Tensor) -> Tensor:
        """The true box of each of N predictions, or one of the constants for none.

        Qualities are ``(M, N)``, of M true boxes."""
        if match_quality_matrix.numel() == 0:
            missing = "true boxes" if match_quality_matrix.shape[0] == 0 else "proposals"
            raise ValueError(f"Matcher: there are no {missing} in one of the images of training.")
        quality, best = match_quality_matrix.max(dim=0)
        matches: Tensor = best.clone()
        matches[quality < self.low_threshold] = self.BELOW_LOW_THRESHOLD
        is_between = (quality >= self.low_threshold) & (quality < self.high_threshold)
        matches[is_between] = self.BETWEEN_THRESHOLDS
        if self.allow_low_quality_matches:
            highest = match_quality_matrix.max(dim=1)[0]
            # All that tie for the best. Each gets the true box that is best for itself, which may
            # be another one than that it was the best for.
            is_best = (match_quality_matrix == highest[:, None]).any(dim=0)
            matches[is_best] = best[is_best]
        return matches


class SSDMatcher(Matcher):
    """Every true box has its best prediction, and those that cover it better than a threshold."""

    def __init__(self, threshold: float) -> None:
        super().__init__(threshold, threshold)

    def __call__(self, match_quality_matrix: Tensor) -> Tensor:
        matches = super().__call__(match_quality_matrix)
        # Assigned last: a true box keeps its best prediction even where that covers another better.
        best = match_quality_matrix.max(dim=1)[1]
        matches[best] = facula.arange(best.size(0), dtype=facula.int64, device=best.device)
        return matches


def overwrite_eps(model: nn.Module, eps: float) -> None:
    """Set eps of the frozen normalisations: the first trained weights were made without it."""
    for module in model.modules():
        if isinstance(module, FrozenBatchNorm2d):
            module.eps = eps


def retrieve_out_channels(model: nn.Module, size: tuple[int, int]) -> list[int]:
    """The channels of the feature maps of a backbone, for images of this width and height."""
    was_training = model.training
    # The pass of zeros must not move the statistics of normalisations.
    model.eval()
    with facula.no_grad():
        device = next(model.parameters()).device
        features = model(facula.zeros((1, 3, size[1], size[0]), device=device))
    model.train(was_training)
    levels = [features] if isinstance(features, Tensor) else list(features.values())
    return [level.size(1) for level in levels]


def box_loss(
    type: str,
    box_coder: BoxCoder,
    anchors: Tensor,
    matched_boxes: Tensor,
    codes: Tensor,
) -> Tensor:
    """The loss of predicted codes, as the sum over boxes: of the codes, or of the boxes' overlap.

    Args:
        type: ``"l1"``, ``"smooth_l1"``, ``"giou"``, ``"diou"`` or ``"ciou"``.
    """
    if type in ("l1", "smooth_l1"):
        targets = box_coder.encode_single(matched_boxes, anchors)
        if type == "l1":
            return F.l1_loss(codes, targets, reduction="sum")
        return F.smooth_l1_loss(codes, targets, reduction="sum", beta=1.0)
    losses = {"giou": giou_loss, "diou": diou_loss, "ciou": ciou_loss}
    if type not in losses:
        raise ValueError(f"expected the loss l1, smooth_l1, giou, diou or ciou, got {type!r}.")
    boxes = box_coder.decode_single(codes, anchors)
    return losses[type](compare(type, boxes, matched_boxes, 1e-7)).sum()


def match_anchors(matcher: Matcher, targets: list[Target], anchors: list[Tensor]) -> list[Tensor]:
    """The true box of each anchor, image by image; -1 where an image has none."""
    matched = []
    for target, of_image in zip(targets, anchors, strict=True):
        if target["boxes"].numel() == 0:
            none = facula.full((of_image.size(0),), -1, dtype=facula.int64, device=of_image.device)
            matched.append(none)
        else:
            matched.append(matcher(box_ops.box_iou(target["boxes"], of_image)))
    return matched


def check_training_targets(name: str, targets: Sequence[Target] | None) -> None:
    if targets is None:
        raise AssertionError(f"{name}: expected targets in training mode.")
    for target in targets:
        boxes = target["boxes"]
        if not isinstance(boxes, Tensor):
            raise AssertionError(f"{name}: expected boxes as a tensor, got {type(boxes).__name__}.")
        if boxes.dim() != 2 or boxes.shape[-1] != 4:
            raise AssertionError(f"{name}: expected boxes (N, 4), got {tuple(boxes.shape)}.")


def check_proper_boxes(name: str, targets: Sequence[Target] | None) -> None:
    for i, target in enumerate(targets or ()):
        boxes = target["boxes"]
        is_degenerate = (boxes[:, 2:] <= boxes[:, :2]).any(dim=1)
        if is_degenerate.any():
            box = boxes[is_degenerate][0].tolist()
            raise AssertionError(
                f"{name}: expected boxes of positive width and height, got {box} for the "
                f"target at index {i}."
            )


def image_sizes(name: str, images: Sequence[Tensor]) -> list[tuple[int, int]]:
    sizes = []
    for image in images:
        if image.dim() < 2:
            raise AssertionError(f"{name}: expected images (C, H, W), got {tuple(image.shape)}.")
        sizes.append((image.shape[-2], image.shape[-1]))
    return sizes


def as_levels(features: Tensor | dict[str, Tensor]) -> dict[str, Tensor]:
    return OrderedDict([("0", features)]) if isinstance(features, Tensor) else features


def per_place(x: Tensor, n_columns: int) -> Tensor:
    """The result of a convolution, ``(N, A * n_columns, H, W)``, as ``(N, H * W * A, n_columns)``,
    in the order of the anchors."""
    n, _, height, width = x.shape
    x = x.reshape(n, -1, n_columns, height, width).permute(0, 3, 4, 1, 2)
    return x.reshape(n, -1, n_columns)


def init_convs(module: nn.Module, std: float) -> None:
    """Draw the weights of all convolutions; their biases are 0."""
    for layer in module.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.normal_(layer.weight, std=std)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)


def best_of_levels(
    levels: list[tuple[Tensor, Tensor, Tensor]],
    decode: Any,
    image_shape: tuple[int, int],
    score_thresh: float,
    topk_candidates: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """The boxes, scores and labels of an image that are worth a closer look.

    Args:
        levels: for each level, the scores ``(A, classes)``, the codes ``(A, 4)`` and the anchors.
        decode: makes boxes of codes and anchors.
    """
    found: list[tuple[Tensor, Tensor, Tensor]] = []
    for level_scores, codes, anchors in levels:
        n_classes = level_scores.shape[-1]
        # Pairs of anchor and class compete with each other: an anchor may be kept for two classes.
        scores = level_scores.flatten()
        places = indices(scores > score_thresh)
        scores, order = scores[places].topk(min(topk_candidates, places.size(0)))
        places = places[order]
        chosen = places.div(n_classes, rounding_mode="floor")
        boxes = decode(codes[chosen], anchors[chosen])
        found.append((box_ops.clip_boxes_to_image(boxes, image_shape), scores, places % n_classes))
    boxes, scores, labels = (facula.cat(column) for column in zip(*found, strict=True))
    return boxes, scores, labels


def keep_best(
    boxes: Tensor, scores: Tensor, labels: Tensor, nms_thresh: float, n_most: int
) -> Detection:
    kept = box_ops.batched_nms(boxes, scores, labels, nms_thresh)[:n_most]
    return {"boxes": boxes[kept], "scores": scores[kept], "labels": labels[kept]}
