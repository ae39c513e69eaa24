"""Names of PyTorch's transforms that packages import; the transforms are in :mod:`facula.func`."""

__all__: list[str] = []
