"""Facula: PyTorch's programming model in a package small enough to read.

``import facula as torch`` is the usual way to port a script.
"""

from importlib import import_module as _import_module
from math import e, inf, nan, pi
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from facula import (
    _core,
    _legacy,
    _settings,
    autograd,
    backends,
    cuda,
    func,
    linalg,
    random,
    return_types,
    storage,
    types,
    utils,
    version,
)
from facula import _tensor as _tensor  # makes the methods that are written in Python
from facula._core import *  # noqa: F403
from facula._legacy import *  # noqa: F403
from facula._limits import finfo, iinfo
from facula._ops import *  # noqa: F403
from facula._ops._mark import public_names as _public_names
from facula._settings import *  # noqa: F403
from facula._tensor_str import set_printoptions
from facula.autograd.grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled
from facula.func import vmap
from facula.storage import TypedStorage
from facula.utils.dlpack import from_dlpack
from facula.version import __version__ as __version__

if _TYPE_CHECKING:
    from facula import (
        accelerator,
        amp,
        array_api,
        cpu,
        distributions,
        fft,
        hub,
        masked,
        multiprocessing,
        nn,
        optim,
        overrides,
        profiler,
        resume,
        serialization,
        signal,
        sparse,
        special,
        testing,
        vision,
    )
    from facula.amp import autocast
    from facula.serialization import load, save

newaxis = None

# Names that PyTorch has too, for samples with derivatives.
_dirichlet_grad = _core._dirichlet_grad
_sample_dirichlet = _core._sample_dirichlet
_standard_gamma = _core._standard_gamma
_standard_gamma_grad = _core._standard_gamma_grad

# Imported when they are first asked for: much code that a script may never use.
_LAZY = {
    "__config__",
    "__future__",
    "accelerator",
    "amp",
    "array_api",
    "cpu",
    "distributions",
    "fft",
    "hub",
    "masked",
    "multiprocessing",
    "nn",
    "optim",
    "overrides",
    "profiler",
    "resume",
    "serialization",
    "signal",
    "sparse",
    "special",
    "testing",
    "vision",
}
_LAZY_NAMES = {
    "autocast": "facula.amp",
    "load": "facula.serialization",
    "save": "facula.serialization",
}


def __getattr__(name: str) -> _Any:
    if name in _LAZY_NAMES:
        return getattr(_import_module(_LAZY_NAMES[name]), name)
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _import_module(f"facula.{name}")


__all__ = [
    *(name for name in dir(_core) if name[0] != "_" != name[-1]),
    *_legacy.__all__,
    *_public_names(globals()),
    *_settings.__all__,
    "TypedStorage",
    "accelerator",
    "amp",
    "array_api",
    "autocast",
    "autograd",
    "backends",
    "cpu",
    "cuda",
    "distributions",
    "e",
    "enable_grad",
    "fft",
    "finfo",
    "from_dlpack",
    "func",
    "hub",
    "iinfo",
    "inf",
    "inference_mode",
    "linalg",
    "load",
    "masked",
    "multiprocessing",
    "nan",
    "newaxis",
    "nn",
    "no_grad",
    "optim",
    "overrides",
    "pi",
    "profiler",
    "random",
    "resume",
    "return_types",
    "save",
    "serialization",
    "set_grad_enabled",
    "set_printoptions",
    "signal",
    "sparse",
    "special",
    "storage",
    "testing",
    "types",
    "utils",
    "version",
    "vision",
    "vmap",
]
