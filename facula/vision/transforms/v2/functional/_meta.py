"""How large an input is, and how many channels and frames it has."""

from __future__ import annotations

from typing import Any

from facula._core import Tensor
from facula._warnings import warn_user
from facula.vision.transforms.v2.functional._dispatch import (
    IMAGES,
    PIL,
    dispatch,
    functional,
    kernel,
    raw_kernel,
    video_kernel,
)
from facula.vision.tv_tensors import BoundingBoxes, KeyPoints, Mask, Video


def _check_image(name: str, image: Tensor) -> None:
    if image.dim() < 2:
        raise TypeError(
            f"{name}: expected an image of 2 or more dimensions, got {tuple(image.shape)}."
        )


def by_channels(image: Tensor) -> Tensor:
    """An image whose rows lie in memory as such: those from PIL images go pixel by pixel.

    Row by row, a copy included, is several times faster than three channels at a time.
    """
    return image if image.stride(-1) == 1 else image.contiguous()


@functional
def get_dimensions(inpt: Any) -> list[int]:
    """Channels, height and width.

    Args:
        inpt: an image or a video.

    Example:
        >>> from facula.vision.transforms.v2 import functional as F
        >>> F.get_dimensions(facula.zeros(2, 3, 4, 5))
        [3, 4, 5]
    """
    size: list[int] = dispatch(get_dimensions, inpt)
    return size


@kernel(get_dimensions, *IMAGES)
def get_dimensions_image(image: Tensor) -> list[int]:
    """Channels, height and width of an image ``(..., C, H, W)`` or ``(H, W)``."""
    _check_image("get_dimensions", image)
    n_channels = 1 if image.dim() == 2 else image.shape[-3]
    return [n_channels, *image.shape[-2:]]


get_dimensions_video = video_kernel(get_dimensions, get_dimensions_image)


@kernel(get_dimensions, PIL)
def _get_dimensions_image_pil(image: Any) -> list[int]:
    return [len(image.getbands()), image.height, image.width]


@functional
def get_num_channels(inpt: Any) -> int:
    """The number of channels.

    Args:
        inpt: an image or a video.

    Example:
        >>> from facula.vision.transforms.v2 import functional as F
        >>> F.get_num_channels(facula.zeros(3, 4, 5))
        3
    """
    n_channels: int = dispatch(get_num_channels, inpt)
    return n_channels


@kernel(get_num_channels, *IMAGES)
def get_num_channels_image(image: Tensor) -> int:
    """The number of channels of an image ``(..., C, H, W)`` or ``(H, W)``."""
    return get_dimensions_image(image)[0]


get_num_channels_video = video_kernel(get_num_channels, get_num_channels_image)


@kernel(get_num_channels, PIL)
def _get_num_channels_image_pil(image: Any) -> int:
    return len(image.getbands())


@functional
def get_size(inpt: Any) -> list[int]:
    """Height and width.

    Args:
        inpt: an image, a video, a mask, boxes or key points.

    Example:
        >>> from facula.vision.transforms.v2 import functional as F
        >>> F.get_size(facula.zeros(3, 4, 5))
        [4, 5]
    """
    size: list[int] = dispatch(get_size, inpt)
    return size


@kernel(get_size, *IMAGES)
def get_size_image(image: Tensor) -> list[int]:
    """Height and width of an image ``(..., H, W)``."""
    return get_dimensions_image(image)[1:]


get_size_video = video_kernel(get_size, get_size_image)


@kernel(get_size, Mask)
def get_size_mask(mask: Tensor) -> list[int]:
    """Height and width of a mask ``(..., H, W)``."""
    return get_size_image(mask)


@kernel(get_size, PIL)
def _get_size_image_pil(image: Any) -> list[int]:
    return [image.height, image.width]


@raw_kernel(get_size, BoundingBoxes)
def get_size_bounding_boxes(bounding_box: BoundingBoxes) -> list[int]:
    """Height and width of the image that boxes belong to."""
    return list(bounding_box.canvas_size)


@raw_kernel(get_size, KeyPoints)
def get_size_keypoints(keypoints: KeyPoints) -> list[int]:
    """Height and width of the image that key points belong to."""
    return list(keypoints.canvas_size)


@functional
def get_num_frames(inpt: Any) -> int:
    """The number of frames.

    Args:
        inpt: a video ``(..., T, C, H, W)``.

    Example:
        >>> from facula.vision.transforms.v2 import functional as F
        >>> F.get_num_frames(facula.zeros(2, 3, 4, 5))
        2
    """
    n_frames: int = dispatch(get_num_frames, inpt)
    return n_frames


@kernel(get_num_frames, Tensor, Video)
def get_num_frames_video(video: Tensor) -> int:
    """The number of frames of a video ``(..., T, C, H, W)``."""
    if video.dim() < 4:
        raise IndexError(
            f"get_num_frames: expected a video (..., T, C, H, W), got {tuple(video.shape)}."
        )
    return video.shape[-4]


def get_image_size(inpt: Any) -> list[int]:
    """Width and height. Deprecated: use :func:`get_size`, which gives height and width.

    Args:
        inpt: an image, a video, a mask, boxes or key points.
    """
    warn_user("get_image_size: deprecated; use get_size, which gives [height, width].")
    return get_size(inpt)[::-1]


# An older name.
get_image_num_channels = get_num_channels
