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

from facula.optim import lr_scheduler, swa_utils
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
