"""Losses."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from facula._core import Tensor
from facula._notes import note
from facula._warnings import warn_user
from facula.nn import functional as F
from facula.nn._reduction import resolve
from facula.nn.modules.distance import PairwiseDistance
from facula.nn.modules.linear import Linear
from facula.nn.modules.linear_cross_entropy_options import LinearCrossEntropyOptions
from facula.nn.modules.module import Module

__all__ = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "CTCLoss",
    "CosineEmbeddingLoss",
    "CrossEntropyLoss",
    "GaussianNLLLoss",
    "HingeEmbeddingLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "LinearCrossEntropyLoss",
    "MSELoss",
    "MarginRankingLoss",
    "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "NLLLoss",
    "NLLLoss2d",
    "PoissonNLLLoss",
    "SmoothL1Loss",
    "SoftMarginLoss",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
]


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
        self.reduction = resolve(size_average, reduce, reduction)

    @property
    def size_average(self) -> bool:
        """Older: whether ``reduction`` is ``"mean"``. Programs also set it after construction."""
        return self.reduction == "mean"

    @size_average.setter
    def size_average(self, value: bool) -> None:
        self.reduction = "mean" if value else "sum"
        note(f"loss.size_average = {value} is an older form of reduction={self.reduction!r}.")


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


class L1Loss(_Loss):
    """The mean absolute error; ``F.l1_loss`` as a module.

    Args:
        size_average: a deprecated flag, replaced by ``reduction``.
        reduce: a deprecated flag, replaced by ``reduction``.
        reduction: what is made of the losses: ``"mean"``, ``"sum"`` or ``"none"``.

    Example:
        >>> from facula import nn
        >>> nn.L1Loss()(facula.tensor([1.0, 2.0]), facula.tensor([1.0, 5.0]))
        tensor(1.5000)
    """

    __constants__ = ("reduction",)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.l1_loss(input, target, reduction=self.reduction)


class NLLLoss(_WeightedLoss):
    """Minus the log probabilities of the target classes; ``F.nll_loss`` as a module.

    Args:
        weight: the weight of each class.
        size_average: a deprecated flag, replaced by ``reduction``.
        ignore_index: the class index that marks targets without a loss.
        reduce: a deprecated flag, replaced by ``reduction``.
        reduction: what is made of the losses: ``"mean"``, ``"sum"`` or ``"none"``.

    Shape:
        input ``(N, C)``, ``(C,)`` or ``(N, C, *)``, target without the ``C``.

    Example:
        >>> from facula import nn
        >>> nn.NLLLoss()(facula.tensor([[0.5, 0.5]]).log(), facula.tensor([0]))
        tensor(0.6931)
    """

    __constants__ = ("ignore_index", "reduction")

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.nll_loss(
            input, target, self.weight, ignore_index=self.ignore_index, reduction=self.reduction
        )


class NLLLoss2d(NLLLoss):
    """The name that :class:`NLLLoss` once had for images.

    Example:
        >>> from facula import nn
        >>> import warnings
        >>> warnings.simplefilter("ignore")
        >>> nn.NLLLoss2d()(facula.zeros(1, 2, 3, 3), facula.zeros(1, 3, 3).long())
        tensor(0.)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        warn_user("NLLLoss2d is deprecated: NLLLoss does the same.", FutureWarning)
        super().__init__(weight, size_average, ignore_index, reduce, reduction)


class PoissonNLLLoss(_Loss):
    """Minus the log likelihood of counts; ``F.poisson_nll_loss`` as a module.

    Args:
        log_input: whether the input holds logarithms of the expected counts.
        full: whether Stirling's approximation of ``log(target!)`` is added to the loss.
        size_average: a deprecated flag, replaced by ``reduction``.
        eps: a small number that is added to expectations before their logarithm is taken.
        reduce: a deprecated flag, replaced by ``reduction``.
        reduction: what is made of the losses: ``"mean"``, ``"sum"`` or ``"none"``.

    Example:
        >>> from facula import nn
        >>> nn.PoissonNLLLoss()(facula.tensor([0.0, 0.0]), facula.tensor([1.0, 3.0]))
        tensor(1.)
    """

    __constants__ = ("log_input", "full", "eps", "reduction")

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        size_average: bool | None = None,
        eps: float = 1e-8,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        return F.poisson_nll_loss(
            log_input, target, self.log_input, self.full, eps=self.eps, reduction=self.reduction
        )


