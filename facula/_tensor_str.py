"""Printing of tensors: ``repr``, ``set_printoptions`` and ``format``."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import facula
from facula import _core
from facula._core import Tensor

__all__ = ["get_printoptions", "printoptions", "set_printoptions"]

ELLIPSIS = "..."


class _PrintOptions(NamedTuple):
    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


_PROFILES: dict[str, dict[str, Any]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}

_options = _PrintOptions()

# Types printed as "tensor(...)"; any other subclass is printed under its own name.
plain_types: set[type] = {Tensor}


class _LiveOptions:
    """The options that hold now, by the name that PyTorch has for them; they can be set too."""

    def __getattr__(self, name: str) -> Any:
        return getattr(_options, name)

    def __setattr__(self, name: str, value: Any) -> None:
        global _options
        if name not in _PrintOptions._fields:
            raise AttributeError(f"PRINT_OPTS has no option {name!r}.")
        _options = _options._replace(**{name: value})

    def __repr__(self) -> str:
        return repr(_options)


PRINT_OPTS = _LiveOptions()


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors are printed.

    Args:
        precision: the number of digits after the decimal point.
        threshold: the number of elements above which a tensor is summarised.
        edgeitems: how many elements are shown at each end of a summarised dimension.
        linewidth: the number of characters in a line.
        profile: a set of options: ``"default"``, ``"short"`` or ``"full"``; the other arguments
            override it.
        sci_mode: whether to use scientific notation always (True), never (False) or where it helps
            (None).

    Example:
        >>> facula.set_printoptions(precision=2)
        >>> facula.tensor([1.12345])
        tensor([1.12])
        >>> facula.set_printoptions(profile="default")
    """
    global _options
    options = _options
    if profile is not None:
        if profile not in _PROFILES:
            raise ValueError(
                f"set_printoptions: expected profile 'default', 'short' or 'full', got {profile!r}."
            )
        options = options._replace(**_PROFILES[profile])
    given: dict[str, Any] = {
        "precision": precision,
        "threshold": threshold,
        "edgeitems": edgeitems,
        "linewidth": linewidth,
    }
    options = options._replace(**{k: v for k, v in given.items() if v is not None})
    _options = options._replace(sci_mode=sci_mode)


def get_printoptions() -> dict[str, Any]:
    """Return the current print options as keyword arguments of ``set_printoptions``."""
    return _options._asdict()


@contextlib.contextmanager
def printoptions(**kwargs: Any) -> Iterator[None]:
    """Set print options inside a ``with`` block."""
    saved = get_printoptions()
    set_printoptions(**kwargs)
    try:
        yield
    finally:
        set_printoptions(**saved)


class _NumberFormat:
    """One format and width for all the numbers of a tensor."""

    def __init__(self, values: list[Any], is_floating: bool) -> None:
        self.is_floating = is_floating
        self.is_integral = True
        self.is_scientific = False
        self.width = 1
        if is_floating:
            self._choose_floating([v for v in values if v != 0 and math.isfinite(v)])
        else:
            self.width = max((len(str(v)) for v in values), default=1)

    def _choose_floating(self, values: list[float]) -> None:
        # Zeros, infinities and NaNs never decide: they read the same in every format.
        if not values:
            return
        low = min(abs(v) for v in values)
        high = max(abs(v) for v in values)
        self.is_integral = all(v == math.floor(v) for v in values)
        if _options.sci_mode is None:
            is_tiny = not self.is_integral and low < 1e-4
            self.is_scientific = high / low > 1000 or high > 1e8 or is_tiny
        else:
            self.is_scientific = _options.sci_mode
        self.width = max(len(self._number(v)) for v in values)

    def _number(self, value: Any) -> str:
        if not self.is_floating:
            return str(value)
        if self.is_scientific:
            return f"{value:.{_options.precision}e}"
        if self.is_integral:
            return f"{value:.0f}." if math.isfinite(value) else f"{value:.0f}"
        return f"{value:.{_options.precision}f}"

    def __call__(self, value: Any) -> str:
        return self._number(value).rjust(self.width)


class _ComplexFormat:
    """Real and imaginary parts, each with a format of its own."""

    def __init__(self, values: list[complex]) -> None:
        self.real = _NumberFormat([v.real for v in values], is_floating=True)
        self.imag = _NumberFormat([v.imag for v in values], is_floating=True)
        self.width = self.real.width + self.imag.width + 1

    def __call__(self, value: complex) -> str:
        imag = self.imag(value.imag).lstrip() + "j"
        sign = "" if imag[0] in "+-" else "+"
        return self.real(value.real) + sign + imag


_Format = _NumberFormat | _ComplexFormat


def number_format(tensor: Tensor, values: list[Any]) -> _Format:
    """What writes the numbers of a tensor, chosen for those that are shown."""
    if tensor.is_complex():
        return _ComplexFormat(values)
    return _NumberFormat(values, tensor.is_floating_point())


def _flatten(nested: Any, dim: int) -> list[Any]:
    if dim == 0:
        return [nested]
    for _ in range(dim - 1):
        nested = [item for inner in nested for item in inner]
    return list(nested)


