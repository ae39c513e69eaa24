"""Parts of a model that the model does not know of."""

from __future__ import annotations

import inspect
import linecache
import re
import weakref
from collections.abc import Iterator
from typing import Any

from facula import Tensor
from facula.doctor._checks._check import Check
from facula.doctor._finding import Place
from facula.doctor._program import parameters_of
from facula.nn.modules.module import Module
from facula.nn.parameter import Parameter
from facula.optim import Optimizer


def _place_of(module: Module, name: str) -> Place:
    """The line of the class that sets an attribute; the class itself if there is none such."""
    kind = type(module)
    try:
        lines, first = inspect.getsourcelines(kind)
        file = inspect.getsourcefile(kind) or "<unknown>"
    except (OSError, TypeError):
        return Place("<unknown>", 0)
    for i, line in enumerate(lines):
        if f"self.{name}" in line and "=" in line:
            return Place(file, first + i)
    return Place(file, first)


class _AtFirstStep(Check):
    """Looks at every model once, when an optimiser has stepped."""

    def step_ends(self, optimizer: Optimizer) -> None:
        if self.program.optimizers[optimizer].n_steps != 0:
            return
        held = self.program.held()
        for model in self.program.models:
            held.update(map(id, model.parameters()))
        for model in self.program.models:
            for path, part in model.named_modules():
                self.look(path, part, held)

    def look(self, path: str, part: Module, known: set[int]) -> None:
        """Look at one module.

        Args:
            path: its place in the model.
            part: the module.
            known: the ids of the parameters that a model or an optimiser has.
        """
        raise NotImplementedError


class ModulesInAList(_AtFirstStep):
    """Modules with parameters in a list, tuple or dict of Python."""

    id = "F601"
    title = "modules in a Python list"
    why = (
        "The model does not know them: their parameters are not trained, not saved, and not moved "
        "to another device."
    )
    fix = "self.layers = nn.ModuleList(layers)  # nn.ModuleDict for a dict"

    def look(self, path: str, part: Module, known: set[int]) -> None:
        for name, value in vars(part).items():
            if name.startswith("_") and name in ("_modules", "_parameters", "_buffers"):
                continue
            lost = [
                module
                for module in _modules_in(value)
                if any(p.requires_grad and id(p) not in known for p in module.parameters())
            ]
            if lost:
                where = f"{path}.{name}" if path else name
                self.say(
                    f"{where} of {type(part).__name__} is a {type(value).__name__} with "
                    f"{len(lost)} modules that the model does not know.",
                    _place_of(part, name),
                )


class TensorForParameter(_AtFirstStep):
    """A tensor that wants gradients, or a list of such, and is no parameter of its module."""

    id = "F602"
    title = "a tensor where a parameter was meant"
    why = "model.parameters() does not have it: it is not trained, not saved, and not moved."
    fix = "self.scale = nn.Parameter(torch.ones(1))"

    def look(self, path: str, part: Module, known: set[int]) -> None:
        for name, value in vars(part).items():
            if name in ("_modules", "_parameters", "_buffers"):
                continue
            if any(_is_lost(item, known) for item in _items(value)):
                where = f"{path}.{name}" if path else name
                self.say(
                    f"{where} of {type(part).__name__} requires grad, but is no parameter of it.",
                    _place_of(part, name),
                )


class NeverUsed(Check):
    """A layer that the constructor makes, and that no other line of the program names."""

    id = "F603"
    title = "a layer that is never used"
    why = "It receives no gradient and changes nothing: a line of forward is missing, or a name."
    fix = "x = self.fc2(x)  # in forward; or remove the layer"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        # Layers without gradients so far, and what there is to say of them at the end: a file that
        # is not that of the class may use them later.
        self._idle: list[tuple[weakref.ref[Module], str, Place, Place]] = []

    def step_begins(self, optimizer: Optimizer) -> None:
        if self._idle:
            self._idle = [entry for entry in self._idle if _is_idle(entry[0]())]
        if self.program.optimizers[optimizer].n_steps != 9:
            return
        ours = set(map(id, parameters_of(optimizer)))
        for model in self.program.models:
            for path, part in model.named_modules():
                for name, child in part.named_children():
                    is_held = any(id(p) in ours for p in child.parameters())
                    if is_held and _is_idle(child) and _is_named_once(part, name):
                        message = (
                            f"{f'{path}.{name}' if path else name} received no gradient: no line "
                            f"but this one has self.{name}."
                        )
                        places = _place_of(part, name), self.here()
                        self._idle.append((weakref.ref(child), message, *places))

    def ends(self) -> None:
        for _, message, place, step in self._idle:
            self.say(message, place, step)


def _is_idle(layer: Module | None) -> bool:
    """Whether no parameter of a layer has a gradient, nor had one until the layer was gone."""
    return layer is None or all(p.grad is None for p in layer.parameters())


def _is_named_once(module: Module, name: str) -> bool:
    """Whether the file of a class has an attribute in one line only, and takes no other way."""
    place = _place_of(module, name)
    lines = linecache.getlines(place.file)
    if place.is_installed or not lines or f"self.{name}" not in place.source:
        return False
    text = "".join(lines)
    others = ("getattr", "children()", "modules()", "_modules", "get_submodule")
    return len(re.findall(rf"\b{name}\b", text)) == 1 and not any(o in text for o in others)


def _modules_in(value: Any) -> Iterator[Module]:
    if not isinstance(value, Module):
        yield from (item for item in _items(value) if isinstance(item, Module))


def _items(value: Any, depth: int = 0) -> Iterator[Any]:
    """What a list, tuple or dict holds, also in lists of lists; else the value alone."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)) and depth < 3:
        for item in value[:1000]:
            yield from _items(item, depth + 1)
    else:
        yield value


def _is_lost(value: Any, known: set[int]) -> bool:
    """Whether a tensor is trained by nobody, or is made of a parameter that nobody knows."""
    if not isinstance(value, Tensor) or not value.requires_grad:
        return False
    node = value.grad_fn
    if node is not None:
        # nn.Parameter(...).double() in a constructor: a result, whose parameter nobody holds.
        leaves = [getattr(other, "variable", None) for other, _ in node.next_functions]
        return any(isinstance(leaf, Parameter) and id(leaf) not in known for leaf in leaves)
    return id(value) not in known
