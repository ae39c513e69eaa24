"""Images: resizing, sampling at other places, and channels as pixels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from facula import _core
from facula._core import Tensor
from facula._ops.other import affine_grid_generator
from facula._warnings import warn_user
from facula.nn.functional._adaptive_pooling import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
)

__all__ = [
    "affine_grid",
    "channel_shuffle",
    "grid_sample",
    "interpolate",
    "native_channel_shuffle",
    "pixel_shuffle",
    "pixel_unshuffle",
    "upsample",
    "upsample_bilinear",
    "upsample_nearest",
]

pixel_shuffle = _core.pixel_shuffle
pixel_unshuffle = _core.pixel_unshuffle
channel_shuffle = _core.channel_shuffle
native_channel_shuffle = _core.native_channel_shuffle

_DIMS_OF_MODE = {"linear": 3, "bilinear": 4, "bicubic": 4, "lanczos": 4, "trilinear": 5}
_MODES = ("nearest", "nearest-exact", "area", *_DIMS_OF_MODE)
_AREA = (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d)


def _spatial(input: Tensor, what: str, given: Any) -> list[Any]:
    """One value for each dimension after batch and channels."""
    n = input.dim() - 2
    if not isinstance(given, (tuple, list)):
        return [given.item() if isinstance(given, Tensor) else given] * n
    if len(given) != n:
        raise ValueError(
            f"interpolate: expected {what} of {n} numbers for an input {tuple(input.shape)}, "
            f"got {tuple(given)}."
        )
    return list(given)


def interpolate(
    input: Tensor,
    size: int | Tensor | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Resize images.

    Args:
        input: the images, floating point, or uint8 in the modes nearest, bilinear and bicubic.
        size: the size of the result, one number or one for each dimension.
        scale_factor: the ratio of the result's size to the input's, in place of size.
        mode: how to interpolate: ``"nearest"``, ``"nearest-exact"``, ``"area"`` (averages);
            ``"linear"`` for one dimension, ``"bilinear"``, ``"bicubic"`` and ``"lanczos"`` for two,
            ``"trilinear"`` for three.
        align_corners: whether the centers of the corner elements, rather than their corners, of
            input and result coincide; False by default.
        recompute_scale_factor: whether the ratio of the sizes, which are whole numbers, replaces
            scale_factor.
        antialias: whether elements that a smaller result would skip are averaged; only for images
            of two dimensions.

    Shape:
        input ``(N, C, L)``, ``(N, C, H, W)`` or ``(N, C, D, H, W)``.

    Example:
        >>> import facula.nn.functional as F
        >>> F.interpolate(facula.tensor([[[1.0, 2.0]]]), scale_factor=2)
        tensor([[[1., 1., 2., 2.]]])
        >>> F.interpolate(facula.tensor([[[1.0, 2.0]]]), size=3, mode="linear")
        tensor([[[1.0000, 1.5000, 2.0000]]])
    """
    is_smooth = mode in _DIMS_OF_MODE
    if align_corners is not None and not is_smooth:
        raise ValueError(
            f"interpolate: align_corners has no meaning in mode {mode!r}; it is for linear, "
            "bilinear, bicubic and trilinear."
        )
    if size is None and scale_factor is None:
        raise ValueError("interpolate: expected size or scale_factor.")
    if size is not None and scale_factor is not None:
        raise ValueError("interpolate: expected one of size and scale_factor, got both.")
    scales: list[float] = [0.0] * (input.dim() - 2)
    if size is not None:
        if recompute_scale_factor:
            raise ValueError("interpolate: recompute_scale_factor has no meaning with size.")
        sizes = _spatial(input, "a size", size)
    else:
        factors = _spatial(input, "a scale_factor", scale_factor)
        # A whole factor stays one: sizes that an export traces are multiplied by integers.
        pairs = zip(input.shape[2:], factors, strict=True)
        sizes = [n * int(f) if f == int(f) else int(n * f) for n, f in pairs]
        # The kernel takes the given ratio, which a size rounded to a whole number would change; 0
        # lets it use that of the sizes.
        if not recompute_scale_factor:
            scales = [float(f) for f in factors]
    if antialias and not (mode in ("bilinear", "bicubic", "lanczos") and input.dim() == 4):
        raise ValueError(
            "interpolate: antialias is for the modes bilinear, bicubic and lanczos of an input "
            f"(N, C, H, W), got mode {mode!r} and {tuple(input.shape)}."
        )
    if mode == "lanczos" and not antialias:
        raise ValueError("interpolate: mode 'lanczos' needs antialias=True.")
    if mode == "lanczos" and align_corners:
        raise ValueError("interpolate: mode 'lanczos' takes no align_corners=True.")
    if mode not in _MODES or not 3 <= input.dim() <= 5:
        raise NotImplementedError(
            f"interpolate: expected an input of 3 to 5 dimensions and a mode of "
            f"{', '.join(_MODES)}, got {tuple(input.shape)} and {mode!r}."
        )
    if is_smooth and input.dim() != _DIMS_OF_MODE[mode]:
        raise NotImplementedError(
            f"interpolate: mode {mode!r} is for an input of {_DIMS_OF_MODE[mode]} dimensions, "
            f"got {tuple(input.shape)}."
        )
    if mode == "area":
        return _AREA[input.dim() - 3](input, sizes)
    return _core._resample(input, mode, antialias, sizes, bool(align_corners), scales)


