"""Logs for TensorBoard: ``pip install facula[tensorboard]``.

The names and arguments are those of PyTorch's and tensorboardX's writers.
"""

from typing import Any

from facula.utils.tensorboard.writer import FileWriter, SummaryWriter

__all__ = ["FileWriter", "SummaryWriter"]


def __getattr__(name: str) -> Any:
    # The writer of records behind it is tensorboardX's own.
    if name != "RecordWriter":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import tensorboardX

    return getattr(tensorboardX, name)
