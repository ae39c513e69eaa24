"""Random shapes, tensors and indices, as PyTorch has them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from .frameworks import COMPLEX, DTYPES, FLOATING
from .samples import expanded, strided, transposed


def steady(max_examples: int) -> settings:
    """The same examples in every run."""
    return settings(
        max_examples=max_examples,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


def shapes(max_dims: int = 4, max_size: int = 4) -> st.SearchStrategy[tuple[int, ...]]:
    # Mostly not empty: most of what can go wrong needs an element.
    sizes = st.sampled_from([0, *(n for n in range(1, max_size + 1) for _ in range(3))])
    return st.lists(sizes, max_size=max_dims).map(tuple)


LAYOUTS = {
    "contiguous": lambda t: t,
    "transposed": transposed,
    "strided": strided,
    "expanded": expanded,
}


@st.composite
def tensors(
    draw: st.DrawFn,
    shape: st.SearchStrategy[tuple[int, ...]] | None = None,
    dtypes: tuple[str, ...] = tuple(DTYPES),
    layouts: tuple[str, ...] = tuple(LAYOUTS),
    grad: bool = False,
) -> torch.Tensor:
    """Distinct small values in any layout; with ``grad``, floating ones may require it."""
    sizes = draw(shape if shape is not None else shapes())
    name = draw(st.sampled_from(dtypes))
    made = numbered(sizes, name, draw(st.integers(0, 3)))
    made = LAYOUTS[draw(st.sampled_from(layouts))](made)
    if grad and name in FLOATING + COMPLEX and draw(st.booleans()):
        made = made.requires_grad_()
    return made


def numbered(shape: tuple[int, ...], dtype: str, seed: int = 0) -> torch.Tensor:
    """A tensor of shuffled distinct values (bool: of both)."""
    n = int(np.prod(shape))
    values = torch.from_numpy(np.random.default_rng(seed).permutation(n).reshape(shape))
    if dtype == "bool":
        return values % 2 == 0
    made = values.to(DTYPES[dtype])
    if dtype in FLOATING:
        made = made / 4 - 2
    return made * (1 + 0.5j) if dtype in COMPLEX else made


@st.composite
def indices(draw: st.DrawFn, shape: tuple[int, ...], max_items: int = 5) -> Any:
    """What may stand between brackets after a tensor of ``shape``; some of it wrong."""
    n_picked = draw(st.integers(1, 3))
    items: list[Any] = []
    dim = 0
    for _ in range(draw(st.integers(0, max_items))):
        size = shape[dim] if dim < len(shape) else 1
        kind = draw(st.sampled_from(_KINDS))
        if kind == "mask" and draw(st.booleans()):
            n_dims = draw(st.integers(0, 2))
            mask_shape = shape[dim : dim + n_dims]
            items.append(_mask(draw, mask_shape))
            dim += len(mask_shape)
            continue
        items.append(_item(draw, kind, size, n_picked))
        dim += kind not in ("none", "ellipsis", "bool")
        if dim >= len(shape) and draw(st.integers(0, 9)) > 0:
            break
    if len(items) == 1 and draw(st.booleans()):
        return items[0]
    return tuple(items)


# Repeated for weight.
_KINDS = ("int",) * 3 + ("slice",) * 4 + ("long",) * 3 + ("mask",) * 2
_KINDS += ("none", "ellipsis", "bool", "ints")


def _positions(draw: st.DrawFn, size: int) -> int:
    """A position in a dim of ``size``, rarely one outside."""
    if size == 0 or draw(st.integers(0, 30)) == 0:
        return draw(st.integers(-size - 2, size + 1))
    return draw(st.integers(-size, size - 1))


def _mask(draw: st.DrawFn, shape: tuple[int, ...]) -> torch.Tensor:
    n = int(np.prod(shape))
    values = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    return torch.tensor(values, dtype=torch.bool).reshape(shape)


def _item(draw: st.DrawFn, kind: str, size: int, n_picked: int) -> Any:
    if kind == "int":
        return _positions(draw, size)
    if kind == "slice":
        bound = st.none() | st.integers(-size - 1, size + 1)
        step = st.sampled_from([None, None, 1, 2, 3, 0, -1])
        return slice(draw(bound), draw(bound), draw(step))
    if kind in ("none", "ellipsis", "bool"):
        return {"none": None, "ellipsis": Ellipsis, "bool": draw(st.booleans())}[kind]
    if kind == "mask":
        return _mask(draw, (size,))
    picked = [_positions(draw, size) for _ in range(n_picked)]
    if kind == "ints":
        return picked
    shape = draw(st.sampled_from([(n_picked,), (1, n_picked), (n_picked, 1), (), (0,)]))
    n = int(np.prod(shape))
    dtype = draw(st.sampled_from([torch.int64] * 6 + [torch.int32, torch.float32]))
    return torch.tensor(picked[:n], dtype=dtype).reshape(shape)
