"""Processes of a launcher."""

__all__: list[str] = []
