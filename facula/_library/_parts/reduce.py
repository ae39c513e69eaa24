"""Rules of statistics and norms."""

from __future__ import annotations

from typing import Any

import facula
from facula._core import Tensor
from facula._library._parts import RULES, Rule, aten, rule_of


def _spread(name: str) -> Rule:
    def rule(
        dispatch: Any,
        input: Tensor,
        dim: Any = None,
        unbiased: Any = None,
        *rest: Any,
        **kwargs: Any,
    ) -> Any:
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        if rest or (unbiased is not None and "correction" in kwargs):
            return NotImplemented
        if unbiased is False:
            kwargs["correction"] = 0
        if kwargs.get("correction") == 1:
            del kwargs["correction"]
        if not kwargs.get("keepdim", True):
            del kwargs["keepdim"]
        dims = () if dim is None else ([dim] if isinstance(dim, int) else list(dim),)
        return dispatch(aten(name, "correction"), input, *dims, **kwargs)

    return rule


for _name in ("std", "var", "std_mean", "var_mean"):
    RULES[_name] = _spread(_name)


@rule_of("norm")
def _norm(
    dispatch: Any,
    input: Tensor,
    p: Any = "fro",
    dim: Any = None,
    keepdim: bool = False,
    dtype: Any = None,
) -> Any:
    if p == "nuc":
        return NotImplemented
    order = 2 if p in ("fro", None) else p
    return facula.linalg.vector_norm(input, order, dim, keepdim, dtype=dtype)
