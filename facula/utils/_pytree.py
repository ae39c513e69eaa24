"""Nested containers taken apart into their leaves, and put together again.

Containers are tuples, named tuples, lists, deques, dicts, OrderedDicts and defaultdicts; everything
else is a leaf.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

__all__ = ["TreeSpec", "broadcast_prefix", "tree_flatten", "tree_map", "tree_unflatten"]


class TreeSpec(NamedTuple):
    """The shape of a tree: its container type, the keys of a dict, the children; None: a leaf.

    ``extra`` is what else makes the container: the factory of a defaultdict, the limit of a deque.
    """

    type: Any = None
    keys: tuple[Any, ...] = ()
    children: tuple[TreeSpec, ...] = ()
    extra: Any = None

    @property
    def is_leaf(self) -> bool:
        return self.type is None

    @property
    def num_leaves(self) -> int:
        return 1 if self.is_leaf else sum(child.num_leaves for child in self.children)


LEAF = TreeSpec()


def is_namedtuple(tree: Any) -> bool:
    """Whether the object is a named tuple, whose constructor takes its parts one by one."""
    return isinstance(tree, tuple) and hasattr(tree, "_fields")


def _children(tree: Any) -> tuple[tuple[Any, ...], Any] | None:
    """Keys and children of a container; None for a leaf."""
    # The exact types: a subclass may need more than its items to be made again, so it is a leaf.
    kind = type(tree)
    if kind is tuple or kind is list or kind is deque:
        return (), tree
    if kind is dict or kind is OrderedDict or kind is defaultdict:
        return tuple(tree.keys()), list(tree.values())
    if is_namedtuple(tree):
        return (), tree
    return None


def tree_flatten(tree: Any) -> tuple[list[Any], TreeSpec]:
    """Take a tree apart.

    Example:
        >>> from facula.utils._pytree import tree_flatten
        >>> tree_flatten({"a": 1, "b": (2, [3])})[0]
        [1, 2, 3]
    """
    leaves: list[Any] = []
    return leaves, _flatten(tree, leaves)


def _flatten(tree: Any, leaves: list[Any]) -> TreeSpec:
    found = _children(tree)
    if found is None:
        leaves.append(tree)
        return LEAF
    keys, children = found
    specs = tuple([_flatten(child, leaves) for child in children])
    kind = type(tree)
    if kind is tuple or kind is list:
        return TreeSpec(kind, keys, specs)
    extra = tree.default_factory if kind is defaultdict else getattr(tree, "maxlen", None)
    return TreeSpec(kind, keys, specs, extra)


def tree_unflatten(leaves: Sequence[Any], spec: TreeSpec) -> Any:
    """Put a tree together from its leaves, in the order in which :func:`tree_flatten` gave them."""
    remaining = iter(leaves)
    try:
        tree = _unflatten(remaining, spec)
    except StopIteration:
        is_complete = False
    else:
        is_complete = next(remaining, remaining) is remaining
    if not is_complete:
        raise ValueError(f"tree_unflatten: expected {spec.num_leaves} leaves, got {len(leaves)}.")
    return tree


def _unflatten(leaves: Iterator[Any], spec: TreeSpec) -> Any:
    kind = spec.type
    if kind is None:
        return next(leaves)
    children = [_unflatten(leaves, child) for child in spec.children]
    if kind is tuple:
        return tuple(children)
    if kind is list:
        return children
    if kind is defaultdict:
        return defaultdict(spec.extra, zip(spec.keys, children, strict=True))
    if kind in (dict, OrderedDict):
        return kind(zip(spec.keys, children, strict=True))
    if kind is deque:
        return deque(children, spec.extra)
    return kind(*children) if hasattr(kind, "_fields") else kind(children)


def tree_map(func: Callable[..., Any], tree: Any, *rest: Any) -> Any:
    """Apply a function to the leaves of one tree, or of several of the same shape.

    Example:
        >>> from facula.utils._pytree import tree_map
        >>> tree_map(lambda x: x + 1, {"a": 1, "b": (2,)})
        {'a': 2, 'b': (3,)}
    """
    leaves, spec = tree_flatten(tree)
    columns = [leaves]
    for other in rest:
        other_leaves, other_spec = tree_flatten(other)
        if other_spec != spec:
            raise ValueError("tree_map: the trees have different structures.")
        columns.append(other_leaves)
    return tree_unflatten([func(*row) for row in zip(*columns, strict=True)], spec)


def broadcast_prefix(prefix: Any, spec: TreeSpec) -> list[Any] | None:
    """One value per leaf of ``spec``, from a tree that may stop earlier than ``spec`` does.

    Returns None where the prefix does not fit.

    Example:
        >>> from facula.utils._pytree import broadcast_prefix, tree_flatten
        >>> broadcast_prefix((0, 1), tree_flatten(("a", ["b", "c"]))[1])
        [0, 1, 1]
    """
    found = _children(prefix)
    if found is None:
        return [prefix] * spec.num_leaves
    keys, children = found
    if type(prefix) is not spec.type or keys != spec.keys or len(children) != len(spec.children):
        return None
    values: list[Any] = []
    for child, child_spec in zip(children, spec.children, strict=True):
        part = broadcast_prefix(child, child_spec)
        if part is None:
            return None
        values += part
    return values
