"""Layers and networks in checkpoints: which classes, and how they are made without a file's code.

Note [Modules of strangers]
A module calls what it has as attributes: its parts, its hooks, its activation. So what a file may
put there is as closed as what it may call itself:
- The classes are those that our own files define, found by the names of the files; the functions
  are those of ``nn.functional`` and ``vision.ops``. Nothing else of a file can be called.
- An object is made by ``object.__new__``: no ``__init__``, no ``__new__`` and no setter runs.
- States are kept until the whole file is read, since a dict can be filled long after an object was
  given it. Only then all of them are checked, and only then the first one is set.
- No attribute hides a method or a property, no part has the name of a special method, and what
  can be called has no private name.
- Loading changes no class: what the tables of a module name is read through its ``__getattr__``.
"""

from __future__ import annotations

import functools
import pkgutil
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from importlib import import_module
from inspect import getattr_static
from os.path import join
from typing import Any

import facula
from facula import _core
from facula._core import Size, Tensor
from facula._exports import own_module
from facula.serialization._errors import CheckpointError, shown
from facula.serialization._source import Budget
from facula.serialization._torch_names import ours_of

# Every class of theirs that is a module may be made.
_PACKAGES = (
    "facula.nn.modules",
    "facula.nn.utils",
    "facula.vision.models",
    "facula.vision.ops",
    "facula.vision.transforms",
)
# Objects that modules have beside modules. These have attributes only, and hide nothing in them.
_HOOKS = {
    "facula.nn.utils.prune.CustomFromMask",
    "facula.nn.utils.prune.Identity",
    "facula.nn.utils.prune.L1Unstructured",
    "facula.nn.utils.prune.LnStructured",
    "facula.nn.utils.prune.PruningContainer",
    "facula.nn.utils.prune.RandomStructured",
    "facula.nn.utils.prune.RandomUnstructured",
    "facula.nn.utils.spectral_norm.SpectralNorm",
    "facula.nn.utils.spectral_norm.SpectralNormLoadStateDictPreHook",
    "facula.nn.utils.spectral_norm.SpectralNormStateDictHook",
    "facula.nn.utils.weight_norm.WeightNorm",
}
_HELPERS = _HOOKS | {
    "facula.vision.models.detection._utils.BalancedPositiveNegativeSampler",
    "facula.vision.models.detection._utils.BoxCoder",
    "facula.vision.models.detection._utils.BoxLinearCoder",
    "facula.vision.models.detection._utils.Matcher",
    "facula.vision.models.detection._utils.SSDMatcher",
    "facula.vision.models.optical_flow.raft.CorrBlock",
    "facula.vision.ops.poolers.LevelMapper",
}
_ENUMS = {
    "facula.vision.transforms._interpolation.InterpolationMode",
    "facula.vision.transforms.v2._auto_augment.AutoAugmentPolicy",
}
# What PyTorch has twice in its files: a recurrent layer's weights are parameters as well.
_DROPPED = "_flat_weights"
# What a recurrent layer calls its parameters: list[list[str]] and list[str].
_NAMES_OF_WEIGHTS = {"_all_weights", "_flat_weights_names"}
# The private attributes that may be functions or classes: a ResNet keeps its kind of norm.
_PRIVATE_CALLS = {"_norm_layer"}
# Where PyTorch has the functions of nn.functional that are written in C++.
_FUNCTION_PLACES = ("torch", "torch.nn.functional", "torch._C._nn")

_OBJECT_COST = 4500  # bytes of memory: a module has a dozen tables
_PLAIN = (type(None), bool, int, float, str)
_CONTAINERS = (dict, OrderedDict, Counter, list, tuple, set, frozenset, Size)
_LEAVES = {
    *_PLAIN,
    *(complex, bytes, bytearray),
    *(_core.dtype, _core.device, _core.layout, _core.memory_format),
}


