"""Tables of vectors."""

from __future__ import annotations

from typing import Any

import facula
from facula._core import Tensor
from facula.nn import functional as F
from facula.nn import init
from facula.nn.modules.module import Module
from facula.nn.modules.utils import _changed
from facula.nn.parameter import Parameter

__all__ = ["Embedding", "EmbeddingBag"]


class _Table(Module):
    """What both layers have in common: the table, and the row that stands for padding."""

    num_embeddings: int
    embedding_dim: int
    padding_idx: int | None
    max_norm: float | None
    norm_type: float
    scale_grad_by_freq: bool
    sparse: bool
    weight: Tensor

    def _set_up(self, weight: Tensor | None, requires_grad: bool, device: Any, dtype: Any) -> None:
        n_rows, shape = self.num_embeddings, (self.num_embeddings, self.embedding_dim)
        if self.padding_idx is not None:
            if not -n_rows <= self.padding_idx < n_rows:
                raise AssertionError(
                    f"{type(self).__name__}: expected padding_idx from {-n_rows} to {n_rows - 1}, "
                    f"a row of the table, got {self.padding_idx}."
                )
            self.padding_idx %= n_rows
        if weight is None:
            table = facula.empty(shape, device=device, dtype=dtype)
            self.weight = Parameter(table, requires_grad=requires_grad)
            self.reset_parameters()
            return
        if tuple(weight.shape) != shape:
            raise AssertionError(
                f"{type(self).__name__}: expected a weight (num_embeddings, embedding_dim) = "
                f"{shape}, got {tuple(weight.shape)}."
            )
        self.weight = Parameter(weight, requires_grad=requires_grad)

    def reset_parameters(self) -> None:
        """Draw the table from the standard normal distribution; the row of padding is 0."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with facula.no_grad():
                self.weight[self.padding_idx].fill_(0)


def _check_pretrained(name: str, embeddings: Tensor) -> None:
    if embeddings.dim() != 2:
        raise AssertionError(
            f"{name}: expected embeddings of two dimensions, got {tuple(embeddings.shape)}."
        )


class Embedding(_Table):
    """A table of vectors, looked up by index.

    Args:
        num_embeddings: the number of vectors in the table.
        embedding_dim: the size of each vector.
        padding_idx: the index of a row that begins with zeros and gets no gradient.
        max_norm: the norm to which longer vectors are scaled down when they are looked up.
        norm_type: the order p of the norm that ``max_norm`` bounds.
        scale_grad_by_freq: whether gradients are divided by the number of times that their row was
            asked for.
        sparse: whether the gradient of the table is a sparse tensor, of the rows that were asked
            for; see ``optim.SparseAdam``.
        device: where the table is created.
        dtype: the dtype of the table.

    Shape:
        input ``(*)``, int64 or int32; result ``(*, embedding_dim)``. ``weight`` is
        ``(num_embeddings, embedding_dim)``.

    Example:
        >>> m = facula.nn.Embedding(10, 3)
        >>> m(facula.tensor([[1, 2], [4, 5]])).shape
        torch.Size([2, 2, 3])
    """

    __constants__ = (
        "num_embeddings",
        "embedding_dim",
        "padding_idx",
        "max_norm",
        "norm_type",
        "scale_grad_by_freq",
        "sparse",
    )

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = padding_idx
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse
        self._set_up(_weight, not _freeze, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        options = self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse
        return F.embedding(input, self.weight, self.padding_idx, *options)

    def extra_repr(self) -> str:
        size = f"{self.num_embeddings}, {self.embedding_dim}"
        options = {"padding_idx": None, "max_norm": None, "norm_type": 2}
        changed = _changed(self, **options, scale_grad_by_freq=False, sparse=False)
        return ", ".join([size, *changed])

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Embedding:
        """A layer over a given table, by default one that is not trained.

        Example:
            >>> m = facula.nn.Embedding.from_pretrained(facula.tensor([[1.0, 2.0], [3.0, 4.0]]))
            >>> m(facula.tensor([1]))
            tensor([[3., 4.]])
        """
        _check_pretrained("Embedding", embeddings)
        n_rows, size = embeddings.shape
        return cls(
            n_rows,
            size,
            padding_idx=padding_idx,
            max_norm=max_norm,
            norm_type=norm_type,
            scale_grad_by_freq=scale_grad_by_freq,
            sparse=sparse,
            _weight=embeddings,
            _freeze=freeze,
        )


class EmbeddingBag(_Table):
    """Sums, means or maxima of vectors of a table, for bags of indices.

    Args:
        num_embeddings: the number of vectors in the table.
        embedding_dim: the size of each vector.
        max_norm: the norm to which longer vectors are scaled down when they are looked up.
        norm_type: the order p of the norm that ``max_norm`` bounds.
        scale_grad_by_freq: whether gradients are divided by the number of times that their row was
            asked for.
        mode: what is made of the rows of a bag: their ``"sum"``, ``"mean"`` or ``"max"``.
        sparse: whether the gradient of the table is a sparse tensor, of the rows that were asked
            for; see ``optim.SparseAdam``.
        include_last_offset: whether the last offset is where the last bag ends.
        padding_idx: the index of a row that bags leave out.
        device: where the table is created.
        dtype: the dtype of the table.

    Shape:
        input ``(B, N)``, or ``(N,)`` with offsets ``(B,)``; result ``(B, embedding_dim)``.
        ``weight`` is ``(num_embeddings, embedding_dim)``.

    Example:
        >>> m = facula.nn.EmbeddingBag(10, 3, mode="sum")
        >>> m(facula.tensor([1, 2, 4, 5]), facula.tensor([0, 3])).shape
        torch.Size([2, 3])
    """

    __constants__ = (
        "num_embeddings",
        "embedding_dim",
        "max_norm",
        "norm_type",
        "scale_grad_by_freq",
        "mode",
        "sparse",
        "include_last_offset",
        "padding_idx",
    )

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = padding_idx
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.mode = mode
        self.sparse = sparse
        self.include_last_offset = include_last_offset
        self._set_up(_weight, True, device, dtype)

    def forward(
        self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None
    ) -> Tensor:
        options = self.max_norm, self.norm_type, self.scale_grad_by_freq, self.mode, self.sparse
        ends = self.include_last_offset, self.padding_idx
        return F.embedding_bag(input, self.weight, offsets, *options, per_sample_weights, *ends)

    def extra_repr(self) -> str:
        parts = [f"{self.num_embeddings}, {self.embedding_dim}"]
        parts += _changed(self, max_norm=None, norm_type=2, scale_grad_by_freq=False)
        parts.append(f"mode={self.mode!r}")
        return ", ".join([*parts, *_changed(self, padding_idx=None)])

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> EmbeddingBag:
        """A layer over a given table, by default one that is not trained.

        Example:
            >>> table = facula.tensor([[1.0, 2.0], [3.0, 4.0]])
            >>> facula.nn.EmbeddingBag.from_pretrained(table)(facula.tensor([[0, 1]]))
            tensor([[2., 3.]])
        """
        _check_pretrained("EmbeddingBag", embeddings)
        n_rows, size = embeddings.shape
        bag = cls(
            n_rows,
            size,
            _weight=embeddings,
            max_norm=max_norm,
            norm_type=norm_type,
            scale_grad_by_freq=scale_grad_by_freq,
            mode=mode,
            sparse=sparse,
            include_last_offset=include_last_offset,
            padding_idx=padding_idx,
        )
        bag.weight.requires_grad = not freeze
        return bag
