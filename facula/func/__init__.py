"""Transforms of functions: derivatives and batching."""

from facula.func._derivatives import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp
from facula.func._functional_call import (
    functional_call,
    replace_all_batch_norm_modules_,
    stack_module_state,
)
from facula.func._vmap import vmap

__all__ = [
    "functional_call",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "vjp",
    "vmap",
]
