"""Tensors that know what they are: images, videos, masks, boxes, key points."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from types import TracebackType
from typing import Any, ClassVar

import facula
from facula import _core
from facula._core import Tensor

# Whether operations on a TVTensor return its type rather than a plain tensor.
_returns_tv_tensor = False


class TVTensor(Tensor):
    """A tensor with a meaning, which transforms treat accordingly.

    Operations return plain tensors, except ``clone``, ``to``, ``detach`` and ``requires_grad_``,
    unless :func:`set_return_type` says otherwise.

    Args:
        data: what :func:`facula.as_tensor` takes; a tensor shares its memory.
        dtype: the dtype of the result; by default that of ``data``.
        device: where the result lives; by default where ``data`` does.
        requires_grad: whether gradients are wanted; by default as for ``data``.

    Example:
        >>> from facula.vision import tv_tensors
        >>> type(tv_tensors.Mask(facula.zeros(2, 2)) + 1).__name__
        'Tensor'
    """

    # Attributes of a class, which `wrap` hands on.
    _metadata: ClassVar[tuple[str, ...]] = ()

    def __new__(
        cls,
        data: Any,
        *,
        dtype: facula.dtype | None = None,
        device: Any = None,
        requires_grad: bool | None = None,
    ) -> Any:
        return cls._check(cls._to_tensor(data, dtype, device, requires_grad)).as_subclass(cls)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass  # Tensor.__init__ would read the arguments as sizes

    @staticmethod
    def _to_tensor(data: Any, dtype: Any, device: Any, requires_grad: bool | None) -> Tensor:
        if requires_grad is None:
            requires_grad = isinstance(data, Tensor) and data.requires_grad
        tensor = facula.as_tensor(data, dtype=dtype, device=device)
        return tensor.as_subclass(Tensor).requires_grad_(requires_grad)

    @classmethod
    def _check(cls, tensor: Tensor) -> Tensor:
        return tensor

    @classmethod
    def wrap(cls, tensor: Tensor, like: Any = None, **metadata: Any) -> Any:
        """A tensor of this class over the memory of ``tensor``, unchecked.

        Args:
            tensor: the values.
            like: what gives the metadata that is not named.
            metadata: the metadata, by name.

        Example:
            >>> from facula.vision import tv_tensors
            >>> type(tv_tensors.Mask.wrap(facula.zeros(2, 2))).__name__
            'Mask'
        """
        wrapped = tensor.as_subclass(cls)
        for name in cls._metadata:
            value = metadata[name] if name in metadata else getattr(like, name)
            setattr(wrapped, name, value)
        return wrapped

    @classmethod
    def __torch_function__(
        cls,
        func: Callable[..., Any],
        types: tuple[type, ...],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        # Tensors of different meanings have no meaning together.
        if len(types) > 1 and not all(issubclass(cls, kind) for kind in types):
            return NotImplemented
        output = _core._disabled_torch_function_impl(func, types, args, kwargs)
        if _returns_tv_tensor or (func in _KEEPING and isinstance(args[0], cls)):
            return _typed(output, _first(cls, (*args, *(kwargs or {}).values())))
        # What works in place returns its input, and thus the type of that.
        return output.as_subclass(Tensor) if isinstance(output, cls) else output

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self.detach().clone().requires_grad_(self.requires_grad)

    def __repr__(self, *args: Any, **kwargs: Any) -> str:
        text = super().__repr__(*args, **kwargs)
        if not isinstance(self, (Image, Video)) and not self._metadata:
            return text
        # Images and videos have no metadata, but room for it, as torchvision prints them.
        metadata = (f"{name}={getattr(self, name)}" for name in self._metadata)
        return f"{text[:-1]}, {', '.join(metadata)})"


# What keeps the type whatever operations return.
_KEEPING = {Tensor.clone, Tensor.detach, Tensor.requires_grad_, Tensor.to}


def _typed(output: Any, like: TVTensor) -> Any:
    if isinstance(output, Tensor):
        return type(like).wrap(output.as_subclass(Tensor), like)
    if isinstance(output, (tuple, list)):
        return type(output)([_typed(part, like) for part in output])
    return output


def _first(cls: type, arguments: Iterable[Any]) -> Any:
    """The first object of the class among arguments and in lists of them."""
    for argument in arguments:
        if isinstance(argument, (tuple, list)):
            argument = _first(cls, argument)
        if isinstance(argument, cls):
            return argument
    return None


class set_return_type:
    """Set what operations on a :class:`TVTensor` return; as a context, for its time only.

    Args:
        return_type: ``"Tensor"`` (how it is at first) or ``"TVTensor"``.

    Example:
        >>> from facula.vision import tv_tensors
        >>> mask = tv_tensors.Mask(facula.zeros(2, 2))
        >>> with tv_tensors.set_return_type("TVTensor"):
        ...     type(mask + 1).__name__
        'Mask'
    """

    def __init__(self, return_type: str) -> None:
        global _returns_tv_tensor
        types = {"tensor": False, "tvtensor": True}
        if return_type.lower() not in types:
            raise ValueError(
                f"set_return_type: expected 'TVTensor' or 'Tensor', got {return_type!r}."
            )
        self._before = _returns_tv_tensor
        _returns_tv_tensor = types[return_type.lower()]

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        global _returns_tv_tensor
        _returns_tv_tensor = self._before


def wrap(wrappee: Tensor, *, like: Any, **kwargs: Any) -> Any:
    """A tensor of the type of another, with its metadata.

    Args:
        wrappee: the values; they are shared.
        like: what gives type and metadata.
        kwargs: metadata that differs, such as ``format`` or ``canvas_size``.

    Example:
        >>> from facula.vision import tv_tensors
        >>> boxes = tv_tensors.BoundingBoxes([[0, 0, 2, 2]], format="XYXY", canvas_size=(4, 4))
        >>> tv_tensors.wrap(boxes + 1, like=boxes).canvas_size
        (4, 4)
    """
    if isinstance(like, TVTensor):
        return type(like).wrap(wrappee.as_subclass(Tensor), like, **kwargs)
    return wrappee.as_subclass(type(like))


def _from_pil(data: Any) -> Any:
    if isinstance(data, Tensor):
        return data
    from facula.vision.transforms.v2.functional import _type_conversion as conversion

    return conversion.pil_to_tensor(data) if conversion.is_pil(data) else data


class Image(TVTensor):
    """Images ``(..., C, H, W)``; an image ``(H, W)`` gets its channel.

    Args:
        data: a tensor, what makes one, or a PIL image.
        dtype: the dtype of the result; by default that of ``data``.
        device: where the result lives; by default where ``data`` does.
        requires_grad: whether gradients are wanted; by default as for ``data``.

    Example:
        >>> from facula.vision import tv_tensors
        >>> tv_tensors.Image(facula.zeros(4, 5)).shape
        torch.Size([1, 4, 5])
    """

    def __new__(cls, data: Any, **kwargs: Any) -> Any:
        return super().__new__(cls, _from_pil(data), **kwargs)

    @classmethod
    def _check(cls, tensor: Tensor) -> Tensor:
        if tensor.dim() < 2:
            raise ValueError(f"Image: expected 2 or more dimensions, got {tuple(tensor.shape)}.")
        return tensor.unsqueeze(0) if tensor.dim() == 2 else tensor


class Video(TVTensor):
    """Videos ``(..., T, C, H, W)``: images in a sequence.

    Args:
        data: a tensor or what makes one.
        dtype: the dtype of the result; by default that of ``data``.
        device: where the result lives; by default where ``data`` does.
        requires_grad: whether gradients are wanted; by default as for ``data``.

    Example:
        >>> from facula.vision import tv_tensors
        >>> tv_tensors.Video(facula.zeros(2, 3, 4, 5)).shape
        torch.Size([2, 3, 4, 5])
    """

    @classmethod
    def _check(cls, tensor: Tensor) -> Tensor:
        if tensor.dim() < 4:
            raise ValueError(
                f"Video: expected (..., T, C, H, W), 4 or more dimensions, "
                f"got {tuple(tensor.shape)}."
            )
        return tensor


class Mask(TVTensor):
    """Masks for segmentation or detection, ``(..., H, W)``.

    Args:
        data: a tensor, what makes one, or a PIL image.
        dtype: the dtype of the result; by default that of ``data``.
        device: where the result lives; by default where ``data`` does.
        requires_grad: whether gradients are wanted; by default as for ``data``.

    Example:
        >>> from facula.vision import tv_tensors
        >>> tv_tensors.Mask([[0, 1]])
        Mask([[0, 1]])
    """

    def __new__(cls, data: Any, **kwargs: Any) -> Any:
        return super().__new__(cls, _from_pil(data), **kwargs)


class BoundingBoxFormat(Enum):
    """What the numbers of a box are.

    ``XYXY`` are two opposite corners, ``XYWH`` a corner, width and height, ``CXCYWH`` the center,
    width and height. Rotated boxes: ``XYWHR`` and ``CXCYWHR`` end with an angle in degrees,
    ``XYXYXYXY`` are the four corners.

    Example:
        >>> from facula.vision import tv_tensors
        >>> tv_tensors.BoundingBoxFormat.XYWH.value
        'XYWH'
    """

    XYXY = "XYXY"
    XYWH = "XYWH"
    CXCYWH = "CXCYWH"
    XYWHR = "XYWHR"
    CXCYWHR = "CXCYWHR"
    XYXYXYXY = "XYXYXYXY"


_ROTATED = (BoundingBoxFormat.XYWHR, BoundingBoxFormat.CXCYWHR, BoundingBoxFormat.XYXYXYXY)


def is_rotated_bounding_format(format: BoundingBoxFormat | str) -> bool:
    """Whether boxes of this format can be rotated.

    Example:
        >>> from facula.vision import tv_tensors
        >>> tv_tensors.is_rotated_bounding_format("XYWHR")
        True
    """
    return format in _ROTATED or format in [rotated.value for rotated in _ROTATED]


def as_format(format: BoundingBoxFormat | str) -> BoundingBoxFormat:
    """A format from itself or its name."""
    return format if isinstance(format, BoundingBoxFormat) else BoundingBoxFormat[format.upper()]


class BoundingBoxes(TVTensor):
    """Boxes ``(N, K)`` of one image: ``K`` is 4, or 5 or 8 for rotated ones.

    Args:
        data: a tensor or what makes one; one box ``(K,)`` becomes ``(1, K)``.
        format: what the numbers are, a :class:`BoundingBoxFormat` or its name.
        canvas_size: height and width of the image.
        clamping_mode: what transforms do with boxes that reach outside the image: ``"soft"``,
            ``"hard"`` or None for nothing.
        dtype: the dtype of the result; by default that of ``data``.
        device: where the result lives; by default where ``data`` does.
        requires_grad: whether gradients are wanted; by default as for ``data``.

    Example:
        >>> from facula.vision import tv_tensors
        >>> tv_tensors.BoundingBoxes([0, 0, 2, 3], format="XYXY", canvas_size=(4, 5)).shape
        torch.Size([1, 4])
    """

    _metadata = ("format", "canvas_size", "clamping_mode")
    format: BoundingBoxFormat
    canvas_size: tuple[int, int]
    clamping_mode: str | None

    def __new__(
        cls,
        data: Any,
        *,
        format: BoundingBoxFormat | str,
        canvas_size: tuple[int, int],
        clamping_mode: str | None = "soft",
        dtype: facula.dtype | None = None,
        device: Any = None,
        requires_grad: bool | None = None,
    ) -> Any:
        tensor = cls._to_tensor(data, dtype, device, requires_grad)
        metadata = {"canvas_size": canvas_size, "clamping_mode": clamping_mode}
        format = as_format(format)
        if is_rotated_bounding_format(format) and not tensor.is_floating_point():
            raise ValueError(
                f"BoundingBoxes: rotated boxes are floating point, got {tensor.dtype}."
            )
        if tensor.dim() not in (1, 2):
            raise ValueError(f"BoundingBoxes: expected (N, K) or (K,), got {tuple(tensor.shape)}.")
        tensor = tensor.unsqueeze(0) if tensor.dim() == 1 else tensor
        return cls.wrap(tensor, format=format, **metadata)

    @classmethod
    def wrap(cls, tensor: Tensor, like: Any = None, **metadata: Any) -> Any:
        """Boxes over the memory of ``tensor``, with the metadata of ``like`` where none is named.

        Example:
            >>> from facula.vision import tv_tensors
            >>> boxes = tv_tensors.BoundingBoxes([0, 0, 2, 3], format="XYXY", canvas_size=(4, 5))
            >>> tv_tensors.BoundingBoxes.wrap(boxes + 1, boxes).canvas_size
            (4, 5)
        """
        if "format" in metadata:
            metadata["format"] = as_format(metadata["format"])
        mode = metadata.get("clamping_mode")
        if mode not in (None, "hard", "soft"):
            raise ValueError(
                f"BoundingBoxes: clamping_mode is 'soft', 'hard' or None, got {mode!r}."
            )
        return super().wrap(tensor, like, **metadata)


class KeyPoints(TVTensor):
    """Points ``(..., 2)`` of one image, each ``x, y``.

    Args:
        data: a tensor or what makes one; one point ``(2,)`` becomes ``(1, 2)``.
        canvas_size: height and width of the image.
        dtype: the dtype of the result; by default that of ``data``.
        device: where the result lives; by default where ``data`` does.
        requires_grad: whether gradients are wanted; by default as for ``data``.

    Example:
        >>> from facula.vision import tv_tensors
        >>> tv_tensors.KeyPoints([[1.0, 2.0]], canvas_size=(4, 5))
        KeyPoints([[1., 2.]], canvas_size=(4, 5))
    """

    _metadata = ("canvas_size",)
    canvas_size: tuple[int, int]

    def __new__(
        cls,
        data: Any,
        *,
        canvas_size: tuple[int, int],
        dtype: facula.dtype | None = None,
        device: Any = None,
        requires_grad: bool | None = None,
    ) -> Any:
        tensor = cls._to_tensor(data, dtype, device, requires_grad)
        if tensor.dim() == 0:
            raise IndexError("KeyPoints: expected points (..., 2), got a tensor of shape ().")
        tensor = tensor.unsqueeze(0) if tensor.dim() == 1 else tensor
        return cls.wrap(tensor, canvas_size=canvas_size)
