"""What programs under ``facula run`` get as ``tensorboardX``: the package with our writers.

Its other files are those of the package itself, on which our writer is built.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

# Where the other public names of the package are defined.
_HOMES = {"GlobalSummaryWriter": "global_writer", "RecordWriter": "record_writer"}


def __getattr__(name: str) -> Any:
    if name in ("FileWriter", "SummaryWriter"):
        return getattr(import_module("facula.utils.tensorboard"), name)
    if name in _HOMES:
        return getattr(import_module(f"tensorboardX.{_HOMES[name]}"), name)
    if name == "__version__":
        from importlib.metadata import version

        return version("tensorboardX")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
