"""The layers, one file per family."""

__all__: list[str] = []