def upsample(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """An older name of :func:`interpolate`.

    Example:
        >>> import facula.nn.functional as F
        >>> F.interpolate(facula.tensor([[[1.0, 2.0]]]), size=4).shape
        torch.Size([1, 1, 4])
    """
    warn_user("upsample is the older name of interpolate.")
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
) -> Tensor:
    """An older way to call :func:`interpolate` with ``mode="nearest"``.

    Example:
        >>> import facula.nn.functional as F
        >>> F.interpolate(facula.tensor([[[1.0, 2.0]]]), size=4, mode="nearest").shape
        torch.Size([1, 1, 4])
    """
    warn_user("upsample_nearest is an older form of interpolate.")
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
) -> Tensor:
    """An older way to call :func:`interpolate` with ``mode="bilinear", align_corners=True``.

    Example:
        >>> import facula.nn.functional as F
        >>> x = facula.ones(1, 1, 2, 2)
        >>> F.interpolate(x, size=4, mode="bilinear", align_corners=True).shape
        torch.Size([1, 1, 4, 4])
    """
    warn_user("upsample_bilinear is an older form of interpolate.")
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


_GRID_MODES = ("bilinear", "nearest", "bicubic")
_GRID_PADDINGS = ("zeros", "border", "reflection")


def _corners(name: str, align_corners: bool | None) -> bool:
    if align_corners is None:
        warn_user(
            f"{name}: align_corners is False by default; pass it to say which is meant.",
        )
    return False if align_corners is None else align_corners


def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """Sample images at the places that a grid gives.

    Args:
        input: the images, floating point.
        grid: the places to look at, each coordinate from -1 to 1, that along the last dimension
            first.
        mode: how to interpolate: ``"bilinear"``, ``"nearest"`` or, for two dimensions,
            ``"bicubic"``.
        padding_mode: what lies outside of the images: ``"zeros"``, the ``"border"`` or a
            ``"reflection"``.
        align_corners: whether -1 and 1 are the centers of the corner elements or, by default,
            their outer edges.

    Shape:
        input ``(N, C, H, W)`` and grid ``(N, h, w, 2)``: result ``(N, C, h, w)``; or input
        ``(N, C, D, H, W)`` and grid ``(N, d, h, w, 3)``: result ``(N, C, d, h, w)``.

    Example:
        >>> import facula.nn.functional as F
        >>> x = facula.tensor([[[[1.0, 3.0]]]])
        >>> F.grid_sample(x, facula.zeros(1, 1, 1, 2), align_corners=False)
        tensor([[[[2.]]]])
    """
    if mode not in _GRID_MODES:
        raise ValueError(f"grid_sample: expected mode as one of {_GRID_MODES}, got {mode!r}.")
    if padding_mode not in _GRID_PADDINGS:
        raise ValueError(
            f"grid_sample: expected padding_mode as one of {_GRID_PADDINGS}, got {padding_mode!r}."
        )
    return _core.grid_sampler(
        input,
        grid,
        _GRID_MODES.index(mode),
        _GRID_PADDINGS.index(padding_mode),
        _corners("grid_sample", align_corners),
    )


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """The grid for :func:`grid_sample` of an affine map from result to input.

    Args:
        theta: the matrices of the maps, floating point.
        size: the size of the result of grid_sample, ``(N, C, H, W)`` or ``(N, C, D, H, W)``.
        align_corners: whether -1 and 1 are the centers of the corner elements or, by default, their
            outer edges, as in :func:`grid_sample`.

    Shape:
        theta ``(N, 2, 3)``, result ``(N, H, W, 2)``; or ``(N, 3, 4)`` and ``(N, D, H, W, 3)``.

    Example:
        >>> import facula.nn.functional as F
        >>> theta = facula.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
        >>> F.affine_grid(theta, (1, 1, 1, 2), align_corners=True)
        tensor([[[[-1.,  0.],
                  [ 1.,  0.]]]])
    """
    size = tuple(size)
    corners = _corners("affine_grid", align_corners)
    if not theta.is_floating_point():
        raise ValueError(f"affine_grid: expected a floating-point theta, got {theta.dtype}.")
    if len(size) not in (4, 5):
        raise NotImplementedError(
            f"affine_grid: expected a size (N, C, H, W) or (N, C, D, H, W), got {size}."
        )
    n = len(size) - 2
    if theta.dim() != 3 or tuple(theta.shape[1:]) != (n, n + 1):
        raise ValueError(
            f"affine_grid: expected theta (N, {n}, {n + 1}) for the size {size}, "
            f"got {tuple(theta.shape)}."
        )
    if min(size) <= 0:
        raise ValueError(f"affine_grid: expected a size of positive numbers, got {size}.")
    return affine_grid_generator(theta, size, corners)
