"""Dictionaries whose keys are told apart by identity and are not kept alive.

Tensors compare element by element and so cannot be keys of ``weakref.WeakKeyDictionary``.
"""

from __future__ import annotations

import collections.abc as _collections_abc
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from weakref import ref

from facula._core import Tensor

__all__ = ["TensorWeakRef", "WeakIdKeyDictionary", "WeakIdRef", "WeakTensorKeyDictionary"]

WeakRef = ref


class WeakIdRef(weakref.ref):  # type: ignore[type-arg]
    """A weak reference that is equal to another of the same object, however that compares.

    Args:
        key: the object.
        callback: called with the reference when the object is gone.
    """

    __slots__ = ("_id",)

    def __init__(self, key: Any, callback: Callable[[Any], Any] | None = None) -> None:
        self._id = id(key)
        super().__init__(key, callback)  # type: ignore[call-arg]

    def __call__(self) -> Any:
        return super().__call__()

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, WeakIdRef):
            return NotImplemented
        mine, others = self(), other()
        if mine is not None and others is not None:
            return mine is others
        return self is other


class WeakIdKeyDictionary(_collections_abc.MutableMapping[Any, Any]):
    """A dictionary whose entries go away with their keys; keys are told apart by identity.

    Args:
        dict: entries to begin with.
        ref_type: the class of the references to keys.

    Example:
        >>> from facula.utils.weak import WeakIdKeyDictionary
        >>> x = facula.ones(2)
        >>> notes = WeakIdKeyDictionary({x: "ones"})
        >>> notes[x], len(notes)
        ('ones', 1)
        >>> del x
        >>> len(notes)
        0
    """

    def __init__(self, dict: Mapping[Any, Any] | None = None, ref_type: type = WeakIdRef) -> None:
        self.data: Any = {}
        self.ref_type = ref_type
        if dict is not None:
            self.update(dict)

    def _reference(self, key: Any) -> Any:
        this = weakref.ref(self)

        def forget(gone: Any) -> None:
            mapping = this()
            if mapping is not None:
                mapping.data.pop(gone, None)

        return self.ref_type(key, forget)

    def __getitem__(self, key: Any) -> Any:
        return self.data[self.ref_type(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.data[self._reference(key)] = value

    def __delitem__(self, key: Any) -> None:
        del self.data[self.ref_type(key)]

    def __contains__(self, key: object) -> bool:
        try:
            return self.ref_type(key) in self.data
        except TypeError:  # objects without weak references are no keys
            return False

    def __iter__(self) -> Iterator[Any]:
        for reference in list(self.data):
            key = reference()
            if key is not None:
                yield key

    def __len__(self) -> int:
        return sum(reference() is not None for reference in list(self.data))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {id(self):#x}>"

    def copy(self) -> WeakIdKeyDictionary:
        """A dictionary with the same entries."""
        other = type(self)(ref_type=self.ref_type)
        for key in self:
            other[key] = self[key]
        return other

    __copy__ = copy

    def keyrefs(self) -> list[Any]:
        """The references to the keys, some of which may be gone by the time they are followed."""
        return list(self.data)


WeakTensorKeyDictionary = WeakIdKeyDictionary


class TensorWeakRef:
    """A weak reference to a tensor.

    Args:
        tensor: the tensor.

    Example:
        >>> from facula.utils.weak import TensorWeakRef
        >>> x = facula.ones(2)
        >>> reference = TensorWeakRef(x)
        >>> reference() is x
        True
        >>> del x
        >>> reference() is None
        True
    """

    def __init__(self, tensor: Tensor) -> None:
        if not isinstance(tensor, Tensor):
            raise AssertionError(f"TensorWeakRef: expected a tensor, got {type(tensor).__name__}.")
        self.ref = weakref.ref(tensor)

    def __call__(self) -> Tensor | None:
        return self.ref()
