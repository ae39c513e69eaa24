"""Nested containers taken apart into their leaves, and put together again.

A tree is a container of trees, or a leaf. Containers are tuples, named tuples, lists, deques,
dicts, OrderedDicts, defaultdicts, and the classes that :func:`register_pytree_node` was told of;
everything else, None included, is a leaf. Names and results are those of PyTorch's module.
"""

from __future__ import annotations

import types
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from facula import return_types
from facula._core import Size

__all__ = [
    "Context",
    "DumpableContext",
    "FlattenFunc",
    "FlattenWithKeysFunc",
    "FromDumpableContextFn",
    "GetAttrKey",
    "KeyEntry",
    "KeyPath",
    "LeafSpec",
    "MappingKey",
    "PyTree",
    "PyTreeSpec",
    "SequenceKey",
    "ToDumpableContextFn",
    "TreeSpec",
    "UnflattenFunc",
    "arg_tree_leaves",
    "broadcast_prefix",
    "is_namedtuple",
    "is_namedtuple_class",
    "is_namedtuple_instance",
    "is_structseq",
    "is_structseq_class",
    "is_structseq_instance",
    "key_get",
    "keystr",
    "map_only",
    "register_constant",
    "register_dataclass",
    "register_pytree_node",
    "tree_all",
    "tree_all_only",
    "tree_any",
    "tree_any_only",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_is_leaf",
    "tree_iter",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_map_only_",
    "tree_map_with_path",
    "tree_structure",
    "tree_unflatten",
    "treespec_dict",
    "treespec_dumps",
    "treespec_leaf",
    "treespec_loads",
    "treespec_pprint",
    "treespec_tuple",
]


class KeyEntry(Protocol):
    """One step from a container to a child; its text is what Python writes for that step."""

    def __hash__(self) -> int: ...
    def __eq__(self, other: object) -> bool: ...
    def __str__(self) -> str: ...
    def get(self, parent: Any) -> Any:
        """The child of ``parent`` at this key."""


PyTree = Any
Context = Any
DumpableContext = Any
KeyPath = tuple[KeyEntry, ...]
FlattenFunc = Callable[[Any], tuple[list[Any], Context]]
UnflattenFunc = Callable[[Iterable[Any], Context], Any]
FlattenWithKeysFunc = Callable[[Any], tuple[list[tuple[KeyEntry, Any]], Context]]
FlattenFn, UnflattenFn, FlattenWithKeysFn = FlattenFunc, UnflattenFunc, FlattenWithKeysFunc
ToDumpableContextFn = Callable[[Context], DumpableContext]
FromDumpableContextFn = Callable[[DumpableContext], Context]
_IsLeaf = Callable[[Any], bool] | None


class NodeDef(NamedTuple):
    """What is known of a class of containers."""

    type: type[Any]
    flatten_fn: FlattenFunc
    unflatten_fn: UnflattenFunc
    flatten_with_keys_fn: FlattenWithKeysFunc | None


class _SerializeNodeDef(NamedTuple):
    typ: type[Any]
    serialized_type_name: str
    to_dumpable_context: ToDumpableContextFn | None
    from_dumpable_context: FromDumpableContextFn | None


SUPPORTED_NODES: dict[Any, NodeDef] = {}
SUPPORTED_SERIALIZED_TYPES: dict[Any, _SerializeNodeDef] = {}
SERIALIZED_TYPE_TO_PYTHON_TYPE: dict[str, Any] = {}
NO_SERIALIZED_TYPE_NAME_FOUND = "NO_SERIALIZED_TYPE_NAME_FOUND"
CONSTANT_NODES: set[type] = set()


