"""Transforms of bounding boxes and key points alone."""

from __future__ import annotations

from typing import Any

from facula.vision import tv_tensors
from facula.vision.transforms.v2 import functional as F
from facula.vision.transforms.v2._transform import Transform

__all__ = ["ClampBoundingBoxes", "ClampKeyPoints", "ConvertBoundingBoxFormat", "SetClampingMode"]


class ConvertBoundingBoxFormat(Transform):
    """Boxes in another format.

    Args:
        format: a :class:`~facula.vision.tv_tensors.BoundingBoxFormat` or its name.

    Example:
        >>> from facula.vision import tv_tensors
        >>> from facula.vision.transforms import v2
        >>> boxes = tv_tensors.BoundingBoxes([1, 1, 3, 4], format="XYXY", canvas_size=(8, 8))
        >>> v2.ConvertBoundingBoxFormat("XYWH")(boxes).tolist()
        [[1, 1, 2, 3]]
    """

    _transformed_types = (tv_tensors.BoundingBoxes,)

    def __init__(self, format: str | tv_tensors.BoundingBoxFormat) -> None:
        super().__init__()
        self.format = format

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.convert_bounding_box_format(inpt, new_format=self.format)


class ClampBoundingBoxes(Transform):
    """Boxes cut to the image.

    Args:
        clamping_mode: ``"soft"`` or ``"hard"`` (which differ for rotated boxes), None for no
            change, ``"auto"`` for the mode of the boxes.

    Example:
        >>> from facula.vision import tv_tensors
        >>> from facula.vision.transforms import v2
        >>> boxes = tv_tensors.BoundingBoxes([-1, 1, 9, 4], format="XYXY", canvas_size=(8, 8))
        >>> v2.ClampBoundingBoxes()(boxes).tolist()
        [[0, 1, 8, 4]]
    """

    _transformed_types = (tv_tensors.BoundingBoxes,)

    def __init__(self, clamping_mode: str | None = "auto") -> None:
        super().__init__()
        self.clamping_mode = clamping_mode

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.clamp_bounding_boxes(inpt, clamping_mode=self.clamping_mode)


class ClampKeyPoints(Transform):
    """Key points moved into the image.

    Example:
        >>> from facula.vision import tv_tensors
        >>> from facula.vision.transforms import v2
        >>> points = tv_tensors.KeyPoints([[-1.0, 2.0]], canvas_size=(4, 5))
        >>> v2.ClampKeyPoints()(points).tolist()
        [[0.0, 2.0]]
    """

    _transformed_types = (tv_tensors.KeyPoints,)

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.clamp_keypoints(inpt)


class SetClampingMode(Transform):
    """Sets what later transforms do with boxes that reach outside the image.

    Args:
        clamping_mode: ``"soft"``, ``"hard"`` or None for nothing.

    Example:
        >>> from facula.vision import tv_tensors
        >>> from facula.vision.transforms import v2
        >>> boxes = tv_tensors.BoundingBoxes([-1, 1, 9, 4], format="XYXY", canvas_size=(8, 8))
        >>> v2.Pad(1)(v2.SetClampingMode(None)(boxes)).tolist()
        [[0, 2, 10, 5]]
    """

    _transformed_types = (tv_tensors.BoundingBoxes,)

    def __init__(self, clamping_mode: str | None) -> None:
        super().__init__()
        if clamping_mode not in (None, "soft", "hard"):
            raise ValueError(
                f"SetClampingMode: expected 'soft', 'hard' or None, got {clamping_mode!r}."
            )
        self.clamping_mode = clamping_mode

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return tv_tensors.wrap(inpt.clone(), like=inpt, clamping_mode=self.clamping_mode)
