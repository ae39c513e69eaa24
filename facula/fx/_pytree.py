"""Trees of a given structure taken apart, where the structure says what belongs to it.

The structure was seen when the graph was traced. A dict may have more keys now: they are left out.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

from facula.utils._pytree import PyTree, TreeSpec

__all__ = ["register_pytree_flatten_spec", "tree_flatten_spec"]

FlattenFuncSpec = Callable[[PyTree, TreeSpec], list[Any]]
FlattenFuncExactMatchSpec = Callable[[PyTree, TreeSpec], bool]

SUPPORTED_NODES: dict[Any, FlattenFuncSpec] = {}
SUPPORTED_NODES_EXACT_MATCH: dict[Any, FlattenFuncExactMatchSpec | None] = {}


def register_pytree_flatten_spec(
    cls: type[Any],
    flatten_fn_spec: FlattenFuncSpec,
    flatten_fn_exact_match_spec: FlattenFuncExactMatchSpec | None = None,
) -> None:
    """Say how objects of a class are taken apart as a structure asks for it.

    Args:
        cls: the class.
        flatten_fn_spec: gives the children of an object that the structure has.
        flatten_fn_exact_match_spec: says whether the object has no others.
    """
    SUPPORTED_NODES[cls] = flatten_fn_spec
    SUPPORTED_NODES_EXACT_MATCH[cls] = flatten_fn_exact_match_spec


def tree_flatten_spec(
    pytree: PyTree, spec: TreeSpec, exact_structural_match: bool = False
) -> list[Any]:
    """The leaves of a tree at the places where a structure has leaves.

    Args:
        pytree: the tree.
        spec: the structure.
        exact_structural_match: whether more children than the structure has are an error.

    Example:
        >>> from facula.fx._pytree import tree_flatten_spec
        >>> from facula.utils._pytree import tree_structure
        >>> tree_flatten_spec({"a": 1, "b": 2}, tree_structure({"b": 0}))
        [2]
    """
    if spec.is_leaf():
        return [pytree]
    if spec.type not in SUPPORTED_NODES:
        raise RuntimeError(
            f"{type(pytree)} does not have a flatten_fn_spec associated with it. Please register "
            "one with torch.fx._pytree.register_pytree_flatten_spec."
        )
    if exact_structural_match:
        match = SUPPORTED_NODES_EXACT_MATCH[spec.type]
        if match is not None and not match(pytree, spec):
            raise RuntimeError(f"Cannot flatten pytree {pytree}, given spec: {spec}")
    children = SUPPORTED_NODES[spec.type](pytree, spec)
    return [
        leaf
        for child, child_spec in zip(children, spec.children_specs, strict=True)
        for leaf in tree_flatten_spec(child, child_spec, exact_structural_match)
    ]


def _values(d: dict[Any, Any], spec: TreeSpec) -> list[Any]:
    return [d[key] for key in spec.context]


def _items(sequence: Any, spec: TreeSpec) -> list[Any]:
    return [sequence[i] for i in range(spec.num_children)]


def _same_length(d: Any, spec: TreeSpec) -> bool:
    return len(d) == spec.num_children


register_pytree_flatten_spec(dict, _values, _same_length)
for _cls in (list, tuple, namedtuple):
    register_pytree_flatten_spec(_cls, _items, _same_length)  # type: ignore[arg-type]
