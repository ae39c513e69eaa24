"""Transforms that erase, mix and compress."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import facula
from facula._core import Tensor
from facula.nn.functional import one_hot
from facula.utils._pytree import tree_flatten, tree_unflatten
from facula.vision import tv_tensors
from facula.vision.transforms.v2 import functional as F
from facula.vision.transforms.v2._size import draw_aspect_ratio, warn_passing
from facula.vision.transforms.v2._transform import RandomApplyTransform, Transform
from facula.vision.transforms.v2._utils import (
    LabelsGetter,
    check_pair,
    draw_dirichlet,
    has_any,
    is_number,
    query_chw,
    query_size,
    randint,
    setup_labels_getter,
    uniform,
)
from facula.vision.transforms.v2.functional._type_conversion import is_pil

__all__ = ["JPEG", "CutMix", "MixUp", "RandomErasing"]


def _erasing_value(name: str, value: Any) -> list[float] | None:
    """The values of the channels; None for random ones."""
    if value is None or value == "random":
        return None
    if isinstance(value, str):
        raise ValueError(f"{name}: expected numbers or 'random' as value, got {value!r}.")
    if is_number(value):
        return [float(value)]
    if isinstance(value, (list, tuple)):
        return [float(v) for v in value]
    raise TypeError(f"{name}: expected numbers or 'random' as value, got {value!r}.")


def _draw_erased(
    size: tuple[int, int, int],
    scale: Sequence[float],
    ratio: Sequence[float],
    value: list[float] | None,
) -> tuple[int, int, int, int, Tensor] | None:
    """Top, left, height, width and values of what is erased; None where nothing fits."""
    n_channels, height, width = size
    for _ in range(10):
        area = height * width * uniform(scale[0], scale[1])
        aspect_ratio = draw_aspect_ratio(ratio)
        h = round(math.sqrt(area * aspect_ratio))
        w = round(math.sqrt(area / aspect_ratio))
        if not (h < height and w < width):
            continue
        if value is None:
            values = facula.empty(n_channels, h, w, dtype=facula.float32).normal_()
        else:
            values = facula.tensor(value)[:, None, None]
        top = randint(0, height - h + 1)
        return top, randint(0, width - w + 1), h, w, values
    return None


class RandomErasing(RandomApplyTransform):
    """A rectangle overwritten, with a probability (arXiv 1708.04896).

    Args:
        p: the probability.
        scale: the smallest and the largest area, relative to the image.
        ratio: the smallest and the largest height over width.
        value: a number, one for each channel, or ``"random"`` for a number for each pixel.
        inplace: whether to change the input itself.

    Example:
        >>> from facula.vision.transforms import v2
        >>> image = v2.RandomErasing(p=1.0, value=5)(facula.zeros(3, 8, 8))
        >>> (image == 5).any()
        tensor(True)
    """

    def __init__(
        self,
        p: float = 0.5,
        scale: Sequence[float] = (0.02, 0.33),
        ratio: Sequence[float] = (0.3, 3.3),
        value: Any = 0.0,
        inplace: bool = False,
    ) -> None:
        super().__init__(p=p)
        name = type(self).__name__
        check_pair(name, "scale", scale)
        check_pair(name, "ratio", ratio)
        if not all(0 <= s <= 1 for s in scale):
            raise ValueError(f"{name}: expected scale between 0 and 1, got {scale}.")
        self.scale = scale
        self.ratio = ratio
        self.value: Any = _erasing_value(name, value)
        self.inplace = inplace

    @staticmethod
    def get_params(
        img: Tensor,
        scale: Sequence[float],
        ratio: Sequence[float],
        value: list[float] | None = None,
    ) -> tuple[int, int, int, int, Tensor]:
        """Draw top, left, height, width and values of what is erased of an image ``(C, H, W)``."""
        n_channels, height, width = F.get_dimensions(img)
        found = _draw_erased((n_channels, height, width), scale, ratio, value)
        return (0, 0, height, width, img) if found is None else found

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        size = query_chw(flat_inputs)
        value = _erasing_value(type(self).__name__, self.value)
        if value is not None and len(value) not in (1, size[0]):
            raise ValueError(
                f"{type(self).__name__}: expected 1 value or {size[0]}, one for each channel, "
                f"got {len(value)}."
            )
        found = self._draw(flat_inputs, size, value)
        return {} if found is None else dict(zip("ijhwv", found, strict=True))

    def _draw(
        self, flat_inputs: list[Any], size: tuple[int, int, int], value: list[float] | None
    ) -> tuple[int, int, int, int, Tensor] | None:
        return _draw_erased(size, self.scale, self.ratio, value)

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        if isinstance(inpt, (tv_tensors.BoundingBoxes, tv_tensors.KeyPoints, tv_tensors.Mask)):
            warn_passing(self, inpt)
            return inpt
        return self._call_kernel(F.erase, inpt, **params, inplace=self.inplace) if params else inpt


class _Mixing(Transform):
    """Transforms of a batch: images and labels are mixed with those before them."""

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        num_classes: int | None = None,
        labels_getter: LabelsGetter = "default",
    ) -> None:
        super().__init__()
        name = type(self).__name__
        self.alpha = float(alpha)
        if not self.alpha > 0.0:
            raise ValueError(f"{name}: expected a positive alpha, got {alpha}.")
        self.num_classes = num_classes
        self._labels_getter: Callable[[Any], Any] = setup_labels_getter(name, labels_getter)

    def _check_labels(self, labels: Any) -> None:
        name = type(self).__name__
        if not isinstance(labels, Tensor):
            raise ValueError(f"{name}: expected a tensor as labels, got {type(labels).__name__}.")
        if labels.ndim not in (1, 2):
            raise ValueError(
                f"{name}: expected labels as class indices (N,) or probabilities (N, num_classes), "
                f"got {tuple(labels.shape)}."
            )
        if labels.ndim == 1 and self.num_classes is None:
            raise ValueError(f"{name}: class indices as labels need num_classes.")
        if labels.ndim == 2 and self.num_classes not in (None, labels.shape[1]):
            raise ValueError(
                f"{name}: expected probabilities of {self.num_classes} classes as labels, "
                f"got {tuple(labels.shape)}."
            )

    def forward(self, *inputs: Any) -> Any:
        sample = inputs if len(inputs) > 1 else inputs[0]
        flat_inputs, spec = tree_flatten(sample)
        needed = self._needs_transform_list(flat_inputs)
        others = (tv_tensors.BoundingBoxes, tv_tensors.Mask, tv_tensors.KeyPoints)
        if has_any(flat_inputs, is_pil, *others):
            raise ValueError(
                f"{type(self).__name__}: expected a batch of images as a tensor, got PIL images, "
                "bounding boxes, masks or key points."
            )
        labels = self._labels_getter(sample)
        self._check_labels(labels)
        params = self.make_params(
            [x for x, needs in zip(flat_inputs, needed, strict=True) if needs]
        )
        outputs = []
        for inpt, needs in zip(flat_inputs, needed, strict=True):
            if inpt is labels:
                outputs.append(self._mix_labels(inpt, params["lam"]))
            elif needs:
                self._check_batch(inpt, labels.shape[0])
                outputs.append(self.transform(inpt, params))
            else:
                outputs.append(inpt)
        return tree_unflatten(outputs, spec)

    def _check_batch(self, inpt: Any, n_labels: int) -> None:
        name = type(self).__name__
        n_dims = 5 if isinstance(inpt, tv_tensors.Video) else 4
        if inpt.ndim != n_dims:
            raise ValueError(
                f"{name}: expected a batch of {n_dims} dimensions, got {tuple(inpt.shape)}."
            )
        if inpt.shape[0] != n_labels:
            raise ValueError(f"{name}: got {inpt.shape[0]} images, but {n_labels} labels.")

    def _mix_labels(self, labels: Tensor, lam: float) -> Tensor:
        if labels.ndim == 1:
            labels = one_hot(labels, num_classes=self.num_classes or -1)
        labels = labels if labels.is_floating_point() else labels.float()
        return _mixed(labels, lam)


def _mixed(batch: Tensor, lam: float) -> Tensor:
    # Neighbours in the batch, not drawn pairs: the loader has shuffled them already.
    return batch.roll(1, 0).mul_(1.0 - lam).add_(batch.mul(lam))


class MixUp(_Mixing):
    """Images of a batch, and their labels, mixed in random proportion (arXiv 1710.09412).

    It takes a batch: use it after the loader, or in its ``collate_fn``.

    Args:
        alpha: parameter of the Beta distribution that the proportion is drawn from, positive.
        num_classes: number of classes, needed where labels are class indices.
        labels_getter: a function that finds the labels in the batch; ``"default"`` for the
            second of two tensors, or a key of a dict with "label" in its name.

    Shape:
        images ``(N, C, H, W)``, labels ``(N,)`` or ``(N, num_classes)``; the labels become
        ``(N, num_classes)``.

    Example:
        >>> from facula.vision.transforms import v2
        >>> mix = v2.MixUp(num_classes=3)
        >>> images, labels = mix(facula.zeros(2, 3, 4, 4), facula.tensor([0, 2]))
        >>> labels.shape, labels.sum(1)
        (torch.Size([2, 3]), tensor([1., 1.]))
    """

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        return {"lam": draw_dirichlet([self.alpha, self.alpha])[0]}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return tv_tensors.wrap(_mixed(inpt.as_subclass(Tensor), params["lam"]), like=inpt)


class CutMix(_Mixing):
    """A rectangle of each image of a batch from the one before (arXiv 1905.04899).

    It takes a batch: use it after the loader, or in its ``collate_fn``. Labels are mixed in
    proportion to the areas.

    Args:
        alpha: parameter of the Beta distribution that the area is drawn from, positive.
        num_classes: number of classes, needed where labels are class indices.
        labels_getter: a function that finds the labels in the batch; ``"default"`` for the
            second of two tensors, or a key of a dict with "label" in its name.

    Shape:
        images ``(N, C, H, W)``, labels ``(N,)`` or ``(N, num_classes)``; the labels become
        ``(N, num_classes)``.

    Example:
        >>> from facula.vision.transforms import v2
        >>> mix = v2.CutMix(num_classes=3)
        >>> images, labels = mix(facula.zeros(2, 3, 4, 4), facula.tensor([0, 2]))
        >>> labels.shape, labels.sum(1)
        (torch.Size([2, 3]), tensor([1., 1.]))
    """

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        lam = draw_dirichlet([self.alpha, self.alpha])[0]
        height, width = query_size(flat_inputs)
        x, y = randint(0, width), randint(0, height)
        half = 0.5 * math.sqrt(1.0 - lam)
        half_w, half_h = int(half * width), int(half * height)
        left, right = max(x - half_w, 0), min(x + half_w, width)
        top, bottom = max(y - half_h, 0), min(y + half_h, height)
        # Cut at the border, the rectangle is smaller than was drawn.
        lam = 1.0 - (right - left) * (bottom - top) / (width * height)
        return {"lam": lam, "box": (top, bottom, left, right)}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        top, bottom, left, right = params["box"]
        batch = inpt.as_subclass(Tensor)
        output = batch.clone()
        output[..., top:bottom, left:right] = batch.roll(1, 0)[..., top:bottom, left:right]
        return tv_tensors.wrap(output, like=inpt)


class JPEG(Transform):
    """Compressed as JPEG in random quality, and read again.

    Args:
        quality: the least and the most, from 1 to 100, or one number for both.

    Example:
        >>> from facula.vision.transforms import v2
        >>> v2.JPEG((10, 90))(facula.zeros(3, 8, 8, dtype=facula.uint8)).shape
        torch.Size([3, 8, 8])
    """

    def __init__(self, quality: int | Sequence[int]) -> None:
        super().__init__()
        if isinstance(quality, int):
            quality = [quality, quality]
        check_pair("JPEG", "quality", quality)
        if not (1 <= quality[0] <= quality[1] <= 100 and all(isinstance(q, int) for q in quality)):
            raise ValueError(
                f"JPEG: expected quality as (least, most), ints from 1 to 100, got {quality}."
            )
        self.quality = quality

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        return {"quality": randint(self.quality[0], self.quality[1] + 1)}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(F.jpeg, inpt, **params)