def register_pytree_node(
    cls: type[Any],
    flatten_fn: FlattenFunc,
    unflatten_fn: UnflattenFunc,
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: ToDumpableContextFn | None = None,
    from_dumpable_context: FromDumpableContextFn | None = None,
    flatten_with_keys_fn: FlattenWithKeysFunc | None = None,
) -> None:
    """Make the objects of a class containers: nodes of trees instead of leaves.

    Args:
        cls: the class; its subclasses are not meant.
        flatten_fn: gives an object's children, and a context: what else makes the object.
        unflatten_fn: makes an object from children and context.
        serialized_type_name: the name of the class in :func:`treespec_dumps`.
        to_dumpable_context: makes something of the context that JSON can hold.
        from_dumpable_context: the inverse of ``to_dumpable_context``.
        flatten_with_keys_fn: as ``flatten_fn``, with a pair of key and child for each child.

    Example:
        >>> from facula.utils._pytree import register_pytree_node, tree_map
        >>> class Pair:
        ...     def __init__(self, a, b):
        ...         self.a, self.b = a, b
        >>> register_pytree_node(Pair, lambda p: ([p.a, p.b], None), lambda ab, _: Pair(*ab))
        >>> tree_map(lambda x: x + 1, Pair(1, 2)).b
        3
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls!r} is already registered as pytree node.")
    _register_pytree_node(
        cls,
        flatten_fn,
        unflatten_fn,
        serialized_type_name=serialized_type_name,
        to_dumpable_context=to_dumpable_context,
        from_dumpable_context=from_dumpable_context,
        flatten_with_keys_fn=flatten_with_keys_fn,
    )


def _register_pytree_node(
    cls: type[Any],
    flatten_fn: FlattenFunc,
    unflatten_fn: UnflattenFunc,
    to_str_fn: Any = None,
    maybe_from_str_fn: Any = None,
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: ToDumpableContextFn | None = None,
    from_dumpable_context: FromDumpableContextFn | None = None,
    flatten_with_keys_fn: FlattenWithKeysFunc | None = None,
) -> None:
    """The older :func:`register_pytree_node`: a class may be registered again."""
    if (to_dumpable_context is None) != (from_dumpable_context is None):
        raise ValueError(
            f"Both to_dumpable_context and from_dumpable_context for {cls} must be None or "
            "registered."
        )
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)
    name = serialized_type_name or NO_SERIALIZED_TYPE_NAME_FOUND
    SUPPORTED_SERIALIZED_TYPES[cls] = _SerializeNodeDef(
        cls, name, to_dumpable_context, from_dumpable_context
    )
    SERIALIZED_TYPE_TO_PYTHON_TYPE[name] = cls


_private_register_pytree_node = _register_pytree_node


def _deregister_pytree_node(cls: type[Any]) -> None:
    """Make the objects of a class leaves again."""
    del SUPPORTED_NODES[cls]
    node = SUPPORTED_SERIALIZED_TYPES.pop(cls)
    SERIALIZED_TYPE_TO_PYTHON_TYPE.pop(node.serialized_type_name, None)
    CONSTANT_NODES.discard(cls)


def register_dataclass(
    cls: type[Any],
    *,
    field_names: list[str] | None = None,
    drop_field_names: list[str] | None = None,
    serialized_type_name: str | None = None,
) -> None:
    """Make a dataclass a container whose children are its fields.

    Args:
        cls: the dataclass.
        field_names: the fields that are children; all those of ``__init__`` by default. A field
            that is None is not a child.
        drop_field_names: fields that are neither; they get their defaults.
        serialized_type_name: the name of the class in :func:`treespec_dumps`.

    Example:
        >>> from dataclasses import dataclass
        >>> from facula.utils._pytree import register_dataclass, tree_leaves
        >>> @dataclass
        ... class Point:
        ...     x: float
        ...     y: float
        >>> register_dataclass(Point)
        >>> tree_leaves([Point(1.0, 2.0)])
        [1.0, 2.0]
    """
    import dataclasses  # takes longer to import than all of this module

    if not dataclasses.is_dataclass(cls):
        raise ValueError(f"register_dataclass: expected a dataclass, got {cls!r}.")
    fields = {field.name for field in dataclasses.fields(cls) if field.init}
    dropped = set(drop_field_names or ())
    names = field_names
    if names is None:
        names = [f.name for f in dataclasses.fields(cls) if f.init and f.name not in dropped]
    elif set(names) | dropped != fields:
        raise ValueError(
            f"register_dataclass: field_names and drop_field_names of {cls.__name__} must be the "
            f"fields {sorted(fields)}, got {sorted(set(names) | dropped)}."
        )

    def flatten(value: Any) -> tuple[list[Any], Context]:
        present = [name for name in names if getattr(value, name) is not None]
        absent = [name for name in names if getattr(value, name) is None]
        return [getattr(value, name) for name in present], [present, absent]

    def flatten_with_keys(value: Any) -> tuple[list[tuple[KeyEntry, Any]], Context]:
        children, context = flatten(value)
        return list(zip(map(GetAttrKey, context[0]), children, strict=True)), context

    def unflatten(children: Iterable[Any], context: Context) -> Any:
        present, absent = context
        return cls(**dict(zip(present, children, strict=True)), **dict.fromkeys(absent))

    register_pytree_node(
        cls,
        flatten,
        unflatten,
        serialized_type_name=serialized_type_name,
        flatten_with_keys_fn=flatten_with_keys,
    )


class _Value:
    """An object that is what its one attribute is."""

    __slots__: tuple[str, ...] = ()

    def _value(self) -> Any:
        return getattr(self, self.__slots__[0])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.__slots__[0]}={self._value()!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and bool(other._value() == self._value())

    def __hash__(self) -> int:
        return hash((type(self), self._value()))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._value(),)


class ConstantNode(_Value):
    """The context of a constant: an object that belongs to the structure of its tree."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


