"""What the modules of losses have in common."""

from __future__ import annotations

from facula._core import Tensor
from facula.nn._reduction import resolve
from facula.nn.modules.module import Module


class _Loss(Module):
    reduction: str

    def __init__(
        self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
    ) -> None:
        super().__init__()
        for flag in (size_average, reduce):
            if isinstance(flag, Tensor) and flag.numel() != 1:
                name = type(self).__name__
                raise RuntimeError(
                    f"{name}: expected options, got a tensor {tuple(flag.shape)}. The loss is made "
                    f"first and then called: write nn.{name}()(input, target)."
                )
        self.reduction = resolve(size_average, reduce, reduction, stacklevel=3)


class _WeightedLoss(_Loss):
    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.weight: Tensor | None
