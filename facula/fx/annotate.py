"""Types for proxies."""

from __future__ import annotations

from typing import Any

from facula.fx.proxy import Proxy

__all__ = ["annotate"]


def annotate(val: Any, type: Any) -> Any:
    """Give the node of a proxy a type, for the generated code; anything else stays as it is.

    Args:
        val: the proxy.
        type: the type.

    Example:
        >>> from facula.fx.annotate import annotate
        >>> traced = facula.fx.symbolic_trace(lambda x: annotate(x.neg(), facula.Tensor))
        >>> print(traced.code.strip())
        def forward(self, x):
            neg : facula.Tensor = x.neg();  x = None
            return neg
    """
    if isinstance(val, Proxy):
        if val.node.type:
            raise RuntimeError(
                f"Tried to annotate a value that already had a type on it! Existing type is "
                f"{val.node.type} and new type is {type}."
            )
        val.node.type = type
    return val
