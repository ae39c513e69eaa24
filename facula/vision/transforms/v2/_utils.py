"""What the transforms share: questions about a sample, checks of arguments, random numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import facula
from facula._core import Tensor
from facula.vision import tv_tensors
from facula.vision.transforms._interpolation import InterpolationMode
from facula.vision.transforms.v2 import functional as F
from facula.vision.transforms.v2.functional._type_conversion import is_pil

Check = type | Callable[[Any], bool]
Interpolation = str | InterpolationMode | int
Fill = Any  # a number, a sequence of them, None, or a dict from types (or "others") to those
LabelsGetter = Callable[[Any], Any] | str | None


def is_pure_tensor(obj: Any) -> bool:
    """Whether something is a tensor without a meaning."""
    return isinstance(obj, Tensor) and not isinstance(obj, tv_tensors.TVTensor)


def check_type(obj: Any, types_or_checks: tuple[Check, ...]) -> bool:
    """Whether an object is of one of some types, or passes one of some checks.

    Example:
        >>> from facula.vision.transforms import v2
        >>> v2.check_type(3, (str, lambda x: x == 3))
        True
    """
    for check in types_or_checks:
        if isinstance(obj, check) if isinstance(check, type) else check(obj):
            return True
    return False


def has_any(flat_inputs: list[Any], *types_or_checks: Check) -> bool:
    """Whether one of the parts of a sample is of one of some types.

    Example:
        >>> from facula.vision.transforms import v2
        >>> v2.has_any([3, "a"], str)
        True
    """
    return any(check_type(inpt, types_or_checks) for inpt in flat_inputs)


def has_all(flat_inputs: list[Any], *types_or_checks: Check) -> bool:
    """Whether a sample has a part of each of some types.

    Example:
        >>> from facula.vision.transforms import v2
        >>> v2.has_all([3, "a"], str, float)
        False
    """
    return all(has_any(flat_inputs, check) for check in types_or_checks)


def _only(values: set[tuple[int, ...]], what: str, kinds: str) -> tuple[int, ...]:
    if not values:
        raise TypeError(f"expected a sample with {kinds}, found none.")
    if len(values) > 1:
        raise ValueError(f"the parts of the sample differ in {what}: {sorted(values)}.")
    return values.pop()


def query_chw(flat_inputs: list[Any]) -> tuple[int, int, int]:
    """Channels, height and width of the images and videos of a sample, which must agree.

    Example:
        >>> from facula.vision.transforms import v2
        >>> v2.query_chw([facula.zeros(3, 4, 5)])
        (3, 4, 5)
    """
    kinds: tuple[Check, ...] = (is_pure_tensor, tv_tensors.Image, is_pil, tv_tensors.Video)
    images = [inpt for inpt in flat_inputs if check_type(inpt, kinds)]
    sizes = {tuple(F.get_dimensions(image)) for image in images}
    c, h, w = _only(sizes, "(C, H, W)", "an image or video")
    return c, h, w


def query_size(flat_inputs: list[Any]) -> tuple[int, int]:
    """Height and width of what a sample shows; all of its parts must agree.

    Example:
        >>> from facula.vision.transforms import v2
        >>> v2.query_size([facula.zeros(3, 4, 5)])
        (4, 5)
    """
    kinds: tuple[Check, ...] = (
        is_pure_tensor,
        tv_tensors.Image,
        is_pil,
        tv_tensors.Video,
        tv_tensors.Mask,
        tv_tensors.BoundingBoxes,
        tv_tensors.KeyPoints,
    )
    sizes = {tuple(F.get_size(inpt)) for inpt in flat_inputs if check_type(inpt, kinds)}
    h, w = _only(sizes, "(H, W)", "an image, video, mask, bounding boxes or key points")
    return h, w


def get_bounding_boxes(flat_inputs: list[Any]) -> tv_tensors.BoundingBoxes:
    """The first bounding boxes of a sample.

    Example:
        >>> from facula.vision import tv_tensors
        >>> from facula.vision.transforms import v2
        >>> boxes = tv_tensors.BoundingBoxes([0, 0, 2, 3], format="XYXY", canvas_size=(4, 5))
        >>> v2.get_bounding_boxes([3, boxes]) is boxes
        True
    """
    for inpt in flat_inputs:
        if isinstance(inpt, tv_tensors.BoundingBoxes):
            return inpt
    raise ValueError("expected a sample with bounding boxes, found none.")


def get_keypoints(flat_inputs: list[Any]) -> tv_tensors.KeyPoints:
    """The first key points of a sample.

    Example:
        >>> from facula.vision import tv_tensors
        >>> from facula.vision.transforms import v2
        >>> points = tv_tensors.KeyPoints([[1.0, 2.0]], canvas_size=(4, 5))
        >>> v2.get_keypoints([3, points]) is points
        True
    """
    for inpt in flat_inputs:
        if isinstance(inpt, tv_tensors.KeyPoints):
            return inpt
    raise ValueError("expected a sample with key points, found none.")


def uniform(low: float, high: float) -> float:
    """A random number of float32 between two."""
    return float(facula.empty(1).uniform_(low, high))


def randint(low: int, high: int) -> int:
    """A random whole number from ``low`` up to, without, ``high``."""
    return int(facula.randint(low, high, ()))


def happens(p: float) -> bool:
    """Whether something of probability ``p`` happens this time."""
    return bool(facula.rand(1) < p)


def is_number(value: Any) -> bool:
    """Whether something is an int or a float."""
    return isinstance(value, (int, float))


def check_p(name: str, p: float) -> float:
    """A probability, checked."""
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"{name}: expected a probability p between 0 and 1, got {p}.")
    return p


def check_pair(name: str, argument: str, value: Any, sizes: tuple[int, ...] = (2,)) -> None:
    """Refuse what is not a sequence of one of some lengths."""
    lengths = " or ".join(map(str, sizes))
    if not isinstance(value, Sequence):
        raise TypeError(
            f"{name}: expected a sequence of {lengths} numbers as {argument}, got {value!r}."
        )
    if len(value) not in sizes:
        raise ValueError(
            f"{name}: expected {lengths} numbers as {argument}, got {len(value)}: {value}."
        )


def setup_size(name: str, size: Any) -> tuple[int, int]:
    """Height and width from one number or two."""
    if is_number(size):
        return int(size), int(size)
    if not isinstance(size, Sequence) or isinstance(size, str):
        raise TypeError(f"{name}: expected a number or (height, width) as size, got {size!r}.")
    if len(size) not in (1, 2):
        raise ValueError(f"{name}: expected 1 or 2 numbers as size, got {len(size)}: {size}.")
    return size[0], size[-1]


def setup_angle(name: str, argument: str, value: Any, sizes: tuple[int, ...] = (2,)) -> list[float]:
    """A range of angles from its half width, or from its ends."""
    if is_number(value):
        if value < 0:
            raise ValueError(
                f"{name}: expected {argument} not to be negative where it is one number, "
                f"got {value}."
            )
        return [float(-value), float(value)]
    if isinstance(value, str):
        raise ValueError(f"{name}: expected numbers as {argument}, got {value!r}.")
    check_pair(name, argument, value, sizes)
    return [float(v) for v in value]


def setup_pair(name: str, argument: str, value: Any) -> list[float]:
    """Two numbers from one, or from a sequence of one or two."""
    if is_number(value):
        return [float(value)] * 2
    if not isinstance(value, (list, tuple)) or not all(map(is_number, value)):
        raise ValueError(f"{name}: expected numbers as {argument}, got {value!r}.")
    if len(value) not in (1, 2):
        raise ValueError(
            f"{name}: expected 1 or 2 numbers as {argument}, got {len(value)}: {value}."
        )
    return [float(value[0]), float(value[-1])]


def setup_padding(name: str, padding: Any) -> int | list[int]:
    """A padding, checked."""
    if isinstance(padding, int):
        return padding
    if not isinstance(padding, (list, tuple)) or len(padding) not in (1, 2, 4):
        raise ValueError(
            f"{name}: expected an int or a sequence of 1, 2 or 4 ints as padding, got {padding!r}."
        )
    return list(padding)


def check_padding_mode(name: str, mode: str) -> str:
    """A name of a way to pad, checked."""
    modes = ("constant", "edge", "reflect", "symmetric")
    if mode not in modes:
        raise ValueError(f"{name}: expected padding_mode to be one of {modes}, got {mode!r}.")
    return mode


def _fill(name: str, fill: Any) -> Any:
    if fill is None or is_number(fill):
        return fill
    if not isinstance(fill, (list, tuple)) or not all(map(is_number, fill)):
        raise TypeError(
            f"{name}: expected a number, a sequence of numbers, None or a dict of those as fill, "
            f"got {fill!r}."
        )
    return [float(value) for value in fill]


def setup_fill(name: str, fill: Fill) -> dict[Any, Any]:
    """Fill values by type."""
    by_type = fill if isinstance(fill, dict) else {"others": fill}
    return {kind: _fill(name, value) for kind, value in by_type.items()}


def get_fill(fills: dict[Any, Any], kind: type) -> Any:
    """The fill value for a type; 0 where nothing is said about it."""
    return fills.get(kind, fills.get("others", 0))


def _find_labels(inputs: Any) -> Any:
    """The labels of a sample: the tensor after the image, or what a dict calls labels."""
    if isinstance(inputs, (list, tuple)) and len(inputs) > 1:
        inputs = inputs[1]
    if is_pure_tensor(inputs):
        return inputs
    if not isinstance(inputs, Mapping):
        raise ValueError(
            "labels_getter: the default one takes a dict, or two things of which the second is a "
            f"dict or a tensor, got {type(inputs).__name__}. Pass a function as labels_getter."
        )
    found = [key for key in inputs if isinstance(key, str) and "label" in key.lower()]
    if not found:
        raise ValueError(
            "labels_getter: no key of the sample has 'label' in its name. Pass a function as "
            "labels_getter, or labels_getter=None where there are no labels."
        )
    exact = [key for key in found if key.lower() == "labels"]
    return inputs[(exact or found)[0]]


def _no_labels(inputs: Any) -> None:
    return None


def setup_labels_getter(name: str, labels_getter: LabelsGetter) -> Callable[[Any], Any]:
    """The function that finds the labels of a sample."""
    if labels_getter is None:
        return _no_labels
    if labels_getter == "default":
        return _find_labels
    if not callable(labels_getter):
        raise ValueError(
            f"{name}: expected 'default', a function or None as labels_getter, "
            f"got {labels_getter!r}."
        )
    return labels_getter


def _draw_gamma(alpha: float) -> float:
    """One number of the gamma distribution, by the method of Marsaglia and Tsang (2000)."""
    scale = 1.0
    if alpha < 1.0:  # boosted: Gamma(a) is Gamma(a + 1) times U ** (1 / a)
        scale = math.pow(1.0 - float(facula.rand((), dtype=facula.float64)), 1.0 / alpha)
        alpha += 1.0
    d = alpha - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        y = 0.0
        while y <= 0.0:
            x = float(facula.randn((), dtype=facula.float64))
            y = 1.0 + c * x
        v = y * y * y
        u = 1.0 - float(facula.rand((), dtype=facula.float64))
        if u < 1.0 - 0.0331 * x**4 or math.log(u) < 0.5 * x * x + d * (1.0 - v + math.log(v)):
            return scale * d * v


def draw_dirichlet(concentration: Sequence[float]) -> list[float]:
    """Weights that add up to 1, of float32, from the Dirichlet distribution."""
    # Its parameters are float32 numbers, as in PyTorch.
    gammas = [_draw_gamma(alpha) for alpha in facula.tensor(concentration).float().tolist()]
    total = sum(gammas)
    weights = facula.tensor([gamma / total for gamma in gammas], dtype=facula.float32)
    kept: list[float] = weights.clamp(facula.finfo(facula.float32).tiny, 1 - 2.0**-24).tolist()
    return kept
