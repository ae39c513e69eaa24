"""Modules whose activations are computed again in backward."""

__all__: list[str] = []
