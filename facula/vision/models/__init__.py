"""Models, and their weights."""

__all__: list[str] = []
