"""Rules of shapes, dtypes and devices."""

from __future__ import annotations

from typing import Any

import facula
from facula import _core
from facula._core import Tensor
from facula._library._parts import RULES, Rule, aten, rule_of

# ---- shapes


@rule_of("T.__get__")
def _transposed(dispatch: Any, self: Tensor, *owner: Any) -> Tensor:
    return self.permute(*range(self.dim() - 1, -1, -1))


@rule_of("mT.__get__", "mH.__get__")
def _matrix_transposed(dispatch: Any, self: Tensor, *owner: Any) -> Any:
    return NotImplemented if self.is_complex() or self.dim() < 2 else self.transpose(-2, -1)


@rule_of("H.__get__")
def _adjoint(dispatch: Any, self: Tensor, *owner: Any) -> Any:
    return NotImplemented if self.is_complex() or self.dim() != 2 else self.transpose(-2, -1)


@rule_of("data.__get__")
def _data(dispatch: Any, self: Tensor, *owner: Any) -> Tensor:
    return self.detach()


def _unseen(function: Any, *args: Any, **kwargs: Any) -> Any:
    """The result of an operation of the core that nobody is asked for."""
    return _core._resume(function, args, kwargs)


def _shaped(method: Any) -> Rule:
    """The rule of an operation whose result has the elements in another shape."""

    def rule(dispatch: Any, input: Tensor, *args: Any, **kwargs: Any) -> Any:
        form = _unseen(facula.empty_strided, input.shape, input.stride(), device="meta")
        size = _unseen(method, form, *args, **kwargs).shape
        if method is Tensor.flatten and size == input.shape:
            return input
        try:
            _unseen(Tensor.view, form, size)
        except RuntimeError:
            copy = input.clone(memory_format=facula.contiguous_format)
            return dispatch(aten("_unsafe_view"), copy, list(size))
        return input.view(size)

    return rule


RULES["reshape"], RULES["flatten"] = _shaped(Tensor.reshape), _shaped(Tensor.flatten)


@rule_of("positive", "conj", "conj_physical", "resolve_conj", "resolve_neg", "real.__get__", "real")
def _unchanged(dispatch: Any, input: Tensor, *owner: Any) -> Any:
    is_marked = input.is_complex() or input.is_neg() or input.dtype == facula.bool
    return NotImplemented if is_marked else input


