"""Which modules are being run, forward or backward."""

from __future__ import annotations

from typing import Any

from facula import _core
from facula._core import Tensor
from facula.nn.modules.module import (
    Module,
    register_module_forward_hook,
    register_module_forward_pre_hook,
)
from facula.utils._pytree import tree_flatten
from facula.utils.weak import WeakIdKeyDictionary

__all__ = ["ModuleTracker"]


class ModuleTracker:
    """A context in which ``parents`` are the names of the modules that are running.

    The name of a module is that of its class, and its path in the outermost module.

    Example:
        >>> from facula.utils.module_tracker import ModuleTracker
        >>> net = facula.nn.Sequential(facula.nn.Linear(2, 2))
        >>> with ModuleTracker() as tracker:
        ...     handle = net[0].register_forward_pre_hook(
        ...         lambda *_: print(sorted(tracker.parents))
        ...     )
        ...     result = net(facula.ones(1, 2))
        ['Global', 'Sequential', 'Sequential.0']
    """

    def __init__(self) -> None:
        self.parents = {"Global"}
        self._known: Any = WeakIdKeyDictionary()
        self._seen: Any = WeakIdKeyDictionary()

    @property
    def is_bw(self) -> bool:
        """Whether a backward runs."""
        return _core._current_graph_task_id() != -1

    def _name_of(self, module: Module) -> str:
        if module not in self._known:
            self._known[module] = type(module).__name__
        if module not in self._seen:
            for name, child in module.named_children():
                self._known[child] = f"{self._known[module]}.{name}"
            self._seen[module] = None
        return self._known[module]  # type: ignore[no-any-return]

    def _enter(self, name: str) -> None:
        self.parents.add(name)

    def _leave(self, name: str) -> None:
        self.parents.discard(name)

    def _before(self, module: Module, args: Any) -> None:
        name = self._name_of(module)
        self._enter(name)
        for tensor in _with_history(args):
            # The gradient of an input is the last that the module's backward computes.
            tensor.register_hook(lambda grad: self._leave(name))

    def _after(self, module: Module, args: Any, output: Any) -> None:
        name = self._name_of(module)
        self._leave(name)
        for tensor in _with_history(output):
            tensor.register_hook(lambda grad: self._enter(name))

    def __enter__(self) -> ModuleTracker:
        self._handles = [
            register_module_forward_pre_hook(self._before),
            register_module_forward_hook(self._after),
        ]
        return self

    def __exit__(self, *error: object) -> None:
        for handle in self._handles:
            handle.remove()


def _with_history(values: Any) -> list[Tensor]:
    leaves, _ = tree_flatten(values)
    return [x for x in leaves if isinstance(x, Tensor) and x.requires_grad]
