"""One function for every kind of input: kernels are found by the type of the first argument.

A kernel takes a plain tensor (or PIL image), by their names those arguments of the functional that
it needs, and, for boxes and key points, what the input knows about itself: ``format``,
``canvas_size``, ``clamping_mode``. What it returns is given the type of the input again; boxes and
key points may come with their new canvas size.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, signature
from typing import Any, TypeVar

from facula._core import Tensor
from facula.vision import tv_tensors
from facula.vision.tv_tensors import BoundingBoxes, Image, KeyPoints, Mask, TVTensor, Video

Kernel = Callable[..., Any]
_F = TypeVar("_F", bound=Callable[..., Any])

# In place of PIL.Image.Image, which is imported by those only who have such images.
PIL = "PIL"
IMAGES = (Tensor, Image)

_KERNELS: dict[Kernel, dict[Any, Kernel]] = {}


def functional(f: _F) -> _F:
    """Mark a function of the public interface: kernels can be registered for it."""
    _KERNELS[f] = {}
    return f


def _names(kernel: Kernel) -> tuple[str, ...]:
    return kernel.__code__.co_varnames[1 : kernel.__code__.co_argcount]


def _selecting(wanted: Kernel, kernel: Kernel) -> Kernel:
    """The kernel, called without the arguments that it does not have."""
    names = _names(kernel)
    if set(_names(wanted)) <= set(names):
        return kernel
    return lambda inpt, **kwargs: kernel(inpt, **{k: v for k, v in kwargs.items() if k in names})


def _wrapping(cls: type[TVTensor], wanted: Kernel, kernel: Kernel) -> Kernel:
    """The kernel for plain tensors as one for tensors of a class."""
    names = _names(kernel)
    takes_all = set(_names(wanted)) <= set(names)
    metadata = [name for name in cls._metadata if name in names]

    def wrapped(inpt: Any, **kwargs: Any) -> Any:
        if not takes_all:
            kwargs = {name: value for name, value in kwargs.items() if name in names}
        for name in metadata:
            kwargs[name] = getattr(inpt, name)
        output = kernel(inpt.as_subclass(Tensor), **kwargs)
        if isinstance(output, Tensor):
            return tv_tensors.wrap(output, like=inpt)
        if isinstance(output, tuple) and cls._metadata:
            return tv_tensors.wrap(output[0], like=inpt, canvas_size=output[1])
        if isinstance(output, tuple):
            return tuple(tv_tensors.wrap(part, like=inpt) for part in output)
        return output

    return wrapped


def kernel(wanted: Kernel, *types: Any) -> Callable[[_F], _F]:
    """Make the decorated function the kernel of a functional for inputs of some types."""

    def register(f: _F) -> _F:
        for cls in types:
            is_tv = cls is not PIL and issubclass(cls, TVTensor)
            adapted = _wrapping(cls, wanted, f) if is_tv else _selecting(wanted, f)
            _KERNELS[wanted][cls] = adapted
        return f

    return register


def raw_kernel(wanted: Kernel, *types: Any) -> Callable[[_F], _F]:
    """Register a kernel which takes the input, and returns the output, as they are."""

    def register(f: _F) -> _F:
        for cls in types:
            _KERNELS[wanted][cls] = f
        return f

    return register


def video_kernel(wanted: Kernel, image_kernel: _F) -> _F:
    """The kernel for videos: that of images, since a video is a batch of them."""

    def of_video(video: Tensor, *args: Any, **kwargs: Any) -> Any:
        return image_kernel(video, *args, **kwargs)

    of_video.__name__ = of_video.__qualname__ = (
        image_kernel.__name__.removesuffix("image") + "video"
    )
    of_video.__module__ = image_kernel.__module__
    of_video.__doc__ = f"{wanted.__name__} of the frames of a video ``(..., T, C, H, W)``."
    first, *others = signature(image_kernel).parameters.values()
    video = Parameter("video", Parameter.POSITIONAL_OR_KEYWORD, annotation=first.annotation)
    of_video.__signature__ = signature(image_kernel).replace(  # type: ignore[attr-defined]
        parameters=[video, *others]
    )
    kernel(wanted, Video)(image_kernel)
    return of_video  # type: ignore[return-value]


def find_kernel(wanted: Kernel, cls: type) -> Kernel | None:
    """The kernel of a functional for a type or the nearest of its bases, or None."""
    kernels = _KERNELS[wanted]
    for base in cls.__mro__:
        if base is Tensor and issubclass(cls, TVTensor):
            return None  # A plain tensor is an image, which a mask is not.
        if base.__name__ == "Image" and base.__module__ == "PIL.Image":
            return kernels.get(PIL)
        if base in kernels:
            return kernels[base]
    return None


def dispatch(wanted: Kernel, inpt: Any, **kwargs: Any) -> Any:
    """Call the kernel for the type of ``inpt``."""
    found = _KERNELS[wanted].get(type(inpt)) or find_kernel(wanted, type(inpt))
    if found is None:
        names = [cls if cls == PIL else cls.__name__ for cls in _KERNELS[wanted]]
        raise TypeError(
            f"{wanted.__name__}: expected an input of type {', '.join(names)}, "
            f"got {type(inpt).__name__}."
        )
    return found(inpt, **kwargs)


def register_kernel(functional: Kernel, tv_tensor_cls: type[TVTensor]) -> Callable[[_F], _F]:
    """Decorate a function to be the kernel of a functional for a TVTensor class of your own.

    The functional calls it with the tensor itself, and returns what it returns.

    Args:
        functional: a function of this module.
        tv_tensor_cls: a subclass of :class:`~facula.vision.tv_tensors.TVTensor`.

    Example:
        >>> from facula.vision import tv_tensors
        >>> from facula.vision.transforms.v2 import functional as F
        >>> class Label(tv_tensors.TVTensor):
        ...     pass
        >>> @F.register_kernel(F.hflip, Label)
        ... def hflip_label(inpt):
        ...     return inpt
        >>> F.hflip(Label([3]))
        Label([3])
    """
    if functional not in _KERNELS:
        raise ValueError(
            f"register_kernel: expected a functional of facula.vision.transforms.v2.functional, "
            f"got {functional!r}."
        )
    if not (isinstance(tv_tensor_cls, type) and issubclass(tv_tensor_cls, TVTensor)):
        raise ValueError(f"register_kernel: expected a subclass of TVTensor, got {tv_tensor_cls}.")
    if tv_tensor_cls in (Image, Video, Mask, BoundingBoxes, KeyPoints):
        raise ValueError(
            f"register_kernel: {tv_tensor_cls.__name__} has its kernels; register one for a class "
            "of your own."
        )
    if tv_tensor_cls in _KERNELS[functional]:
        raise ValueError(
            f"register_kernel: {functional.__name__} has a kernel for {tv_tensor_cls.__name__} "
            "already."
        )
    return raw_kernel(functional, tv_tensor_cls)
