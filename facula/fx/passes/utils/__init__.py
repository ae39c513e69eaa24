"""Tools of passes."""

__all__: list[str] = []
