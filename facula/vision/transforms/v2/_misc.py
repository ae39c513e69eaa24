"""Transforms of values and dtypes, and those that fit nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import facula
from facula._core import Tensor
from facula._warnings import warn_user
from facula.utils._pytree import tree_flatten, tree_unflatten
from facula.vision import tv_tensors
from facula.vision.transforms.v2 import functional as F
from facula.vision.transforms.v2._transform import Transform
from facula.vision.transforms.v2._utils import (
    LabelsGetter,
    get_bounding_boxes,
    get_keypoints,
    has_any,
    is_pure_tensor,
    setup_labels_getter,
    setup_pair,
    setup_size,
    uniform,
)
from facula.vision.transforms.v2.functional._type_conversion import is_pil

__all__ = [
    "ConvertImageDtype",
    "GaussianBlur",
    "GaussianNoise",
    "Identity",
    "Lambda",
    "LinearTransformation",
    "Normalize",
    "SanitizeBoundingBoxes",
    "SanitizeKeyPoints",
    "ToDtype",
]


class Identity(Transform):
    """Nothing.

    Example:
        >>> from facula.vision.transforms import v2
        >>> v2.Identity()(3)
        3
    """

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return inpt


class Lambda(Transform):
    """A function of yours, for all parts of a sample that have certain types.

    Args:
        lambd: the function. To travel to the workers of a loader it has to have a name.
        types: the types of parts that the function is called with; by default all.

    Example:
        >>> from facula.vision.transforms import v2
        >>> v2.Lambda(lambda x: x + 1, int)({"a": 1, "b": 2.0})
        {'a': 2, 'b': 2.0}
    """

    def __init__(self, lambd: Callable[[Any], Any], *types: type) -> None:
        super().__init__()
        if not callable(lambd):
            raise TypeError(f"Lambda: expected a function, got {lambd!r}.")
        self.lambd = lambd
        self.types = types or (object,)
        self._transformed_types = self.types

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self.lambd(inpt)

    def extra_repr(self) -> str:
        parts = [self.lambd.__name__] if hasattr(self.lambd, "__name__") else []
        parts.append(f"types={[kind.__name__ for kind in self.types]}")
        return ", ".join(parts)


def _refuse_pil(transform: Transform, flat_inputs: list[Any]) -> None:
    if has_any(flat_inputs, is_pil):
        raise TypeError(
            f"{type(transform).__name__}: expected a tensor, got a PIL image. Convert it first, "
            "with ToImage and ToDtype or with ToTensor. (img should be Tensor Image)"
        )


class LinearTransformation(Transform):
    """A square matrix times the flattened image without a mean vector, such as for whitening.

    Args:
        transformation_matrix: ``(D, D)``, where ``D`` is ``C * H * W``.
        mean_vector: ``(D,)``, subtracted first.

    Shape:
        ``(..., C, H, W)``; result the same.

    Example:
        >>> from facula.vision.transforms import v2
        >>> whiten = v2.LinearTransformation(2 * facula.eye(2), facula.ones(2))
        >>> whiten(facula.tensor([[[1.0, 2.0]]]))
        tensor([[[0., 2.]]])
    """

    _transformed_types = (is_pure_tensor, tv_tensors.Image, tv_tensors.Video)

    def __init__(self, transformation_matrix: Tensor, mean_vector: Tensor) -> None:
        super().__init__()
        name = type(self).__name__
        size = transformation_matrix.size(0)
        if size != transformation_matrix.size(1):
            raise ValueError(
                f"{name}: expected a square transformation_matrix, "
                f"got {tuple(transformation_matrix.shape)}."
            )
        if mean_vector.size(0) != size:
            raise ValueError(
                f"{name}: expected a mean_vector of {size} numbers, as the transformation_matrix "
                f"has rows, got {mean_vector.size(0)}."
            )
        if transformation_matrix.device != mean_vector.device:
            raise ValueError(
                f"{name}: transformation_matrix is on {transformation_matrix.device}, "
                f"mean_vector on {mean_vector.device}."
            )
        if transformation_matrix.dtype != mean_vector.dtype:
            raise ValueError(
                f"{name}: transformation_matrix is {transformation_matrix.dtype}, "
                f"mean_vector {mean_vector.dtype}."
            )
        self.transformation_matrix = transformation_matrix
        self.mean_vector = mean_vector

    def check_inputs(self, flat_inputs: list[Any]) -> None:
        _refuse_pil(self, flat_inputs)

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        name = type(self).__name__
        shape = inpt.shape
        n = shape[-3] * shape[-2] * shape[-1]
        if n != self.transformation_matrix.shape[0]:
            raise ValueError(
                f"{name}: expected {self.transformation_matrix.shape[0]} numbers in an image, "
                f"got {tuple(shape)}, {n} numbers."
            )
        if inpt.device != self.mean_vector.device:
            raise ValueError(
                f"{name}: the image is on {inpt.device}, the matrix on {self.mean_vector.device}."
            )
        rows = inpt.as_subclass(Tensor).reshape(-1, n) - self.mean_vector
        output = facula.mm(rows, self.transformation_matrix).reshape(shape)
        return tv_tensors.wrap(output, like=inpt)


class Normalize(Transform):
    """Values less a mean, over a standard deviation, for each channel.

    Args:
        mean: the mean of each channel.
        std: the standard deviation of each channel.
        inplace: whether to change the input itself.

    Example:
        >>> from facula.vision.transforms import v2
        >>> v2.Normalize(mean=[0.5], std=[0.25])(facula.tensor([[[0.0, 1.0]]]))
        tensor([[[-2.,  2.]]])
    """

    def __init__(self, mean: Sequence[float], std: Sequence[float], inplace: bool = False) -> None:
        super().__init__()
        self.mean: Any = list(mean)
        self.std: Any = list(std)
        self.inplace = inplace

    def check_inputs(self, flat_inputs: list[Any]) -> None:
        _refuse_pil(self, flat_inputs)

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(
            F.normalize, inpt, mean=self.mean, std=self.std, inplace=self.inplace
        )


class GaussianBlur(Transform):
    """Blurred by a Gaussian of random width.

    Args:
        kernel_size: height and width of the kernel, both odd, or one number for both.
        sigma: the least and the most standard deviation, or one number for both.

    Example:
        >>> from facula.vision.transforms import v2
        >>> v2.GaussianBlur(3)(facula.zeros(3, 4, 5)).shape
        torch.Size([3, 4, 5])
    """

    def __init__(
        self, kernel_size: int | Sequence[int], sigma: float | Sequence[float] = (0.1, 2.0)
    ) -> None:
        super().__init__()
        name = type(self).__name__
        self.kernel_size = setup_size(name, kernel_size)
        if any(size <= 0 or size % 2 == 0 for size in self.kernel_size):
            raise ValueError(
                f"{name}: expected positive odd numbers as kernel_size, got {self.kernel_size}."
            )
        self.sigma: Any = setup_pair(name, "sigma", sigma)
        if not 0.0 < self.sigma[0] <= self.sigma[1]:
            raise ValueError(
                f"{name}: expected sigma as (least, most), both positive, got {self.sigma}."
            )

    @staticmethod
    def get_params(sigma_min: float, sigma_max: float) -> float:
        """Draw a standard deviation."""
        return uniform(sigma_min, sigma_max)

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        return {"sigma": [self.get_params(*self.sigma)] * 2}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(
            F.gaussian_blur, inpt, kernel_size=list(self.kernel_size), **params
        )


class GaussianNoise(Transform):
    """Gaussian noise added to images and videos, tensors only.

    Args:
        mean: the mean of the noise.
        sigma: the standard deviation of the noise.
        clip: whether the result is kept within 0 and 1 (0 and 255 for bytes).

    Example:
        >>> from facula.vision.transforms import v2
        >>> v2.GaussianNoise(mean=0.25, sigma=0.0)(facula.zeros(1, 1, 2))
        tensor([[[0.2500, 0.2500]]])
    """

    def __init__(self, mean: float = 0.0, sigma: float = 0.1, clip: bool = True) -> None:
        super().__init__()
        self.mean = mean
        self.sigma = sigma
        self.clip = clip

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(
            F.gaussian_noise, inpt, mean=self.mean, sigma=self.sigma, clip=self.clip
        )


def _is_picture(inpt: Any) -> bool:
    return is_pure_tensor(inpt) or isinstance(inpt, (tv_tensors.Image, tv_tensors.Video))


class ToDtype(Transform):
    """Another dtype, and if asked for its range of values.

    Args:
        dtype: the dtype of images and videos; or a dict from types to dtypes, with ``"others"`` for
            all other types and None for no change.
        scale: whether values are scaled from the range of one dtype to that of the other: bytes
            from 0 to 255, floating point from 0 to 1.

    Example:
        >>> from facula.vision.transforms import v2
        >>> image = facula.full((1, 1, 2), 51, dtype=facula.uint8)
        >>> v2.ToDtype(facula.float32, scale=True)(image)
        tensor([[[0.2000, 0.2000]]])
    """

    _transformed_types = (Tensor,)

    def __init__(
        self, dtype: facula.dtype | dict[Any, facula.dtype | None], scale: bool = False
    ) -> None:
        super().__init__()
        if not isinstance(dtype, (dict, facula.dtype)):
            raise ValueError(
                f"ToDtype: expected a dtype or a dict of them, got {type(dtype).__name__}."
            )
        pictures = (tv_tensors.Image, tv_tensors.Video)
        if isinstance(dtype, dict) and Tensor in dtype and any(kind in dtype for kind in pictures):
            warn_user(
                "ToDtype: dtype names both Tensor and Image or Video; beside an image a plain "
                "tensor passes through as it is.",
            )
        self.dtype = dtype
        self.scale = scale

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        if not isinstance(self.dtype, dict):
            # Masks and boxes keep theirs.
            dtype = self.dtype if _is_picture(inpt) else None
        elif type(inpt) in self.dtype:
            dtype = self.dtype[type(inpt)]
        elif "others" in self.dtype:
            dtype = self.dtype["others"]
        else:
            raise ValueError(
                f"ToDtype: dtype says nothing about {type(inpt).__name__}. Give one dtype for "
                'images and videos only, or add "others": None.'
            )
        if dtype is None:
            if self.scale and _is_picture(inpt):
                warn_user("ToDtype: scale=True has no effect without a dtype for images.")
            return inpt
        return self._call_kernel(F.to_dtype, inpt, dtype=dtype, scale=self.scale)


class ConvertImageDtype(Transform):
    """Another dtype, and its range of values; :class:`ToDtype` can do more.

    Args:
        dtype: the dtype of the result.

    Example:
        >>> from facula.vision.transforms import v2
        >>> v2.ConvertImageDtype()(facula.full((1, 1, 2), 51, dtype=facula.uint8))
        tensor([[[0.2000, 0.2000]]])
    """

    def __init__(self, dtype: facula.dtype = facula.float32) -> None:
        super().__init__()
        self.dtype = dtype

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(F.to_dtype, inpt, dtype=self.dtype, scale=True)


class _Sanitize(Transform):
    """Takes things that are not valid, and their labels, out of a sample."""

    _labels_getter: Callable[[Any], Any]

    def _find(self, flat_inputs: list[Any]) -> tuple[Tensor, Tensor]:
        """The things of a sample, and which of them are valid."""
        raise NotImplementedError

    def forward(self, *inputs: Any) -> Any:
        sample = inputs if len(inputs) > 1 else inputs[0]
        name = type(self).__name__
        labels = self._labels_getter(sample)
        labels = () if labels is None else labels
        labels = tuple(labels) if isinstance(labels, (tuple, list)) else (labels,)
        for label in labels:
            if not isinstance(label, Tensor):
                raise ValueError(f"{name}: expected tensors as labels, got {type(label).__name__}.")
        flat_inputs, spec = tree_flatten(sample)
        things, valid = self._find(flat_inputs)
        for label in labels:
            if label.shape[0] != valid.shape[0]:
                raise ValueError(
                    f"{name}: expected as many labels as {type(things).__name__} "
                    f"{tuple(things.shape)}, got labels {tuple(label.shape)}."
                )
        params = {"valid": valid, "labels": labels}
        return tree_unflatten([self.transform(inpt, params) for inpt in flat_inputs], spec)

    def _is_concerned(self, inpt: Any, valid: Tensor) -> bool:
        raise NotImplementedError

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        valid = params["valid"]
        if any(inpt is label for label in params["labels"]):
            return inpt[valid]
        if not self._is_concerned(inpt, valid):
            return inpt
        return tv_tensors.wrap(inpt.as_subclass(Tensor)[valid], like=inpt)


class SanitizeBoundingBoxes(_Sanitize):
    """Takes out boxes that are too small or reach outside, with their labels and masks.

    Args:
        min_size: the least width and height, 1 or more.
        min_area: the least area, 1 or more.
        labels_getter: a function that finds the labels, a tensor or several, in the sample;
            ``"default"`` for a key of a dict with "label" in its name; None for no labels.

    Example:
        >>> from facula.vision import tv_tensors
        >>> from facula.vision.transforms import v2
        >>> boxes = [[0, 0, 4, 4], [2, 2, 2, 3]]
        >>> boxes = tv_tensors.BoundingBoxes(boxes, format="XYXY", canvas_size=(8, 8))
        >>> v2.SanitizeBoundingBoxes()({"boxes": boxes, "labels": facula.tensor([1, 2])})["labels"]
        tensor([1])
    """

    def __init__(
        self,
        min_size: float = 1.0,
        min_area: float = 1.0,
        labels_getter: LabelsGetter = "default",
    ) -> None:
        super().__init__()
        for argument, value in (("min_size", min_size), ("min_area", min_area)):
            if value < 1:
                raise ValueError(
                    f"SanitizeBoundingBoxes: expected {argument} of 1 or more, got {value}."
                )
        self.min_size = min_size
        self.min_area = min_area
        self.labels_getter = labels_getter
        self._labels_getter = setup_labels_getter("SanitizeBoundingBoxes", labels_getter)

    def _find(self, flat_inputs: list[Any]) -> tuple[Tensor, Tensor]:
        boxes = get_bounding_boxes(flat_inputs)
        _, valid = F.sanitize_bounding_boxes(boxes, min_size=self.min_size, min_area=self.min_area)
        return boxes, valid

    def _is_concerned(self, inpt: Any, valid: Tensor) -> bool:
        # One mask for the whole image belongs to no box.
        is_mask = isinstance(inpt, tv_tensors.Mask) and inpt.shape[0] == valid.shape[0]
        return is_mask or isinstance(inpt, tv_tensors.BoundingBoxes)


class SanitizeKeyPoints(_Sanitize):
    """Takes out key points outside the image, with their labels.

    Args:
        labels_getter: a function that finds the labels, a tensor or several, in the sample;
            ``"default"`` for a key of a dict with "label" in its name; None for no labels.

    Example:
        >>> from facula.vision import tv_tensors
        >>> from facula.vision.transforms import v2
        >>> points = tv_tensors.KeyPoints([[1.0, 2.0], [9.0, 2.0]], canvas_size=(4, 5))
        >>> v2.SanitizeKeyPoints()(points)
        KeyPoints([[1., 2.]], canvas_size=(4, 5))
    """

    def __init__(self, labels_getter: LabelsGetter = None) -> None:
        super().__init__()
        self.labels_getter = labels_getter
        self._labels_getter = setup_labels_getter("SanitizeKeyPoints", labels_getter)

    def _find(self, flat_inputs: list[Any]) -> tuple[Tensor, Tensor]:
        points = get_keypoints(flat_inputs)
        _, valid = F.sanitize_keypoints(points)
        return points, valid

    def _is_concerned(self, inpt: Any, valid: Tensor) -> bool:
        return isinstance(inpt, tv_tensors.KeyPoints)
