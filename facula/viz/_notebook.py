"""What a notebook shows of a tensor or a module, where it would show text otherwise.

Colours are translucent and the text has that of the notebook, so both read in light and in dark.
None lets the notebook show the text: of tensors without numbers in memory, and of classes with a
text of their own, which says more than a table could.
"""

from __future__ import annotations

import base64
import math
import struct
import zlib
from html import escape
from typing import Any, TypeVar

import facula
from facula import Tensor, _core
from facula._tensor_str import _contents_str, _suffixes, number_format, plain_types
from facula.nn import Module, Parameter
from facula.nn.parameter import is_lazy

# Of a larger tensor nothing is said that all of its elements are needed for.
_MAX_COUNTED = 10_000_000
_N_EDGE = 5  # rows and columns at each end of a table
_MAX_SIDE = 192  # pixels of a picture, and how large the smallest one is drawn
_MAX_IMAGES = 8
_MAX_MODULES = 2000
_CELL = (
    "text-align:right;white-space:nowrap;font-family:monospace;padding:.1em .5em;"
    "border:1px solid #8884"
)

_Item = TypeVar("_Item")


def tensor_html(x: Tensor) -> str | None:
    """A tensor's shape, dtype and range, with a table of its numbers or a picture.

    Args:
        x: the tensor.
    """
    if not _is_plain(x):
        return None
    with _core._DisableTorchFunction(), facula.no_grad():
        if x.layout != facula.strided or x.is_meta:
            return None
        facts = [
            escape(str(tuple(x.shape))),
            escape(str(x.dtype).removeprefix("torch.")),
            *(escape(s) for s in _suffixes(x) if not s.startswith(("dtype=", "size="))),
        ]
        name = "Parameter" if isinstance(x, Parameter) else type(x).__name__
        data = x.detach().cpu() if x.numel() <= _MAX_COUNTED else x.detach()
        facts += _range_of(data)
        body = _pictures_of(data) or _numbers_of(data)
    return f"<div>{_title(name, ', '.join(facts))}{body}</div>"


def _is_plain(x: Tensor) -> bool:
    """Whether the text of a tensor is ours, not that of a subclass or of a package."""
    others = (cls for cls in type(x).__mro__ if cls not in {*plain_types, object})
    is_ours = not any({"__repr__", "__torch_function__"} & vars(cls).keys() for cls in others)
    return is_ours and isinstance(Tensor.__repr__, _core._Operation)


def _title(name: str, facts: str) -> str:
    return f"<b>{escape(name)}</b> <span style='opacity:.75'>{facts}</span>"


def _range_of(x: Tensor) -> list[str]:
    if not 0 < x.numel() <= _MAX_COUNTED or not x.dim() or x.is_complex():
        return []
    if x.dtype == facula.bool:
        return [f"{int(x.sum()):,} of {x.numel():,} true"]
    if x.dtype == facula.uint64:
        return []  # nothing holds all of its numbers and finds the largest
    if not x.is_floating_point():
        x = x.long()
        return [f"from {x.min().item()} to {x.max().item()}"]
    x = x.float() if x.element_size() < 4 else x
    finite = x[x.isfinite()]
    found = finite.numel() and [f"from {finite.min().item():.4g} to {finite.max().item():.4g}"]
    odd = {"NaN": int(x.isnan().sum()), "infinite": int(x.isinf().sum())}
    return [*(found or []), *(f"<b>{n:,} {word}</b>" for word, n in odd.items() if n)]


def _numbers_of(x: Tensor) -> str:
    """A table of one or two dimensions; of more, what ``print`` shows."""
    if not x.numel():
        return ""
    if x.dim() > 2 or not x.dim():
        # Some notebooks give pre the font of their text, in which columns do not stand in line.
        style = "margin:.3em 0;font-family:monospace"
        return f"<pre style='{style}'>{escape(_contents_str(x, 0))}</pre>"
    x = x.unsqueeze(0) if x.dim() == 1 else x
    rows, columns = (_edges(size) for size in x.shape)
    shown = x[facula.tensor(_known(rows))[:, None], facula.tensor(_known(columns))]
    values = shown.tolist()
    write = number_format(shown, [value for line in values for value in line])
    largest = _largest(shown)
    lines = []
    for line in values:
        cells = [
            f"<td style='{_CELL}{_shade(v, largest)}'>{escape(write(v).strip())}</td>" for v in line
        ]
        lines.append("<tr>" + "".join(_with_gap(cells, columns, f"<td style='{_CELL}'>…</td>")))
    gap = f"<tr><td style='{_CELL};text-align:center' colspan={len(columns)}>⋮</td>"
    table = "".join(_with_gap(lines, rows, gap))
    return (
        "<div style='overflow-x:auto'><table style='border-collapse:collapse;margin:.3em 0'>"
        f"{table}</table></div>"
    )


def _edges(size: int) -> list[int | None]:
    """The indices that are shown of a dimension; None stands for those that are left out."""
    if size <= 2 * _N_EDGE + 2:  # leaving out one or two would save no room
        return list(range(size))
    return [*range(_N_EDGE), None, *range(size - _N_EDGE, size)]


def _known(places: list[int | None]) -> list[int]:
    return [i for i in places if i is not None]


def _with_gap(items: list[_Item], places: list[int | None], gap: _Item) -> list[_Item]:
    if None in places:
        items.insert(places.index(None), gap)
    return items


