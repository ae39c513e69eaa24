"""Logs for TensorBoard: ``pip install facula[tensorboard]``.

The names and arguments are those of PyTorch's and tensorboardX's writers.
"""

from typing import Any

from facula.utils.tensorboard.writer import SummaryWriter

__all__ = ["SummaryWriter"]


def __getattr__(name: str) -> Any:
    # The writers of records and files behind it are tensorboardX's own.
    if name not in ("FileWriter", "RecordWriter"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import tensorboardX

    return getattr(tensorboardX, name)