def register_constant(cls: type[Any]) -> None:
    """Make the objects of a class parts of the structure: no leaves, and equal in equal trees.

    Args:
        cls: a class with ``__eq__`` and ``__hash__``.

    Example:
        >>> from facula.utils._pytree import register_constant, tree_leaves
        >>> class Version(str):
        ...     pass
        >>> register_constant(Version)
        >>> tree_leaves([1, Version("2")])
        [1]
    """
    compare: Any = cls.__eq__
    hashed: Any = cls.__hash__
    if compare is object.__eq__ or hashed is None:
        raise TypeError(
            f"register_constant(cls={cls}): expected a class with __eq__ and __hash__, since trees "
            "with equal constants are equal."
        )

    def no_children(value: Any) -> tuple[list[Any], Context]:
        return [], ConstantNode(value)

    register_pytree_node(
        cls,
        no_children,
        lambda _, context: context.value,
        flatten_with_keys_fn=no_children,
    )
    CONSTANT_NODES.add(cls)


def is_constant_class(cls: type[Any]) -> bool:
    """Whether :func:`register_constant` was told of the class."""
    return isinstance(cls, type) and cls in CONSTANT_NODES


class SequenceKey(_Value):
    """The child ``[idx]`` of a sequence."""

    __slots__ = ("idx",)

    def __init__(self, idx: int) -> None:
        self.idx = idx

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, parent: Sequence[Any]) -> Any:
        return parent[self.idx]


class MappingKey(_Value):
    """The child ``[key]`` of a mapping."""

    __slots__ = ("key",)

    def __init__(self, key: Any) -> None:
        self.key = key

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, parent: Mapping[Any, Any]) -> Any:
        return parent[self.key]


