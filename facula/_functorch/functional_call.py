"""Modules with other parameters, by the place that packages import them from."""

from facula.func import functional_call, stack_module_state

__all__ = ["functional_call", "stack_module_state"]
