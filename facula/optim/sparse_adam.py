"""Adam for sparse gradients, which Facula does not have."""

from __future__ import annotations

from facula import Tensor
from facula.optim.optimizer import Optimizer, ParamsT

__all__ = ["SparseAdam"]


class SparseAdam(Optimizer):
    """Refused: gradients are always dense here, and Adam is the optimiser for them.

    Args:
        params: tensors, named tensors, or groups of them as dicts.
        lr: learning rate.
        betas: how much of the averages of gradient and square stays at each step.
        eps: added to the divisor.
        maximize: goes uphill instead.

    Example:
        >>> from facula import optim
        >>> optim.SparseAdam([facula.ones(1, requires_grad=True)])
        Traceback (most recent call last):
        NotImplementedError: SparseAdam: there are no sparse gradients. Use Adam, for dense ones.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        raise NotImplementedError(
            "SparseAdam: there are no sparse gradients. Use Adam, for dense ones."
        )