def _edges(tensor: Tensor) -> Tensor:
    """Keep only the first and last ``edgeitems`` of every long dimension."""
    n_edge = _options.edgeitems
    for dim in range(tensor.dim()):
        size = tensor.size(dim)
        if size > 2 * n_edge:
            head = tensor.narrow(dim, 0, n_edge)
            tail = tensor.narrow(dim, size - n_edge, n_edge)
            tensor = _core.cat([head, tail], dim)
    return tensor


def _vector_str(items: list[str], is_cut: bool, indent: int, width: int) -> str:
    if is_cut:
        n_edge = _options.edgeitems
        # Without edges nothing stands left of the dots, so nothing separates them.
        items = [*items[:n_edge], " " + ELLIPSIS, *items[n_edge:]] if n_edge else [ELLIPSIS]
    per_line = max(1, (_options.linewidth - indent) // (width + 2))
    lines = [", ".join(items[i : i + per_line]) for i in range(0, len(items), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _nested_str(
    nested: Any, sizes: tuple[int, ...], is_summary: bool, indent: int, form: _Format
) -> str:
    if not sizes:
        return form(nested)
    n_edge = _options.edgeitems
    is_cut = is_summary and sizes[0] > 2 * n_edge
    if len(sizes) == 1:
        return _vector_str([form(v) for v in nested], is_cut, indent, form.width)
    parts = [_nested_str(inner, sizes[1:], is_summary, indent + 1, form) for inner in nested]
    if is_cut:
        parts = [*parts[:n_edge], ELLIPSIS, *parts[n_edge:]]
    separator = "," + "\n" * (len(sizes) - 1) + " " * (indent + 1)
    return "[" + separator.join(parts) + "]"


def _contents_str(tensor: Tensor, indent: int) -> str:
    is_summary = tensor.numel() > _options.threshold
    shown = _edges(tensor) if is_summary else tensor
    nested = shown.tolist()
    form = number_format(tensor, _flatten(nested, shown.dim()))
    return _nested_str(nested, tuple(tensor.shape), is_summary, indent, form)


_tensor_str = _contents_str  # PyTorch's name, which packages use


def _is_default_dtype(tensor: Tensor) -> bool:
    default = _core.get_default_dtype()
    default_complex = _core.complex128 if default == _core.float64 else _core.complex64
    return tensor.dtype in (default, _core.int64, _core.bool, default_complex)


def _suffixes(tensor: Tensor) -> list[str]:
    suffixes = []
    if tensor.device.type != "cpu":
        suffixes.append(f"device='{tensor.device}'")
    is_empty = tensor.numel() == 0 or tensor.is_meta
    if (
        tensor.is_meta
        or (is_empty and tensor.dim() != 1)
        or (not is_empty and _options.edgeitems == 0)
    ):
        suffixes.append(f"size={tuple(tensor.shape)}")
    if is_empty:
        # Without numbers to see the type is not known, so even int64 is spelled out.
        if tensor.dtype != _core.get_default_dtype():
            suffixes.append(f"dtype={tensor.dtype}")
    elif not _is_default_dtype(tensor):
        suffixes.append(f"dtype={tensor.dtype}")
    try:
        grad_fn = _node_name(tensor.grad_fn) if tensor.grad_fn is not None else None
    except RuntimeError:
        grad_fn = "Invalid"  # a view whose history was lost; printing is no reason to raise
    if grad_fn is not None:
        suffixes.append(f"grad_fn=<{grad_fn}>")
    elif tensor.requires_grad:
        suffixes.append("requires_grad=True")
    return suffixes


def _node_name(node: Any) -> str:
    return str(node.name()).rsplit("::", 1)[-1]


def _add_suffixes(text: str, suffixes: list[str], indent: int, force_newline: bool = False) -> str:
    # PyTorch's name and arguments, which packages use for classes of their own.
    column = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if force_newline or column + len(suffix) + 2 > _options.linewidth:
            text += ",\n" + " " * indent + suffix
            column = indent + len(suffix)
        else:
            text += ", " + suffix
            column += len(suffix) + 2
    return text + ")"


def tensor_repr(tensor: Tensor, *, tensor_contents: str | None = None) -> str:
    """Text of a tensor; ``tensor_contents`` replaces its numbers."""
    name = "tensor" if type(tensor) in plain_types else type(tensor).__name__
    prefix = name + "("
    indent = len(prefix)
    suffixes = _suffixes(tensor)
    if tensor_contents is None:
        data = tensor.detach()
        is_empty = data.numel() == 0
        contents = ELLIPSIS if data.is_meta else "[]" if is_empty else _contents_str(data, indent)
    else:
        contents = tensor_contents
    text = _add_suffixes(prefix + contents, suffixes, indent)
    is_other_parameter = name != "tensor" and isinstance(tensor, facula.nn.Parameter)
    return f"Parameter({text})" if is_other_parameter else text


def _str(self: Tensor, *, tensor_contents: str | None = None) -> str:
    """What ``repr`` shows, by PyTorch's name, which packages use."""
    return tensor_repr(self, tensor_contents=tensor_contents)


def tensor_format(tensor: Tensor, spec: str) -> str:
    """``format(tensor, spec)``: a number's format for 0-d tensors, ``repr`` without a spec."""
    if tensor.dim() == 0 and not tensor.is_meta:
        return format(tensor.item(), spec)
    return object.__format__(tensor, spec)
