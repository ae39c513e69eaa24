"""Transforms that resize and crop as detectors are trained."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import facula
from facula._core import Tensor
from facula.vision import ops, tv_tensors
from facula.vision.transforms.v2 import functional as F
from facula.vision.transforms.v2._size import Resizing
from facula.vision.transforms.v2._transform import RandomApplyTransform, Transform
from facula.vision.transforms.v2._utils import (
    Fill,
    Interpolation,
    check_pair,
    get_bounding_boxes,
    get_fill,
    has_all,
    has_any,
    is_pure_tensor,
    query_size,
    randint,
    setup_fill,
)
from facula.vision.transforms.v2.functional._type_conversion import is_pil

__all__ = [
    "RandomIoUCrop",
    "RandomResize",
    "RandomShortestSize",
    "RandomZoomOut",
    "ScaleJitter",
]


class RandomZoomOut(RandomApplyTransform):
    """The image somewhere in a larger one, with a probability (SSD, arXiv 1512.02325).

    Args:
        fill: the value of pixels outside the image, given as for :class:`Pad`.
        side_range: the smallest and the largest factor of the sides.
        p: the probability.

    Example:
        >>> from facula.vision.transforms import v2
        >>> v2.RandomZoomOut(side_range=(2.0, 2.0), p=1.0)(facula.zeros(3, 4, 5)).shape
        torch.Size([3, 8, 10])
    """

    def __init__(
        self, fill: Fill = 0, side_range: Sequence[float] = (1.0, 4.0), p: float = 0.5
    ) -> None:
        super().__init__(p=p)
        self.fill = fill
        self._fill = setup_fill("RandomZoomOut", fill)
        check_pair("RandomZoomOut", "side_range", side_range)
        if not 1.0 <= side_range[0] <= side_range[1]:
            raise ValueError(
                f"RandomZoomOut: expected side_range to be (least, most), 1 or more, "
                f"got {side_range}."
            )
        self.side_range = side_range

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        height, width = query_size(flat_inputs)
        # As tensors: the numbers are rounded to float32 before they are cut to ints.
        least, most = self.side_range
        factor = least + facula.rand(1) * (most - least)
        extra_width = int(width * factor) - width
        extra_height = int(height * factor) - height
        place = facula.rand(2)
        left, top = int(extra_width * place[0]), int(extra_height * place[1])
        return {"padding": [left, top, extra_width - left, extra_height - top]}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(F.pad, inpt, **params, fill=get_fill(self._fill, type(inpt)))


class RandomIoUCrop(Transform):
    """A part which overlaps with the boxes as asked (SSD, arXiv 1512.02325).

    Boxes whose middle lies outside become zero: remove them, and their labels, with
    :class:`SanitizeBoundingBoxes`.

    Args:
        min_scale: the least height and width of the part, relative to the image.
        max_scale: the most height and width of the part, relative to the image.
        min_aspect_ratio: the least width over height.
        max_aspect_ratio: the most width over height.
        sampler_options: intersections over union of which the part must reach, with one box, one
            that is drawn; 1 for the whole image. By default 0, 0.1, 0.3, 0.5, 0.7, 0.9 and 1.
        trials: how often to try before another of these is drawn.

    Example:
        >>> from facula.vision import tv_tensors
        >>> from facula.vision.transforms import v2
        >>> boxes = tv_tensors.BoundingBoxes([2, 2, 6, 6], format="XYXY", canvas_size=(8, 8))
        >>> image, boxes = v2.RandomIoUCrop()(facula.zeros(3, 8, 8), boxes)
        >>> tuple(image.shape[1:]) == boxes.canvas_size
        True
    """

    def __init__(
        self,
        min_scale: float = 0.3,
        max_scale: float = 1.0,
        min_aspect_ratio: float = 0.5,
        max_aspect_ratio: float = 2.0,
        sampler_options: Sequence[float] | None = None,
        trials: int = 40,
    ) -> None:
        super().__init__()
        self.min_scale = min_scale
        self.max_scale = max_scale
        self.min_aspect_ratio = min_aspect_ratio
        self.max_aspect_ratio = max_aspect_ratio
        if sampler_options is None:
            sampler_options = [0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0]
        self.options = sampler_options
        self.trials = trials

    def check_inputs(self, flat_inputs: list[Any]) -> None:
        has_image = has_any(flat_inputs, is_pure_tensor, tv_tensors.Image, is_pil)
        if not (has_image and has_all(flat_inputs, tv_tensors.BoundingBoxes)):
            raise TypeError("RandomIoUCrop: expected a sample with an image and bounding boxes.")

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        height, width = query_size(flat_inputs)
        boxes = get_bounding_boxes(flat_inputs)
        corners = F.convert_bounding_box_format(
            boxes.as_subclass(Tensor), boxes.format, tv_tensors.BoundingBoxFormat.XYXY
        )
        while True:
            least_iou = self.options[randint(0, len(self.options))]
            if least_iou >= 1.0:
                return {}
            for _ in range(self.trials):
                params = self._try(height, width, corners, least_iou)
                if params:
                    return params

    def _try(
        self, height: int, width: int, corners: Tensor, least_iou: float
    ) -> dict[str, Any] | None:
        """Draw a part; None if it will not do."""
        # As tensors: the numbers are rounded to float32 before they are cut to ints.
        scale = self.min_scale + (self.max_scale - self.min_scale) * facula.rand(2)
        w, h = int(width * scale[0]), int(height * scale[1])
        if w == 0 or h == 0 or not self.min_aspect_ratio <= w / h <= self.max_aspect_ratio:
            return None
        place = facula.rand(2)
        left, top = int((width - w) * place[0]), int((height - h) * place[1])
        x = (corners[..., 0] + corners[..., 2]) * 0.5
        y = (corners[..., 1] + corners[..., 3]) * 0.5
        is_inside = (left < x) & (x < left + w) & (top < y) & (y < top + h)
        if not is_inside.any():
            return None
        part = facula.tensor([[left, top, left + w, top + h]], dtype=corners.dtype)
        if ops.box_iou(corners[is_inside], part.to(corners.device)).max() < least_iou:
            return None
        return {"top": top, "left": left, "height": h, "width": w, "is_inside": is_inside}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        if not params:
            return inpt
        box = {name: params[name] for name in ("top", "left", "height", "width")}
        output = self._call_kernel(F.crop, inpt, **box)
        if isinstance(output, tv_tensors.BoundingBoxes):
            output[~params["is_inside"]] = 0
        return output


class ScaleJitter(Resizing):
    """Resized by a random factor around a size (Copy-Paste, arXiv 2012.07177).

    Args:
        target_size: height and width; factor 1 fits the image into them.
        scale_range: the smallest and the largest factor.
        interpolation: a mode, by its name or as :class:`InterpolationMode`.
        antialias: whether tensors are filtered as PIL images always are.

    Example:
        >>> from facula.vision.transforms import v2
        >>> v2.ScaleJitter((4, 4), scale_range=(2.0, 2.0))(facula.zeros(3, 8, 8)).shape
        torch.Size([3, 8, 8])
    """

    def __init__(
        self,
        target_size: tuple[int, int],
        scale_range: tuple[float, float] = (0.1, 2.0),
        interpolation: Interpolation = "bilinear",
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        check_pair("ScaleJitter", "target_size", target_size)
        check_pair("ScaleJitter", "scale_range", scale_range)
        self.target_size = target_size
        self.scale_range = scale_range
        self.interpolation = interpolation
        self.antialias = antialias

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        height, width = query_size(flat_inputs)
        # As tensors: the numbers are rounded to float32 before they are cut to ints.
        least, most = self.scale_range
        scale = least + facula.rand(1) * (most - least)
        factor = min(self.target_size[1] / height, self.target_size[0] / width) * scale
        return {"size": (int(height * factor), int(width * factor))}


class RandomShortestSize(Resizing):
    """Resized so that the shorter edge has one of some lengths.

    Args:
        min_size: the lengths from which one is drawn, or the only one.
        max_size: the longer edge will not be longer than this.
        interpolation: a mode, by its name or as :class:`InterpolationMode`.
        antialias: whether tensors are filtered as PIL images always are.

    Example:
        >>> from facula.vision.transforms import v2
        >>> v2.RandomShortestSize([4], max_size=5)(facula.zeros(3, 8, 16)).shape
        torch.Size([3, 2, 5])
    """

    def __init__(
        self,
        min_size: int | Sequence[int],
        max_size: int | None = None,
        interpolation: Interpolation = "bilinear",
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        self.min_size = [min_size] if isinstance(min_size, int) else list(min_size)
        self.max_size = max_size
        self.interpolation = interpolation
        self.antialias = antialias

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        height, width = query_size(flat_inputs)
        factor = self.min_size[randint(0, len(self.min_size))] / min(height, width)
        if self.max_size is not None:
            factor = min(factor, self.max_size / max(height, width))
        return {"size": (int(height * factor), int(width * factor))}


class RandomResize(Resizing):
    """Resized so that the shorter edge has a random length.

    Args:
        min_size: the least length.
        max_size: one more than the most length.
        interpolation: a mode, by its name or as :class:`InterpolationMode`.
        antialias: whether tensors are filtered as PIL images always are.

    Example:
        >>> from facula.vision.transforms import v2
        >>> v2.RandomResize(4, 5)(facula.zeros(3, 8, 16)).shape
        torch.Size([3, 4, 8])
    """

    def __init__(
        self,
        min_size: int,
        max_size: int,
        interpolation: Interpolation = "bilinear",
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        self.min_size = min_size
        self.max_size = max_size
        self.interpolation = interpolation
        self.antialias = antialias

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        return {"size": [randint(self.min_size, self.max_size)]}