@functools.cache
def _files() -> frozenset[str]:
    """The modules of the packages, by their full names. None of them is imported."""
    names = set(_PACKAGES)

    def collect(package: str, folder: str) -> None:
        for info in pkgutil.iter_modules([folder], f"{package}."):
            names.add(info.name)
            if info.ispkg:
                collect(info.name, join(folder, info.name.rpartition(".")[2]))

    for package in _PACKAGES:
        for root in facula.__path__:
            collect(package, join(root, *package.split(".")[1:]))
    return frozenset(names)


def _own_name(value: Any) -> str:
    return f"{own_module(value)}.{value.__qualname__}"


def is_class(value: Any) -> bool:
    """Whether it is one of our classes whose objects a file may have."""
    if type(value) is not type or own_module(value) not in _files():
        return isinstance(value, type) and _own_name(value) in _HELPERS
    is_ours = issubclass(value, facula.nn.Module) or _own_name(value) in _HELPERS
    return is_ours and getattr_static(value, "__new__") is object.__new__


def is_enum(value: Any) -> bool:
    """Whether it is one of our enumerations."""
    return isinstance(value, type) and _own_name(value) in _ENUMS


@functools.cache
def _functions() -> frozenset[int]:
    """The functions that modules may have, by identity."""
    found = [getattr(facula.nn.functional, name) for name in facula.nn.functional.__all__]
    found += [getattr(facula, n) for n in facula.nn.functional.__all__ if hasattr(facula, n)]
    found += [v for v in vars(import_module("facula.vision.ops")).values() if _is_vision(v)]
    return frozenset(map(id, found))


def _is_vision(value: Any) -> bool:
    is_function = callable(value) and not isinstance(value, type)
    return is_function and getattr(value, "__module__", "").startswith("facula.vision.ops.")


def find(module: str, name: str) -> Any:
    """Our class or function of PyTorch's name; None if it is not on the list."""
    if module in _FUNCTION_PLACES and name in facula.nn.functional.__all__:
        in_functional = module != "torch" or not hasattr(facula, name)
        return getattr(facula.nn.functional if in_functional else facula, name)
    for ours in ours_of(module):
        if ours in _files():
            found = vars(import_module(ours)).get(name)
            is_listed = is_class(found) or is_enum(found)
            if is_listed or (ours.startswith("facula.vision.ops") and id(found) in _functions()):
                return found
    return None


def get_function(args: Any, budget: Budget) -> Any:
    """The function of a name: how PyTorch's files have those that it keeps in a class."""
    is_asked = len(args) == 2 and args[0] is get_function and type(args[1]) is str
    found = find("torch", args[1]) if is_asked else None
    if found is None:
        raise CheckpointError("getattr is called for something that is not on the list")
    return found


def make_partial(args: Any, budget: Budget) -> Any:
    """A class with some arguments chosen already, which its state brings."""
    if len(args) != 1 or not is_class(args[0]):
        raise CheckpointError("functools.partial: expected one of our classes", found=args)
    return functools.partial(args[0])


def build_partial(made: functools.partial[Any], state: Any) -> None:
    """Give a partial its keywords, which are numbers, strings and the like."""
    is_state = type(state) is tuple and len(state) == 4 and state[0] is made.func
    keywords: Any = state[2] if is_state else None
    is_plain = type(keywords) is dict and all(
        type(name) is str and type(value) in _PLAIN for name, value in keywords.items()
    )
    if not is_plain or state[1] != () or state[3]:
        raise CheckpointError("functools.partial: expected keywords that are numbers or strings")
    made.keywords.update(keywords)


def make_member(enum: Any, args: Any) -> Any:
    """The member of one of our enumerations."""
    if len(args) != 1 or type(args[0]) is not str:
        raise CheckpointError(f"{enum.__name__}: expected a string", found=args)
    return enum(args[0])


