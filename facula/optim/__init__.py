"""Optimisers: they change parameters by their gradients."""

__all__: list[str] = []
