"""Images and targets as detectors take them, and results in the coordinates of the images."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import facula
from facula import nn
from facula._core import Tensor
from facula.nn import functional as F
from facula.vision.models.detection._utils import Detection, Target
from facula.vision.models.detection.image_list import ImageList
from facula.vision.models.detection.roi_heads import paste_masks_in_image

__all__ = ["GeneralizedRCNNTransform", "resize_boxes", "resize_keypoints"]

_Size = tuple[int, int]


class GeneralizedRCNNTransform(nn.Module):
    """Normalises and resizes images, and puts them into one tensor.

    Args:
        min_size: the length of the shorter side; of several one is drawn for each image in
            training.
        max_size: the most length of the longer side, which limits the shorter one.
        image_mean: the mean of each channel, which is subtracted.
        image_std: the standard deviation of each channel, which is divided by.
        size_divisible: sides of the tensor are multiples of it.
        fixed_size: width and height of all images, instead of ``min_size`` and ``max_size``.

    Shape:
        a list of ``(C, H, W)``; result: an :class:`ImageList`, and the targets with it.

    Example:
        >>> from facula.vision.models.detection.transform import GeneralizedRCNNTransform
        >>> transform = GeneralizedRCNNTransform(16, 32, [0.5] * 3, [0.5] * 3)
        >>> images, _ = transform([facula.ones(3, 10, 12)])
        >>> images.tensors.shape, images.image_sizes
        (torch.Size([1, 3, 32, 32]), [(16, 19)])
    """

    def __init__(
        self,
        min_size: int | Sequence[int],
        max_size: int,
        image_mean: list[float],
        image_std: list[float],
        size_divisible: int = 32,
        fixed_size: _Size | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        self.min_size = (min_size,) if isinstance(min_size, int) else tuple(min_size)
        self.max_size = max_size
        self.image_mean = image_mean
        self.image_std = image_std
        self.size_divisible = size_divisible
        self.fixed_size = fixed_size
        self._skip_resize = kwargs.pop("_skip_resize", False)

    def forward(
        self, images: Sequence[Tensor], targets: Sequence[Target] | None = None
    ) -> tuple[ImageList, list[Target] | None]:
        changed, changed_targets = [], []
        for i, image in enumerate(images):
            if image.dim() != 3:
                raise ValueError(
                    f"GeneralizedRCNNTransform: expected a list of images (C, H, W), "
                    f"got {tuple(image.shape)}."
                )
            # A copy: the caller's targets stay in the coordinates of the original image.
            target = None if targets is None else dict(targets[i])
            image, target = self.resize(self.normalize(image), target)
            changed.append(image)
            changed_targets.append(target or {})
        sizes = [(image.shape[-2], image.shape[-1]) for image in changed]
        batch = ImageList(self.batch_images(changed, self.size_divisible), sizes)
        return batch, None if targets is None else changed_targets

    def normalize(self, image: Tensor) -> Tensor:
        """With the mean and the deviation of each channel."""
        if not image.is_floating_point():
            raise TypeError(
                f"GeneralizedRCNNTransform: expected images of a floating-point dtype with values "
                f"from 0 to 1, got {image.dtype}."
            )
        mean, std = (
            facula.tensor(v, dtype=image.dtype, device=image.device)[:, None, None]
            for v in (self.image_mean, self.image_std)
        )
        return (image - mean) / std

    def _draw_size(self) -> int:
        if not self.training:
            return self.min_size[-1]
        # A floating-point number, not an integer: a seed draws the size that torchvision draws.
        place = facula.empty(1).uniform_(0.0, float(len(self.min_size)))
        return self.min_size[int(place)]

    def resize(self, image: Tensor, target: Target | None = None) -> tuple[Tensor, Target | None]:
        """An image and its target in the size that the network works in."""
        if self.training and self._skip_resize:
            return image, target
        size = self._draw_size()
        before = (image.shape[-2], image.shape[-1])
        kwargs: dict[str, Any]
        if self.fixed_size is not None:
            kwargs = {"size": (self.fixed_size[1], self.fixed_size[0])}
        else:
            scale = min(size / min(before), self.max_size / max(before))
            # Recomputed from the rounded sizes: boxes are scaled by these and must stay on their
            # objects.
            kwargs = {"scale_factor": scale, "recompute_scale_factor": True}
        image = F.interpolate(image[None], mode="bilinear", align_corners=False, **kwargs)[0]
        if target is None:
            return image, target
        after = (image.shape[-2], image.shape[-1])
        target["boxes"] = resize_boxes(target["boxes"], before, after)
        if "masks" in target:
            masks = target["masks"][:, None].float()
            target["masks"] = F.interpolate(masks, **kwargs)[:, 0].byte()
        if "keypoints" in target:
            target["keypoints"] = resize_keypoints(target["keypoints"], before, after)
        return image, target

    def batch_images(self, images: list[Tensor], size_divisible: int = 32) -> Tensor:
        """All images in one tensor, each at the top left, with zeros beside."""
        sizes = [max(image.shape[d] for image in images) for d in range(3)]
        for d in (1, 2):
            sizes[d] = math.ceil(sizes[d] / size_divisible) * size_divisible
        batch = images[0].new_zeros((len(images), *sizes))
        for place, image in zip(batch, images, strict=True):
            place[: image.shape[0], : image.shape[1], : image.shape[2]].copy_(image)
        return batch

    def postprocess(
        self,
        result: list[Detection],
        image_shapes: list[_Size],
        original_image_sizes: list[_Size],
    ) -> list[Detection]:
        """Detections in the coordinates of the original images."""
        if self.training:
            return result
        for detection, size, original in zip(
            result, image_shapes, original_image_sizes, strict=True
        ):
            boxes = resize_boxes(detection["boxes"], size, original)
            detection["boxes"] = boxes
            if "masks" in detection:
                detection["masks"] = paste_masks_in_image(detection["masks"], boxes, original)
            if "keypoints" in detection:
                points = resize_keypoints(detection["keypoints"], size, original)
                detection["keypoints"] = points
        return result

    def __repr__(self) -> str:
        indent = "\n    "
        return (
            f"{type(self).__name__}("
            f"{indent}Normalize(mean={self.image_mean}, std={self.image_std})"
            f"{indent}Resize(min_size={self.min_size}, max_size={self.max_size}, mode='bilinear')"
            "\n)"
        )


def _ratios(original_size: Sequence[int], new_size: Sequence[int], like: Tensor) -> Tensor:
    """The ratios of the widths and of the heights, as a tensor."""
    new, original = (
        facula.tensor([size[1], size[0]], dtype=facula.float32, device=like.device)
        for size in (new_size, original_size)
    )
    return new / original


def resize_keypoints(
    keypoints: Tensor, original_size: Sequence[int], new_size: Sequence[int]
) -> Tensor:
    """Points ``(..., 3)``, x, y and visibility, of an image of another height and width."""
    places = keypoints[..., :2] * _ratios(original_size, new_size, keypoints)
    return facula.cat([places, keypoints[..., 2:]], dim=-1)


def resize_boxes(boxes: Tensor, original_size: Sequence[int], new_size: Sequence[int]) -> Tensor:
    """Boxes ``(N, 4)``, x1, y1, x2, y2, of an image of another height and width.

    Example:
        >>> from facula.vision.models.detection.transform import resize_boxes
        >>> resize_boxes(facula.tensor([[1.0, 2.0, 3.0, 4.0]]), (10, 10), (20, 10))
        tensor([[1., 4., 3., 8.]])
    """
    return boxes * _ratios(original_size, new_size, boxes).repeat(2)
