"""The launcher of several processes, which is not part of the package."""

__all__: list[str] = []
