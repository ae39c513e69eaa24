"""Differences that can be proved to be harmless: they get a category of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from .compare import tensor_differences
from .frameworks import is_tensor, to_numpy
from .outcome import Outcome
from .samples import Sample

HALF = (torch.float16, torch.bfloat16)
# Operations that give indices along a dim: the place of dim among the arguments.
DIM_ARGUMENT = {"sort": 1, "argsort": 1, "topk": 2, "kthvalue": 2}
DIM_ARGUMENT |= {"median": 1, "nanmedian": 1, "mode": 1}


def is_rounded(sample: Sample) -> bool:
    """Whether there are 16-bit floats to round."""
    return any(t.dtype in HALF and t.numel() for t in sample.tensors())


def in_float32(function: Callable[..., Any], dtypes: list[torch.dtype]) -> Callable[..., Any]:
    """PyTorch's ``function`` of 16-bit floats computed in float32, its results rounded once."""

    def call(*args: Any, **kwargs: Any) -> Any:
        widened = _map((args, kwargs), lambda t: t.float() if t.dtype in HALF else t)
        remaining = iter(dtypes)
        return _map(function(*widened[0], **widened[1]), lambda t: t.to(next(remaining)))

    return call


def _map(value: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    if is_tensor(value):
        return change(value)
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        items = [_map(v, change) for v in value]
        return items if isinstance(value, list) else tuple(items)
    if isinstance(value, dict):
        return {key: _map(v, change) for key, v in value.items()}
    return value


def are_ties(path: str, sample: Sample, expected: Outcome, actual: Outcome) -> bool:
    """Whether the results differ in their indices alone, and these lead to equal elements."""
    n_results = 1 if path == "argsort" else 2
    if path not in DIM_ARGUMENT or len(expected.tensors) != n_results:
        return False
    *values, indices = expected.tensors
    *our_values, our_indices = actual.tensors
    if any(tensor_differences(e, a, "exact", "") for e, a in zip(values, our_values, strict=True)):
        return False
    place = DIM_ARGUMENT[path]
    dim = sample.args[place] if len(sample.args) > place else sample.kwargs.get("dim", -1)
    chosen = [_at(to_numpy(sample.args[0]), to_numpy(i), dim) for i in (indices, our_indices)]
    return bool(((chosen[0] == chosen[1]) | (np.isnan(chosen[0]) & np.isnan(chosen[1]))).all())


def _at(x: np.ndarray, indices: np.ndarray, dim: int) -> np.ndarray:
    if x.ndim == 0:
        return x
    indices = indices.astype(np.int64)
    if indices.ndim < x.ndim:
        indices = np.expand_dims(indices, dim)
    return np.take_along_axis(x, indices, dim)