class GetAttrKey(_Value):
    """The child ``.name`` of an object."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, parent: Any) -> Any:
        return getattr(parent, self.name)


def is_namedtuple(obj: Any) -> bool:
    """Whether the object is a named tuple, or a class of them.

    Example:
        >>> from collections import namedtuple
        >>> from facula.utils._pytree import is_namedtuple
        >>> is_namedtuple(namedtuple("Point", "x y")(1, 2))
        True
    """
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_namedtuple_class(cls: type) -> bool:
    """Whether the class is one of named tuples, whose constructor takes its parts one by one."""
    return isinstance(cls, type) and issubclass(cls, tuple) and hasattr(cls, "_fields")


def is_namedtuple_instance(obj: Any) -> bool:
    """Whether the object is a named tuple."""
    return isinstance(obj, tuple) and hasattr(obj, "_fields")


_is_namedtuple_instance = is_namedtuple_instance


def is_structseq(obj: Any) -> bool:
    """Whether the object is a result such as that of ``facula.max``, or a class of them."""
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


def is_structseq_class(cls: type) -> bool:
    """Whether the class is one of tuples with named items that are made of one sequence."""
    return isinstance(cls, type) and issubclass(cls, tuple) and hasattr(cls, "n_sequence_fields")


def is_structseq_instance(obj: Any) -> bool:
    """Whether the object is a result such as that of ``facula.max``."""
    return is_structseq_class(type(obj))


def _tuple_flatten(d: tuple[Any, ...]) -> tuple[list[Any], Context]:
    return list(d), None


def _tuple_flatten_with_keys(d: tuple[Any, ...]) -> tuple[list[tuple[KeyEntry, Any]], Context]:
    return [(SequenceKey(i), child) for i, child in enumerate(d)], None


def _tuple_unflatten(values: Iterable[Any], context: Context) -> tuple[Any, ...]:
    return tuple(values)


def _list_flatten(d: list[Any]) -> tuple[list[Any], Context]:
    return d, None


def _list_flatten_with_keys(d: list[Any]) -> tuple[list[tuple[KeyEntry, Any]], Context]:
    return [(SequenceKey(i), child) for i, child in enumerate(d)], None


def _list_unflatten(values: Iterable[Any], context: Context) -> list[Any]:
    return list(values)


def _dict_flatten(d: Mapping[Any, Any]) -> tuple[list[Any], Context]:
    return list(d.values()), list(d.keys())


def _dict_flatten_with_keys(d: Mapping[Any, Any]) -> tuple[list[tuple[KeyEntry, Any]], Context]:
    return [(MappingKey(key), child) for key, child in d.items()], list(d.keys())


def _dict_unflatten(values: Iterable[Any], context: Context) -> dict[Any, Any]:
    return dict(zip(context, values, strict=False))


def _ordereddict_unflatten(values: Iterable[Any], context: Context) -> OrderedDict[Any, Any]:
    return OrderedDict(zip(context, values, strict=False))


_ordereddict_flatten = _odict_flatten = _dict_flatten
_ordereddict_flatten_with_keys = _dict_flatten_with_keys
_odict_unflatten = _ordereddict_unflatten


def _namedtuple_flatten(d: Any) -> tuple[list[Any], Context]:
    return list(d), type(d)


def _namedtuple_flatten_with_keys(d: Any) -> tuple[list[tuple[KeyEntry, Any]], Context]:
    return list(zip(map(GetAttrKey, d._fields), d, strict=True)), type(d)


def _namedtuple_unflatten(values: Iterable[Any], context: Context) -> Any:
    return context(*values)


def _defaultdict_flatten(d: defaultdict[Any, Any]) -> tuple[list[Any], Context]:
    values, keys = _dict_flatten(d)
    return values, [d.default_factory, keys]


def _defaultdict_flatten_with_keys(
    d: defaultdict[Any, Any],
) -> tuple[list[tuple[KeyEntry, Any]], Context]:
    pairs, keys = _dict_flatten_with_keys(d)
    return pairs, [d.default_factory, keys]


def _defaultdict_unflatten(values: Iterable[Any], context: Context) -> defaultdict[Any, Any]:
    factory, keys = context
    return defaultdict(factory, zip(keys, values, strict=False))


def _deque_flatten(d: deque[Any]) -> tuple[list[Any], Context]:
    return list(d), d.maxlen


def _deque_flatten_with_keys(d: deque[Any]) -> tuple[list[tuple[KeyEntry, Any]], Context]:
    return [(SequenceKey(i), child) for i, child in enumerate(d)], d.maxlen


def _deque_unflatten(values: Iterable[Any], context: Context) -> deque[Any]:
    return deque(values, context)


def _register_tuples_of_the_package() -> None:
    """Sizes, and the tuples with names that operations return."""
    for cls in (Size, *(getattr(return_types, name) for name in return_types.__all__)):

        def unflatten(values: Iterable[Any], context: Context, cls: Any = cls) -> Any:
            return cls(tuple(values))

        _register_pytree_node(
            cls,
            _tuple_flatten,
            unflatten,
            serialized_type_name=f"torch.{'' if cls is Size else 'return_types.'}{cls.__name__}",
            flatten_with_keys_fn=_tuple_flatten_with_keys,
        )


def _register_containers_of_python() -> None:
    from facula.utils import _pytree_json as json

    containers: tuple[tuple[Any, Any, Any, Any], ...] = (
        (tuple, _tuple_flatten, _tuple_unflatten, _tuple_flatten_with_keys),
        (list, _list_flatten, _list_unflatten, _list_flatten_with_keys),
        (dict, _dict_flatten, _dict_unflatten, _dict_flatten_with_keys),
        (OrderedDict, _dict_flatten, _ordereddict_unflatten, _dict_flatten_with_keys),
        (deque, _deque_flatten, _deque_unflatten, _deque_flatten_with_keys),
        (namedtuple, _namedtuple_flatten, _namedtuple_unflatten, _namedtuple_flatten_with_keys),
        (
            defaultdict,
            _defaultdict_flatten,
            _defaultdict_unflatten,
            _defaultdict_flatten_with_keys,
        ),
    )
    for cls, flatten, unflatten, flatten_with_keys in containers:
        to_json, from_json = json.CONTEXTS.get(cls, (None, None))
        _register_pytree_node(
            cls,
            flatten,
            unflatten,
            serialized_type_name=f"{cls.__module__}.{cls.__name__}",
            to_dumpable_context=to_json,
            from_dumpable_context=from_json,
            flatten_with_keys_fn=flatten_with_keys,
        )


STANDARD_DICT_TYPES = frozenset({dict, OrderedDict, defaultdict})
BUILTIN_TYPES: frozenset[Any] = frozenset(
    {tuple, list, dict, namedtuple, OrderedDict, defaultdict, deque}
)


def _get_node_type(tree: Any) -> Any:
    # The exact type: a subclass may need more than its items to be made again, so it is a leaf.
    kind = type(tree)
    if kind not in SUPPORTED_NODES and is_namedtuple_instance(tree):
        return namedtuple
    return kind


def tree_is_leaf(tree: PyTree, is_leaf: _IsLeaf = None) -> bool:
    """Whether the object is a leaf: no container, or one that ``is_leaf`` says to keep whole.

    Example:
        >>> from facula.utils._pytree import tree_is_leaf
        >>> tree_is_leaf(1), tree_is_leaf([1])
        (True, False)
    """
    return (is_leaf is not None and is_leaf(tree)) or _get_node_type(tree) not in SUPPORTED_NODES


_is_leaf = tree_is_leaf


class TreeSpec:
    """The structure of a tree: everything but its leaves.

    Args:
        type: the class of the container; None for a leaf.
        context: what makes the container beside its children: the keys of a dict, for example.
        children_specs: the structures of the children.
    """

    __slots__ = ("_children", "_context", "num_children", "num_leaves", "num_nodes", "type")

    def __init__(self, type: Any, context: Context, children_specs: list[TreeSpec]) -> None:
        self.type = type
        self._context = context
        self._children = children_specs
        self.num_children = len(children_specs)
        self.num_leaves = self.num_nodes = 0 if type is not None else 1
        if type is not None:
            self.num_nodes = 1 + sum([child.num_nodes for child in children_specs])
            self.num_leaves = sum([child.num_leaves for child in children_specs])

    @property
    def context(self) -> Context:
        return self._context

    @property
    def children_specs(self) -> list[TreeSpec]:
        return self._children

    def is_leaf(self) -> bool:
        """Whether the tree is a leaf."""
        return self.type is None

    def children(self) -> list[TreeSpec]:
        """The structures of the children, in a list of its own."""
        return self._children.copy()

    def child(self, index: int) -> TreeSpec:
        """The structure of one child."""
        return self._children[index]

    def __repr__(self, indent: int = 0) -> str:
        if self.is_leaf():
            return "*"
        # PyTorch's layout: the first child stays on the line of its parent.
        separator = f",\n{' ' * (indent + 2)}"
        children = separator.join(child.__repr__(indent + 2) for child in self._children)
        return f"TreeSpec({self.type.__name__}, {self._context}, [{children}])"

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, TreeSpec):
            return NotImplemented
        return (
            self.type is other.type
            and self.num_children == other.num_children
            and self._context == other._context
            and self._children == other._children
        )

    def __hash__(self) -> int:
        context = self._context
        if self.type in STANDARD_DICT_TYPES:
            keys = context[1] if self.type is defaultdict else context
            context = tuple(keys)
        return hash((self.type, context, tuple(self._children)))

    def __reduce__(self) -> tuple[Any, ...]:
        return TreeSpec, (self.type, self._context, self._children)

    def flatten_up_to(self, tree: PyTree) -> list[PyTree]:
        """The parts of a tree that stand where this structure has its leaves.

        Example:
            >>> from facula.utils._pytree import tree_structure
            >>> tree_structure([0, (0,)]).flatten_up_to(["a", (["b", "c"],)])
            ['a', ['b', 'c']]
        """
        parts: list[PyTree] = []
        self._flatten_up_to(tree, parts)
        return parts

    def _flatten_up_to(self, tree: PyTree, parts: list[PyTree]) -> None:
        if self.type is None:
            parts.append(tree)
            return
        kind = _get_node_type(tree)
        both_dicts = self.type in STANDARD_DICT_TYPES and kind in STANDARD_DICT_TYPES
        if kind is not self.type and not both_dicts:
            raise ValueError(f"Node type mismatch; expected {self.type!r}, but got {kind!r}.")
        if both_dicts:
            children = self._children_of_dict(tree)
        else:
            children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
            if len(children) != self.num_children:
                raise ValueError(
                    f"Node arity mismatch; expected {self.num_children}, but got {len(children)}."
                )
            # The limit of a deque is of no importance to who walks over it.
            if kind is not deque and context != self._context:
                raise ValueError(
                    f"Node context mismatch for custom node type {kind!r}; expected "
                    f"{self._context!r}, but got {context!r}."
                )
        for child, spec in zip(children, self._children, strict=True):
            spec._flatten_up_to(child, parts)

    def _children_of_dict(self, tree: Mapping[Any, Any]) -> list[Any]:
        keys = self._context[1] if self.type is defaultdict else self._context
        if len(tree) != self.num_children:
            raise ValueError(
                f"Node arity mismatch; expected {self.num_children}, but got {len(tree)}."
            )
        if set(keys) != set(tree):
            missing, extra = set(keys) - set(tree), set(tree) - set(keys)
            raise ValueError(
                f"Node keys mismatch; missing key(s): {missing}; extra key(s): {extra}."
            )
        return [tree[key] for key in keys]

    def unflatten(self, leaves: Iterable[Any]) -> PyTree:
        """The tree of this structure that has the given leaves.

        Example:
            >>> from facula.utils._pytree import tree_structure
            >>> tree_structure({"a": 0, "b": [0]}).unflatten([1, 2])
            {'a': 1, 'b': [2]}
        """
        if not isinstance(leaves, (list, tuple)):
            leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but the spec "
                f"refers to a pytree that holds {self.num_leaves} items ({self})."
            )
        return self._unflatten(iter(leaves))

    def _unflatten(self, leaves: Iterator[Any]) -> PyTree:
        kind = self.type
        if kind is None:
            return next(leaves)
        children = [child._unflatten(leaves) for child in self._children]
        if kind is tuple:
            return tuple(children)
        if kind is list:
            return children
        return SUPPORTED_NODES[kind].unflatten_fn(children, self._context)


PyTreeSpec = TreeSpec


class LeafSpec(TreeSpec):
    """The structure of a leaf."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(None, None, [])

    def __reduce__(self) -> tuple[Any, ...]:
        return LeafSpec, ()


