"""Inputs for an operation: those of PyTorch's database, laid out in memory in every way."""

from __future__ import annotations

import itertools
import os
import random
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from .frameworks import COMPARED, COMPLEX, FLOATING, UNSIGNED, seed
from .ops import Op

# All that the database has takes half an hour and more; without this a fixed part of it is run.
WHOLE = bool(os.environ.get("FACULA_PARITY_WHOLE"))
MAX_SAMPLES = 10
MAX_GENERATED = 60
N_LAID_OUT = 3  # samples that are tried in every layout, not only as they come
MAX_REFERENCES = 5
MAX_REFERENCE_ELEMENTS = 200_000 if WHOLE else 20_000


@dataclass(frozen=True)
class Sample:
    """The arguments of one call, as PyTorch has them."""

    label: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def map(self, label: str, change: Callable[[torch.Tensor], torch.Tensor]) -> Sample:
        """The same call with ``change`` applied to every tensor."""
        return Sample(f"{self.label} {label}", _map(self.args, change), _map(self.kwargs, change))

    def tensors(self) -> list[torch.Tensor]:
        found: list[torch.Tensor] = []
        self.map("", lambda t: found.append(t) or t)
        return found

    def without_grad(self) -> Sample:
        """A copy in which no tensor requires a gradient."""

        def copy(t: torch.Tensor) -> torch.Tensor:
            return t.clone()

        label = f"{self.label} no grad"
        return Sample(label, _map(self.args, copy, False), _map(self.kwargs, copy, False))

    def describe(self) -> str:
        return f"{self.label}: {_describe(self.args)} {_describe(self.kwargs)}"


def _map(value: Any, change: Callable[[torch.Tensor], torch.Tensor], keep_grad: bool = True) -> Any:
    if isinstance(value, torch.Tensor):
        changed = change(value.detach())
        differentiable = changed.is_floating_point() or changed.is_complex()
        return changed.requires_grad_(keep_grad and value.requires_grad and differentiable)
    if isinstance(value, torch.Size):
        return value
    if isinstance(value, (list, tuple)):
        items = [_map(v, change, keep_grad) for v in value]
        return items if isinstance(value, list) else tuple(items)
    if isinstance(value, dict):
        return {key: _map(v, change, keep_grad) for key, v in value.items()}
    return value


def _describe(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        grad = " grad" if value.requires_grad else ""
        return f"<{str(value.dtype)[6:]} {tuple(value.shape)} {value.stride()}{grad}>"
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        return "(" + ", ".join(_describe(v) for v in value) + ")"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k}={_describe(v)}" for k, v in value.items()) + "}"
    return repr(value)


def _seed() -> None:
    seed(torch)
    random.seed(0)
    np.random.seed(0)


def supports(op: Op, dtype: str) -> bool:
    return COMPARED[dtype] in op.info.supported_dtypes("cpu")


def _wants_grad(op: Op, dtype: str) -> bool:
    return (
        op.info.supports_autograd
        and dtype in FLOATING + COMPLEX
        and COMPARED[dtype] in op.info.supported_backward_dtypes("cpu")
    )


