# mypy: implicit-reexport
# ruff: noqa: F401, F403
"""Tools for modules and their parameters."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from facula.nn.utils import rnn
from facula.nn.utils.clip_grad import *
from facula.nn.utils.convert_parameters import *
from facula.nn.utils.fusion import *
from facula.nn.utils.init import *
from facula.nn.utils.memory_format import *
from facula.nn.utils.spectral_norm import remove_spectral_norm, spectral_norm
from facula.nn.utils.weight_norm import remove_weight_norm, weight_norm

if _TYPE_CHECKING:
    from facula.nn.utils import parametrizations, parametrize, prune, stateless

# Imported when they are first asked for: they are much code, which a script may never use.
_LAZY = {"parametrizations", "parametrize", "prune", "stateless"}


def __getattr__(name: str) -> _Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _import_module(f"{__name__}.{name}")


# Every function imported here is public. mypy reads no computed list; without one it agrees.
if not _TYPE_CHECKING:
    __all__ = [name for name, value in globals().items() if name[0] != "_" and callable(value)]
    __all__ += ["rnn", *sorted(_LAZY)]
