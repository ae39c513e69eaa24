"""The functions of networks, where PyTorch's core has them."""

from __future__ import annotations

from typing import Any

from facula.nn import functional as _functional
from facula.nn.modules._moves import _parse_to as _parse_to


def __getattr__(name: str) -> Any:
    return getattr(_functional, name)