def _largest(x: Tensor) -> float:
    if x.is_complex() or x.dtype == facula.bool:
        return 0.0
    x = x.double().abs()
    finite = x[x.isfinite()]
    return float(finite.max()) if finite.numel() else 0.0


def _shade(value: Any, largest: float) -> str:
    """Blue above zero, orange below, the stronger the larger; NaN and infinities are red."""
    if isinstance(value, (bool, complex)):
        return ""
    if not math.isfinite(value):
        return ";background:#f00a"
    if not largest:
        return ""
    strength = 0.4 * min(1.0, abs(value) / largest)
    return f";background:rgba({'9,105,218' if value > 0 else '230,120,0'},{strength:.2f})"


def _pictures_of(x: Tensor) -> str:
    """Pictures of ``(C, H, W)``, ``(N, C, H, W)`` or bytes ``(H, W, C)``, in grey or colour."""
    if x.dim() == 3 and x.dtype == facula.uint8 and x.size(2) in (1, 3) and min(x.shape[:2]) >= 8:
        x = x.permute(2, 0, 1)
    if (
        x.dim() not in (3, 4)
        or x.size(-3) not in (1, 3)
        or min(x.shape[-2:]) < 8
        or not (x.dtype == facula.uint8 or x.is_floating_point())
        or not 0 < x.numel() <= _MAX_COUNTED
    ):
        return ""
    images = x.unsqueeze(0) if x.dim() == 3 else x
    more = len(images) - _MAX_IMAGES
    step = -(-max(x.shape[-2:]) // _MAX_SIDE)
    images = images[:_MAX_IMAGES, :, ::step, ::step]
    note = ""
    if images.dtype != facula.uint8:
        images = images.double().nan_to_num(0.0, 0.0, 0.0)
        low, high = float(images.min()), float(images.max())
        if low < 0 or high > 1:
            note = f"black is {low:.4g}, white {high:.4g}"
            images = (images - low) / ((high - low) or 1.0)
        images = (images * 255).round().to(facula.uint8)
    notes = [note] if note else []
    notes += [f"{more:,} more"] if more > 0 else []
    said = f"<div style='opacity:.75'>{'; '.join(notes)}</div>" if notes else ""
    return f"<div style='margin:.3em 0'>{''.join(map(_image, images))}</div>{said}"


def _image(x: Tensor) -> str:
    """An ``img`` of bytes ``(C, H, W)``; small ones are enlarged, with their pixels to be seen."""
    height, width = x.shape[1:]
    scale = max(1, min(_MAX_SIDE // max(height, width), 8))
    data = base64.b64encode(_png(x)).decode()
    return (
        f"<img src='data:image/png;base64,{data}' width={width * scale} height={height * scale} "
        "style='display:inline;image-rendering:pixelated;margin:0 .3em .3em 0;"
        "border:1px solid #8884'>"
    )


def _png(x: Tensor) -> bytes:
    """A file of bytes ``(C, H, W)``, without a package for pictures."""
    channels, height, width = x.shape
    # Every line of pixels begins with the number of its filter: 0, none.
    lines = facula.zeros(height, 1 + width * channels, dtype=facula.uint8)
    lines[:, 1:] = x.permute(1, 2, 0).reshape(height, -1)

    def chunk(name: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        )

    header = struct.pack(">IIBBBBB", width, height, 8, 2 if channels == 3 else 0, 0, 0, 0)
    pixels = zlib.compress(bytes(lines.flatten().tolist()))
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    )


def module_html(module: Module) -> str | None:
    """The modules inside of a module, as a tree that opens and closes.

    Args:
        module: the module.
    """
    if _has_own_text(module):
        return None
    return f"<div>{_branch('', module, [_MAX_MODULES])}</div>"


def _has_own_text(module: Module) -> bool:
    """Whether a class outside of our package says itself how its modules are shown."""
    for cls in type(module).__mro__:
        if "__repr__" in vars(cls):
            return not cls.__module__.startswith("facula.")
    return False


def _branch(name: str, module: Module, left: list[int]) -> str:
    left[0] -= 1  # a list, so that all branches count down the same number
    label = f"<span style='opacity:.75'>({escape(name)})</span> " if name else ""
    if _has_own_text(module):
        return f"{label}<pre style='display:inline'>{escape(repr(module))}</pre>"
    title = label + _title(module._get_name(), _facts_of(module))
    if not module._modules:
        return title
    shown = []
    for key, child in module._modules.items():
        if left[0] <= 0:
            shown.append("<div>…</div>")
            break
        text = f"({escape(key)}) None" if child is None else _branch(key, child, left)
        shown.append(f"<div>{text}</div>")
    return (
        f"<details{'' if name else ' open'}><summary>{title}</summary>"
        f"<div style='margin-left:1.4em'>{''.join(shown)}</div></details>"
    )


def _facts_of(module: Module) -> str:
    parameters = list(module.parameters())
    counted = [p for p in parameters if not is_lazy(p)]
    n_all = sum(p.numel() for p in counted)
    n_frozen = sum(p.numel() for p in counted if not p.requires_grad)
    facts = [f"{n_all:,} parameters" if n_all else ""]
    facts += [f"{n_frozen:,} frozen" if n_frozen else ""]
    facts += ["some without a shape yet" if len(counted) < len(parameters) else ""]
    said = ", ".join(filter(None, facts))
    extra = module.extra_repr().replace("\n", ", ")
    return " · ".join(escape(part) for part in (extra, said) if part)
