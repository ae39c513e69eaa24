"""Batches out of samples: tensors are stacked, numbers become tensors, containers stay."""

from __future__ import annotations

import copy
import re
import sys
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import facula
from facula import Tensor
from facula.utils._pytree import is_namedtuple
from facula.utils.data._utils import shared_memory

__all__ = ["collate", "default_collate", "default_collate_fn_map", "default_convert"]

np_str_obj_array_pattern = re.compile(r"[SaUO]")  # PyTorch's name, which packages import


def default_convert(data: Any) -> Any:
    """What NumPy made, as tensors: arrays and scalars, alone or in containers.

    It is what a loader without batches does to each sample. Everything else stays as it is.

    Args:
        data: a sample.

    Example:
        >>> import numpy as np
        >>> from facula.utils.data import default_convert
        >>> default_convert({"x": np.array([1, 2]), "name": "a"})
        {'x': tensor([1, 2]), 'name': 'a'}
    """
    if isinstance(data, Tensor):
        return data
    if type(data).__module__ == "numpy" and not isinstance(data, (str, bytes)):
        if isinstance(data, _numpy().ndarray) and np_str_obj_array_pattern.search(data.dtype.str):
            return data
        return facula.as_tensor(data)
    if isinstance(data, Mapping):
        return _rebuilt_mapping(data, {key: default_convert(data[key]) for key in data})
    if is_namedtuple(data):
        return type(data)(*(default_convert(part) for part in data))
    if isinstance(data, tuple):
        return [default_convert(part) for part in data]
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _rebuilt_sequence(data, [default_convert(part) for part in data])
    return data


def _numpy() -> Any:
    return sys.modules["numpy"]


# A type of the user is kept where it can be: first as a changed copy, which keeps its attributes,
# then through its constructor, else the plain type is what one gets.
def _rebuilt_mapping(like: Any, items: dict[Any, Any]) -> Any:
    if type(like) is dict:
        return items
    try:
        if isinstance(like, MutableMapping):
            clone = copy.copy(like)
            clone.update(items)
            return clone
        return type(like)(items)
    except TypeError:
        return items


def _rebuilt_sequence(like: Any, parts: list[Any]) -> Any:
    if type(like) is list:
        return parts
    try:
        if isinstance(like, MutableSequence):
            clone: Any = copy.copy(like)
            for i, part in enumerate(parts):
                clone[i] = part
            return clone
        return type(like)(parts)
    except TypeError:
        return parts


def collate(
    batch: Any,
    *,
    collate_fn_map: dict[type | tuple[type, ...], Callable[..., Any]] | None = None,
) -> Any:
    """A batch by the functions of a map from types; containers are collated part by part.

    Args:
        batch: the list of samples.
        collate_fn_map: for a type, or a tuple of types, the function
            ``(samples, *, collate_fn_map)`` that makes the batch of such samples.

    Example:
        >>> from facula.utils.data._utils.collate import collate
        >>> collate([[1, 2], [3, 4]], collate_fn_map={int: lambda ints, **_: sum(ints)})
        [4, 6]
    """
    first = batch[0]
    kind = type(first)
    functions = collate_fn_map or {}
    function = functions.get(kind)
    if function is None:
        function = next((f for t, f in functions.items() if isinstance(first, t)), None)
    if function is not None:
        return function(batch, collate_fn_map=collate_fn_map)
    if isinstance(first, Mapping):
        return _collate_mappings(batch, collate_fn_map)
    if isinstance(first, Sequence):
        return _collate_sequences(batch, collate_fn_map)
    is_image = kind.__module__.startswith("PIL.")
    advice = (
        "Give the dataset transform=ToTensor(), or make batches of images by a collate_fn."
        if is_image
        else "A collate_fn can make batches of other types."
    )
    raise TypeError(
        "default_collate: expected tensors, NumPy arrays, numbers, strings, dicts or lists, got "
        f"{kind}. {advice} (batch must contain tensors, numpy arrays, numbers, dicts or lists)"
    )


def _part(where: Any, parts: Any, collate_fn_map: Any) -> Any:
    try:
        return collate(parts, collate_fn_map=collate_fn_map)
    except RuntimeError as error:
        complete(error, part=f"[{where!r}]")
        raise


def _collate_mappings(batch: Sequence[Any], collate_fn_map: Any) -> Any:
    first = batch[0]
    items = {}
    for key in first:
        try:
            parts = [sample[key] for sample in batch]
        except KeyError:
            lacking = next(i for i, sample in enumerate(batch) if key not in sample)
            raise KeyError(
                f"default_collate: sample 0 has the key {key}, but sample {lacking} of the batch "
                f"has only {', '.join(map(str, batch[lacking])) or 'none'}."
            ) from None
        items[key] = _part(key, parts, collate_fn_map)
    return _rebuilt_mapping(first, items)