@rule_of("broadcast_to")
def _broadcast_to(dispatch: Any, input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    return input.expand(*args, **kwargs)


@rule_of("tile")
def _tile(dispatch: Any, input: Tensor, *dims: Any) -> Tensor:
    counts = dims[0] if len(dims) == 1 and not isinstance(dims[0], int) else dims
    return input.repeat((1,) * (input.dim() - len(counts)) + tuple(counts))


@rule_of("movedim", "moveaxis")
def _movedim(dispatch: Any, input: Tensor, source: Any, destination: Any) -> Any:
    form = _unseen(facula.empty, tuple(range(input.dim())), device="meta")
    order = _unseen(Tensor.movedim, form, source, destination).shape
    return input.permute(tuple(order)) if input.dim() else NotImplemented


@rule_of("outer", "ger")
def _outer(dispatch: Any, input: Tensor, vec2: Tensor) -> Any:
    if input.dim() != 1 or vec2.dim() != 1:
        return NotImplemented
    return input.view(-1, 1) * vec2


@rule_of("argwhere")
def _argwhere(dispatch: Any, input: Tensor) -> Any:
    return input.nonzero()


@rule_of("msort")
def _msort(dispatch: Any, input: Tensor) -> Any:
    return input.sort(0).values


@rule_of("ravel")
def _ravel(dispatch: Any, input: Tensor) -> Tensor:
    return input.reshape(-1)


@rule_of("narrow")
def _narrow(dispatch: Any, input: Tensor, dim: int, start: Any, length: int) -> Any:
    if isinstance(start, Tensor):
        return NotImplemented
    size = input.size(dim)
    if not (-size <= start <= size and length >= 0 and start + length <= size):
        return NotImplemented  # which says so
    first = start + size if start < 0 else start
    return dispatch(aten("slice", "Tensor"), input, dim, first, first + length)


@rule_of("view_as")
def _view_as(dispatch: Any, self: Tensor, other: Tensor) -> Tensor:
    return self.view(other.shape)


@rule_of("reshape_as")
def _reshape_as(dispatch: Any, self: Tensor, other: Tensor) -> Tensor:
    return self.reshape(other.shape)


@rule_of("expand_as")
def _expand_as(dispatch: Any, self: Tensor, other: Tensor) -> Tensor:
    return self.expand(other.shape)


@rule_of("contiguous")
def _contiguous(
    dispatch: Any, self: Tensor, memory_format: Any = facula.contiguous_format
) -> Tensor:
    if self.is_contiguous(memory_format=memory_format):
        return self
    return self.clone(memory_format=memory_format)


@rule_of("chunk")
def _chunk(dispatch: Any, input: Tensor, chunks: int, dim: int = 0) -> Any:
    if chunks < 1 or input.size(dim) == 0:
        return NotImplemented
    return input.split(-(-input.size(dim) // chunks), dim)


@rule_of("split")
def _split(
    dispatch: Any,
    tensor: Tensor,
    split_size_or_sections: Any = None,
    dim: int = 0,
    *,
    split_size: Any = None,  # what the method calls it
) -> Any:
    sizes = split_size if split_size_or_sections is None else split_size_or_sections
    if not isinstance(sizes, (tuple, list)):
        return NotImplemented
    return dispatch(aten("split_with_sizes"), tensor, list(sizes), dim)


# ---- dtypes and devices


_DTYPES = {
    name: getattr(facula, name)
    for name in ("bfloat16", "bool", "double", "float", "half", "int", "long", "short")
}
_DTYPES |= {"byte": facula.uint8, "char": facula.int8}


def _cast(dtype: Any) -> Rule:
    return lambda dispatch, self, memory_format=None: _moved(
        dispatch, self, None, dtype, memory_format
    )


RULES.update({name: _cast(dtype) for name, dtype in _DTYPES.items()})


@rule_of("cpu")
def _cpu(dispatch: Any, self: Tensor, memory_format: Any = None) -> Tensor:
    return _moved(dispatch, self, facula.device("cpu"), None, memory_format)


@rule_of("type_as")
def _type_as(dispatch: Any, self: Tensor, other: Tensor) -> Tensor:
    return _moved(dispatch, self, other.device, other.dtype)


@rule_of("to")
def _to(
    dispatch: Any,
    self: Tensor,
    *args: Any,
    device: Any = None,
    dtype: Any = None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: Any = None,
) -> Tensor:
    rest = []
    for value in args:
        if isinstance(value, Tensor):
            device, dtype = value.device, value.dtype
        elif isinstance(value, facula.dtype):
            dtype = value
        elif isinstance(value, bool):
            rest.append(value)
        elif value is not None:
            device = facula.device(value)
    non_blocking, copy = (*rest, *(non_blocking, copy)[len(rest) :])
    device = None if device is None else facula.device(device)
    return _moved(dispatch, self, device, dtype, memory_format, copy, non_blocking)


def _moved(
    dispatch: Any,
    self: Tensor,
    device: Any = None,
    dtype: Any = None,
    memory_format: Any = None,
    copy: bool = False,
    non_blocking: bool = False,
) -> Tensor:
    is_there = device is None or (
        device.type == self.device.type and device.index in (None, self.device.index)
    )
    is_same = dtype is None or dtype == self.dtype
    if is_there and is_same and not copy and memory_format in (None, facula.preserve_format):
        return self
    options: dict[str, Any] = {}
    if not is_same:
        options["dtype"] = dtype
    if not is_there:
        options["device"] = device
    if non_blocking:
        options["non_blocking"] = True
    if memory_format is not None:
        options["memory_format"] = memory_format
    return dispatch(aten("_to_copy"), self, **options)  # type: ignore[no-any-return]
