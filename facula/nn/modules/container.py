"""Modules that hold other modules, and lists and dictionaries of parameters."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from typing import Any, TypeVar

from facula._core import Tensor
from facula._legacy import typename
from facula._warnings import warn_user
from facula.nn.modules.module import Module, _addindent, open_classes
from facula.nn.parameter import Parameter

__all__ = ["Container", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]

_Self = TypeVar("_Self", bound=Module)


class Container(Module):
    """Deprecated: modules by keyword, for which :class:`Module` itself is enough.

    Args:
        kwargs: the modules, by the names that they get.

    Example:
        >>> import warnings
        >>> warnings.simplefilter("ignore")
        >>> from facula import nn
        >>> nn.Container(act=nn.ReLU()).act
        ReLU()
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__()
        warn_user(
            "nn.Container is deprecated. Subclass nn.Module, which does all of it, instead.",
            FutureWarning,
        )
        for name, module in kwargs.items():
            self.add_module(name, module)


def _checked_index(index: Any, size: int) -> int:
    i = operator.index(index)
    if not -size <= i < size:
        raise IndexError(f"container: expected an index from {-size} to {size - 1}, got {i}.")
    return i % size


class _Numbered(Module):
    """The modules by number that Sequential and ModuleList share."""

    def _renumber(self, modules: Iterable[Any]) -> None:
        self._modules.clear()
        for i, module in enumerate(modules):
            self.add_module(str(i), module)

    # By position, since a Sequential made of an OrderedDict has names of its own.
    def _name(self, index: Any) -> str:
        return list(self._modules)[_checked_index(index, len(self))]

    def __setitem__(self, index: Any, module: Module) -> None:
        setattr(self, self._name(index), module)

    def __delitem__(self, index: Any) -> None:
        modules = list(self._modules.values())
        del modules[index if isinstance(index, slice) else _checked_index(index, len(self))]
        self._renumber(modules)

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def pop(self, key: Any) -> Any:
        """Remove a module, or those of a slice, and return it."""
        module = self[key]  # type: ignore[index]
        del self[key]
        return module

    def append(self: _Self, module: Module) -> _Self:
        """Add a module at the end."""
        self.add_module(str(len(self._modules)), module)
        return self


class Sequential(_Numbered):
    """Calls modules one after the other, each with the result of the one before.

    Args:
        args: the modules, or one ``OrderedDict`` of them by name.

    Example:
        >>> from facula import nn
        >>> nn.Sequential(nn.Linear(2, 3), nn.Identity())
        Sequential(
          (0): Linear(in_features=2, out_features=3, bias=True)
          (1): Identity()
        )
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            named = args[0]
        else:
            named = OrderedDict((str(i), module) for i, module in enumerate(args))
        for name, module in named.items():
            self.add_module(name, module)

    def forward(self, input: Any) -> Any:
        for module in self._modules.values():
            input = module(input)  # type: ignore[misc]
        return input

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)(OrderedDict(list(self._modules.items())[index]))
        return self._modules[self._name(index)]

    def insert(self, index: int, module: Module) -> Sequential:
        """Add a module before the one at ``index``."""
        if not isinstance(module, Module):
            raise AssertionError(
                f"Sequential: expected a Module to insert, got {type(module).__name__}."
            )
        if not -len(self) <= index <= len(self):
            raise IndexError(
                f"Sequential: expected an index from {-len(self)} to {len(self)}, got {index}."
            )
        modules = list(self)
        modules.insert(index, module)
        self._renumber(modules)
        return self

    def extend(self, sequential: Iterable[Module]) -> Sequential:
        """Add modules at the end."""
        for module in list(sequential):  # a copy: it may be extended by itself
            self.append(module)
        return self

    def __add__(self, other: Any) -> Sequential:
        return Sequential(*self).__iadd__(other)

    def __iadd__(self, other: Any) -> Sequential:
        if not isinstance(other, Sequential):
            raise ValueError(
                f"Sequential: expected another Sequential after +, got {type(other).__name__}."
            )
        return self.extend(other)

    def __mul__(self, other: Any) -> Sequential:
        return Sequential(*self).__imul__(other)

    __rmul__ = __mul__

    def __imul__(self, other: Any) -> Sequential:
        if not isinstance(other, int):
            raise TypeError(f"Sequential: expected an int after *, got {type(other).__name__}.")
        if other <= 0:
            raise ValueError(
                f"Sequential: expected to be repeated at least once, got {other} times."
            )
        modules = list(self)
        for _ in range(other - 1):
            self.extend(modules)
        return self


class ModuleList(_Numbered):
    """A list of modules, which are part of the module that has the list.

    Args:
        modules: the modules of the list; None for an empty one.

    Example:
        >>> from facula import nn
        >>> nn.ModuleList([nn.Linear(2, 2) for _ in range(3)])
        ModuleList(
          (0-2): 3 x Linear(in_features=2, out_features=2, bias=True)
        )
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)(list(self)[index])
        return self._modules[self._name(index)]

    def insert(self, index: int, module: Module) -> None:
        """Add a module before the one at ``index``."""
        modules = list(self)
        modules.insert(index, module)
        self._renumber(modules)

    def extend(self: ModuleList, modules: Iterable[Module]) -> ModuleList:
        """Add modules at the end."""
        if not isinstance(modules, Iterable):
            raise TypeError(
                f"ModuleList: expected an iterable of modules, got {type(modules).__name__}."
            )
        for module in list(modules):
            self.append(module)
        return self

    def __iadd__(self, modules: Iterable[Module]) -> ModuleList:
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList([*self, *other])

    def __repr__(self) -> str:
        """The text of a module, but with equal modules in a row written as one line."""
        runs: list[tuple[str, list[str]]] = []
        for name, module in self._modules.items():
            text = repr(module)
            if runs and runs[-1][0] == text:
                runs[-1][1].append(name)
            else:
                runs.append((text, [name]))
        if not runs:
            return f"{self._get_name()}()"
        lines = []
        for text, names in runs:
            label = f"({names[0]}): "
            if len(names) > 1:
                label = f"({names[0]}-{names[-1]}): {len(names)} x "
            lines.append(label + _addindent(text, 2))
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"


