"""Random sequences of view operations: sizes, strides, offset, sharing, gradient, refusals."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from .frameworks import DTYPES, outcome_of
from .outcome import agree
from .strategies import numbered, shapes, steady, tensors

Draw = Callable[[Any], Any]


def _dim(draw: Draw, x: torch.Tensor) -> int:
    """A dim of ``x``, rarely one that it has not."""
    wrong = draw(st.integers(0, 20)) == 0
    return draw(st.integers(-x.dim() - wrong, max(x.dim() - 1, 0) + wrong))


def _size(x: torch.Tensor, dim: int) -> int:
    return x.shape[dim] if -x.dim() <= dim < x.dim() else 1


def _narrow(draw: Draw, x: torch.Tensor) -> tuple[Any, ...]:
    dim = _dim(draw, x)
    start = draw(st.integers(-1, _size(x, dim)))
    return dim, start, draw(st.integers(0, max(_size(x, dim) - max(start, 0), 0)))


def _select(draw: Draw, x: torch.Tensor) -> tuple[Any, ...]:
    dim = _dim(draw, x)
    return dim, draw(st.integers(-_size(x, dim), max(_size(x, dim) - 1, 0)))


def _unfold(draw: Draw, x: torch.Tensor) -> tuple[Any, ...]:
    dim = _dim(draw, x)
    return dim, draw(st.integers(0, _size(x, dim) + 1)), draw(st.integers(0, 3))


def _expand(draw: Draw, x: torch.Tensor) -> tuple[Any, ...]:
    sizes = [draw(st.sampled_from([n, -1, 3 if n == 1 else n])) for n in x.shape]
    return ([*draw(shapes(1, 3)), *sizes],)


def _new_shape(draw: Draw, x: torch.Tensor) -> tuple[Any, ...]:
    """A shape with as many elements: neighbours joined, a dim cut in two, or -1."""
    sizes = list(x.shape)
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, max(len(sizes) - 1, 0)))
        if len(sizes) > 1 and at + 1 < len(sizes) and draw(st.booleans()):
            sizes[at : at + 2] = [sizes[at] * sizes[at + 1]]
        elif sizes:
            factor = draw(st.sampled_from([n for n in range(1, 5) if sizes[at] % n == 0]))
            sizes[at : at + 1] = [factor, sizes[at] // factor]
    if sizes and draw(st.integers(0, 3)) == 0:
        sizes[draw(st.integers(0, len(sizes) - 1))] = -1
    if draw(st.integers(0, 15)) == 0:
        sizes.append(2)
    return (sizes,)


def _as_strided(draw: Draw, x: torch.Tensor) -> tuple[Any, ...]:
    shape = draw(shapes(3, 3))
    strides = tuple(draw(st.integers(0, 3)) for _ in shape)
    return shape, strides, draw(st.integers(0, 2))


def _permutation(draw: Draw, x: torch.Tensor) -> tuple[Any, ...]:
    return (draw(st.permutations(range(x.dim()))),)


def _two_dims(draw: Draw, x: torch.Tensor) -> tuple[Any, ...]:
    return _dim(draw, x), _dim(draw, x)


def _one_dim(draw: Draw, x: torch.Tensor) -> tuple[Any, ...]:
    return (_dim(draw, x),)


def _diagonal(draw: Draw, x: torch.Tensor) -> tuple[Any, ...]:
    return (draw(st.integers(-2, 2)), *_two_dims(draw, x))


def _pieces(draw: Draw, x: torch.Tensor) -> tuple[Any, ...]:
    return draw(st.integers(0, 3)), _dim(draw, x)


def _nothing(draw: Draw, x: torch.Tensor) -> tuple[Any, ...]:
    return ()


VIEWS: dict[str, Callable[[Draw, torch.Tensor], tuple[Any, ...]]] = {
    "transpose": _two_dims,
    "permute": _permutation,
    "movedim": _two_dims,
    "t": _nothing,
    "narrow": _narrow,
    "select": _select,
    "diagonal": _diagonal,
    "unfold": _unfold,
    "expand": _expand,
    "squeeze": lambda draw, x: _one_dim(draw, x) if draw(st.booleans()) else (),
    "unsqueeze": _one_dim,
    "view": _new_shape,
    "reshape": _new_shape,
    "flatten": _two_dims,
    "as_strided": _as_strided,
    "chunk": _pieces,
    "split": _pieces,
    "tensor_split": _pieces,
    "unbind": _one_dim,
    "detach": _nothing,
    "contiguous": _nothing,
    "adjoint": _nothing,
    "ravel": _nothing,
}
Step = tuple[str, tuple[Any, ...], int]


@st.composite
def _program(draw: st.DrawFn) -> tuple[torch.Tensor, list[Step]]:
    """A tensor and views of it one after another; the first that PyTorch refuses is the last."""
    x = draw(tensors(shapes(4, 6), dtypes=("float32", "int64", "complex64"), grad=True))
    current, steps = x, []
    for _ in range(draw(st.integers(1, 6))):
        # A conjugate is no view in Facula: known_differences.py says why.
        name = draw(st.sampled_from(sorted(VIEWS.keys() - {"adjoint" if x.is_complex() else ""})))
        step = (name, VIEWS[name](draw, current), draw(st.integers(0, 1)))
        steps.append(step)
        current, error = outcome_of(functools.partial(_apply, current, step))
        if error is not None:
            break
    return x, steps


def _apply(x: Any, step: Step) -> Any:
    name, args, which = step
    made = getattr(x, name)(*args)
    return made[min(which, len(made) - 1)] if isinstance(made, (list, tuple)) else made


@steady(500)
@given(_program())
def test_views_of_views(case: tuple[torch.Tensor, list[Step]]) -> None:
    x, steps = case

    def program(lib: Any, x: Any) -> Any:
        made = [x]
        for step in steps:
            made.append(_apply(made[-1], step))
        return made, [(v.storage_offset(), v.is_contiguous(), v._is_view()) for v in made]

    agree(program, x, kind="exact", grad=1)


@steady(200)
@given(_program())
def test_a_write_through_the_last_view_is_seen_by_all(
    case: tuple[torch.Tensor, list[Step]],
) -> None:
    x, steps = case

    def program(lib: Any, x: Any) -> Any:
        x = x.detach()
        made = [x]
        for step in steps:
            made.append(_apply(made[-1], step))
        made[-1].add_(1)
        return made, [v._version for v in made]

    agree(program, x, kind="exact")


@pytest.mark.parametrize("dtype", DTYPES)
def test_view_of_the_bytes_as_another_dtype(dtype: str) -> None:
    for shape in ((2, 8), (8,), (2, 3), (), (0, 4)):
        x = numbered(shape, dtype)
        for other in DTYPES.values():
            agree(lambda lib, x, other: x.view(other), x, other, kind="unspecified")


def test_real_and_imaginary_parts_are_views() -> None:
    x = numbered((2, 3), "complex64")
    agree(lambda lib, x: (x.real, x.imag, lib.view_as_real(x)), x, kind="exact")
    pairs = numbered((3, 2), "float32")
    agree(lambda lib, x: lib.view_as_complex(x), pairs, kind="exact")
    agree(lambda lib, x: lib.view_as_complex(x), pairs.t(), kind="exact")
    agree(lambda lib, x: lib.view_as_real(x), pairs, kind="exact")


@pytest.mark.parametrize("form", ["contiguous_format", "channels_last", "preserve_format"])
def test_memory_formats(form: str) -> None:
    def program(lib: Any, x: Any) -> Any:
        chosen = getattr(lib, form)
        y = x.clone(memory_format=chosen)
        return y, lib.empty_like(x, memory_format=chosen).stride(), y.is_contiguous()

    x = numbered((2, 3, 4, 5), "float32")
    for t in (x, x.contiguous(memory_format=torch.channels_last), x.transpose(1, 3), x[:, :, ::2]):
        agree(program, t, kind="exact")
        agree(lambda lib, x: x.contiguous(memory_format=getattr(lib, form)), t, kind="exact")
        agree(lambda lib, x: x.is_contiguous(memory_format=getattr(lib, form)), t)
        agree(lambda lib, x: x.to(memory_format=getattr(lib, form)), t, kind="exact")
        agree(lambda lib, x: x + 1, t)
        agree(lambda lib, x: x + x.contiguous(), t)
    agree(program, numbered((2, 3), "float32"), kind="exact")


def test_strides_of_elementwise_results_follow_the_inputs() -> None:
    x = numbered((2, 3, 4), "float32")
    layouts = [x.permute(p).contiguous().permute(np.argsort(p).tolist()) for p in _PERMUTATIONS]
    layouts += [x[:, :1].expand(2, 3, 4), x[:, :, ::2].repeat_interleave(2, 2), x[0], x[:, :1]]
    for a in layouts:
        agree(lambda lib, a: (a.exp(), lib.empty_like(a).stride(), a > 0), a)
        for b in layouts:
            agree(lambda lib, a, b: a * b, a, b)


_PERMUTATIONS = [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]
