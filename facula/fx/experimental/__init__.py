"""Other ways to make graphs, and ways to make them faster."""

__all__: list[str] = []
