"""Derivatives of functions, by the place that packages import them from."""

from facula.func import hessian, jacfwd, jacrev, jvp, linearize, vjp

__all__ = ["hessian", "jacfwd", "jacrev", "jvp", "linearize", "vjp"]
