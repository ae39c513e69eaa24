"""A softmax over many classes, most of them rare."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import facula
from facula._core import Tensor
from facula.nn import functional as F
from facula.nn.modules.container import ModuleList, Sequential
from facula.nn.modules.linear import Linear
from facula.nn.modules.module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]


class _ASMoutput(NamedTuple):
    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """Softmax and its loss for many classes, sorted by decreasing frequency (Grave et al., 2017).

    The head decides between the frequent classes and clusters of rare ones; each cluster has a
    layer of its own, narrower for rarer classes, which is computed only for the targets in it.

    Args:
        in_features: the size of the input's last dimension.
        n_classes: the number of classes.
        cutoffs: the first class of each cluster, in rising order, each from 1 to ``n_classes - 1``.
        div_value: how much narrower each cluster is than the one before: cluster ``i`` has
            ``in_features // div_value ** (i + 1)`` features.
        head_bias: whether the head has a bias.
        device: where the parameters are created.
        dtype: the dtype of the parameters.

    Shape:
        input ``(N, in_features)`` or ``(in_features,)``, target ``(N,)`` or ``()``; output, the log
        probabilities of the targets, ``(N,)`` or ``()``, and the loss, their mean times -1.

    Example:
        >>> from facula import nn
        >>> m = nn.AdaptiveLogSoftmaxWithLoss(8, 20, cutoffs=[4, 10], div_value=2.0)
        >>> output, loss = m(facula.randn(3, 8), facula.tensor([0, 7, 19]))
        >>> output.shape, m.log_prob(facula.randn(3, 8)).shape
        (torch.Size([3]), torch.Size([3, 20]))
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        starts = list(cutoffs)
        is_rising = all(a < b for a, b in pairwise(starts))
        if not starts or not is_rising or starts[0] < 1 or starts[-1] > n_classes - 1:
            raise ValueError(
                "AdaptiveLogSoftmaxWithLoss: expected cutoffs that rise, each from 1 to "
                f"{n_classes - 1}, got {starts}."
            )
        if any(int(c) != c for c in starts):
            raise ValueError(f"AdaptiveLogSoftmaxWithLoss: expected ints as cutoffs, got {starts}.")
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*starts, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        kind = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **kind)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            width = int(in_features // div_value ** (i + 1))
            size = self.cutoffs[i + 1] - self.cutoffs[i]
            self.tail.append(
                Sequential(
                    Linear(in_features, width, bias=False, **kind),
                    Linear(width, size, bias=False, **kind),
                )
            )

    def reset_parameters(self) -> None:
        """Draw the weights of the head and of all clusters anew."""
        self.head.reset_parameters()
        for first, second in self.tail:
            first.reset_parameters()
            second.reset_parameters()

    def forward(self, input: Tensor, target: Tensor) -> _ASMoutput:
        is_batch = self._check(input, target)
        if not is_batch:
            input, target = input.unsqueeze(0), target.unsqueeze(0)
        head = F.log_softmax(self.head(input), dim=1)
        # For each target its column in the head, and its log probability within its cluster, which
        # is 0 for the frequent classes: they have no cluster.
        columns, inside = target, head.new_zeros(target.size(0))
        for i, cluster in enumerate(self.tail):
            first, last = self.cutoffs[i], self.cutoffs[i + 1]
            rows = ((target >= first) & (target < last)).nonzero().squeeze(1)
            if rows.numel() == 0:
                continue
            log_probs = F.log_softmax(cluster(input.index_select(0, rows)), dim=1)
            wanted = target[rows] - first
            inside = inside.index_copy(0, rows, log_probs.gather(1, wanted.unsqueeze(1)).squeeze(1))
            columns = columns.index_fill(0, rows, self.shortlist_size + i)
        output = head.gather(1, columns.unsqueeze(1)).squeeze(1) + inside
        loss = (-output).mean()
        return _ASMoutput(output if is_batch else output.squeeze(0), loss)

    def _check(self, input: Tensor, target: Tensor) -> bool:
        """Check that input and target fit each other; returns whether they are a batch."""
        if target.dim() > 1 or input.dim() != target.dim() + 1:
            raise RuntimeError(
                "AdaptiveLogSoftmaxWithLoss: expected an input (N, in_features) with a target "
                f"(N,), or (in_features,) with (), got {tuple(input.shape)} and "
                f"{tuple(target.shape)}."
            )
        if target.dim() == 1 and input.size(0) != target.size(0):
            raise RuntimeError(
                f"AdaptiveLogSoftmaxWithLoss: expected {input.size(0)} targets for an input "
                f"{tuple(input.shape)}, got {tuple(target.shape)}."
            )
        is_bad = (target < 0) | (target >= self.n_classes)
        if is_bad.any():
            raise RuntimeError(
                "AdaptiveLogSoftmaxWithLoss: expected targets from 0 to "
                f"{self.n_classes - 1}, got {target[is_bad].flatten()[0].item()}."
            )
        return target.dim() == 1

    def log_prob(self, input: Tensor) -> Tensor:
        """The log probabilities of all classes, ``(N, n_classes)``."""
        head = F.log_softmax(self.head(input), dim=1)
        parts = [head[:, : self.shortlist_size]]
        for i, cluster in enumerate(self.tail):
            of_cluster = head[:, self.shortlist_size + i].unsqueeze(1)
            parts.append(F.log_softmax(cluster(input), dim=1) + of_cluster)
        return facula.cat(parts, dim=1)

    def predict(self, input: Tensor) -> Tensor:
        """The most likely class of each row; cheap where it is a frequent one."""
        best: Tensor = self.head(input).argmax(dim=1)
        rare = (best >= self.shortlist_size).nonzero().squeeze(1)
        if rare.numel() > 0:
            best[rare] = self.log_prob(input[rare]).argmax(dim=1)
        return best
