"""Schedules of learning rates: call ``scheduler.step()`` after ``optimizer.step()``."""

from facula.optim.lr_scheduler._base import LRScheduler
from facula.optim.lr_scheduler._composed import ChainedScheduler, SequentialLR
from facula.optim.lr_scheduler._cosine import CosineAnnealingLR, CosineAnnealingWarmRestarts
from facula.optim.lr_scheduler._cyclic import CyclicLR, OneCycleLR
from facula.optim.lr_scheduler._factors import (
    ConstantLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)
from facula.optim.lr_scheduler._plateau import ReduceLROnPlateau

_LRScheduler = LRScheduler  # its name in older scripts

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]
