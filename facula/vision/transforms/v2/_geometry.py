"""Transforms that flip, turn and warp."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import facula
from facula._core import Tensor
from facula.vision.transforms.v2 import functional as F
from facula.vision.transforms.v2._transform import RandomApplyTransform, Transform
from facula.vision.transforms.v2._utils import (
    Fill,
    Interpolation,
    check_pair,
    get_fill,
    query_size,
    randint,
    setup_angle,
    setup_fill,
    setup_pair,
    uniform,
)

__all__ = [
    "ElasticTransform",
    "RandomAffine",
    "RandomHorizontalFlip",
    "RandomPerspective",
    "RandomRotation",
    "RandomVerticalFlip",
]


class RandomHorizontalFlip(RandomApplyTransform):
    """Left becomes right, with a probability.

    Args:
        p: the probability.

    Example:
        >>> from facula.vision.transforms import v2
        >>> v2.RandomHorizontalFlip(p=1.0)(facula.tensor([[[1, 2, 3]]]))
        tensor([[[3, 2, 1]]])
    """

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(F.horizontal_flip, inpt)


class RandomVerticalFlip(RandomApplyTransform):
    """The top becomes the bottom, with a probability.

    Args:
        p: the probability.

    Example:
        >>> from facula.vision.transforms import v2
        >>> v2.RandomVerticalFlip(p=1.0)(facula.tensor([[[1], [2]]]))
        tensor([[[2],
                 [1]]])
    """

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(F.vertical_flip, inpt)


class RandomRotation(Transform):
    """A turn by a random angle, counter-clockwise.

    Args:
        degrees: the least and the most degrees; one number for both signs of it.
        interpolation: a mode, by its name or as :class:`InterpolationMode`.
        expand: whether the result grows to hold the whole image.
        center: ``x, y`` of the point that stays; by default the middle.
        fill: the value of pixels outside the image, given as for :class:`Pad`.

    Example:
        >>> from facula.vision.transforms import v2
        >>> v2.RandomRotation((90, 90), expand=True)(facula.tensor([[[1, 2, 3]]]))
        tensor([[[3],
                 [2],
                 [1]]])
    """

    def __init__(
        self,
        degrees: float | Sequence[float],
        interpolation: Interpolation = "nearest",
        expand: bool = False,
        center: Sequence[float] | None = None,
        fill: Fill = 0,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        self.degrees = setup_angle(name, "degrees", degrees)
        self.interpolation = interpolation
        self.expand = expand
        self.fill = fill
        self._fill = setup_fill(name, fill)
        if center is not None:
            check_pair(name, "center", center)
        self.center = center

    @staticmethod
    def get_params(degrees: Sequence[float]) -> float:
        """Draw an angle."""
        return uniform(degrees[0], degrees[1])

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        return {"angle": self.get_params(self.degrees)}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(
            F.rotate,
            inpt,
            **params,
            interpolation=self.interpolation,
            expand=self.expand,
            center=self.center,
            fill=get_fill(self._fill, type(inpt)),
        )


class RandomAffine(Transform):
    """A random turn, shift, scaling and shear.

    Args:
        degrees: the least and the most degrees; one number for both signs of it.
        translate: the largest shift along x and along y, relative to width and height.
        scale: the smallest and the largest factor.
        shear: the least and the most degrees along x, and then those along y, if any; one number
            for both signs of it.
        interpolation: a mode, by its name or as :class:`InterpolationMode`.
        fill: the value of pixels outside the image, given as for :class:`Pad`.
        center: ``x, y`` of the point that stays; by default the middle.

    Example:
        >>> from facula.vision.transforms import v2
        >>> v2.RandomAffine(0, scale=(3, 3))(facula.tensor([[[1, 2, 3]]]))
        tensor([[[2, 2, 2]]])
    """

    def __init__(
        self,
        degrees: float | Sequence[float],
        translate: Sequence[float] | None = None,
        scale: Sequence[float] | None = None,
        shear: float | Sequence[float] | None = None,
        interpolation: Interpolation = "nearest",
        fill: Fill = 0,
        center: Sequence[float] | None = None,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        self.degrees = setup_angle(name, "degrees", degrees)
        if translate is not None:
            check_pair(name, "translate", translate)
            if not all(0.0 <= t <= 1.0 for t in translate):
                raise ValueError(f"{name}: expected translate from 0 to 1, got {translate}.")
        self.translate = translate
        if scale is not None:
            check_pair(name, "scale", scale)
            if not all(s > 0 for s in scale):
                raise ValueError(f"{name}: expected a positive scale, got {scale}.")
        self.scale = scale
        self.shear = None if shear is None else setup_angle(name, "shear", shear, (2, 4))
        self.interpolation = interpolation
        self.fill = fill
        self._fill = setup_fill(name, fill)
        if center is not None:
            check_pair(name, "center", center)
        self.center = center

    @staticmethod
    def get_params(
        degrees: Sequence[float],
        translate: Sequence[float] | None,
        scale_ranges: Sequence[float] | None,
        shears: Sequence[float] | None,
        img_size: Sequence[int],
    ) -> tuple[float, tuple[int, int], float, tuple[float, float]]:
        """Draw an angle, a shift, a factor and a shear for an image of this width and height."""
        angle = uniform(degrees[0], degrees[1])
        dx = dy = 0
        if translate is not None:
            dx, dy = (
                round(uniform(-most * size, most * size))
                for most, size in zip(translate, img_size, strict=True)
            )
        scale = 1.0 if scale_ranges is None else uniform(scale_ranges[0], scale_ranges[1])
        shear_x = shear_y = 0.0
        if shears is not None:
            shear_x = uniform(shears[0], shears[1])
            if len(shears) == 4:
                shear_y = uniform(shears[2], shears[3])
        return angle, (dx, dy), scale, (shear_x, shear_y)

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        height, width = query_size(flat_inputs)
        drawn = self.get_params(
            self.degrees, self.translate, self.scale, self.shear, (width, height)
        )
        return dict(zip(("angle", "translate", "scale", "shear"), drawn, strict=True))

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(
            F.affine,
            inpt,
            **params,
            interpolation=self.interpolation,
            fill=get_fill(self._fill, type(inpt)),
            center=self.center,
        )


class RandomPerspective(RandomApplyTransform):
    """The image seen from a random point, with a probability.

    Args:
        distortion_scale: how far the corners may move inwards, from 0 to 1: half of the image.
        p: the probability.
        interpolation: a mode, by its name or as :class:`InterpolationMode`.
        fill: the value of pixels outside the image, given as for :class:`Pad`.

    Example:
        >>> from facula.vision.transforms import v2
        >>> v2.RandomPerspective(p=1.0)(facula.zeros(3, 8, 8)).shape
        torch.Size([3, 8, 8])
    """

    def __init__(
        self,
        distortion_scale: float = 0.5,
        p: float = 0.5,
        interpolation: Interpolation = "bilinear",
        fill: Fill = 0,
    ) -> None:
        super().__init__(p=p)
        name = type(self).__name__
        if not 0 <= distortion_scale <= 1:
            raise ValueError(
                f"{name}: expected distortion_scale from 0 to 1, got {distortion_scale}."
            )
        self.distortion_scale = distortion_scale
        self.interpolation = interpolation
        self.fill = fill
        self._fill = setup_fill(name, fill)

    @staticmethod
    def get_params(
        width: int, height: int, distortion_scale: float
    ) -> tuple[list[list[int]], list[list[int]]]:
        """Draw where the four corners go: their ``x, y`` before and after."""
        most_x = int(distortion_scale * (width // 2))
        most_y = int(distortion_scale * (height // 2))
        corners = [[0, 0], [width - 1, 0], [width - 1, height - 1], [0, height - 1]]
        moved = [
            [
                # The order of the draws is torchvision's: corners clockwise, x before y.
                randint(0, most_x + 1) if x == 0 else randint(width - most_x - 1, width),
                randint(0, most_y + 1) if y == 0 else randint(height - most_y - 1, height),
            ]
            for x, y in [[0, 0], [1, 0], [1, 1], [0, 1]]
        ]
        return corners, moved

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        height, width = query_size(flat_inputs)
        corners, moved = self.get_params(width, height, self.distortion_scale)
        return {"startpoints": corners, "endpoints": moved}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(
            F.perspective,
            inpt,
            **params,
            interpolation=self.interpolation,
            fill=get_fill(self._fill, type(inpt)),
        )


class ElasticTransform(Transform):
    """Every pixel moved a little, its neighbours alike.

    Args:
        alpha: how far pixels move, along x and along y.
        sigma: how alike: the standard deviation of the Gaussian that smooths the moves.
        interpolation: a mode, by its name or as :class:`InterpolationMode`.
        fill: the value of pixels outside the image, given as for :class:`Pad`.

    Example:
        >>> from facula.vision.transforms import v2
        >>> v2.ElasticTransform(alpha=5.0, sigma=1.0)(facula.zeros(3, 8, 8)).shape
        torch.Size([3, 8, 8])
    """

    def __init__(
        self,
        alpha: float | Sequence[float] = 50.0,
        sigma: float | Sequence[float] = 5.0,
        interpolation: Interpolation = "bilinear",
        fill: Fill = 0,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        self.alpha: Sequence[float] = setup_pair(name, "alpha", alpha)
        self.sigma: Sequence[float] = setup_pair(name, "sigma", sigma)
        self.interpolation = interpolation
        self.fill = fill
        self._fill = setup_fill(name, fill)

    @staticmethod
    def get_params(alpha: Sequence[float], sigma: Sequence[float], size: Sequence[int]) -> Tensor:
        """Draw the moves ``(1, H, W, 2)`` for an image of this height and width."""
        moves = []
        for i in range(2):
            move = facula.rand(1, 1, *size) * 2 - 1
            if sigma[i] > 0.0:
                kernel_size = int(8 * sigma[i] + 1) | 1  # odd
                move = F.gaussian_blur(move, [kernel_size, kernel_size], list(sigma))
            moves.append(move * alpha[i] / size[1 - i])
        return facula.cat(moves, 1).permute(0, 2, 3, 1)

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        return {"displacement": self.get_params(self.alpha, self.sigma, query_size(flat_inputs))}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(
            F.elastic,
            inpt,
            **params,
            fill=get_fill(self._fill, type(inpt)),
            interpolation=self.interpolation,
        )
