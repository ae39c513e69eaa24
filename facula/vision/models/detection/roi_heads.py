"""What is in proposed boxes: classes, better boxes, masks and keypoints."""

from __future__ import annotations

from typing import Any

import facula
from facula import nn
from facula._core import Tensor
from facula.nn import functional as F
from facula.vision.models.detection import _utils as det_utils
from facula.vision.models.detection._utils import Detection, Target, indices
from facula.vision.ops import boxes as box_ops
from facula.vision.ops.roi_align import roi_align

__all__ = [
    "RoIHeads",
    "fastrcnn_loss",
    "heatmaps_to_keypoints",
    "keypointrcnn_inference",
    "keypointrcnn_loss",
    "keypoints_to_heatmap",
    "maskrcnn_inference",
    "maskrcnn_loss",
    "paste_masks_in_image",
    "project_masks_on_boxes",
]


def fastrcnn_loss(
    class_logits: Tensor,
    box_regression: Tensor,
    labels: list[Tensor],
    regression_targets: list[Tensor],
) -> tuple[Tensor, Tensor]:
    """The losses of classes and boxes; class 0 is the background, whose boxes do not count."""
    all_labels = facula.cat(labels)
    codes = facula.cat(regression_targets)
    positive = indices(all_labels > 0)
    box_regression = box_regression.reshape(len(class_logits), -1, 4)
    # A box has a code for every class, of which only that of the true one learns.
    box_loss = F.smooth_l1_loss(
        box_regression[positive, all_labels[positive]],
        codes[positive],
        beta=1 / 9,
        reduction="sum",
    )
    # By all boxes, not by those with objects: images with few objects weigh less.
    return F.cross_entropy(class_logits, all_labels), box_loss / all_labels.numel()


def maskrcnn_inference(x: Tensor, labels: list[Tensor]) -> list[Tensor]:
    """Probabilities ``(N, 1, M, M)`` of the masks of each image, of logits of all classes."""
    all_labels = facula.cat(labels)
    places = facula.arange(len(x), device=x.device)
    masks = x.sigmoid()[places, all_labels][:, None]
    return list(masks.split([len(label) for label in labels]))


def project_masks_on_boxes(gt_masks: Tensor, boxes: Tensor, matched_idxs: Tensor, M: int) -> Tensor:
    """The parts of true masks that are inside boxes, ``(N, M, M)``."""
    rois = facula.cat([matched_idxs.to(boxes)[:, None], boxes], dim=1)
    masks: Tensor = roi_align(gt_masks[:, None].to(rois.dtype), rois, (M, M), 1.0)[:, 0]
    return masks


def maskrcnn_loss(
    mask_logits: Tensor,
    proposals: list[Tensor],
    gt_masks: list[Tensor],
    gt_labels: list[Tensor],
    mask_matched_idxs: list[Tensor],
) -> Tensor:
    """The loss of the masks of the true classes."""
    size = mask_logits.shape[-1]
    pairs = list(zip(gt_labels, gt_masks, proposals, mask_matched_idxs, strict=True))
    labels = facula.cat([label[matched] for label, _, _, matched in pairs])
    targets = facula.cat(
        [project_masks_on_boxes(mask, boxes, matched, size) for _, mask, boxes, matched in pairs]
    )
    # Not a constant: the parameters get gradients of 0, as optimizers and other processes expect.
    if targets.numel() == 0:
        return mask_logits.sum() * 0
    places = facula.arange(len(labels), device=labels.device)
    return F.binary_cross_entropy_with_logits(mask_logits[places, labels], targets)


def keypoints_to_heatmap(
    keypoints: Tensor, rois: Tensor, heatmap_size: int
) -> tuple[Tensor, Tensor]:
    """The place of each keypoint ``(N, K, 3)`` in the heatmap of its box, and whether it has one.

    A point on the right or lower side of its box is in the last column or row.
    """
    low, high = rois[:, None, :2], rois[:, None, 2:]
    points = keypoints[..., :2]
    scale = heatmap_size / (high - low)
    places = ((points - low) * scale).floor().long()
    places = facula.where(points == high, heatmap_size - 1, places)
    is_inside = ((places >= 0) & (places < heatmap_size)).all(dim=-1)
    valid = (is_inside & (keypoints[..., 2] > 0)).long()
    return (places[..., 1] * heatmap_size + places[..., 0]) * valid, valid


