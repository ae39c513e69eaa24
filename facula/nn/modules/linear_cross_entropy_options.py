"""How ``linear_cross_entropy`` saves memory."""

from __future__ import annotations

import dataclasses
from typing import Any

from facula import _core

__all__ = ["LinearCrossEntropyOptions"]

_DTYPES = (None, _core.float16, _core.bfloat16, _core.float32, _core.float64)


@dataclasses.dataclass
class LinearCrossEntropyOptions:
    """How the batch is divided, so that the logits never exist all at once.

    The logits of a piece are forgotten after its loss and computed again in backward. Gradients
    of any order are those without pieces; sums over pieces are in the dtype of the weight.

    Args:
        allow_retain_graph: accepted for compatibility; backward may always run again.
        batch_chunk_size: the number of rows that are computed at a time.
        chunking_method: how the number of rows is chosen where it is not given:
            ``"aspect_ratio:R"`` makes pieces whose logits have up to ``R`` times as many elements
            as the whole input, ``"auto"`` is ``R = 2``, ``None`` makes one piece.
        acc_policy: accepted for compatibility: ``"accurate"``, ``"balanced"``, ``"compact"`` or
            ``"auto"``, which are the same here.
        acc_dtype: accepted for compatibility: a floating dtype or ``None``.

    Example:
        >>> from facula import nn
        >>> options = nn.LinearCrossEntropyOptions(batch_chunk_size=2)
        >>> loss = nn.LinearCrossEntropyLoss(8, 100, options=options)
        >>> loss(facula.randn(6, 8), facula.zeros(6, dtype=facula.int64)).shape
        torch.Size([])
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: Any = None

    def __post_init__(self) -> None:
        size = self.batch_chunk_size
        if size is not None and (not isinstance(size, int) or size <= 0):
            raise ValueError(
                f"batch_chunk_size: expected a count of at least 1 or None, got {size!r}."
            )
        if self._ratio() <= 0:
            raise ValueError(f"invalid chunking_method: {self.chunking_method!r}")
        if self.acc_policy not in ("accurate", "balanced", "compact", "auto"):
            raise ValueError(f"invalid acc_policy: {self.acc_policy!r}")
        if self.acc_dtype not in _DTYPES:
            raise ValueError(
                f"acc_dtype: expected a floating-point dtype or None, got {self.acc_dtype}."
            )

    def _ratio(self) -> int:
        """How many elements of logits there may be for each of the input; 0 if unknown."""
        if self.chunking_method in ("auto", None):
            return 2
        name, _, ratio = self.chunking_method.partition(":")
        return int(ratio) if name == "aspect_ratio" and ratio.isdecimal() else 0

    def n_rows(self, n_batch: int, in_features: int, n_logits: int) -> int:
        """The number of rows of a piece, for inputs and logits of these sizes."""
        if self.batch_chunk_size is not None:
            return self.batch_chunk_size
        if self.chunking_method is None:
            return max(n_batch, 1)
        return max(self._ratio() * n_batch * in_features // max(n_logits, 1), 1)
