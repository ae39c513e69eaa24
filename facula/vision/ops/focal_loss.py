"""The loss of dense detectors."""

from __future__ import annotations

from facula._core import Tensor
from facula.nn import functional as F
from facula.vision.ops._utils import reduce_loss

__all__ = ["sigmoid_focal_loss"]


def sigmoid_focal_loss(
    inputs: Tensor,
    targets: Tensor,
    alpha: float = 0.25,
    gamma: float = 2,
    reduction: str = "none",
) -> Tensor:
    """Binary cross entropy of which easy examples have little (RetinaNet).

    Args:
        inputs: logits.
        targets: 0 or 1 for each logit, floating point.
        alpha: weight of the ones, that of the zeros is ``1 - alpha``; -1 for no weights.
        gamma: how fast the loss of an example falls when it becomes easy.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.

    Shape:
        inputs and targets of one shape; the result too, or ``()`` with a reduction.

    Example:
        >>> from facula.vision.ops import sigmoid_focal_loss
        >>> sigmoid_focal_loss(facula.tensor([0.0, 3.0]), facula.tensor([1.0, 1.0]))
        tensor([4.3322e-02, 2.7321e-05])
    """
    if not (0 <= alpha <= 1) and alpha != -1:
        raise ValueError(
            f"sigmoid_focal_loss: expected alpha from 0 to 1, or -1 for none, got {alpha}."
        )
    p = inputs.sigmoid()
    loss = F.binary_cross_entropy_with_logits(inputs, targets, reduction="none")
    p_right = p * targets + (1 - p) * (1 - targets)
    loss = loss * (1 - p_right) ** gamma
    if alpha >= 0:
        loss = (alpha * targets + (1 - alpha) * (1 - targets)) * loss
    return reduce_loss("sigmoid_focal_loss", loss, reduction)
