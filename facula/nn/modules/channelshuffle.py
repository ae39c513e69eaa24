"""Channels in another order."""

from __future__ import annotations

from facula._core import Tensor
from facula.nn import functional as F
from facula.nn.modules.module import Module

__all__ = ["ChannelShuffle"]


class ChannelShuffle(Module):
    """Reorder channels by their place within their group.

    Args:
        groups: the number of groups that the channels are divided into.

    Shape:
        input and result ``(N, C, *)``.

    Example:
        >>> facula.nn.ChannelShuffle(2)(facula.arange(4.0).reshape(1, 4, 1, 1)).flatten()
        tensor([0., 2., 1., 3.])
    """

    __constants__ = ("groups",)

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"
