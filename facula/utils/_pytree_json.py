"""Structures of trees as JSON, in the form in which PyTorch writes them."""

from __future__ import annotations

import functools
import importlib
from collections import defaultdict, namedtuple
from collections.abc import Callable
from enum import Enum
from typing import Any

DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL = 1


def _namedtuple_serialize(context: Any) -> Any:
    from facula.utils import _pytree

    node = _pytree.SUPPORTED_SERIALIZED_TYPES.get(context)
    if node is None or node.serialized_type_name == _pytree.NO_SERIALIZED_TYPE_NAME_FOUND:
        raise NotImplementedError(
            f"Can't serialize TreeSpec of namedtuple class {context} because we didn't register a "
            "serializated_type_name. Please register using `_register_namedtuple`."
        )
    return node.serialized_type_name


def _namedtuple_deserialize(dumpable_context: Any) -> Any:
    from facula.utils import _pytree

    cls = _pytree.SERIALIZED_TYPE_TO_PYTHON_TYPE.get(dumpable_context)
    if cls is None:
        raise NotImplementedError(
            f"Can't deserialize TreeSpec of namedtuple class {dumpable_context} because we "
            "couldn't find a serializated name."
        )
    return cls


def _defaultdict_serialize(context: Any) -> Any:
    factory, keys = context
    return {
        "default_factory_module": factory.__module__,
        "default_factory_name": factory.__qualname__,
        "dict_context": keys,
    }


def _defaultdict_deserialize(dumpable_context: Any) -> Any:
    if dumpable_context["default_factory_module"] != "builtins":
        module = importlib.import_module(dumpable_context["default_factory_module"])
    else:
        import builtins as module
    factory = getattr(module, dumpable_context["default_factory_name"])
    return [factory, dumpable_context["dict_context"]]


# How the contexts of containers of Python are written, where JSON cannot hold them.
CONTEXTS: dict[Any, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    namedtuple: (_namedtuple_serialize, _namedtuple_deserialize),
    defaultdict: (_defaultdict_serialize, _defaultdict_deserialize),
}


def _register_namedtuple(cls: type[Any], *, serialized_type_name: str) -> None:
    """Give a class of named tuples the name that it has in :func:`treespec_dumps`."""
    from facula.utils import _pytree

    _pytree.SUPPORTED_SERIALIZED_TYPES[cls] = _pytree._SerializeNodeDef(
        cls, serialized_type_name, None, None
    )
    _pytree.SERIALIZED_TYPE_TO_PYTHON_TYPE[serialized_type_name] = cls


def _encoded(obj: object) -> dict[str, Any]:
    """What JSON holds of an object that it does not know."""
    if not isinstance(obj, Enum):
        raise TypeError(f"Object of type {type(obj).__name__} is not JSON serializable")
    cls = type(obj)
    return {"__enum__": True, "fqn": f"{cls.__module__}:{cls.__qualname__}", "name": obj.name}


def _enum(obj: dict[str, Any]) -> Any:
    if "__enum__" not in obj:
        return obj
    module, _, name = obj["fqn"].partition(":")
    cls: Any = importlib.import_module(module)
    for part in name.split("."):
        cls = getattr(cls, part)
    return cls[obj["name"]]


def _to_json(spec: Any) -> dict[str, Any]:
    import json  # when needed: `import facula` takes long enough

    from facula.utils import _pytree

    if spec.is_leaf():
        return {"type": None, "context": None, "children_spec": []}
    node = _pytree.SUPPORTED_SERIALIZED_TYPES.get(spec.type)
    if node is None or node.serialized_type_name == _pytree.NO_SERIALIZED_TYPE_NAME_FOUND:
        raise NotImplementedError(
            f"No registered serialization name for {spec.type} found. Please update your "
            "register_pytree_node call with a `serialized_type_name` kwarg."
        )
    if node.to_dumpable_context is not None:
        context = node.to_dumpable_context(spec.context)
    else:
        try:
            context = json.dumps(spec.context, default=_encoded)
        except TypeError as error:
            raise TypeError(
                "Unable to serialize context. Please make the context json dump-able, or register "
                "a custom serializer using _register_pytree_node."
            ) from error
    children = [_to_json(child) for child in spec.children_specs]
    return {"type": node.serialized_type_name, "context": context, "children_spec": children}


def _from_json(schema: dict[str, Any]) -> Any:
    import json

    from facula.utils import _pytree

    name = schema["type"]
    if name is None:
        return _pytree.treespec_leaf()
    if name not in _pytree.SERIALIZED_TYPE_TO_PYTHON_TYPE:
        raise NotImplementedError(
            f"Deserializing {name} in pytree is not registered: give its class this name with "
            "register_pytree_node(serialized_type_name=...)."
        )
    cls = _pytree.SERIALIZED_TYPE_TO_PYTHON_TYPE[name]
    node = _pytree.SUPPORTED_SERIALIZED_TYPES[cls]
    if node.from_dumpable_context is not None:
        context = node.from_dumpable_context(schema["context"])
    else:
        context = json.loads(schema["context"], object_hook=_enum)
    return _pytree.TreeSpec(cls, context, [_from_json(child) for child in schema["children_spec"]])


def treespec_dumps(treespec: Any, protocol: int | None = None) -> str:
    """The structure as a text, which :func:`treespec_loads` reads.

    Args:
        treespec: the structure; the classes of its containers must have a name.
        protocol: the version of the form; there is one, 1.

    Example:
        >>> from facula.utils._pytree import tree_structure, treespec_dumps, treespec_loads
        >>> spec = tree_structure([1, (2,)])
        >>> treespec_loads(treespec_dumps(spec)) == spec
        True
    """
    import json

    from facula.utils import _pytree

    _pytree._checked_spec(treespec)
    protocol = DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL if protocol is None else protocol
    _check_protocol(protocol)
    return json.dumps((protocol, _to_json(treespec)))


@functools.cache
def treespec_loads(serialized: str) -> Any:
    """The structure that :func:`treespec_dumps` wrote."""
    import json

    protocol, schema = json.loads(serialized)
    _check_protocol(protocol)
    return _from_json(schema)


def _check_protocol(protocol: int) -> None:
    if protocol != DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL:
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [1]")


def pytree_to_str(treespec: Any) -> str:
    """An older name of :func:`treespec_dumps`."""
    return treespec_dumps(treespec)


def str_to_pytree(json: str) -> Any:
    """An older name of :func:`treespec_loads`."""
    return treespec_loads(json)
