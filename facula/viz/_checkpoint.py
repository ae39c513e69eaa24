"""The tensors of a file of weights, with histograms, as a page."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import facula
from facula import Tensor
from facula.viz._page import Page
from facula.viz._summary import _nbytes

_N_BINS = 40
_MOST = 1 << 20  # numbers that are looked at in one tensor


def checkpoint(path: str | os.PathLike[str]) -> Page:
    """The tensors of a checkpoint: shapes, dtypes, sizes, statistics and histograms.

    Args:
        path: a file that :func:`facula.load` reads, or one of safetensors.

    Returns:
        A :class:`Page`: ``save(path)`` writes it, a notebook shows it.

    Example:
        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "model.pt")
        >>> facula.save(facula.nn.Linear(3, 2).state_dict(), path)
        >>> [(row["name"], row["shape"]) for row in facula.viz.checkpoint(path).data["rows"]]
        [('weight', '(2, 3)'), ('bias', '(2,)')]
    """
    if str(path).endswith(".safetensors"):
        from facula.serialization.safetensors import load_file

        content: Any = load_file(path)
    else:
        content = facula.load(path, map_location="cpu")
    if isinstance(content, facula.nn.Module):
        content = content.state_dict()
    title, rows = Path(path).name, [_row(name, value) for name, value in _entries(content, "")]
    return Page(title, "graph.html", {"title": title, "rows": rows, "groups": {}})


def _entries(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Tensors and plain values of nested dicts and lists, with their paths."""
    if isinstance(value, Mapping):
        items = [(str(key), item) for key, item in value.items()]
    elif isinstance(value, (list, tuple)) and any(isinstance(v, (Tensor, Mapping)) for v in value):
        items = [(str(i), item) for i, item in enumerate(value)]
    else:
        yield path, value
        return
    for key, item in items:
        yield from _entries(item, f"{path}.{key}" if path else key)


def _row(path: str, value: Any) -> dict[str, Any]:
    folder, _, name = path.rpartition(".")
    row = {"name": name, "path": folder, "shape": "", "dtype": "", "bytes": 0, "line": ""}
    row.update(inputs=[], parameters=[], saved=[])
    if not isinstance(value, Tensor):
        text = repr(value)
        return {**row, "shape": text if len(text) < 80 else text[:77] + "..."}
    row.update(
        shape=str(tuple(value.shape)),
        dtype=str(value.dtype).removeprefix("torch."),
        bytes=_nbytes(value),
    )
    numbers = value.detach()
    if numbers.layout is not facula.strided or numbers.is_complex() or not numbers.numel():
        return row
    numbers = numbers.reshape(-1)[:: max(1, numbers.numel() // _MOST)].double()
    finite = numbers[numbers.isfinite()]
    n_odd = numbers.numel() - finite.numel()
    notes = [f"{n_odd} of {numbers.numel()} are not finite"] if n_odd else []
    if finite.numel():
        low, high = (float(v) for v in finite.aminmax())
        notes.insert(
            0,
            f"from {low:.4g} to {high:.4g}, mean {float(finite.mean()):.4g}, "
            f"standard deviation {float(finite.std(correction=0)):.4g}",
        )
        row["histogram"] = [int(n) for n in finite.histc(_N_BINS, low, high).tolist()]
    return {**row, "saved": notes}
