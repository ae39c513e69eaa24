"""A table of a model: shapes, parameters, multiply-adds and memory of every module."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from html import escape
from typing import Any

import facula
from facula import Tensor
from facula._progress import size_text
from facula._transform import tensors_in
from facula.autograd.graph import saved_tensors_hooks
from facula.nn import Module
from facula.nn.modules.module import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
)
from facula.utils.flop_counter import FlopCounterMode

_HEADINGS = ("Layer", "Output shape", "Parameters", "Multiply-adds", "Kept for backward")


@dataclass
class Layer:
    """One module of a model, with all that is inside of it.

    Args:
        path: where it is in the model, ``""`` for the model itself.
        type: the name of its class.
        depth: how many modules it is inside of.
        n_params: how many numbers its parameters have.
        n_trainable: how many of them require grad.
        output_shapes: the shapes of the tensors that it returned at its last call.
        n_calls: how often it was called.
        multiply_adds: multiplications with their additions, in products, convolutions, attention.
        activation_bytes: the memory of the tensors that it keeps for backward.
        is_shared: whether an earlier row is the same module, or has all of its parameters.
    """

    path: str
    type: str
    depth: int
    n_params: int
    n_trainable: int
    output_shapes: list[tuple[int, ...]] = field(default_factory=list)
    n_calls: int = 0
    multiply_adds: int = 0
    activation_bytes: int = 0
    is_shared: bool = False

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition(".")[2]


class Summary:
    """What :func:`summary` returns: printed it is a table; ``layers`` has the numbers.

    Args:
        layers: a row for each module, the model itself first.
        input_bytes: the memory of the inputs.
        param_bytes: the memory of the parameters and buffers.
        depth: how many levels of modules the text shows; None for all.
    """

    def __init__(
        self, layers: list[Layer], input_bytes: int, param_bytes: int, depth: int | None
    ) -> None:
        self.layers = layers
        self.input_bytes, self.param_bytes = input_bytes, param_bytes
        self._depth = depth

    def __repr__(self) -> str:
        rows = [_HEADINGS, *(_cells(layer, tree) for tree, layer in self._shown())]
        widths = [max(len(row[i]) for row in rows) for i in range(len(_HEADINGS))]
        lines = [
            "  ".join(
                cell.ljust(width) if i < 2 else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        ]
        rule = "-" * max(map(len, lines))
        return "\n".join([lines[0], rule, *lines[1:], rule, *self._totals()])

    def _repr_html_(self) -> str:
        def row(cells: tuple[str, ...], tag: str) -> str:
            # The lines of the tree join in a font of even width, and notebooks align to the right.
            styles = ("text-align:left;white-space:pre;font-family:monospace", "text-align:left")
            written = (
                f"<{tag} style='{styles[i] if i < 2 else 'text-align:right'}'>{escape(c)}</{tag}>"
                for i, c in enumerate(cells)
            )
            return "<tr>" + "".join(written) + "</tr>"

        body = "".join(row(_cells(layer, tree), "td") for tree, layer in self._shown())
        totals = "<br>".join(map(escape, self._totals()))
        return f"<table>{row(_HEADINGS, 'th')}{body}</table><p>{totals}</p>"

    def _totals(self) -> list[str]:
        model = self.layers[0]
        frozen = model.n_params - model.n_trainable
        return [
            f"Parameters: {model.n_params:,}" + (f", of which {frozen:,} frozen" if frozen else ""),
            f"Multiply-adds: {_short(model.multiply_adds)}",
            f"Memory: input {size_text(self.input_bytes)}, parameters and buffers "
            f"{size_text(self.param_bytes)}, kept for backward {size_text(model.activation_bytes)}",
        ]

    def _shown(self) -> Iterator[tuple[str, Layer]]:
        """The rows of the table, each with the lines of the tree before its name."""
        shown = [x for x in self.layers if self._depth is None or x.depth <= self._depth]
        open_levels: dict[int, bool] = {}  # whether a later sibling follows at each depth
        for i, layer in enumerate(shown):
            followers = (other.depth for other in shown[i + 1 :] if other.depth <= layer.depth)
            open_levels[layer.depth] = next(followers, -1) == layer.depth
            stems = "".join("│  " if open_levels[d] else "   " for d in range(1, layer.depth))
            branch = "├─ " if open_levels[layer.depth] else "└─ "
            yield (stems + branch if layer.depth else ""), layer


def summary(
    model: Module,
    input: Any = None,
    *,
    depth: int | None = 3,
    mode: str = "eval",
    **kwargs: Any,
) -> Summary:
    """A table of the modules of a model: shapes, parameters, multiply-adds, memory.

    The model is run once, for its shapes; its mode, its buffers and random numbers stay as they
    are, unless ``mode="train"`` lets batch norm take part.

    Args:
        model: the module to describe.
        input: a tensor, a tuple of arguments, a dict of arguments by name, or the size of a tensor
            of random numbers, such as ``(1, 3, 224, 224)``. Without it nothing is run, and only
            parameters are counted.
        depth: how many levels of modules are shown; None for all.
        mode: ``"eval"`` or ``"train"``: the mode that the model is run in.
        kwargs: further arguments of the model.

    Returns:
        A :class:`Summary`, whose text is the table and whose ``layers`` are the numbers.

    Example:
        >>> from facula import nn
        >>> model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
        >>> facula.summary(model, (4, 8))
        Layer         Output shape  Parameters  Multiply-adds  Kept for backward
        ------------------------------------------------------------------------
        Sequential    (4, 2)               178            640              384 B
        ├─ 0: Linear  (4, 16)              144            512              128 B
        ├─ 1: ReLU    (4, 16)                                              256 B
        └─ 2: Linear  (4, 2)                34            128
        ------------------------------------------------------------------------
        Parameters: 178
        Multiply-adds: 640
        Memory: input 128 B, parameters and buffers 712 B, kept for backward 384 B
    """
    if not isinstance(model, Module):
        raise TypeError(f"summary: expected a Module, got {type(model).__name__}.")
    if mode not in ("eval", "train"):
        raise ValueError(f"summary: expected mode to be 'eval' or 'train', got {mode!r}.")
    layers = _layers_of(model)
    args, named = _arguments(model, input)
    named.update(kwargs)
    if input is not None or kwargs:
        _run(model, layers, args, named, mode)
    given = (x for x in (*args, *named.values()) if isinstance(x, Tensor))
    kept = {id(x): x for x in (*model.parameters(), *model.buffers())}
    return Summary(
        list(layers.values()), sum(map(_nbytes, given)), sum(map(_nbytes, kept.values())), depth
    )


def _layers_of(model: Module) -> dict[str, Layer]:
    layers: dict[str, Layer] = {}
    seen: set[int] = set()
    for path, module in model.named_modules(remove_duplicate=False):
        parameters = list(module.parameters())
        layers[path] = Layer(
            path,
            type(module).__name__,
            path.count(".") + 1 if path else 0,
            sum(p.numel() for p in parameters),
            sum(p.numel() for p in parameters if p.requires_grad),
            is_shared=id(module) in seen,
        )
        seen.add(id(module))
    return layers


def _arguments(model: Module, input: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(input, Mapping):
        return (), dict(input)
    if isinstance(input, (tuple, list)) and input and all(isinstance(n, int) for n in input):
        like = next((p for p in model.parameters() if p.is_floating_point()), facula.empty(0))
        with facula.random.fork_rng(devices=[]):
            return (facula.randn(*input, dtype=like.dtype, device=like.device),), {}
    if isinstance(input, (tuple, list)):
        return tuple(input), {}
    return (() if input is None else (input,)), {}


def _run(
    model: Module,
    layers: dict[str, Layer],
    args: tuple[Any, ...],
    named: dict[str, Any],
    mode: str,
) -> None:
    """Run the model once, and note in the rows what its modules do."""
    rows = {id(module): layers[path] for path, module in model.named_modules()}
    # Parameters are there anyway: what is kept for backward are the other tensors, each once.
    counted = {x.untyped_storage()._address() for x in (*model.parameters(), *model.buffers())}
    running: list[Layer] = []

    def begin(module: Module, args: Any) -> None:
        running.append(rows.get(id(module), layers[""]))

    def end(module: Module, args: Any, output: Any) -> None:
        layer = running.pop()
        layer.n_calls += 1
        layer.output_shapes = [tuple(x.shape) for x in tensors_in([output])]

    def keep(x: Tensor) -> Tensor:
        storage = x.untyped_storage()
        if storage._address() not in counted:
            counted.add(storage._address())
            for layer in {id(layer): layer for layer in running}.values():
                layer.activation_bytes += storage.nbytes()
        return x

    modes = [(module, module.training) for module in model.modules()]
    flops = FlopCounterMode(display=False)
    with ExitStack() as stack:
        stack.enter_context(facula.random.fork_rng())
        for module, was_training in modes:
            stack.callback(setattr, module, "training", was_training)
        model.train(mode == "train")
        stack.enter_context(facula.enable_grad())
        stack.enter_context(flops)
        stack.enter_context(saved_tensors_hooks(keep, lambda x: x))
        for handle in (
            register_module_forward_pre_hook(begin),
            register_module_forward_hook(end, always_call=True),
        ):
            stack.callback(handle.remove)
        model(*args, **named)
    root = type(model).__name__
    counts = flops.get_flop_counts()
    for path, layer in layers.items():
        of_layer = counts.get(f"{root}.{path}" if path else root, {})
        layer.multiply_adds = sum(of_layer.values()) // 2


def _nbytes(x: Tensor) -> int:
    return x.numel() * x.element_size()


def _cells(layer: Layer, tree: str) -> tuple[str, ...]:
    name = f"{layer.name}: {layer.type}" if layer.path else layer.type
    shapes = ", ".join(map(str, layer.output_shapes))
    if layer.is_shared:
        return f"{tree}{name}", "shared", "", "", ""
    return (
        f"{tree}{name}",
        shapes if layer.n_calls else "not called",
        f"{layer.n_params:,}" if layer.n_params else "",
        _short(layer.multiply_adds) if layer.multiply_adds else "",
        size_text(layer.activation_bytes) if layer.activation_bytes else "",
    )


def _short(n: int) -> str:
    """A large number with a unit."""
    for unit, size in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e4)):
        if n >= size:
            return f"{n / (1e3 if unit == 'k' else size):.2f} {unit}"
    return f"{n:,}"
