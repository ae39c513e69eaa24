"""The functions of the top level, by the name that recurrent cells of others reach for."""

from __future__ import annotations

from typing import Any

import facula


def __getattr__(name: str) -> Any:
    return getattr(facula, name)