def _collate_sequences(batch: Sequence[Any], collate_fn_map: Any) -> Any:
    first = batch[0]
    n_parts = len(first)
    for i, sample in enumerate(batch):
        if len(sample) != n_parts:
            rule = "each element in list of batch should be of equal size"
            raise _mismatch("samples of one length", str(n_parts), i, str(len(sample)), rule)
    columns = zip(*batch, strict=True)
    parts = [_part(i, part, collate_fn_map) for i, part in enumerate(columns)]
    if is_namedtuple(first):
        return type(first)(*parts)
    return parts if isinstance(first, tuple) else _rebuilt_sequence(first, parts)


class Mismatch:
    """Why samples do not fit together: an attribute of the RuntimeError that says so."""

    def __init__(self, expected: str, first: str, position: int, other: str, rule: str) -> None:
        self.values = expected, first, position, other
        self.rule = rule  # in PyTorch's words, which people search for
        self.path = ""  # to the part of the sample, as one would write it in Python
        self.indices: Sequence[Any] | None = None  # those of the batch, if a loader knows them

    def __str__(self) -> str:
        expected, first, position, other = self.values
        samples = ["sample 0", f"sample {position}"]
        if self.indices is not None:
            samples = [f"sample {i} (index {self.indices[i]})" for i in (0, position)]
        at = f" in sample{self.path}" if self.path else ""
        return (
            f"default_collate: expected {expected}{at}, got {first} in {samples[0]} and {other} "
            f"in {samples[1]} of the batch: {self.rule}."
        )


def _mismatch(expected: str, first: str, position: int, other: str, rule: str) -> RuntimeError:
    error = RuntimeError()
    complete(error, mismatch=Mismatch(expected, first, position, other, rule))
    return error


def complete(
    error: Any,
    mismatch: Mismatch | None = None,
    part: str = "",
    indices: Sequence[Any] | None = None,
) -> None:
    """Add to the text of a mismatch where it is; other errors stay as they are."""
    found: Mismatch | None = getattr(error, "mismatch", mismatch)
    if found is None:
        return
    error.mismatch = found
    found.path = part + found.path
    found.indices = indices or found.indices
    error.args = (str(found),)


def collate_tensor_fn(batch: Sequence[Tensor], *, collate_fn_map: Any = None) -> Tensor:
    first = batch[0]
    # A worker process stacks straight into the memory that it shares with the caller.
    out = shared_memory.empty_for_stack(batch)
    try:
        return facula.stack(batch, 0) if out is None else facula.stack(batch, 0, out=out)
    except RuntimeError:
        for i, sample in enumerate(batch):
            if sample.shape != first.shape:
                shapes = str(tuple(first.shape)), i, str(tuple(sample.shape))
                rule = "stack expects each tensor to be equal size"
                raise _mismatch("samples of one shape", *shapes, rule) from None
        raise


def collate_numpy_array_fn(batch: Sequence[Any], *, collate_fn_map: Any = None) -> Any:
    if np_str_obj_array_pattern.search(batch[0].dtype.str):
        raise TypeError(
            "default_collate: expected arrays of numbers, got an array of dtype "
            f"{batch[0].dtype}. A collate_fn can make batches of other types."
        )
    return collate([facula.as_tensor(array) for array in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch: Sequence[Any], *, collate_fn_map: Any = None) -> Tensor:
    return facula.as_tensor(_numpy().asarray(batch))


def collate_float_fn(batch: Sequence[float], *, collate_fn_map: Any = None) -> Tensor:
    # Python's floats are doubles, and PyTorch keeps them so whatever the default dtype is.
    return facula.tensor(batch, dtype=facula.float64)


def collate_int_fn(batch: Sequence[int], *, collate_fn_map: Any = None) -> Tensor:
    return facula.tensor(batch)


def collate_str_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    return batch


default_collate_fn_map: dict[Any, Callable[..., Any]] = {
    Tensor: collate_tensor_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def _add_numpy() -> None:
    # Not at import: a program whose samples are tensors does not pay for NumPy's import.
    np = _numpy()
    if np.ndarray not in default_collate_fn_map:
        default_collate_fn_map[np.ndarray] = collate_numpy_array_fn
        default_collate_fn_map[np.bool_, np.number, np.object_] = collate_numpy_scalar_fn


def default_collate(batch: Any) -> Any:
    """The batch of a list of samples, each part with a dimension more, in front.

    Tensors and arrays are stacked, numbers become tensors, strings stay a list; dicts, tuples and
    lists, in each other too, are collated part by part.

    Args:
        batch: the samples, in a list.

    Example:
        >>> from facula.utils.data import default_collate
        >>> default_collate([("a", {"x": 1}), ("b", {"x": 2})])
        [('a', 'b'), {'x': tensor([1, 2])}]
    """
    if type(batch[0]) not in default_collate_fn_map and "numpy" in sys.modules:
        _add_numpy()
    return collate(batch, collate_fn_map=default_collate_fn_map)
