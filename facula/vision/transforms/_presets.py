"""What a model was trained on: the transforms that come with weights."""

from __future__ import annotations

from typing import Any

import facula
from facula import nn
from facula._core import Tensor
from facula.vision.transforms._interpolation import InterpolationMode
from facula.vision.transforms.v2 import functional as F

__all__ = [
    "ImageClassification",
    "ObjectDetection",
    "OpticalFlow",
    "SemanticSegmentation",
    "VideoClassification",
]

_MEAN = (0.485, 0.456, 0.406)
_STD = (0.229, 0.224, 0.225)
_ACCEPTS = "Accepts a PIL image, or images as a tensor ``(..., C, H, W)``. "


class _Preset(nn.Module):
    def _to_float(self, img: Any) -> Tensor:
        tensor = img if isinstance(img, Tensor) else F.pil_to_tensor(img)
        scaled: Tensor = F.to_dtype(tensor, facula.float32, scale=True)
        return scaled

    def describe(self) -> str:
        """What the transform does, in a sentence."""
        raise NotImplementedError


class ObjectDetection(_Preset):
    """Values from 0 to 1, nothing else: detectors resize and normalise by themselves.

    Shape:
        PIL image, or ``(..., C, H, W)``; result ``(..., C, H, W)``, float32.

    Example:
        >>> from facula.vision.transforms._presets import ObjectDetection
        >>> ObjectDetection()(facula.full((3, 4, 5), 255, dtype=facula.uint8)).max()
        tensor(1.)
    """

    def forward(self, img: Any) -> Tensor:
        return self._to_float(img)

    def describe(self) -> str:
        return _ACCEPTS + "Values are scaled to 0 to 1."


class _Normalizing(_Preset):
    """Resized, cropped where ``crop_size`` says so, scaled to 0 to 1 and normalised."""

    def __init__(
        self,
        crop_size: int | None,
        resize_size: int | None,
        mean: tuple[float, ...],
        std: tuple[float, ...],
        interpolation: InterpolationMode,
        antialias: bool | None,
    ) -> None:
        super().__init__()
        if crop_size is not None:
            self.crop_size = [crop_size]
        self.resize_size = None if resize_size is None else [resize_size]
        self.mean = list(mean)
        self.std = list(std)
        self.interpolation = interpolation
        self.antialias = antialias

    def forward(self, img: Any) -> Tensor:
        if self.resize_size is not None:
            img = F.resize(
                img, self.resize_size, interpolation=self.interpolation, antialias=self.antialias
            )
        if hasattr(self, "crop_size"):
            img = F.center_crop(img, self.crop_size)
        normalized: Tensor = F.normalize(self._to_float(img), mean=self.mean, std=self.std)
        return normalized

    def _shown(self) -> list[str]:
        names = ["crop_size", "resize_size", "mean", "std", "interpolation"]
        return [f"{name}={getattr(self, name)}" for name in names if hasattr(self, name)]

    def __repr__(self) -> str:
        lines = "".join(f"\n    {line}" for line in self._shown())
        return f"{type(self).__name__}({lines}\n)"

    def describe(self) -> str:
        steps = []
        if self.resize_size is not None:
            steps.append(f"resized to ``{self.resize_size}`` with ``{self.interpolation}``")
        if hasattr(self, "crop_size"):
            steps.append(f"cropped to the middle ``{self.crop_size}``")
        steps.append("scaled to 0 to 1")
        steps.append(f"normalised with mean ``{self.mean}`` and std ``{self.std}``")
        return _ACCEPTS + f"They are {', '.join(steps[:-1])} and {steps[-1]}."


