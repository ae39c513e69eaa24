# ruff: noqa: F403
"""Schedules of learning rates: call ``scheduler.step()`` after ``optimizer.step()``."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from facula._exports import public_names as _public_names
from facula.optim.lr_scheduler._base import *
from facula.optim.lr_scheduler._base import _enable_get_lr_call as _enable_get_lr_call
from facula.optim.lr_scheduler._composed import *
from facula.optim.lr_scheduler._cosine import *
from facula.optim.lr_scheduler._cyclic import *
from facula.optim.lr_scheduler._factors import *
from facula.optim.lr_scheduler._plateau import *


class _LRScheduler(LRScheduler):  # noqa: F405
    """What older scripts derive from. As in PyTorch, the schedules here are no instances of it."""


if not _TYPE_CHECKING:
    __all__ = _public_names(globals())
