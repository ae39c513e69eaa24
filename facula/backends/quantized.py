"""Engines for quantized tensors, of which there are none."""

from __future__ import annotations

import sys
import types

__all__ = ["engine", "supported_engines"]

engine: str
supported_engines = ["none"]


class _Switch(types.ModuleType):
    """The module itself: what is set on it is checked."""

    @property
    def engine(self) -> str:
        """The engine that is used: none."""
        return "none"

    @engine.setter
    def engine(self, value: str) -> None:
        if value not in ("none", "NoQEngine"):
            raise RuntimeError(
                f"quantized engine {value} is not supported: there are no quantized tensors. "
                "Use bfloat16."
            )


sys.modules[__name__].__class__ = _Switch
