"""Copies of tensors on the device meta."""

from __future__ import annotations

from typing import Any

from facula._core import Tensor
from facula.nn.parameter import Parameter
from facula.utils.weak import WeakTensorKeyDictionary

__all__ = ["MetaConverter"]


class MetaConverter:
    """Makes tensors on the device meta of others, always the same of the same.

    Example:
        >>> from facula._subclasses.meta_utils import MetaConverter
        >>> convert = MetaConverter()
        >>> x = facula.ones(2, 3)
        >>> convert(x).shape, convert(x) is convert(x)
        (torch.Size([2, 3]), True)
    """

    def __init__(self) -> None:
        self.tensor_memo = WeakTensorKeyDictionary()

    def __call__(self, t: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if t not in self.tensor_memo:
            meta = t.detach().to("meta").requires_grad_(t.requires_grad)
            self.tensor_memo[t] = Parameter(meta) if isinstance(t, Parameter) else meta
        return self.tensor_memo[t]  # type: ignore[no-any-return]