_LEAF_SPEC = LeafSpec()


def treespec_leaf() -> LeafSpec:
    """The structure of a leaf."""
    return _LEAF_SPEC


def treespec_tuple(iterable: Iterable[TreeSpec] = (), /) -> TreeSpec:
    """The structure of a tuple whose items have the given structures."""
    return TreeSpec(tuple, None, list(iterable))


def treespec_dict(
    mapping: Mapping[Any, TreeSpec] | Iterable[tuple[Any, TreeSpec]] = (), /, **kwargs: TreeSpec
) -> TreeSpec:
    """The structure of a dict whose values have the given structures."""
    specs = dict(mapping, **kwargs)
    return TreeSpec(dict, list(specs), list(specs.values()))


def _checked_spec(treespec: Any) -> TreeSpec:
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            "Expected `treespec` to be an instance of PyTreeSpec but got item of type "
            f"{type(treespec)}."
        )
    return treespec


def tree_flatten(tree: PyTree, is_leaf: _IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """Take a tree apart into its leaves and its structure.

    Args:
        tree: the tree.
        is_leaf: says of a container whether it stays whole.

    Example:
        >>> from facula.utils._pytree import tree_flatten
        >>> tree_flatten({"a": 1, "b": (2, [3])})[0]
        [1, 2, 3]
    """
    leaves: list[Any] = []
    return leaves, _flatten(tree, leaves, is_leaf)


def _flatten(tree: PyTree, leaves: list[Any], is_leaf: _IsLeaf) -> TreeSpec:
    kind = type(tree)
    node = SUPPORTED_NODES.get(kind)
    if node is None and is_namedtuple_instance(tree):
        kind = namedtuple  # type: ignore[assignment]
        node = SUPPORTED_NODES[kind]
    if node is None or (is_leaf is not None and is_leaf(tree)):
        leaves.append(tree)
        return _LEAF_SPEC
    children, context = node.flatten_fn(tree)
    return TreeSpec(kind, context, [_flatten(child, leaves, is_leaf) for child in children])


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> PyTree:
    """Put a tree together from its leaves, in the order in which :func:`tree_flatten` gave them.

    Args:
        leaves: the leaves.
        treespec: the structure.

    Example:
        >>> from facula.utils._pytree import tree_structure, tree_unflatten
        >>> tree_unflatten([1, 2], tree_structure((0, [0])))
        (1, [2])
    """
    return _checked_spec(treespec).unflatten(leaves)


def tree_iter(tree: PyTree, is_leaf: _IsLeaf = None) -> Iterator[Any]:
    """The leaves of a tree, one after the other.

    Example:
        >>> from facula.utils._pytree import tree_iter
        >>> sum(tree_iter([1, (2, {"a": 3})]))
        6
    """
    if tree_is_leaf(tree, is_leaf):
        yield tree
        return
    children, _ = SUPPORTED_NODES[_get_node_type(tree)].flatten_fn(tree)
    for child in children:
        yield from tree_iter(child, is_leaf)


def tree_leaves(tree: PyTree, is_leaf: _IsLeaf = None) -> list[Any]:
    """The leaves of a tree in a list.

    Example:
        >>> from facula.utils._pytree import tree_leaves
        >>> tree_leaves([1, (2, {"a": 3})])
        [1, 2, 3]
    """
    return list(tree_iter(tree, is_leaf))


def tree_structure(tree: PyTree, is_leaf: _IsLeaf = None) -> TreeSpec:
    """The structure of a tree.

    Example:
        >>> from facula.utils._pytree import tree_structure
        >>> tree_structure({"a": 1})
        TreeSpec(dict, ['a'], [*])
    """
    return tree_flatten(tree, is_leaf)[1]


def tree_map(
    func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: _IsLeaf = None
) -> PyTree:
    """Apply a function to the leaves of one tree, or of several of the same structure.

    Args:
        func: takes one leaf of each tree.
        tree: the first tree, whose structure the result has.
        rests: more trees; where ``tree`` has a leaf they may have any tree.
        is_leaf: says of a container of the first tree whether it stays whole.

    Example:
        >>> from facula.utils._pytree import tree_map
        >>> tree_map(lambda x: x + 1, {"a": 1, "b": (2,)})
        {'a': 2, 'b': (3,)}
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    columns = [leaves, *(spec.flatten_up_to(rest) for rest in rests)]
    return spec._unflatten(iter([func(*row) for row in zip(*columns, strict=True)]))


def tree_map_(
    func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: _IsLeaf = None
) -> PyTree:
    """As :func:`tree_map`, for a function that is called for what it does; gives ``tree``.

    Example:
        >>> from facula.utils._pytree import tree_map_
        >>> tree_map_(print, {"a": 1, "b": [2]})
        1
        2
        {'a': 1, 'b': [2]}
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    for row in zip(leaves, *(spec.flatten_up_to(rest) for rest in rests), strict=True):
        func(*row)
    return tree


def map_only(
    type_or_types_or_pred: Any, /
) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """A decorator: the function is applied to what is of a type, or passes a test; others stay.

    Args:
        type_or_types_or_pred: a type, a tuple or union of types, or a function that says it.

    Example:
        >>> from facula.utils._pytree import map_only, tree_map
        >>> tree_map(map_only(int)(lambda x: x + 1), [1, "a"])
        [2, 'a']
    """
    which = type_or_types_or_pred
    if isinstance(which, (type, tuple, types.UnionType)):

        def is_meant(x: Any) -> bool:
            return isinstance(x, which)

    elif callable(which):
        is_meant = which
    else:
        raise TypeError("Argument must be a type, a tuple of types, or a callable.")

    def decorate(func: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda x: func(x) if is_meant(x) else x

    return decorate


def tree_map_only(
    type_or_types_or_pred: Any,
    /,
    func: Callable[[Any], Any],
    tree: PyTree,
    is_leaf: _IsLeaf = None,
) -> PyTree:
    """Apply a function to the leaves of a type, or that pass a test; others stay as they are.

    Example:
        >>> from facula.utils._pytree import tree_map_only
        >>> tree_map_only(str, str.upper, [1, ("a", 2)])
        [1, ('A', 2)]
    """
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(
    type_or_types_or_pred: Any,
    /,
    func: Callable[[Any], Any],
    tree: PyTree,
    is_leaf: _IsLeaf = None,
) -> PyTree:
    """As :func:`tree_map_only`, for a function that is called for what it does."""
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: PyTree, is_leaf: _IsLeaf = None) -> bool:
    """Whether all leaves pass a test.

    Example:
        >>> from facula.utils._pytree import tree_all
        >>> tree_all(str.isupper, ["A", ("B", "c")])
        False
    """
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: PyTree, is_leaf: _IsLeaf = None) -> bool:
    """Whether a leaf passes a test.

    Example:
        >>> from facula.utils._pytree import tree_any
        >>> tree_any(str.isupper, ["A", ("B", "c")])
        True
    """
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(
    type_or_types: Any, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: _IsLeaf = None
) -> bool:
    """Whether all leaves of a type pass a test."""
    leaves = tree_iter(tree, is_leaf)
    return all(pred(x) for x in leaves if isinstance(x, type_or_types))


