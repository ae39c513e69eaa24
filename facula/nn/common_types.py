# ruff: noqa: UP007 (a type variable with | is no alias to type checkers)
"""Types of arguments that layers take, for annotations."""

from __future__ import annotations

from typing import TypeVar, Union

from facula._core import Tensor

__all__: list[str] = []  # all of them are private, as in PyTorch

_T = TypeVar("_T")

_scalar_or_tuple_any_t = Union[_T, tuple[_T, ...]]
_scalar_or_tuple_1_t = Union[_T, tuple[_T]]
_scalar_or_tuple_2_t = Union[_T, tuple[_T, _T]]
_scalar_or_tuple_3_t = Union[_T, tuple[_T, _T, _T]]
_scalar_or_tuple_4_t = Union[_T, tuple[_T, _T, _T, _T]]
_scalar_or_tuple_5_t = Union[_T, tuple[_T, _T, _T, _T, _T]]
_scalar_or_tuple_6_t = Union[_T, tuple[_T, _T, _T, _T, _T, _T]]

# Sizes, with one number for all dimensions or one for each.
_size_any_t = _scalar_or_tuple_any_t[int]
_size_1_t = _scalar_or_tuple_1_t[int]
_size_2_t = _scalar_or_tuple_2_t[int]
_size_3_t = _scalar_or_tuple_3_t[int]
_size_4_t = _scalar_or_tuple_4_t[int]
_size_5_t = _scalar_or_tuple_5_t[int]
_size_6_t = _scalar_or_tuple_6_t[int]
_size_any_opt_t = _scalar_or_tuple_any_t[int | None]
_size_2_opt_t = _scalar_or_tuple_2_t[int | None]
_size_3_opt_t = _scalar_or_tuple_3_t[int | None]

_ratio_any_t = _scalar_or_tuple_any_t[float]
_ratio_2_t = _scalar_or_tuple_2_t[float]
_ratio_3_t = _scalar_or_tuple_3_t[float]

_tensor_list_t = _scalar_or_tuple_any_t[Tensor]

# Whether results also say where a pooling found its elements.
_maybe_indices_t = _scalar_or_tuple_2_t[Tensor]
