"""Transforms between PIL images, arrays and tensors."""

from __future__ import annotations

from typing import Any

from facula._core import Tensor
from facula._warnings import warn_user
from facula.vision import tv_tensors
from facula.vision.transforms.v2 import functional as F
from facula.vision.transforms.v2._transform import Transform
from facula.vision.transforms.v2._utils import is_pure_tensor
from facula.vision.transforms.v2.functional._type_conversion import is_array, is_pil, scaled_tensor

__all__ = ["PILToTensor", "ToImage", "ToPILImage", "ToPureTensor", "ToTensor"]


class PILToTensor(Transform):
    """PIL images to tensors ``(C, H, W)`` of the same values.

    Example:
        >>> import PIL.Image
        >>> from facula.vision.transforms import v2
        >>> v2.PILToTensor()(PIL.Image.new("RGB", (5, 4))).shape
        torch.Size([3, 4, 5])
    """

    _transformed_types = (is_pil,)

    def transform(self, inpt: Any, params: dict[str, Any]) -> Tensor:
        return F.pil_to_tensor(inpt)


class ToImage(Transform):
    """Tensors, PIL images and arrays ``(H, W, C)`` to images ``(C, H, W)`` of the same values.

    Example:
        >>> import numpy as np
        >>> from facula.vision.transforms import v2
        >>> v2.ToImage()(np.zeros((4, 5, 3), dtype=np.uint8)).shape
        torch.Size([3, 4, 5])
    """

    _transformed_types = (is_pure_tensor, is_pil, is_array)

    def transform(self, inpt: Any, params: dict[str, Any]) -> tv_tensors.Image:
        return F.to_image(inpt)


class ToPILImage(Transform):
    """Tensors ``(C, H, W)`` and arrays ``(H, W, C)`` to PIL images.

    Args:
        mode: the mode of the PIL image; by default as channels and dtype say.

    Example:
        >>> from facula.vision.transforms import v2
        >>> v2.ToPILImage()(facula.ones(3, 4, 5)).size
        (5, 4)
    """

    _transformed_types = (is_pure_tensor, tv_tensors.Image, is_array)

    def __init__(self, mode: str | None = None) -> None:
        super().__init__()
        self.mode = mode

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.to_pil_image(inpt, mode=self.mode)


class ToPureTensor(Transform):
    """Tensors with a type of :mod:`facula.vision.tv_tensors` to tensors without.

    Example:
        >>> from facula.vision import tv_tensors
        >>> from facula.vision.transforms import v2
        >>> v2.ToPureTensor()(tv_tensors.Mask([[0, 1]]))
        tensor([[0, 1]])
    """

    _transformed_types = (tv_tensors.TVTensor,)

    def transform(self, inpt: Any, params: dict[str, Any]) -> Tensor:
        return inpt.as_subclass(Tensor)  # type: ignore[no-any-return]


class ToTensor(Transform):
    """PIL images and arrays ``(H, W, C)`` to tensors ``(C, H, W)``; bytes become 0 to 1.

    Deprecated: use ``Compose([ToImage(), ToDtype(facula.float32, scale=True)])``.
    """

    _transformed_types = (is_pil, is_array)

    def __init__(self) -> None:
        super().__init__()
        warn_user(
            "v2.ToTensor: deprecated; use v2.Compose([v2.ToImage(), "
            "v2.ToDtype(facula.float32, scale=True)]). The result is the same up to rounding.",
        )

    def transform(self, inpt: Any, params: dict[str, Any]) -> Tensor:
        return scaled_tensor(inpt)
