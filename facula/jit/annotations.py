"""Types for annotations, by the names that PyTorch's compiler has for them."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple, Union  # noqa: UP035

from facula._core import Tensor, device, dtype
from facula._jit_internal import (
    BroadcastingList1,
    BroadcastingList2,
    BroadcastingList3,
    Future,
)

__all__ = [
    "Any",
    "BroadcastingList1",
    "BroadcastingList2",
    "BroadcastingList3",
    "Dict",
    "Future",
    "List",
    "Optional",
    "Tensor",
    "Tuple",
    "Union",
    "device",
    "dtype",
]
