"""The lists and dicts among the arguments of a node, which nobody may change in place.

A node knows which nodes use it. That knowledge is made when ``node.args`` is assigned, so a list
inside of it must not change behind the node's back.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn, TypeVar

from facula.utils import _pytree

__all__ = ["immutable_dict", "immutable_list"]

_T = TypeVar("_T")
_KT = TypeVar("_KT")
_VT = TypeVar("_VT")


def _refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    raise TypeError(
        f"{type(self).__name__!r} object does not support mutation. The arguments of a node are "
        "changed by assigning new ones:\n\n    new_args = ...  # a changed copy\n"
        "    node.args = new_args"
    )


class immutable_list(list[_T]):
    """A list that cannot be changed.

    Example:
        >>> from facula.fx.immutable_collections import immutable_list
        >>> immutable_list([1, 2])
        [1, 2]
    """

    __slots__ = ()
    __delitem__ = __iadd__ = __imul__ = __setitem__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))

    def __reduce__(self) -> tuple[type[immutable_list[_T]], tuple[tuple[_T, ...]]]:
        return immutable_list, (tuple(self),)


class immutable_dict(dict[_KT, _VT]):
    """A dict that cannot be changed.

    Example:
        >>> from facula.fx.immutable_collections import immutable_dict
        >>> immutable_dict(a=1)
        {'a': 1}
    """

    __slots__ = ()
    __delitem__ = __ior__ = __setitem__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        return immutable_dict, (tuple(self.items()),)


def _unflatten_list(values: Iterable[Any], context: Any) -> immutable_list[Any]:
    return immutable_list(values)


def _unflatten_dict(values: Iterable[Any], context: Any) -> immutable_dict[Any, Any]:
    return immutable_dict(zip(context, values, strict=False))


_pytree.register_pytree_node(
    immutable_list,
    _pytree._list_flatten,
    _unflatten_list,
    serialized_type_name="torch.fx.immutable_collections.immutable_list",
    flatten_with_keys_fn=_pytree._list_flatten_with_keys,
)
_pytree.register_pytree_node(
    immutable_dict,
    _pytree._dict_flatten,
    _unflatten_dict,
    serialized_type_name="torch.fx.immutable_collections.immutable_dict",
    flatten_with_keys_fn=_pytree._dict_flatten_with_keys,
)
