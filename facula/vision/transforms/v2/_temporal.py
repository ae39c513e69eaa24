"""Transforms along the time of a video."""

from __future__ import annotations

from typing import Any

from facula.vision import tv_tensors
from facula.vision.transforms.v2 import functional as F
from facula.vision.transforms.v2._transform import Transform
from facula.vision.transforms.v2._utils import is_pure_tensor

__all__ = ["UniformTemporalSubsample"]


class UniformTemporalSubsample(Transform):
    """So many frames of a video, evenly spread.

    Args:
        num_samples: how many frames; if there are fewer some are repeated.

    Shape:
        ``(..., T, C, H, W)`` to ``(..., num_samples, C, H, W)``.

    Example:
        >>> from facula.vision.transforms import v2
        >>> v2.UniformTemporalSubsample(2)(facula.zeros(8, 3, 4, 5)).shape
        torch.Size([2, 3, 4, 5])
    """

    _transformed_types = (is_pure_tensor, tv_tensors.Video)

    def __init__(self, num_samples: int) -> None:
        super().__init__()
        self.num_samples = num_samples

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(F.uniform_temporal_subsample, inpt, num_samples=self.num_samples)
