"""Erasing, and the traces that JPEG leaves."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import facula
from facula._core import Tensor
from facula.vision._imports import optional
from facula.vision.transforms.v2.functional._dispatch import (
    IMAGES,
    PIL,
    dispatch,
    functional,
    kernel,
    video_kernel,
)
from facula.vision.transforms.v2.functional._type_conversion import from_pixels, pixels


@functional
def erase(inpt: Any, i: int, j: int, h: int, w: int, v: Tensor, inplace: bool = False) -> Any:
    """Overwrite a rectangle.

    Args:
        inpt: an image or a video.
        i: first row.
        j: first column.
        h: rows.
        w: columns.
        v: the new values, or what is expanded to them.
        inplace: whether the input itself is changed; a PIL image never is.

    Example:
        >>> from facula.vision.transforms.v2 import functional as F
        >>> F.erase(facula.ones(1, 1, 4), 0, 1, 1, 2, facula.zeros(1))
        tensor([[[1., 0., 0., 1.]]])
    """
    return dispatch(erase, inpt, i=i, j=j, h=h, w=w, v=v, inplace=inplace)


@kernel(erase, *IMAGES)
def erase_image(
    image: Tensor, i: int, j: int, h: int, w: int, v: Tensor, inplace: bool = False
) -> Tensor:
    """Overwrite a rectangle of an image ``(..., H, W)``."""
    if not inplace:
        image = image.clone()
    image[..., i : i + h, j : j + w] = v
    return image


erase_video = video_kernel(erase, erase_image)


@kernel(erase, PIL)
def _erase_image_pil(
    image: Any, i: int, j: int, h: int, w: int, v: Tensor, inplace: bool = False
) -> Any:
    return from_pixels(erase_image(pixels(image), i, j, h, w, v, inplace=True), image.mode)


@functional
def jpeg(image: Any, quality: int) -> Any:
    """What is left of an image after it was saved as JPEG.

    Args:
        image: an image or a video, uint8, of 1 or 3 channels.
        quality: how good the image stays, from 1 to 100.

    Example:
        >>> from facula.vision.transforms.v2 import functional as F
        >>> F.jpeg(facula.zeros(3, 8, 8, dtype=facula.uint8), 50).sum()
        tensor(0)
    """
    return dispatch(jpeg, image, quality=quality)


@kernel(jpeg, *IMAGES)
def jpeg_image(image: Tensor, quality: int) -> Tensor:
    """What is left of an image ``(..., C, H, W)`` after it was saved as JPEG."""
    if image.dtype != facula.uint8 or image.dim() < 3 or image.shape[-3] not in (1, 3):
        raise RuntimeError(
            f"jpeg: expected a uint8 image (..., C, H, W) of 1 or 3 channels, got {image.dtype} "
            f"{tuple(image.shape)}."
        )
    if image.numel() == 0:
        return image
    mode = "L" if image.shape[-3] == 1 else "RGB"
    flat = image.reshape(-1, *image.shape[-3:])
    saved = [pixels(_jpeg_image_pil(from_pixels(one, mode), quality)) for one in flat.unbind(0)]
    return facula.stack(saved).reshape(image.shape)


jpeg_video = video_kernel(jpeg, jpeg_image)


@kernel(jpeg, PIL)
def _jpeg_image_pil(image: Any, quality: int) -> Any:
    buffer = BytesIO()
    image.save(buffer, format="JPEG", quality=quality)
    buffer.seek(0)
    return optional("PIL.Image").open(buffer).copy()