class GaussianNLLLoss(_Loss):
    """Minus the log likelihood under normal distributions; ``F.gaussian_nll_loss`` as a module.

    Args:
        full: whether the constant ``log(2 pi) / 2`` is added to the loss.
        eps: the smallest variance that is divided by.
        reduction: what is made of the losses: ``"mean"``, ``"sum"`` or ``"none"``.

    Example:
        >>> from facula import nn
        >>> nn.GaussianNLLLoss()(facula.zeros(2), facula.ones(2), facula.ones(2))
        tensor(0.5000)
    """

    __constants__ = ("full", "eps", "reduction")

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(None, None, reduction)
        self.full = full
        self.eps = eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        return F.gaussian_nll_loss(
            input, target, var, full=self.full, eps=self.eps, reduction=self.reduction
        )


class KLDivLoss(_Loss):
    """The Kullback-Leibler divergence; ``F.kl_div`` as a module.

    Args:
        size_average: a deprecated flag, replaced by ``reduction``.
        reduce: a deprecated flag, replaced by ``reduction``.
        reduction: what is made of the losses: ``"batchmean"``, the divergence; ``"mean"``, by
            element; ``"sum"`` or ``"none"``.
        log_target: whether the target holds logarithms of probabilities.

    Example:
        >>> from facula import nn
        >>> log_probs = facula.tensor([[0.5, 0.5]]).log()
        >>> nn.KLDivLoss(reduction="batchmean")(log_probs, facula.tensor([[1.0, 0.0]]))
        tensor(0.6931)
    """

    __constants__ = ("reduction",)

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        log_target: bool = False,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class MSELoss(_Loss):
    """The mean squared error; ``F.mse_loss`` as a module.

    Args:
        size_average: a deprecated flag, replaced by ``reduction``.
        reduce: a deprecated flag, replaced by ``reduction``.
        reduction: what is made of the losses: ``"mean"``, ``"sum"`` or ``"none"``.

    Example:
        >>> from facula import nn
        >>> nn.MSELoss()(facula.tensor([1.0, 2.0]), facula.tensor([1.0, 5.0]))
        tensor(4.5000)
    """

    __constants__ = ("reduction",)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.mse_loss(input, target, reduction=self.reduction)


