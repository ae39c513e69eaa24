"""Adam for sparse gradients, which Facula does not have."""

from __future__ import annotations

from facula import Tensor
from facula.optim.optimizer import Optimizer, ParamsT

__all__ = ["SparseAdam"]


class SparseAdam(Optimizer):
    """Refused: gradients are always dense here, and Adam is the optimiser for them.

    Args:
        params: tensors, pairs of a name and a tensor, or dicts, each a group with its own options.
        lr: learning rate, a number or a tensor of one element.
        betas: how much of the averages of the gradient and of its square stays at each step.
        eps: small number that is added to the divisor.
        maximize: steps along the gradient, to larger values, and not against it.

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