def heatmaps_to_keypoints(maps: Tensor, rois: Tensor) -> tuple[Tensor, Tensor]:
    """The highest place of each heatmap ``(N, K, H, W)`` in its box: points ``(N, K, 3)`` and
    their scores ``(N, K)``."""
    sizes = (rois[:, 2:] - rois[:, :2]).clamp(min=1)
    # A heatmap has whole pixels, and a box has not: the places found are scaled by the difference.
    n_pixels = sizes.ceil()
    corrections = sizes / n_pixels
    n, n_points = maps.shape[:2]
    points = facula.ones((n, n_points, 3), dtype=facula.float32, device=maps.device)
    scores = facula.zeros((n, n_points), dtype=facula.float32, device=maps.device)
    for i in range(n):
        width, height = (int(size) for size in n_pixels[i].tolist())
        heat = F.interpolate(
            maps[i][:, None], size=(height, width), mode="bicubic", align_corners=False
        )[:, 0]
        scores[i], place = heat.reshape(n_points, -1).max(dim=1)
        pixel = facula.stack([place % width, place // width], dim=1)
        points[i, :, :2] = (pixel.float() + 0.5) * corrections[i] + rois[i, :2]
    return points, scores


def keypointrcnn_loss(
    keypoint_logits: Tensor,
    proposals: list[Tensor],
    gt_keypoints: list[Tensor],
    keypoint_matched_idxs: list[Tensor],
) -> Tensor:
    """The loss of heatmaps ``(N, K, H, H)``, as that of one class among all places."""
    n, n_points, height, width = keypoint_logits.shape
    if height != width:
        raise ValueError(
            f"keypointrcnn_loss: expected square heatmaps, got {tuple(keypoint_logits.shape)}."
        )
    targets, is_valid = [], []
    for boxes, points, matched in zip(proposals, gt_keypoints, keypoint_matched_idxs, strict=True):
        places, valid = keypoints_to_heatmap(points[matched], boxes, height)
        targets.append(places.reshape(-1))
        is_valid.append(valid.reshape(-1))
    chosen = indices(facula.cat(is_valid))
    # Not a constant, as for masks.
    if chosen.numel() == 0:
        return keypoint_logits.sum() * 0
    logits = keypoint_logits.reshape(n * n_points, height * width)
    return F.cross_entropy(logits[chosen], facula.cat(targets)[chosen])


def keypointrcnn_inference(x: Tensor, boxes: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
    """The keypoints of the boxes of each image, and their scores."""
    points, scores = [], []
    for maps, of_image in zip(x.split([len(b) for b in boxes]), boxes, strict=True):
        place, score = heatmaps_to_keypoints(maps, of_image)
        points.append(place)
        scores.append(score)
    return points, scores


def _expand_boxes(boxes: Tensor, scale: float) -> Tensor:
    center, half = (boxes[:, 2:] + boxes[:, :2]) * 0.5, (boxes[:, 2:] - boxes[:, :2]) * 0.5
    half = half * scale
    return facula.cat([center - half, center + half], dim=1)


def _paste_mask(mask: Tensor, box: list[int], height: int, width: int) -> Tensor:
    x1, y1, x2, y2 = box
    size = (max(y2 - y1 + 1, 1), max(x2 - x1 + 1, 1))
    mask = F.interpolate(mask[None], size=size, mode="bilinear", align_corners=False)[0, 0]
    image = mask.new_zeros((height, width))
    left, right = max(x1, 0), min(x2 + 1, width)
    top, bottom = max(y1, 0), min(y2 + 1, height)
    if left < right and top < bottom:
        image[top:bottom, left:right] = mask[top - y1 : bottom - y1, left - x1 : right - x1]
    return image


def paste_masks_in_image(
    masks: Tensor, boxes: Tensor, img_shape: tuple[int, int], padding: int = 1
) -> Tensor:
    """Masks ``(N, 1, M, M)`` of boxes at their places in an image: ``(N, 1, H, W)``.

    Example:
        >>> from facula.vision.models.detection.roi_heads import paste_masks_in_image
        >>> boxes = facula.tensor([[1.0, 1.0, 5.0, 5.0]])
        >>> paste_masks_in_image(facula.ones(1, 1, 4, 4), boxes, (6, 8)).shape
        torch.Size([1, 1, 6, 8])
    """
    size = masks.shape[-1]
    # A border of zeros, so that the interpolation ends at the side of the box.
    masks = F.pad(masks, (padding,) * 4)
    corners = _expand_boxes(boxes, (size + 2 * padding) / size).long().tolist()
    pasted = [_paste_mask(mask, box, *img_shape) for mask, box in zip(masks, corners, strict=True)]
    if not pasted:
        return masks.new_empty((0, 1, *img_shape))
    return facula.stack(pasted)[:, None]


class RoIHeads(nn.Module):
    """The second stage of R-CNN: what is in proposed boxes.

    Args:
        box_roi_pool, box_head, box_predictor: features of boxes, and their classes and codes.
        fg_iou_thresh: boxes that overlap a true one by as much have its class.
        bg_iou_thresh: boxes that overlap none by as much are background.
        batch_size_per_image: boxes of an image that the losses are computed of.
        positive_fraction: the share of them that has an object.
        bbox_reg_weights: factors of the codes, ``(10, 10, 5, 5)`` for ``None``.
        score_thresh: boxes with less are dropped.
        nms_thresh: overlap from which the worse of two boxes of a class is dropped.
        detections_per_img: boxes of an image that are kept.
        mask_roi_pool, mask_head, mask_predictor: features of boxes, and the masks in them.
        keypoint_roi_pool, keypoint_head, keypoint_predictor: features of boxes, and the keypoints
            in them.
    """

    def __init__(
        self,
        box_roi_pool: nn.Module,
        box_head: nn.Module,
        box_predictor: nn.Module,
        fg_iou_thresh: float,
        bg_iou_thresh: float,
        batch_size_per_image: int,
        positive_fraction: float,
        bbox_reg_weights: tuple[float, float, float, float] | None,
        score_thresh: float,
        nms_thresh: float,
        detections_per_img: int,
        mask_roi_pool: nn.Module | None = None,
        mask_head: nn.Module | None = None,
        mask_predictor: nn.Module | None = None,
        keypoint_roi_pool: nn.Module | None = None,
        keypoint_head: nn.Module | None = None,
        keypoint_predictor: nn.Module | None = None,
    ) -> None:
        super().__init__()
        self.proposal_matcher = det_utils.Matcher(fg_iou_thresh, bg_iou_thresh)
        self.fg_bg_sampler = det_utils.BalancedPositiveNegativeSampler(
            batch_size_per_image, positive_fraction
        )
        self.box_coder = det_utils.BoxCoder(bbox_reg_weights or (10.0, 10.0, 5.0, 5.0))
        self.box_roi_pool = box_roi_pool
        self.box_head = box_head
        self.box_predictor = box_predictor
        self.score_thresh = score_thresh
        self.nms_thresh = nms_thresh
        self.detections_per_img = detections_per_img
        self.mask_roi_pool = mask_roi_pool
        self.mask_head = mask_head
        self.mask_predictor = mask_predictor
        self.keypoint_roi_pool = keypoint_roi_pool
        self.keypoint_head = keypoint_head
        self.keypoint_predictor = keypoint_predictor

    def has_mask(self) -> bool:
        """Whether all parts for masks are there."""
        parts = (self.mask_roi_pool, self.mask_head, self.mask_predictor)
        return all(part is not None for part in parts)

    def has_keypoint(self) -> bool:
        """Whether all parts for keypoints are there."""
        parts = (self.keypoint_roi_pool, self.keypoint_head, self.keypoint_predictor)
        return all(part is not None for part in parts)

    def assign_targets_to_proposals(
        self, proposals: list[Tensor], gt_boxes: list[Tensor], gt_labels: list[Tensor]
    ) -> tuple[list[Tensor], list[Tensor]]:
        """The true box of each proposal, and its class: 0 for background, -1 if it is not to be
        drawn."""
        matches, labels = [], []
        for boxes, true, label in zip(proposals, gt_boxes, gt_labels, strict=True):
            if true.numel() == 0:
                none = facula.zeros(len(boxes), dtype=facula.int64, device=boxes.device)
                matches.append(none)
                labels.append(none)
                continue
            matched = self.proposal_matcher(box_ops.box_iou(true, boxes))
            matches.append(matched.clamp(min=0))
            of_box = label[matches[-1]].to(facula.int64)
            of_box[matched == self.proposal_matcher.BELOW_LOW_THRESHOLD] = 0
            of_box[matched == self.proposal_matcher.BETWEEN_THRESHOLDS] = -1
            labels.append(of_box)
        return matches, labels

    def check_targets(self, targets: list[Target] | None) -> list[Target]:
        """The targets, if they have everything that the heads learn from."""
        if targets is None:
            raise ValueError("RoIHeads: expected targets in training mode.")
        needed = ["boxes", "labels"] + ["masks"] * self.has_mask()
        for target in targets:
            missing = [name for name in needed if name not in target]
            if missing:
                raise ValueError(f"RoIHeads: a target has no {', '.join(missing)}.")
            if not target["boxes"].is_floating_point():
                raise TypeError(
                    f"RoIHeads: expected boxes of a floating-point dtype, "
                    f"got {target['boxes'].dtype}."
                )
            if target["labels"].dtype != facula.int64:
                raise TypeError(
                    f"RoIHeads: expected labels of the dtype int64, got {target['labels'].dtype}."
                )
            if self.has_keypoint() and (
                "keypoints" not in target or target["keypoints"].dtype != facula.float32
            ):
                raise TypeError("RoIHeads: expected keypoints of the dtype float32.")
        return targets

    def select_training_samples(
        self, proposals: list[Tensor], targets: list[Target]
    ) -> tuple[list[Tensor], list[Tensor], list[Tensor], list[Tensor]]:
        """Proposals to learn from, their true boxes, classes and codes; true boxes are proposals
        too."""
        dtype = proposals[0].dtype
        gt_boxes = [target["boxes"].to(dtype) for target in targets]
        gt_labels = [target["labels"] for target in targets]
        proposals = [facula.cat(pair) for pair in zip(proposals, gt_boxes, strict=True)]
        matches, labels = self.assign_targets_to_proposals(proposals, gt_boxes, gt_labels)
        positive, negative = self.fg_bg_sampler(labels)
        true_boxes = []
        for i, masks in enumerate(zip(positive, negative, strict=True)):
            chosen = indices(masks[0] | masks[1])
            proposals[i] = proposals[i][chosen]
            labels[i], matches[i] = labels[i][chosen], matches[i][chosen]
            true = gt_boxes[i] if gt_boxes[i].numel() else proposals[i].new_zeros((1, 4))
            true_boxes.append(true[matches[i]])
        return proposals, matches, labels, self.box_coder.encode(true_boxes, proposals)

    def postprocess_detections(
        self,
        class_logits: Tensor,
        box_regression: Tensor,
        proposals: list[Tensor],
        image_shapes: list[tuple[int, int]],
    ) -> list[Detection]:
        """The boxes of each image with their scores and labels, best first."""
        n_classes = class_logits.shape[-1]
        n_boxes = [len(boxes) for boxes in proposals]
        all_boxes = self.box_coder.decode(box_regression, proposals).split(n_boxes)
        all_scores = F.softmax(class_logits, -1).split(n_boxes)
        result = []
        for boxes, scores, shape in zip(all_boxes, all_scores, image_shapes, strict=True):
            boxes = box_ops.clip_boxes_to_image(boxes, shape)
            labels = facula.arange(n_classes, device=boxes.device).expand_as(scores)
            # Every class is a prediction of its own; that of the background is none.
            boxes = boxes[:, 1:].reshape(-1, 4)
            scores, labels = scores[:, 1:].reshape(-1), labels[:, 1:].reshape(-1)
            kept = indices(scores > self.score_thresh)
            kept = kept[box_ops.remove_small_boxes(boxes[kept], min_size=1e-2)]
            best = det_utils.keep_best(
                boxes[kept],
                scores[kept],
                labels[kept],
                self.nms_thresh,
                self.detections_per_img,
            )
            result.append({name: best[name] for name in ("boxes", "labels", "scores")})
        return result

    def forward(
        self,
        features: dict[str, Tensor],
        proposals: list[Tensor],
        image_shapes: list[tuple[int, int]],
        targets: list[Target] | None = None,
    ) -> tuple[list[Detection], dict[str, Tensor]]:
        result: list[Detection] = []
        losses: dict[str, Tensor] = {}
        samples: Any = None
        if self.training:
            targets = self.check_targets(targets)
            proposals, *samples = self.select_training_samples(proposals, targets)
        box_features = self.box_roi_pool(features, proposals, image_shapes)
        class_logits, box_regression = self.box_predictor(self.box_head(box_features))
        if self.training:
            _, labels, codes = samples
            class_loss, box_loss = fastrcnn_loss(class_logits, box_regression, labels, codes)
            losses = {"loss_classifier": class_loss, "loss_box_reg": box_loss}
        else:
            result = self.postprocess_detections(
                class_logits, box_regression, proposals, image_shapes
            )
        if self.has_mask() or self.has_keypoint():
            boxes, matches = self._boxes_with_objects(result, proposals, samples)
            if self.has_mask():
                losses |= self._masks(features, boxes, image_shapes, result, targets, matches)
            if self.has_keypoint():
                losses |= self._keypoints(features, boxes, image_shapes, result, targets, matches)
        return result, losses

    def _boxes_with_objects(
        self, result: list[Detection], proposals: list[Tensor], samples: Any
    ) -> tuple[list[Tensor], list[Tensor]]:
        """The boxes whose masks and keypoints are wanted; in training also their true boxes."""
        if not self.training:
            return [detection["boxes"] for detection in result], []
        matches, labels, _ = samples
        positive = [indices(label > 0) for label in labels]
        return (
            [boxes[p] for boxes, p in zip(proposals, positive, strict=True)],
            [match[p] for match, p in zip(matches, positive, strict=True)],
        )

    def _masks(
        self,
        features: dict[str, Tensor],
        boxes: list[Tensor],
        image_shapes: list[tuple[int, int]],
        result: list[Detection],
        targets: list[Target] | None,
        matches: list[Tensor],
    ) -> dict[str, Tensor]:
        assert self.mask_roi_pool and self.mask_head and self.mask_predictor
        pooled = self.mask_roi_pool(features, boxes, image_shapes)
        logits = self.mask_predictor(self.mask_head(pooled))
        if self.training:
            assert targets is not None
            masks, labels = ([t[key] for t in targets] for key in ("masks", "labels"))
            return {"loss_mask": maskrcnn_loss(logits, boxes, masks, labels, matches)}
        labels = [detection["labels"] for detection in result]
        for detection, probability in zip(result, maskrcnn_inference(logits, labels), strict=True):
            detection["masks"] = probability
        return {}

    def _keypoints(
        self,
        features: dict[str, Tensor],
        boxes: list[Tensor],
        image_shapes: list[tuple[int, int]],
        result: list[Detection],
        targets: list[Target] | None,
        matches: list[Tensor],
    ) -> dict[str, Tensor]:
        assert self.keypoint_roi_pool and self.keypoint_head and self.keypoint_predictor
        pooled = self.keypoint_roi_pool(features, boxes, image_shapes)
        logits = self.keypoint_predictor(self.keypoint_head(pooled))
        if self.training:
            assert targets is not None
            points = [target["keypoints"] for target in targets]
            return {"loss_keypoint": keypointrcnn_loss(logits, boxes, points, matches)}
        for detection, place, score in zip(
            result, *keypointrcnn_inference(logits, boxes), strict=True
        ):
            detection["keypoints"] = place
            detection["keypoints_scores"] = score
        return {}