class ImageClassification(_Normalizing):
    """Resized, cropped to the middle, scaled to 0 to 1 and normalised.

    Args:
        crop_size: height and width of the result.
        resize_size: length of the shorter edge before the crop.
        mean: the mean of each channel.
        std: the standard deviation of each channel.
        interpolation: how values between pixels are found when resizing.
        antialias: whether tensors are filtered as PIL images always are.

    Shape:
        PIL image, or ``(..., C, H, W)``; result ``(..., C, crop_size, crop_size)``, float32.

    Example:
        >>> from facula.vision.transforms._presets import ImageClassification
        >>> ImageClassification(crop_size=4, resize_size=6)(facula.zeros(3, 8, 10)).shape
        torch.Size([3, 4, 4])
    """

    def __init__(
        self,
        *,
        crop_size: int,
        resize_size: int = 256,
        mean: tuple[float, ...] = _MEAN,
        std: tuple[float, ...] = _STD,
        interpolation: InterpolationMode = InterpolationMode.BILINEAR,
        antialias: bool | None = True,
    ) -> None:
        super().__init__(crop_size, resize_size, mean, std, interpolation, antialias)


class SemanticSegmentation(_Normalizing):
    """Resized, scaled to 0 to 1 and normalised.

    Args:
        resize_size: length of the shorter edge; None for no resizing.
        mean: the mean of each channel.
        std: the standard deviation of each channel.
        interpolation: how values between pixels are found when resizing.
        antialias: whether tensors are filtered as PIL images always are.

    Shape:
        PIL image, or ``(..., C, H, W)``; result ``(..., C, h, w)``, float32.

    Example:
        >>> from facula.vision.transforms._presets import SemanticSegmentation
        >>> SemanticSegmentation(resize_size=4)(facula.zeros(3, 8, 10)).shape
        torch.Size([3, 4, 5])
    """

    def __init__(
        self,
        *,
        resize_size: int | None,
        mean: tuple[float, ...] = _MEAN,
        std: tuple[float, ...] = _STD,
        interpolation: InterpolationMode = InterpolationMode.BILINEAR,
        antialias: bool | None = True,
    ) -> None:
        super().__init__(None, resize_size, mean, std, interpolation, antialias)


class VideoClassification(_Normalizing):
    """Frames resized, cropped to their middle, normalised, and channels put before time.

    Args:
        crop_size: height and width of the result.
        resize_size: length of the shorter edge before the crop, or height and width.
        mean: the mean of each channel.
        std: the standard deviation of each channel.
        interpolation: how values between pixels are found when resizing.

    Shape:
        ``(..., T, C, H, W)``; result ``(..., C, T, *crop_size)``, float32.

    Example:
        >>> from facula.vision.transforms._presets import VideoClassification
        >>> prepare = VideoClassification(crop_size=(4, 4), resize_size=(5, 5))
        >>> prepare(facula.zeros(2, 3, 8, 8, dtype=facula.uint8)).shape
        torch.Size([3, 2, 4, 4])
    """

    def __init__(
        self,
        *,
        crop_size: tuple[int, int],
        resize_size: tuple[int] | tuple[int, int],
        mean: tuple[float, ...] = (0.43216, 0.394666, 0.37645),
        std: tuple[float, ...] = (0.22803, 0.22145, 0.216989),
        interpolation: InterpolationMode = InterpolationMode.BILINEAR,
    ) -> None:
        # Without antialias, as when the models were trained.
        super().__init__(None, None, mean, std, interpolation, antialias=False)
        self.crop_size = list(crop_size)
        self.resize_size = list(resize_size)

    def forward(self, vid: Tensor) -> Tensor:
        return super().forward(vid).transpose(-4, -3)

    def describe(self) -> str:
        return super().describe() + " The result is ``(..., C, T, H, W)``."


class OpticalFlow(_Preset):
    """Two images with values from -1 to 1.

    Shape:
        PIL images, or ``(..., C, H, W)``; results ``(..., C, H, W)``, float32.

    Example:
        >>> from facula.vision.transforms._presets import OpticalFlow
        >>> first, second = OpticalFlow()(facula.zeros(3, 2, 2), facula.ones(3, 2, 2))
        >>> first.min(), second.max()
        (tensor(-1.), tensor(1.))
    """

    def forward(self, img1: Any, img2: Any) -> tuple[Tensor, Tensor]:
        half = [0.5, 0.5, 0.5]
        first, second = (F.normalize(self._to_float(img), half, half) for img in (img1, img2))
        return first.contiguous(), second.contiguous()

    def describe(self) -> str:
        return _ACCEPTS + "Values are scaled to -1 to 1."