def _generate(op: Op, dtype: str) -> list[Sample]:
    _seed()
    generated = op.info.sample_inputs(
        "cpu", COMPARED[dtype], requires_grad=_wants_grad(op, dtype), set_seed=False
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        taken = list(itertools.islice(generated, None if WHOLE else MAX_GENERATED))
    return [Sample(f"sample {i}", (s.input, *s.args), s.kwargs) for i, s in enumerate(taken)]


def references(op: Op, dtype: str) -> list[Sample]:
    """Those of the database's reference inputs that it does not list among its samples.

    They have extreme values, large and odd shapes, and numbers in place of tensors.
    """
    if op.info.reference_inputs_func is None or not supports(op, dtype):
        return []
    n_samples = len(_generate(op, dtype))
    made = _make_references(op, dtype, _wants_grad(op, dtype))
    found = [
        Sample(f"reference {i}", (s.input, *s.args), s.kwargs)
        for i, s in enumerate(made[n_samples if len(made) > n_samples else 0 :])
    ]
    small = [s for s in found if sum(t.numel() for t in s.tensors()) <= MAX_REFERENCE_ELEMENTS]
    return small if WHOLE else _spread(small, MAX_REFERENCES)


def _make_references(op: Op, dtype: str, requires_grad: bool) -> list[Any]:
    _seed()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return list(
                op.info.reference_inputs(
                    "cpu", COMPARED[dtype], requires_grad=requires_grad, set_seed=False
                )
            )
        except ValueError:  # some of the database's lists ask for gradients of integers
            if not requires_grad:
                raise
            return _make_references(op, dtype, False)


def _spread(items: list[Sample], count: int) -> list[Sample]:
    """``count`` of the items, evenly taken, the first included."""
    if len(items) <= count:
        return items
    return [items[i * len(items) // count] for i in range(count)]


def _cast(dtype: torch.dtype, like: torch.dtype) -> Callable[[torch.Tensor], torch.Tensor]:
    """Tensors of dtype ``like`` become ``dtype``; others (indices, masks) stay."""

    def change(t: torch.Tensor) -> torch.Tensor:
        if t.dtype != like:
            return t
        real = t.real if t.is_complex() and not dtype.is_complex else t
        return real.to(dtype)

    return change


def samples(op: Op, dtype: str, are_few: bool = not WHOLE) -> list[Sample]:
    """Calls with tensors of ``dtype``, a few of them or all. Where the database says that PyTorch
    does not support the dtype, calls made for another one are cast: PyTorch's refusal must be met
    by a refusal."""
    if supports(op, dtype):
        made = _generate(op, dtype)
        few = _spread(made[:MAX_GENERATED], MAX_SAMPLES)
        return few if are_few else few + [s for s in made if not any(s is f for f in few)]
    sources = ("float32", "int64", "bool", "complex64", "float64")
    if dtype in UNSIGNED:
        sources = ("int64", *sources)
    for other in sources:
        if supports(op, other):
            made = _spread(_generate(op, other)[:MAX_GENERATED], 3)
            change = _cast(COMPARED[dtype], COMPARED[other])
            return [s.map("cast", change) for s in made]
    return []


def laid_out(sample: Sample, elementwise: bool) -> Iterator[Sample]:
    """The sample in other memory layouts, then emptied, and with 0-d tensors."""
    tensors = sample.tensors()
    if not tensors:
        return
    if any(t.dim() > 1 for t in tensors):
        yield sample.map("transposed", transposed)
    if any(t.dim() > 0 for t in tensors):
        yield sample.map("strided", strided)
        yield sample.map("expanded", expanded)
        yield sample.map("empty first dim", lambda t: t[:0].clone() if t.dim() else t)
        yield sample.map("empty last dim", lambda t: t[..., :0].clone() if t.dim() else t)
        yield sample.map("0-d", lambda t: t.flatten()[0].clone() if t.numel() else t)
    if any(t.dim() == 4 for t in tensors):
        yield sample.map("channels last", channels_last)
    elif elementwise and all(t.numel() for t in tensors):
        yield sample.map("channels last", lambda t: channels_last(_tiled(t, (2, 3, 4, 5))))


def transposed(t: torch.Tensor) -> torch.Tensor:
    dims = tuple(reversed(range(t.dim())))
    return t.permute(dims).clone(memory_format=torch.contiguous_format).permute(dims)


def strided(t: torch.Tensor) -> torch.Tensor:
    """Every other element of the last dim of a larger tensor, beginning at the second."""
    if t.dim() == 0:
        return t
    wide = torch.zeros((*t.shape[:-1], 2 * t.shape[-1] + 1), dtype=t.dtype)
    wide[..., 1::2] = t
    return wide[..., 1::2]


def expanded(t: torch.Tensor) -> torch.Tensor:
    """The first dim of more than one element repeats its first."""
    for dim, size in enumerate(t.shape):
        if size > 1:
            return t.narrow(dim, 0, 1).clone().expand(t.shape)
    return t


def channels_last(t: torch.Tensor) -> torch.Tensor:
    return t.contiguous(memory_format=torch.channels_last) if t.dim() == 4 else t


def _tiled(t: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
    if t.dim() == 0:
        return t
    n = int(np.prod(shape))
    return t.flatten().repeat(n // t.numel() + 1)[:n].reshape(shape)
