"""Distance IoU as a loss."""

from facula._core import Tensor
from facula.vision.ops._iou_loss import compare, diou_loss
from facula.vision.ops._utils import reduce_loss

__all__ = ["distance_box_iou_loss"]


def distance_box_iou_loss(
    boxes1: Tensor, boxes2: Tensor, reduction: str = "none", eps: float = 1e-7
) -> Tensor:
    """Distance IoU: also the distance of the centers, by the diagonal around both.

    Args:
        boxes1: corners x1, y1, x2, y2.
        boxes2: the boxes that they should be.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.
        eps: keeps quotients finite where areas are 0.

    Shape:
        boxes ``(N, 4)``; result ``(N,)``, or ``()`` with a reduction.

    Example:
        >>> from facula.vision.ops import distance_box_iou_loss
        >>> a, b = facula.tensor([[0.0, 0.0, 2.0, 2.0]]), facula.tensor([[1.0, 1.0, 3.0, 3.0]])
        >>> distance_box_iou_loss(a, b)
        tensor([0.9683])
    """
    loss = diou_loss(compare("distance_box_iou_loss", boxes1, boxes2, eps))
    return reduce_loss("distance_box_iou_loss", loss, reduction)