def _pairs(what: str, values: Any) -> list[tuple[Any, Any]]:
    """The key-value pairs of an iterable of them, checked one by one."""
    if not isinstance(values, Iterable):
        raise TypeError(
            f"{what}: expected a mapping or an iterable of pairs, got {type(values).__name__}."
        )
    pairs = []
    for i, pair in enumerate(values):
        if not isinstance(pair, Iterable):
            raise TypeError(f"{what}: expected pairs, got {type(pair).__name__} at index {i}.")
        key_and_value = tuple(pair)
        if len(key_and_value) != 2:
            raise ValueError(
                f"{what}: expected pairs, got {len(key_and_value)} values at index {i}."
            )
        pairs.append(key_and_value)
    return pairs


class ModuleDict(Module):
    """A dictionary of modules, in the order of their insertion.

    Args:
        modules: a dictionary of modules, or pairs of a name and a module; None for none.

    Example:
        >>> from facula import nn
        >>> m = nn.ModuleDict({"in": nn.Linear(2, 3), "out": nn.Linear(3, 1)})
        >>> m["out"]
        Linear(in_features=3, out_features=1, bias=True)
    """

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Remove all modules."""
        self._modules.clear()

    def pop(self, key: str) -> Any:
        """Remove a module and return it."""
        return self._modules.pop(key)

    def keys(self) -> KeysView[str]:
        """The names."""
        return self._modules.keys()

    def items(self) -> ItemsView[str, Any]:
        """Pairs of name and module."""
        return self._modules.items()

    def values(self) -> ValuesView[Any]:
        """The modules."""
        return self._modules.values()

    def update(self, modules: Any) -> None:
        """Add the modules of a dictionary, or of pairs of name and module."""
        is_mapping = isinstance(modules, (Mapping, ModuleDict))
        pairs = list(modules.items()) if is_mapping else _pairs("ModuleDict", modules)
        for key, module in pairs:
            self[key] = module


def _as_stored(value: Any) -> Any:
    is_plain = isinstance(value, Tensor) and not isinstance(value, Parameter)
    return Parameter(value) if is_plain else value


def _entry(value: Any, kind: str) -> str:
    """A line about a parameter or another object in a container."""
    if not isinstance(value, Tensor):
        return f"Object of type: {type(value).__name__}"
    what = "Parameter" if isinstance(value, Parameter) else "Tensor"
    place = f" ({value.device})" if value.is_cuda else ""
    return f"{what} containing: [{kind} of size {'x'.join(map(str, value.shape))}{place}]"


class ParameterList(Module):
    """A list of parameters: tensors become parameters, other objects stay what they are.

    Args:
        values: the parameters, tensors or other objects of the list; None for none.

    Example:
        >>> from facula import nn
        >>> p = nn.ParameterList([facula.ones(2), facula.zeros(1, 3)])
        >>> [name for name, _ in p.named_parameters()]
        ['0', '1']
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)(list(self)[index])
        return getattr(self, str(_checked_index(index, len(self))))

    def __setitem__(self, index: Any, param: Any) -> None:
        setattr(self, str(_checked_index(index, len(self))), _as_stored(param))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return (getattr(self, str(i)) for i in range(len(self)))

    def __iadd__(self, parameters: Iterable[Any]) -> ParameterList:
        return self.extend(parameters)

    def append(self, value: Any) -> ParameterList:
        """Add a value at the end."""
        # Made before the list grows: an error leaves the list as it was.
        stored = _as_stored(value)
        self._size += 1
        self[-1] = stored
        return self

    def extend(self, values: Iterable[Any]) -> ParameterList:
        """Add values at the end."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(
                f"ParameterList: expected an iterable of parameters, got {type(values).__name__}."
            )
        for value in list(values):
            self.append(value)
        return self

    def extra_repr(self) -> str:
        return "\n".join(
            f"  ({i}): {_entry(value, str(getattr(value, 'dtype', '')))}"
            for i, value in enumerate(self)
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterList: it computes nothing, so it cannot be called.")


class ParameterDict(Module):
    """A dictionary of parameters: tensors become parameters, other objects stay what they are.

    Those of a plain dictionary are sorted by key.

    Args:
        parameters: a dictionary, or pairs of a name and a value; None for none.

    Example:
        >>> from facula import nn
        >>> p = nn.ParameterDict({"left": facula.ones(2), "right": facula.zeros(1)})
        >>> p["left"].requires_grad
        True
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}  # values that are no tensors are in none of the tables
        if parameters is not None:
            self.update(parameters)

    def _attribute(self, key: Any) -> str:
        if not isinstance(key, str):
            raise TypeError(f"ParameterDict: expected a str as the key, got {type(key).__name__}.")
        return key

    def __getitem__(self, key: str) -> Any:
        return getattr(self, self._attribute(key))

    def __setitem__(self, key: str, value: Any) -> None:
        name = self._attribute(key)
        setattr(self, name, _as_stored(value))
        self._keys[name] = None

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self._keys))

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def copy(self) -> ParameterDict:
        """Another dictionary of the same parameters."""
        return ParameterDict(OrderedDict(self.items()))

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The value of ``key``, which becomes ``default`` if it has none."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Remove everything."""
        for key in list(self):
            del self[key]

    def pop(self, key: str) -> Any:
        """Remove a value and return it."""
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Remove the last pair and return it."""
        key, _ = self._keys.popitem()
        self._keys[key] = None
        return key, self.pop(key)

    def get(self, key: str, default: Any = None) -> Any:
        """The value of ``key``, or ``default``."""
        if key not in self:
            return default
        return self[key]

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """A dictionary that has one value for all keys."""
        return ParameterDict((key, default) for key in keys)

    def keys(self) -> KeysView[str]:
        """The keys."""
        return self._keys.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Pairs of key and value."""
        return ((key, self[key]) for key in self._keys)

    def values(self) -> Iterable[Any]:
        """The values."""
        return (self[key] for key in self._keys)

    def update(self, parameters: Any) -> None:
        """Add what a dictionary has, or pairs of key and value."""
        if isinstance(parameters, (OrderedDict, ParameterDict)):
            pairs = list(parameters.items())
        elif isinstance(parameters, Mapping):
            pairs = sorted(parameters.items())  # as in PyTorch, from when dicts had no order
        else:
            pairs = _pairs("ParameterDict", parameters)
        for key, value in pairs:
            self[key] = value

    def extra_repr(self) -> str:
        return "\n".join(
            f"  ({key}): {_entry(value, typename(value))}" for key, value in self.items()
        )

    def __call__(self, input: Any) -> Any:
        raise RuntimeError("ParameterDict: it computes nothing, so it cannot be called.")

    def __or__(self, other: Any) -> ParameterDict:
        both = self.copy()
        both.update(other)
        return both

    def __ror__(self, other: Any) -> Any:
        both = other.copy()
        both.update(self.items())
        return both

    def __ior__(self, other: Any) -> ParameterDict:
        self.update(other)
        return self


open_classes.update({Container, Sequential, ModuleList, ModuleDict, ParameterList, ParameterDict})
