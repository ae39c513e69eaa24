"""Frames of a video."""

from __future__ import annotations

from typing import Any

import facula
from facula._core import Tensor
from facula.vision.transforms.v2.functional._dispatch import dispatch, functional, kernel
from facula.vision.transforms.v2.functional._meta import get_num_frames_video
from facula.vision.tv_tensors import Video


@functional
def uniform_temporal_subsample(inpt: Any, num_samples: int) -> Any:
    """So many frames, at equal distances from the first to the last.

    Args:
        inpt: a video ``(..., T, C, H, W)``.
        num_samples: frames of the result; more than the video has repeat some.

    Example:
        >>> from facula.vision.transforms.v2 import functional as F
        >>> F.uniform_temporal_subsample(facula.arange(5).view(5, 1, 1, 1), 3).flatten()
        tensor([0, 2, 4])
    """
    return dispatch(uniform_temporal_subsample, inpt, num_samples=num_samples)


@kernel(uniform_temporal_subsample, Tensor, Video)
def uniform_temporal_subsample_video(video: Tensor, num_samples: int) -> Tensor:
    """Frames of a video ``(..., T, C, H, W)`` at equal distances."""
    last = get_num_frames_video(video) - 1
    index = facula.linspace(0, last, num_samples, device=video.device).to(facula.int64)
    return video.index_select(-4, index)
