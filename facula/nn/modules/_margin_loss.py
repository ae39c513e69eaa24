"""Losses that ask for a margin."""

from __future__ import annotations

from collections.abc import Callable

from facula._core import Tensor
from facula.nn import functional as F
from facula.nn.modules._loss_base import _Loss, _WeightedLoss
from facula.nn.modules.distance import PairwiseDistance

__all__ = [
    "CosineEmbeddingLoss",
    "HingeEmbeddingLoss",
    "MarginRankingLoss",
    "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "SoftMarginLoss",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
]


class HingeEmbeddingLoss(_Loss):
    """Distances where the target is 1, their lack where it is -1; ``F.hinge_embedding_loss``.

    Args:
        margin: the least distance wanted where the target is -1.
        size_average: deprecated, see ``reduction``.
        reduce: deprecated, see ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Example:
        >>> from facula import nn
        >>> nn.HingeEmbeddingLoss()(facula.tensor([0.5, 0.25]), facula.tensor([1, -1]))
        tensor(0.6250)
    """

    __constants__ = ("margin", "reduction")

    def __init__(
        self,
        margin: float = 1.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.hinge_embedding_loss(input, target, margin=self.margin, reduction=self.reduction)


class MultiLabelMarginLoss(_Loss):
    """How much other classes exceed the targets; ``F.multilabel_margin_loss`` as a module.

    Args:
        size_average: deprecated, see ``reduction``.
        reduce: deprecated, see ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Shape:
        input and target ``(C,)`` or ``(N, C)``; losses ``()`` or ``(N,)``.

    Example:
        >>> from facula import nn
        >>> scores = facula.tensor([[0.1, 0.2, 0.4, 0.8]])
        >>> nn.MultiLabelMarginLoss()(scores, facula.tensor([[3, 0, -1, 1]]))
        tensor(0.8500)
    """

    __constants__ = ("reduction",)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_margin_loss(input, target, reduction=self.reduction)


class SoftMarginLoss(_Loss):
    """``log(1 + exp(-target * input))``; ``F.soft_margin_loss`` as a module.

    Args:
        size_average: deprecated, see ``reduction``.
        reduce: deprecated, see ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Example:
        >>> from facula import nn
        >>> nn.SoftMarginLoss()(facula.tensor([0.0, 2.0]), facula.tensor([1.0, -1.0]))
        tensor(1.4100)
    """

    __constants__ = ("reduction",)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.soft_margin_loss(input, target, reduction=self.reduction)


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """The mean of binary cross entropies; ``F.multilabel_soft_margin_loss`` as a module.

    Args:
        weight: of each class.
        size_average: deprecated, see ``reduction``.
        reduce: deprecated, see ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Shape:
        input and target ``(*, C)``; losses ``(*)``.

    Example:
        >>> from facula import nn
        >>> nn.MultiLabelSoftMarginLoss()(facula.tensor([[0.0, 2.0]]), facula.tensor([[1.0, 1.0]]))
        tensor(0.4100)
    """

    __constants__ = ("reduction",)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_soft_margin_loss(input, target, self.weight, reduction=self.reduction)


class CosineEmbeddingLoss(_Loss):
    """``1 - cos`` or ``max(0, cos - margin)``; ``F.cosine_embedding_loss`` as a module.

    Args:
        margin: from -1 to 1.
        size_average: deprecated, see ``reduction``.
        reduce: deprecated, see ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Shape:
        inputs ``(N, D)`` and target ``(N,)``, or ``(D,)`` and ``()``.

    Example:
        >>> from facula import nn
        >>> x, y = facula.tensor([[1.0, 0.0]]), facula.tensor([[0.0, 1.0]])
        >>> nn.CosineEmbeddingLoss()(x, y, facula.ones(1))
        tensor(1.)
    """

    __constants__ = ("margin", "reduction")

    def __init__(
        self,
        margin: float = 0.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.cosine_embedding_loss(
            input1, input2, target, margin=self.margin, reduction=self.reduction
        )


class MarginRankingLoss(_Loss):
    """``max(0, -target * (input1 - input2) + margin)``; ``F.margin_ranking_loss`` as a module.

    Args:
        margin: by how much one should be above the other.
        size_average: deprecated, see ``reduction``.
        reduce: deprecated, see ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Example:
        >>> from facula import nn
        >>> nn.MarginRankingLoss()(facula.ones(1), facula.tensor([3.0]), facula.ones(1))
        tensor(2.)
    """

    __constants__ = ("margin", "reduction")

    def __init__(
        self,
        margin: float = 0.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.margin_ranking_loss(
            input1, input2, target, margin=self.margin, reduction=self.reduction
        )


class MultiMarginLoss(_WeightedLoss):
    """How much other classes exceed the target; ``F.multi_margin_loss`` as a module.

    Args:
        p: power of each excess, 1 or 2.
        margin: by how much the target's score should be above the others.
        weight: of each class.
        size_average: deprecated, see ``reduction``.
        reduce: deprecated, see ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Shape:
        input ``(C,)`` or ``(N, C)``, target ``()`` or ``(N,)``.

    Example:
        >>> from facula import nn
        >>> scores = facula.tensor([[0.1, 0.2, 0.4, 0.8]])
        >>> nn.MultiMarginLoss()(scores, facula.tensor([3]))
        tensor(0.3250)
    """

    __constants__ = ("p", "margin", "reduction")

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        if p not in (1, 2):
            raise ValueError(f"MultiMarginLoss: expected p = 1 or 2, got {p}.")
        if weight is not None and weight.dim() != 1:
            raise ValueError(f"MultiMarginLoss: expected a weight (C,), got {tuple(weight.shape)}.")
        self.p = p
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multi_margin_loss(
            input,
            target,
            p=self.p,
            margin=self.margin,
            weight=self.weight,
            reduction=self.reduction,
        )


class TripletMarginLoss(_Loss):
    """How much the anchor is nearer to the negative; ``F.triplet_margin_loss`` as a module.

    Args:
        margin: by how much; above 0.
        p: order of the norm.
        eps: added to differences.
        swap: whether the distance of the positive to the negative counts where it is less.
        size_average: deprecated, see ``reduction``.
        reduce: deprecated, see ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Shape:
        all ``(N, D)`` or ``(D,)``; losses ``(N,)`` or ``()``.

    Example:
        >>> from facula import nn
        >>> anchor, far = facula.zeros(1, 2), facula.tensor([[3.0, 4.0]])
        >>> nn.TripletMarginLoss()(anchor, far, anchor)
        tensor(6.0000)
    """

    __constants__ = ("margin", "p", "eps", "swap", "reduction")

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        if margin <= 0:
            raise ValueError(f"TripletMarginLoss: expected margin > 0, got {margin}.")
        self.margin = margin
        self.p = p
        self.eps = eps
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_loss(
            anchor,
            positive,
            negative,
            margin=self.margin,
            p=self.p,
            eps=self.eps,
            swap=self.swap,
            reduction=self.reduction,
        )


class TripletMarginWithDistanceLoss(_Loss):
    """``TripletMarginLoss`` with a distance of one's own.

    Args:
        distance_function: of two tensors of vectors; ``PairwiseDistance()`` if not given.
        margin: by how much; above 0.
        swap: whether the distance of the positive to the negative counts where it is less.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Example:
        >>> from facula import nn
        >>> loss = nn.TripletMarginWithDistanceLoss(
        ...     distance_function=lambda x, y: (x - y).abs().sum(1)
        ... )
        >>> loss(facula.zeros(1, 2), facula.tensor([[3.0, 4.0]]), facula.zeros(1, 2))
        tensor(8.)
    """

    __constants__ = ("margin", "swap", "reduction")

    def __init__(
        self,
        *,
        distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction=reduction)
        if margin <= 0:
            raise ValueError(f"TripletMarginWithDistanceLoss: expected margin > 0, got {margin}.")
        self.distance_function: Callable[[Tensor, Tensor], Tensor] = (
            PairwiseDistance() if distance_function is None else distance_function
        )
        self.margin = margin
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_with_distance_loss(
            anchor,
            positive,
            negative,
            distance_function=self.distance_function,
            margin=self.margin,
            swap=self.swap,
            reduction=self.reduction,
        )
