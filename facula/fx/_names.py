"""How functions, types and nodes are named: in printed graphs, and in generated code."""

from __future__ import annotations

import builtins
import functools
import inspect
import keyword
import math
import re
import sys
import types
from typing import Any

import facula

# Names that generated code may use for these objects only.
CUSTOM_BUILTINS: dict[str, tuple[str, Any]] = {
    "inf": ("from math import inf", math.inf),
    "nan": ("from math import nan", math.nan),
    "NoneType": ("NoneType = type(None)", type(None)),
    "facula": ("import facula", facula),
    "torch": ("import facula as torch", facula),
    "device": ("from facula import device", facula.device),
    "fx_pytree": ("import facula.fx._pytree as fx_pytree", None),
    "pytree": ("import facula.utils._pytree as pytree", None),
}


def custom_builtins() -> dict[str, Any]:
    """The objects of :data:`CUSTOM_BUILTINS` by name."""
    from facula.fx import _pytree as fx_pytree
    from facula.utils import _pytree as pytree

    objects = {name: value for name, (_, value) in CUSTOM_BUILTINS.items()}
    return {**objects, "fx_pytree": fx_pytree, "pytree": pytree}


def is_of_package(obj: Any) -> bool:
    """Whether generated code finds the object by its path from the global ``facula``."""
    if isinstance(obj, types.ModuleType):
        return _is_ours(obj.__name__)
    name = getattr(obj, "__module__", None) or ""
    return _is_ours(name) and _resolve(qualified_name(obj)) is obj


def _is_ours(module: str) -> bool:
    # Under `facula run` our modules and classes say that they are torch's.
    return module.partition(".")[0] in ("facula", "torch", "torchvision")


def by_package_name(path: str) -> str:
    """A path that starts with ``facula``, by the name that the program has for the package.

    Args:
        path: the path of an object of the package.
    """
    is_renamed = facula.__name__ == "torch" and path.startswith("facula.")
    is_renamed = is_renamed and not path.startswith("facula.vision.")
    return path.replace("facula", "torch", 1) if is_renamed else path


def _resolve(path: str) -> Any:
    """The object at a path that starts with ``facula`` or ``torch``; None if there is none."""
    value: Any = facula.vision if path.startswith("torchvision.") else facula
    for part in path.split(".")[1:]:
        value = getattr(value, part, None)
    return value


@functools.lru_cache(maxsize=4096)
def _path_in_package(func: Any) -> str:
    """The shortest path at which users find an operation of the package."""
    name = getattr(func, "__qualname__", None) or func.__name__
    module = func.__module__
    for path in (f"facula.{name}", f"facula.nn.functional.{name}", f"{module}.{name}"):
        if _resolve(path) is func:
            return path
    known = facula.overrides.resolve_name(func)  # linalg_inv is facula.linalg.inv
    return f"{module}.{name}" if known is None else known.replace("torch", "facula", 1)


def qualified_name(func: Any) -> str:
    """The path of a function: ``_operator.add``, ``facula.relu``, ``my_module.my_function``.

    Example:
        >>> from facula.fx._names import qualified_name
        >>> qualified_name(facula.nn.functional.relu), qualified_name(len)
        ('facula.nn.functional.relu', 'len')
    """
    name = getattr(func, "__name__", None)
    if name is None:
        raise RuntimeError(
            f"fx: expected a function with a name, got {func!r}, which generated code could not "
            "call. Define a function that does the same."
        )
    if getattr(builtins, name, None) is func:
        return str(name)
    module = getattr(func, "__module__", None)
    if module is None:
        owner = getattr(func, "__objclass__", None) or getattr(func, "__self__", None)
        if isinstance(owner, type):
            return f"{type_name(owner)}.{name}"
        raise RuntimeError(f"fx: cannot find the module of {func!r}.")
    if _is_ours(module):
        return by_package_name(_path_in_package(func))
    if name == "<lambda>":
        name = inspect.getsource(func).strip()
        raise RuntimeError(f"fx: expected a function with a name, got the lambda in {name!r}.")
    return f"{module}.{name}"


def target_name(target: Any) -> str:
    """The target of a node in a printed graph.

    Example:
        >>> from facula.fx._names import target_name
        >>> target_name(getattr)
        'builtins.getattr'
    """
    if isinstance(target, str):
        return target
    name = getattr(target, "__name__", None)
    if name is None:
        return str(target)
    if getattr(builtins, name, None) is target:
        return f"builtins.{name}"
    try:
        path = qualified_name(target)
    except RuntimeError:
        return str(name)
    return path.removeprefix("_") if path.startswith("_operator.") else path


