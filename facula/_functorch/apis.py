"""``vmap`` and ``grad``, by the place that packages import them from."""

from facula.func import grad, grad_and_value, vmap

__all__ = ["grad", "grad_and_value", "vmap"]
