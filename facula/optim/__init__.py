# ruff: noqa: F403
"""Optimisers, which change parameters by their gradients, and schedules of their learning rates.

Example:
    >>> from facula import optim
    >>> x = facula.tensor([1.0, -2.0], requires_grad=True)
    >>> optimizer = optim.SGD([x], lr=0.1)
    >>> for _ in range(3):
    ...     optimizer.zero_grad()
    ...     (x * x).sum().backward()
    ...     optimizer.step()
    >>> x
    tensor([ 0.5120, -1.0240], requires_grad=True)
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from facula._exports import public_names as _public_names
from facula.optim import lr_scheduler as lr_scheduler

# Files have the names of PyTorch's, also those with an underscore: pickles name them.
from facula.optim._adafactor import *
from facula.optim._muon import *
from facula.optim._stateless import *
from facula.optim.adadelta import *
from facula.optim.adagrad import *
from facula.optim.adam import *
from facula.optim.adamax import *
from facula.optim.adamw import *
from facula.optim.asgd import *
from facula.optim.lbfgs import *
from facula.optim.nadam import *
from facula.optim.optimizer import Optimizer as Optimizer
from facula.optim.radam import *
from facula.optim.rmsprop import *
from facula.optim.rprop import *
from facula.optim.sgd import *
from facula.optim.sparse_adam import *

if _TYPE_CHECKING:
    from facula.optim import swa_utils as swa_utils


def __getattr__(name: str) -> _Any:
    if name != "swa_utils":  # the only part that needs facula.nn
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _import_module("facula.optim.swa_utils")


if not _TYPE_CHECKING:
    __all__ = _public_names(globals(), "lr_scheduler", "swa_utils")