def type_name(obj: Any) -> str:
    """A type as an annotation names it.

    Example:
        >>> from facula.fx._names import type_name
        >>> type_name(int), type_name(facula.Tensor), type_name(list[int])
        ('int', 'facula.Tensor', 'list[int]')
    """
    if isinstance(obj, type) and not isinstance(obj, types.GenericAlias):
        if obj.__module__ == "builtins":
            return obj.__qualname__
        return f"{obj.__module__}.{obj.__qualname__}"
    if obj is ...:
        return "..."
    if isinstance(obj, types.FunctionType):
        return obj.__name__
    return repr(obj)


def snake_case(name: str) -> str:
    """``MaxPool2d`` as ``max_pool2d``.

    Example:
        >>> from facula.fx._names import snake_case
        >>> snake_case("BatchNorm2d"), snake_case("__add__")
        ('batch_norm2d', '__add__')
    """
    return re.sub(r"(?<=[a-z])([A-Z])", r"_\1", name).lower()


def format_target(base: str, target: str) -> str:
    """The expression for a path below ``base``: ``self.a``, or ``getattr(self.a, "0")``."""
    for part in target.split("."):
        base = f"{base}.{part}" if part.isidentifier() else f'getattr({base}, "{part}")'
    return base


class Namespace:
    """Names that are taken: no two objects have the same one.

    Example:
        >>> from facula.fx._names import Namespace
        >>> names = Namespace()
        >>> [names.create_name(name, None) for name in ("add", "add", "0.x", "max")]
        ['add', 'add_1', '_0_x', 'max_1']
    """

    def __init__(self) -> None:
        self._obj_to_name: dict[Any, str] = {}
        self._used_names: set[str] = set()
        # The number after which a free one is looked for: names of a kind come in order.
        self._base_count: dict[str, int] = {}

    def create_name(self, candidate: str, obj: Any) -> str:
        """A free name like ``candidate``; if ``obj`` has a name already, that one.

        Args:
            candidate: the name that is wished for; what Python does not allow in it is replaced.
            obj: what the name is for; None for something that is asked about once.
        """
        if obj is not None and obj in self._obj_to_name:
            return self._obj_to_name[obj]
        name = re.sub(r"[^0-9a-zA-Z_]+", "_", candidate) or "_unnamed"
        if name[0].isdigit():
            name = f"_{name}"
        base, number = name, 0
        numbered = re.fullmatch(r"(.*)_(0|[1-9]\d*)", name)
        if numbered is not None:
            base, number = numbered[1], int(numbered[2])
            name = f"{base}_{number}"
        number = number or self._base_count.get(base, 0)
        while name in self._used_names or self._is_illegal_name(name, obj):
            number += 1
            name = f"{base}_{number}"
        self._used_names.add(name)
        self._base_count[base] = number
        if obj is not None:
            self._obj_to_name[obj] = name
        return name

    def associate_name_with_obj(self, name: str, obj: Any) -> None:
        """Give a name that is taken to the object that it was taken for."""
        self._obj_to_name.setdefault(obj, name)

    def _rename_object(self, obj: Any, name: str) -> None:
        self._obj_to_name[obj] = name
        self._used_names.add(name)

    @staticmethod
    def _is_illegal_name(name: str, obj: Any) -> bool:
        if name in keyword.kwlist:
            return True
        if hasattr(builtins, name):
            return getattr(builtins, name) is not obj
        if name in CUSTOM_BUILTINS:
            return obj is None or CUSTOM_BUILTINS[name][1] is not obj
        return False


def user_stack(limit: int | None = None) -> str:
    """The calls that lead here, without those inside of the package's tracing and modules."""
    import traceback

    frames = [
        frame
        for frame in traceback.extract_stack(sys._getframe(1), limit)
        if not _is_internal(frame.filename)
    ]
    return "".join(traceback.format_list(frames))


_INTERNAL = ("/facula/fx/", "/facula/nn/modules/module.py", "/facula/overrides.py")


def _is_internal(filename: str) -> bool:
    path = filename.replace("\\", "/")
    return any(part in path for part in _INTERNAL) or filename.startswith("<")
