"""Complete IoU as a loss."""

from facula._core import Tensor
from facula.vision.ops._iou_loss import ciou_loss, compare
from facula.vision.ops._utils import reduce_loss

__all__ = ["complete_box_iou_loss"]


def complete_box_iou_loss(
    boxes1: Tensor, boxes2: Tensor, reduction: str = "none", eps: float = 1e-7
) -> Tensor:
    """Complete IoU: the distance of the centers and that of the aspect ratios too.

    Args:
        boxes1: corners x1, y1, x2, y2.
        boxes2: the boxes that they should be.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.
        eps: keeps quotients finite where areas are 0.

    Shape:
        boxes ``(N, 4)``; result ``(N,)``, or ``()`` with a reduction.

    Example:
        >>> from facula.vision.ops import complete_box_iou_loss
        >>> a, b = facula.tensor([[0.0, 0.0, 2.0, 2.0]]), facula.tensor([[1.0, 1.0, 3.0, 3.0]])
        >>> complete_box_iou_loss(a, b)
        tensor([0.9683])
    """
    loss = ciou_loss(compare("complete_box_iou_loss", boxes1, boxes2, eps))
    return reduce_loss("complete_box_iou_loss", loss, reduction)
