"""Facula: PyTorch's programming model in a package small enough to read.

``import facula as torch`` is the usual way to port a script.
"""

from facula import _core, _ops, _tensor, autograd, func
from facula._core import *  # noqa: F403
from facula._ops import *  # noqa: F403
from facula._tensor_str import set_printoptions
from facula.autograd.grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled

for _function in _ops.METHODS:
    _tensor.attach(_function.__name__, _function)
del _function
