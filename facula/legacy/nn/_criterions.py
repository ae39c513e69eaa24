"""Losses: ``forward(input, target)`` gives a number, ``backward`` the gradient of the input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import facula
from facula import Tensor, autograd
from facula.legacy.nn._module import flat, mapped
from facula.nn import functional as F

__all__ = [
    "AbsCriterion",
    "BCECriterion",
    "ClassNLLCriterion",
    "CosineEmbeddingCriterion",
    "Criterion",
    "CrossEntropyCriterion",
    "DistKLDivCriterion",
    "HingeEmbeddingCriterion",
    "L1Cost",
    "MSECriterion",
    "MarginCriterion",
    "MultiCriterion",
    "MultiMarginCriterion",
    "ParallelCriterion",
    "SmoothL1Criterion",
    "SoftMarginCriterion",
]


class Criterion:
    """Base of the losses."""

    def __init__(self) -> None:
        self.gradInput: Any = facula.Tensor()
        self.output: float = 0

    def _loss(self, input: Any, target: Any) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__}: updateOutput is not defined.")

    def updateOutput(self, input: Any, target: Any) -> float:
        """Compute the loss."""
        with autograd.grad_mode.no_grad():
            self.output = float(self._loss(input, target))
        return self.output

    def updateGradInput(self, input: Any, target: Any) -> Any:
        """Compute the gradient of the input."""
        leaves = mapped(lambda x: x.detach().requires_grad_(), input)
        with autograd.grad_mode.enable_grad():
            grads = iter(autograd.grad(self._loss(leaves, target), flat(leaves)))
        self.gradInput = mapped(lambda _: next(grads), input)
        return self.gradInput

    def forward(self, input: Any, target: Any) -> float:
        """The loss, a number."""
        return self.updateOutput(input, target)

    __call__ = forward

    def backward(self, input: Any, target: Any) -> Any:
        """The gradient of the loss with respect to the input."""
        return self.updateGradInput(input, target)


class _Averaged(Criterion):
    _rule: Callable[..., Tensor]

    def __init__(self, sizeAverage: bool = True) -> None:
        super().__init__()
        self.sizeAverage = sizeAverage

    def _loss(self, input: Any, target: Any) -> Tensor:
        reduction = "mean" if self.sizeAverage else "sum"
        return type(self)._rule(input, self._fit(input, target), reduction=reduction)

    @staticmethod
    def _fit(input: Tensor, target: Any) -> Tensor:
        if not isinstance(target, Tensor):
            return facula.full_like(input, target)
        return target.reshape(input.shape).type_as(input)


class MSECriterion(_Averaged):
    """The mean of squared differences."""

    _rule = staticmethod(F.mse_loss)


class AbsCriterion(_Averaged):
    """The mean of absolute differences."""

    _rule = staticmethod(F.l1_loss)


class SmoothL1Criterion(_Averaged):
    """The mean of differences, squared where they are small."""

    _rule = staticmethod(F.smooth_l1_loss)


class SoftMarginCriterion(_Averaged):
    """The logistic loss of two classes, -1 and 1."""

    _rule = staticmethod(F.soft_margin_loss)


class DistKLDivCriterion(_Averaged):
    """The Kullback-Leibler divergence of log-probabilities from probabilities."""

    def _loss(self, input: Any, target: Any) -> Tensor:
        total = F.kl_div(input, self._fit(input, target), reduction="sum")
        return total / input.numel() if self.sizeAverage else total


class BCECriterion(_Averaged):
    """The cross entropy of probabilities of two classes."""

    def __init__(self, weights: Tensor | None = None, sizeAverage: bool = True) -> None:
        super().__init__(sizeAverage)
        self.weights = weights

    def _loss(self, input: Any, target: Any) -> Tensor:
        reduction = "mean" if self.sizeAverage else "sum"
        target = self._fit(input, target)
        return F.binary_cross_entropy(input, target, self.weights, reduction=reduction)


class ClassNLLCriterion(Criterion):
    """Minus the log-probability of the right class, counted from 0."""

    _rule: Callable[..., Tensor] = staticmethod(F.nll_loss)

    def __init__(self, weights: Tensor | None = None, sizeAverage: bool = True) -> None:
        super().__init__()
        self.weights, self.sizeAverage = weights, sizeAverage

    def _loss(self, input: Any, target: Any) -> Tensor:
        target = facula.as_tensor(target)
        target = target.reshape(()) if input.dim() == 1 else target
        reduction = "mean" if self.sizeAverage else "sum"
        return type(self)._rule(input, target.long(), self.weights, reduction=reduction)


class CrossEntropyCriterion(ClassNLLCriterion):
    """The cross entropy of scores and the right class."""

    _rule = staticmethod(F.cross_entropy)


class MultiMarginCriterion(Criterion):
    """The hinge loss of several classes."""

    def __init__(
        self, p: int = 1, weights: Tensor | None = None, margin: float = 1, sizeAverage: bool = True
    ) -> None:
        super().__init__()
        self.p, self.weights, self.margin, self.sizeAverage = p, weights, margin, sizeAverage

    def _loss(self, input: Any, target: Any) -> Tensor:
        reduction = "mean" if self.sizeAverage else "sum"
        return F.multi_margin_loss(
            input, target.long(), self.p, self.margin, self.weights, reduction=reduction
        )


class MarginCriterion(_Averaged):
    """The hinge loss of two classes, -1 and 1."""

    def __init__(self, margin: float = 1, sizeAverage: bool = True) -> None:
        super().__init__(sizeAverage)
        self.margin = margin

    def _loss(self, input: Any, target: Any) -> Tensor:
        losses: Tensor = (self.margin - input * self._fit(input, target)).relu()
        return losses.mean() if self.sizeAverage else losses.sum()


class HingeEmbeddingCriterion(_Averaged):
    """A distance where the target is 1, what a margin lacks where it is -1."""

    def __init__(self, margin: float = 1, sizeAverage: bool = True) -> None:
        super().__init__(sizeAverage)
        self.margin = margin

    def _loss(self, input: Any, target: Any) -> Tensor:
        reduction = "mean" if self.sizeAverage else "sum"
        target = self._fit(input, target)
        return F.hinge_embedding_loss(input, target, self.margin, reduction=reduction)


class CosineEmbeddingCriterion(_Averaged):
    """How far the angle of two vectors is from what the target says."""

    def __init__(self, margin: float = 0, sizeAverage: bool = True) -> None:
        super().__init__(sizeAverage)
        self.margin = margin

    def _loss(self, input: Any, target: Any) -> Tensor:
        reduction = "mean" if self.sizeAverage else "sum"
        first, second = input
        return F.cosine_embedding_loss(first, second, target, self.margin, reduction=reduction)


class L1Cost(Criterion):
    """The sum of absolute values; the target is not looked at."""

    def _loss(self, input: Any, target: Any) -> Tensor:
        return input.abs().sum()  # type: ignore[no-any-return]


class MultiCriterion(Criterion):
    """The weighted sum of several losses of the same input."""

    def __init__(self) -> None:
        super().__init__()
        self.criterions: list[Any] = []
        self.weights: list[float] = []

    def add(self, criterion: Criterion, weight: float = 1) -> Any:
        """Append a loss."""
        self.criterions.append(criterion)
        self.weights.append(weight)
        return self

    def _loss(self, input: Any, target: Any) -> Tensor:
        pairs = zip(self.criterions, self.weights, strict=True)
        return facula.stack([c._loss(input, target) * w for c, w in pairs]).sum()


class ParallelCriterion(MultiCriterion):
    """The weighted sum of several losses, each of its entries of input and target."""

    def __init__(self, repeatTarget: bool = False) -> None:
        super().__init__()
        self.repeatTarget = repeatTarget

    def _loss(self, input: Any, target: Any) -> Tensor:
        losses = [
            criterion._loss(x, target if self.repeatTarget else target[i]) * weight
            for i, (criterion, weight, x) in enumerate(
                zip(self.criterions, self.weights, input, strict=True)
            )
        ]
        return facula.stack(losses).sum()
