# ruff: noqa: F403
"""Datasets, samplers and the loader that makes batches of them."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from facula._exports import public_names as _public_names
from facula.utils.data._utils.collate import default_collate as default_collate
from facula.utils.data._utils.collate import default_convert as default_convert
from facula.utils.data._utils.worker import *
from facula.utils.data.dataloader import *
from facula.utils.data.dataset import *
from facula.utils.data.distributed import *
from facula.utils.data.sampler import *

if not _TYPE_CHECKING:
    __all__ = _public_names(globals())