def tree_any_only(
    type_or_types: Any, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: _IsLeaf = None
) -> bool:
    """Whether a leaf of a type passes a test."""
    leaves = tree_iter(tree, is_leaf)
    return any(pred(x) for x in leaves if isinstance(x, type_or_types))


def arg_tree_leaves(*args: PyTree, **kwargs: PyTree) -> list[Any]:
    """The leaves of all arguments."""
    return [leaf for tree in (*args, *kwargs.values()) for leaf in tree_iter(tree)]


def broadcast_prefix(
    prefix: PyTree, treespec: TreeSpec, is_leaf: _IsLeaf = None
) -> list[Any] | None:
    """One value per leaf of ``treespec``, from a tree that may stop earlier than it does.

    Returns None where the prefix does not fit.

    Example:
        >>> from facula.utils._pytree import broadcast_prefix, tree_structure
        >>> broadcast_prefix((0, 1), tree_structure(("a", ["b", "c"])))
        [0, 1, 1]
    """
    if tree_is_leaf(prefix, is_leaf):
        return [prefix] * treespec.num_leaves
    kind = _get_node_type(prefix)
    children, context = SUPPORTED_NODES[kind].flatten_fn(prefix)
    if kind is not treespec.type or context != treespec.context:
        return None
    if len(children) != treespec.num_children:
        return None
    values: list[Any] = []
    for child, child_spec in zip(children, treespec.children_specs, strict=True):
        part = broadcast_prefix(child, child_spec, is_leaf)
        if part is None:
            return None
        values += part
    return values


