"""The modules of Lua's Torch, as PyTorch 0.1 to 0.4 had them: ``torch.legacy``."""

from facula._notes import note
from facula.legacy import nn, optim

__all__ = ["nn", "optim"]

note("torch.legacy is an older form. Use torch.nn and torch.optim.")
