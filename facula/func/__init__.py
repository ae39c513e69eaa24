"""Transforms of functions: derivatives and batching."""

from facula.func._derivatives import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp
from facula.func._vmap import vmap

__all__ = ["grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "vjp", "vmap"]