class BCELoss(_WeightedLoss):
    """Cross entropy of probabilities; ``F.binary_cross_entropy`` as a module.

    Args:
        weight: the weight of each loss, broadcast to the input.
        size_average: a deprecated flag, replaced by ``reduction``.
        reduce: a deprecated flag, replaced by ``reduction``.
        reduction: what is made of the losses: ``"mean"``, ``"sum"`` or ``"none"``.

    Example:
        >>> from facula import nn
        >>> nn.BCELoss()(facula.tensor([0.5, 0.25]), facula.tensor([1.0, 0.0]))
        tensor(0.4904)
    """

    __constants__ = ("reduction",)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy(input, target, self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_Loss):
    """The loss ``F.binary_cross_entropy_with_logits`` as a module.

    Args:
        weight: the weight of each loss, broadcast to the input.
        size_average: a deprecated flag, replaced by ``reduction``.
        reduce: a deprecated flag, replaced by ``reduction``.
        reduction: what is made of the losses: ``"mean"``, ``"sum"`` or ``"none"``.
        pos_weight: the weights of positive targets by class, broadcast to the target.

    Example:
        >>> from facula import nn
        >>> nn.BCEWithLogitsLoss()(facula.tensor([0.0, 2.0]), facula.tensor([1.0, 1.0]))
        tensor(0.4100)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)
        self.weight: Tensor | None
        self.pos_weight: Tensor | None

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(
            input, target, self.weight, pos_weight=self.pos_weight, reduction=self.reduction
        )


class SmoothL1Loss(_Loss):
    """The absolute error, a parabola below ``beta``; ``F.smooth_l1_loss`` as a module.

    Args:
        size_average: a deprecated flag, replaced by ``reduction``.
        reduce: a deprecated flag, replaced by ``reduction``.
        reduction: what is made of the losses: ``"mean"``, ``"sum"`` or ``"none"``.
        beta: the error at which the parabola becomes a line.

    Example:
        >>> from facula import nn
        >>> nn.SmoothL1Loss()(facula.tensor([1.0, 2.0]), facula.tensor([0.5, 5.0]))
        tensor(1.3125)
    """

    __constants__ = ("reduction",)

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        beta: float = 1.0,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(_Loss):
    """Half the squared error, a line above ``delta``; ``F.huber_loss`` as a module.

    Args:
        reduction: what is made of the losses: ``"mean"``, ``"sum"`` or ``"none"``.
        delta: the error at which the parabola becomes a line.

    Example:
        >>> from facula import nn
        >>> nn.HuberLoss()(facula.tensor([1.0, 2.0]), facula.tensor([0.5, 5.0]))
        tensor(1.3125)
    """

    __constants__ = ("reduction", "delta")

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction=reduction)
        if not isinstance(delta, (int, float)):
            raise TypeError(
                f"HuberLoss: expected delta as a float or int, got {type(delta).__name__}."
            )
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


class CrossEntropyLoss(_WeightedLoss):
    """Cross entropy of logits and classes; ``F.cross_entropy`` as a module.

    Args:
        weight: the weight of each class.
        size_average: a deprecated flag, replaced by ``reduction``.
        ignore_index: the class index that marks targets without a loss.
        reduce: a deprecated flag, replaced by ``reduction``.
        reduction: what is made of the losses: ``"mean"``, ``"sum"`` or ``"none"``.
        label_smoothing: how much of the target is spread evenly over all classes, from 0 to 1.

    Shape:
        input ``(N, C)``, ``(C,)`` or ``(N, C, *)``, target without the ``C``, or probabilities of
        the input's shape.

    Example:
        >>> from facula import nn
        >>> logits = facula.tensor([[2.0, 0.0], [0.0, 2.0]])
        >>> nn.CrossEntropyLoss()(logits, facula.tensor([0, 1]))
        tensor(0.1269)
    """

    __constants__ = ("ignore_index", "reduction", "label_smoothing")

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )


class LinearCrossEntropyLoss(Module):
    """A linear layer and the cross entropy of its logits; ``F.linear_cross_entropy`` as a module.

    Args:
        in_features: the size of the input's last dimension.
        num_classes: the number of classes.
        out_features: further dimensions of the target, each with logits of its own.
        bias: whether the layer has a bias.
        device: where the parameters are created.
        dtype: the dtype of the parameters.
        reduction: what is made of the losses: ``"mean"``, ``"sum"`` or ``"none"``.
        weight: the weight of each class.
        ignore_index: the class index that marks targets without a loss; -100 by default.
        label_smoothing: how much of the target is spread evenly over all classes, from 0 to 1.
        options: how the batch is divided into pieces; ``None`` computes all logits at once.

    Shape:
        input ``(N, in_features)`` or ``(in_features,)``, target ``(N, *out_features)`` or ``()``,
        or probabilities ``(N, num_classes, *out_features)`` or ``(num_classes,)``.

    Example:
        >>> from facula import nn
        >>> loss = nn.LinearCrossEntropyLoss(5, 10, out_features=(4, 3))
        >>> loss(facula.randn(2, 5), facula.zeros(2, 4, 3, dtype=facula.int64)).shape
        torch.Size([])
    """

    __constants__ = ("num_classes", "out_features", "reduction", "ignore_index", "label_smoothing")

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Any = None,
        dtype: Any = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: LinearCrossEntropyOptions | None = None,
    ) -> None:
        super().__init__()
        if weight is not None and weight.shape != (num_classes,):
            raise RuntimeError(
                f"LinearCrossEntropyLoss: expected a weight for each of the {num_classes} "
                f"classes, got {tuple(weight.shape)}."
            )
        if not 0.0 <= label_smoothing <= 1.0:
            raise RuntimeError(
                "LinearCrossEntropyLoss: expected label_smoothing from 0.0 to 1.0, got "
                f"{label_smoothing}."
            )
        self.in_features = in_features
        self.num_classes = num_classes
        self.out_features = tuple(out_features)
        self.reduction = reduction
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing
        self.options = options
        n_rows = num_classes * math.prod(self.out_features)
        self.linear = Linear(in_features, n_rows, bias=bias, device=device, dtype=dtype)
        self.register_buffer("weight", weight)
        self.weight: Tensor | None

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        sizes = (self.num_classes, *self.out_features)
        bias = self.linear.bias
        return F.linear_cross_entropy(
            input,
            self.linear.weight.reshape(*sizes, self.in_features),
            target,
            linear_bias=None if bias is None else bias.reshape(sizes),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, num_classes={self.num_classes}, "
            f"out_features={self.out_features}, bias={self.linear.bias is not None}, "
            f"reduction={self.reduction}, ignore_index={self.ignore_index}, "
            f"label_smoothing={self.label_smoothing}, options={self.options}"
        )


class CTCLoss(_Loss):
    """The loss of label sequences that are not aligned; ``F.ctc_loss`` as a module.

    Args:
        blank: the label that stands for no label at all.
        reduction: what is made of the losses: ``"mean"``, ``"sum"`` or ``"none"``.
        zero_infinity: whether infinite losses, and their gradients, become zero.

    Shape:
        log_probs ``(T, N, C)`` or ``(T, C)``, targets ``(N, S)`` or ``(sum(target_lengths),)``,
        lengths ``(N,)`` or ``()``; losses ``(N,)`` or ``()``.

    Example:
        >>> from facula import nn
        >>> log_probs = facula.tensor([[[0.5, 0.5]], [[0.5, 0.5]]]).log()
        >>> nn.CTCLoss()(log_probs, facula.tensor([[1]]), (2,), (1,))
        tensor(0.2877)
    """

    __constants__ = ("blank", "reduction")

    def __init__(
        self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False
    ) -> None:
        super().__init__(reduction=reduction)
        self.blank = blank
        self.zero_infinity = zero_infinity

    def forward(
        self,
        log_probs: Tensor,
        targets: Tensor,
        input_lengths: Tensor | Sequence[int],
        target_lengths: Tensor | Sequence[int],
    ) -> Tensor:
        return F.ctc_loss(
            log_probs,
            targets,
            input_lengths,
            target_lengths,
            self.blank,
            self.reduction,
            self.zero_infinity,
        )


class HingeEmbeddingLoss(_Loss):
    """The loss ``F.hinge_embedding_loss`` of distances as a module.

    Args:
        margin: the smallest distance that costs nothing where the target is -1.
        size_average: a deprecated flag, replaced by ``reduction``.
        reduce: a deprecated flag, replaced by ``reduction``.
        reduction: what is made of the losses: ``"mean"``, ``"sum"`` or ``"none"``.

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
        size_average: a deprecated flag, replaced by ``reduction``.
        reduce: a deprecated flag, replaced by ``reduction``.
        reduction: what is made of the losses: ``"mean"``, ``"sum"`` or ``"none"``.

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
        size_average: a deprecated flag, replaced by ``reduction``.
        reduce: a deprecated flag, replaced by ``reduction``.
        reduction: what is made of the losses: ``"mean"``, ``"sum"`` or ``"none"``.

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
        weight: the weight of each class.
        size_average: a deprecated flag, replaced by ``reduction``.
        reduce: a deprecated flag, replaced by ``reduction``.
        reduction: what is made of the losses: ``"mean"``, ``"sum"`` or ``"none"``.

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
        margin: the largest cosine that costs nothing where the target is -1, from -1 to 1.
        size_average: a deprecated flag, replaced by ``reduction``.
        reduce: a deprecated flag, replaced by ``reduction``.
        reduction: what is made of the losses: ``"mean"``, ``"sum"`` or ``"none"``.

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
        margin: by how much one input should be above the other.
        size_average: a deprecated flag, replaced by ``reduction``.
        reduce: a deprecated flag, replaced by ``reduction``.
        reduction: what is made of the losses: ``"mean"``, ``"sum"`` or ``"none"``.

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
        p: the power to which each excess is raised, 1 or 2.
        margin: by how much the target's score should be above the others.
        weight: the weight of each class.
        size_average: a deprecated flag, replaced by ``reduction``.
        reduce: a deprecated flag, replaced by ``reduction``.
        reduction: what is made of the losses: ``"mean"``, ``"sum"`` or ``"none"``.

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
            input, target, self.p, self.margin, self.weight, reduction=self.reduction
        )


class TripletMarginLoss(_Loss):
    """How much nearer to the anchor the negative is; ``F.triplet_margin_loss`` as a module.

    Args:
        margin: by how much the negative should be farther away than the positive; above 0.
        p: the order of the norm.
        eps: a small number that is added to the differences.
        swap: whether the distance from the positive to the negative counts where it is the smaller
            one.
        size_average: a deprecated flag, replaced by ``reduction``.
        reduce: a deprecated flag, replaced by ``reduction``.
        reduction: what is made of the losses: ``"mean"``, ``"sum"`` or ``"none"``.

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
    """``TripletMarginLoss`` with any function as the distance.

    Args:
        distance_function: a function of two tensors of vectors that returns their distances;
            ``PairwiseDistance()`` by default.
        margin: by how much the negative should be farther away than the positive; above 0.
        swap: whether the distance from the positive to the negative counts where it is the smaller
            one.
        reduction: what is made of the losses: ``"mean"``, ``"sum"`` or ``"none"``.

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
