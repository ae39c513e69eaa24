"""Whether TorchScript compiles, and what it compiled: it never does, and the list is empty."""

from __future__ import annotations

from typing import Any
from weakref import WeakValueDictionary


class EnabledProxy:
    """PyTorch's switch of its compiler, which stands on off."""

    enabled = False

    def __bool__(self) -> bool:
        return self.enabled


_enabled = EnabledProxy()
_script_classes: WeakValueDictionary[type, Any] = WeakValueDictionary()