_broadcast_to_and_flatten = broadcast_prefix


def tree_flatten_with_path(
    tree: PyTree, is_leaf: _IsLeaf = None
) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]:
    """As :func:`tree_flatten`, with the keys that lead to each leaf.

    Example:
        >>> from facula.utils._pytree import keystr, tree_flatten_with_path
        >>> for path, leaf in tree_flatten_with_path({"a": [1, 2]})[0]:
        ...     print(keystr(path), leaf)
        ['a'][0] 1
        ['a'][1] 2
    """
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_leaves_with_path(tree: PyTree, is_leaf: _IsLeaf = None) -> list[tuple[KeyPath, Any]]:
    """The leaves of a tree, each with the keys that lead to it."""
    return list(_generate_key_paths((), tree, is_leaf))


def _generate_key_paths(
    key_path: KeyPath, tree: PyTree, is_leaf: _IsLeaf = None
) -> Iterator[tuple[KeyPath, Any]]:
    if tree_is_leaf(tree, is_leaf):
        yield key_path, tree
        return
    node = SUPPORTED_NODES[_get_node_type(tree)]
    if node.flatten_with_keys_fn is None:
        raise ValueError(
            f"Did not find a flatten_with_keys_fn for type: {node.type}. Please pass a "
            "flatten_with_keys_fn argument to register_pytree_node."
        )
    pairs, _ = node.flatten_with_keys_fn(tree)
    for key, child in pairs:
        yield from _generate_key_paths((*key_path, key), child, is_leaf)