class Objects:
    """The objects of one file, and the states that they are to have.

    Args:
        budget: the memory that objects may take.
        is_allowed: whether a class, or the class of an object, is one that the user allows.
    """

    def __init__(self, budget: Budget, is_allowed: Callable[[Any], bool]) -> None:
        self._budget = budget
        self._is_allowed = is_allowed
        self._made: dict[int, Any] = {}  # which also keeps an address from being used again
        self._states: dict[int, dict[str, Any]] = {}

    def __contains__(self, value: Any) -> bool:
        return id(value) in self._made

    def new(self, cls: type) -> Any:
        """An object of one of our classes, without a state."""
        self._budget.spend(_OBJECT_COST)
        made: Any = object.__new__(cls)
        self._made[id(made)] = made
        return made

    def give(self, made: Any, state: Any) -> None:
        """Keep the state of an object until everything is read."""
        if type(state) is not dict:
            raise CheckpointError(
                f"{type(made).__name__}: expected a dict as the state, got {shown(state)}",
                found=state,
            )
        if id(made) in self._states:
            raise CheckpointError(f"{type(made).__name__}: expected one state, got a second one")
        self._states[id(made)] = state

    def state_of(self, made: Any) -> dict[str, Any]:
        """What the object is to have."""
        return self._states.get(id(made), {})

    def pay(self) -> None:
        """Count what the states will take: objects may share one, but each gets its own copy."""
        for made in self._made.values():
            state = self.state_of(made)
            self._budget.spend(100 * len(state))
            # Tables are shared, but every object that has one is checked with it.
            tables = [value for value in state.values() if type(value) in _CONTAINERS]
            self._budget.spend(16 * sum(map(len, tables)))

    def finish(self) -> None:
        """Check all states, then set them."""
        seen: set[int] = set()
        for made in self._made.values():
            state = self.state_of(made)
            state.pop(_DROPPED, None)
            for name, value in state.items():
                _check_attribute(type(made), name)
                self._check_private(type(made), name, value)
            self._check_values(type(made), state, seen)
            if isinstance(made, facula.nn.Module):
                self._check_tables(type(made), state)
        self._check_no_cycle()
        for made in self._made.values():
            state = self.state_of(made)
            if isinstance(made, facula.nn.Module):
                made._restore(state)  # and not __setstate__, which would change the class
            else:
                made.__dict__.update(state)

    def _check_private(self, cls: type, name: str, value: Any) -> None:
        """Refuse what can be called under a private name: a program may call it by that name."""
        is_known = not name.startswith("_") or name in _PRIVATE_CALLS
        if callable(value) and not is_known and not self._is_allowed(value):
            raise CheckpointError(
                f"{cls.__name__}: {shown(value)} is no value that a file may give it as {name!r}",
                found=value,
            )

    def _check_values(self, cls: type, state: dict[str, Any], seen: set[int]) -> None:
        """Refuse, at any depth of containers, what is neither data nor on the list."""
        stack: list[Any] = [state]
        while stack:
            value = stack.pop()
            if type(value) in _CONTAINERS:
                if id(value) not in seen:
                    seen.add(id(value))
                    self._budget.spend(32)
                    stack.extend(value.values() if isinstance(value, dict) else value)
                    stack.extend(value if isinstance(value, dict) else ())
            elif not self._is_value(value):
                raise CheckpointError(
                    f"{cls.__name__}: {shown(value)} is no value that a file may give it",
                    found=value,
                )

    def _is_value(self, value: Any) -> bool:
        kind = type(value)
        return (
            kind in _LEAVES
            or isinstance(value, Tensor)
            or value in self
            or kind.__module__ == "numpy"
            or kind is functools.partial
            or is_enum(kind)
            or is_class(value)
            or id(value) in _functions()
            or self._is_allowed(value)
        )

    def _check_tables(self, cls: type, state: dict[str, Any]) -> None:
        from facula.nn.modules.module import _TABLES

        for name, kind in _TABLES.items():
            table = state.get(name, kind())
            kinds: tuple[type, ...] = (set,) if kind is set else (dict, OrderedDict)
            if type(table) not in kinds:
                raise CheckpointError(
                    f"{cls.__name__}: expected a {kind.__name__} as {name}, got {shown(table)}",
                    found=table,
                )
            if name in _PARTS:
                self._check_parts(cls, name, table, state)
            elif kind is set:
                _check_each(cls, name, table, lambda item: type(item) is str)
            else:
                _check_each(cls, name, table, lambda key: type(key) is int)
                _check_each(cls, name, table.values(), self._is_hook)
        for name in ("training", "_is_full_backward_hook", "_has_hooks"):
            _check_each(cls, name, [state.get(name)], lambda flag: type(flag) in (bool, type(None)))
        for name in _NAMES_OF_WEIGHTS & state.keys():
            self._check_names(cls, name, state[name])

    def _check_names(self, cls: type, name: str, names: Any) -> None:
        """Refuse what is no list of names, or of lists of them: setting the state reads it all."""
        layers = names if name == "_all_weights" else [names]
        _check_each(cls, name, [layers], lambda value: type(value) is list)
        _check_each(cls, name, layers, lambda layer: type(layer) is list)
        for layer in layers:
            # Paid for here: a list that a file has once can be in the outer one many times.
            self._budget.spend(16 * len(layer))
            _check_each(cls, name, layer, lambda item: type(item) is str)

    def _check_parts(self, cls: type, table: str, parts: Any, state: dict[str, Any]) -> None:
        for name, part in parts.items():
            _check_attribute(cls, name)
            if not name or "." in name or name in state:
                raise CheckpointError(f"{cls.__name__}: {shown(name)} is no name of a part")
            if part is not None and not isinstance(part, _PARTS[table]()):
                raise CheckpointError(
                    f"{cls.__name__}: {table} has {shown(part)} as {shown(name)}", found=part
                )

    def _is_hook(self, value: Any) -> bool:
        if type(value) is tuple and len(value) == 2 and type(value[1]) is bool:
            value = value[0]  # a hook of state_dict, and whether it is told the module
        is_ours = value in self and _own_name(type(value)) in _HOOKS
        return type(value) is bool or is_ours or self._is_allowed(value)

    def _check_no_cycle(self) -> None:
        """Refuse a module that is part of itself: most of its methods would not end."""
        done: set[int] = set()
        for root in self._made.values():
            path: list[tuple[int, Iterator[Any]]] = []
            on_path: set[int] = set()
            child: Any = root
            while True:
                if id(child) in on_path:
                    raise CheckpointError(f"{type(child).__name__}: a module is a part of itself")
                if id(child) in self._made and id(child) not in done:
                    parts = self.state_of(child).get("_modules", {})
                    on_path.add(id(child))
                    path.append((id(child), iter(parts.values())))
                if not path:
                    break
                child = next(path[-1][1], _END)
                if child is _END:
                    finished, _ = path.pop()
                    on_path.discard(finished)
                    done.add(finished)


_END = object()
_PARTS: dict[str, Callable[[], type]] = {
    "_parameters": lambda: Tensor,
    "_buffers": lambda: Tensor,
    "_modules": lambda: facula.nn.Module,
}


def _check_each(cls: type, name: str, items: Any, is_right: Callable[[Any], bool]) -> None:
    for item in items:
        if not is_right(item):
            raise CheckpointError(f"{cls.__name__}: {name} has {shown(item)}", found=item)


def _check_attribute(cls: type, name: Any) -> None:
    """Refuse an attribute that a method, a property or a special name would be hidden by."""
    if type(name) is str and not name.startswith("__"):
        of_class = getattr_static(cls, name, None)
        is_free = not callable(of_class) and not hasattr(type(of_class), "__get__")
        if is_free or type(of_class) is _core._ModuleAttribute:
            return
    raise CheckpointError(
        f"{cls.__name__}: {shown(name)} is no attribute that a file may give it", found=name
    )
