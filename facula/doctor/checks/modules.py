"""Parts of a model that the model does not know of."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from facula import Tensor
from facula.doctor._finding import Place
from facula.doctor.checks._check import Check
from facula.nn.modules.module import Module
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
    """A tensor that wants gradients and is no parameter of its module."""

    id = "F602"
    title = "a tensor where a parameter was meant"
    why = "model.parameters() does not have it: it is not trained, not saved, and not moved."
    fix = "self.scale = nn.Parameter(torch.ones(1))"

    def look(self, path: str, part: Module, known: set[int]) -> None:
        for name, value in vars(part).items():
            is_meant = isinstance(value, Tensor) and value.requires_grad and value.is_leaf
            if is_meant and id(value) not in known:
                where = f"{path}.{name}" if path else name
                self.say(
                    f"{where} of {type(part).__name__} requires grad but is no Parameter.",
                    _place_of(part, name),
                )


def _modules_in(value: Any) -> Iterator[Module]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)) and not isinstance(value, Module):
        yield from (item for item in value if isinstance(item, Module))