def tree_map_with_path(
    func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: _IsLeaf = None
) -> PyTree:
    """As :func:`tree_map`, for a function that takes the keys of the leaf before the leaf.

    Example:
        >>> from facula.utils._pytree import keystr, tree_map_with_path
        >>> tree_map_with_path(lambda path, x: keystr(path), [1, {"a": 2}])
        ['[0]', {'a': "[1]['a']"}]
    """
    pairs, spec = tree_flatten_with_path(tree, is_leaf)
    columns = [list(column) for column in zip(*pairs, strict=True)]
    columns += [spec.flatten_up_to(rest) for rest in rests]
    return spec.unflatten([func(*row) for row in zip(*columns, strict=True)])


def keystr(kp: KeyPath) -> str:
    """The keys as Python writes them.

    Example:
        >>> from facula.utils._pytree import GetAttrKey, SequenceKey, keystr
        >>> keystr((SequenceKey(1), GetAttrKey("x")))
        '[1].x'
    """
    return "".join(map(str, kp))


def key_get(obj: Any, kp: KeyPath) -> Any:
    """What the keys lead to.

    Example:
        >>> from facula.utils._pytree import MappingKey, SequenceKey, key_get
        >>> key_get([0, {"a": 5}], (SequenceKey(1), MappingKey("a")))
        5
    """
    for key in kp:
        obj = key.get(obj)
    return obj


class _Asterisk(str):
    __slots__ = ()

    def __repr__(self) -> str:
        return "*"


def treespec_pprint(treespec: TreeSpec) -> str:
    """The structure as Python would print its tree, with a star for each leaf.

    Example:
        >>> from facula.utils._pytree import tree_structure, treespec_pprint
        >>> treespec_pprint(tree_structure({"a": [1, 2]}))
        "{'a': [*, *]}"
    """
    return repr(tree_unflatten([_Asterisk()] * treespec.num_leaves, treespec))


_register_containers_of_python()
_register_tuples_of_the_package()

from facula.utils._pytree_json import (  # noqa: E402  (needs the classes above)
    treespec_dumps,
    treespec_loads,
)
