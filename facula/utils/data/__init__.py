# ruff: noqa: F403
"""Datasets, samplers and the loader that makes batches of them."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from facula._exports import public_names as _public_names
from facula.utils.data._utils.collate import default_collate as default_collate
from facula.utils.data._utils.collate import default_convert as default_convert
from facula.utils.data._utils.worker import *
from facula.utils.data.dataloader import *
from facula.utils.data.dataloader import _DatasetKind as _DatasetKind
from facula.utils.data.dataset import *
from facula.utils.data.distributed import *
from facula.utils.data.sampler import *

_OF_PIPES = {
    "DFIterDataPipe": "datapipe",
    "DataChunk": "datapipe",
    "IterDataPipe": "datapipe",
    "MapDataPipe": "datapipe",
    "argument_validation": "_decorator",
    "functional_datapipe": "_decorator",
    "guaranteed_datapipes_determinism": "_decorator",
    "non_deterministic": "_decorator",
    "runtime_validation": "_decorator",
    "runtime_validation_disabled": "_decorator",
}


def __getattr__(name: str) -> _Any:
    # Pipes are imported when they are first asked for.
    if name == "datapipes":
        return _import_module("facula.utils.data.datapipes")
    if name not in _OF_PIPES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(_import_module(f"facula.utils.data.datapipes.{_OF_PIPES[name]}"), name)


if not _TYPE_CHECKING:
    __all__ = _public_names(globals())
