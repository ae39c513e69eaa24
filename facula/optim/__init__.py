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

from facula.optim import lr_scheduler
from facula.optim._adafactor import Adafactor
from facula.optim._muon import Muon
from facula.optim._stateless import swap_in_optimizer_params_and_state
from facula.optim.adadelta import Adadelta
from facula.optim.adagrad import Adagrad
from facula.optim.adam import Adam
from facula.optim.adamax import Adamax
from facula.optim.adamw import AdamW
from facula.optim.asgd import ASGD
from facula.optim.lbfgs import LBFGS
from facula.optim.nadam import NAdam
from facula.optim.optimizer import Optimizer
from facula.optim.radam import RAdam
from facula.optim.rmsprop import RMSprop
from facula.optim.rprop import Rprop
from facula.optim.sgd import SGD
from facula.optim.sparse_adam import SparseAdam

if _TYPE_CHECKING:
    from facula.optim import swa_utils


def __getattr__(name: str) -> _Any:
    if name != "swa_utils":  # the only part that needs facula.nn
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _import_module("facula.optim.swa_utils")


__all__ = [
    "ASGD",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SparseAdam",
    "lr_scheduler",
    "swa_utils",
    "swap_in_optimizer_params_and_state",
]
