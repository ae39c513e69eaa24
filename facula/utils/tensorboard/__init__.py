"""Logs for TensorBoard: ``pip install facula[tensorboard]``.

The names and arguments are those of PyTorch's and tensorboardX's writers.
"""

from facula.utils.tensorboard.writer import SummaryWriter

__all__ = ["SummaryWriter"]
