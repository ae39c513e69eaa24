"""Normalisation over batches."""

from __future__ import annotations

from typing import Any, cast

import facula
from facula._core import Tensor
from facula.nn import functional as F
from facula.nn.modules.lazy import LazyModuleMixin
from facula.nn.modules.module import Module
from facula.nn.modules.normalization import _Affine
from facula.nn.parameter import UninitializedBuffer, UninitializedParameter

__all__ = [
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "LazyBatchNorm1d",
    "LazyBatchNorm2d",
    "LazyBatchNorm3d",
    "SyncBatchNorm",
]


class _NormBase(_Affine):
    """The parameters and running statistics that batch and instance norms share."""

    # Version 2 added num_batches_tracked; older files are given it when they are loaded.
    _version = 2
    __constants__ = ("track_running_stats", "momentum", "eps", "num_features", "affine")
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        kind = {"device": device, "dtype": dtype}
        self._register_affine(num_features, affine, bias, device, dtype)
        tracks = track_running_stats
        count = facula.tensor(0, dtype=facula.int64, device=device)
        mean, var = facula.zeros(num_features, **kind), facula.ones(num_features, **kind)
        self.register_buffer("running_mean", mean if tracks else None)
        self.register_buffer("running_var", var if tracks else None)
        self.register_buffer("num_batches_tracked", count if tracks else None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Reset the running averages to mean 0 and variance 1."""
        if self.track_running_stats:
            cast(Tensor, self.running_mean).zero_()
            cast(Tensor, self.running_var).fill_(1)
            cast(Tensor, self.num_batches_tracked).zero_()

    def reset_parameters(self) -> None:
        """Set weights to 1 and biases to 0, and reset the running averages."""
        self.reset_running_stats()
        super().reset_parameters()

    def _check_input_dim(self, input: Tensor) -> None:
        raise NotImplementedError

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, "
            f"affine={self.affine}, bias={self.bias is not None}, "
            f"track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, metadata: Any, *rest: Any
    ) -> None:
        version = metadata.get("version", None)
        key = prefix + "num_batches_tracked"
        if (version is None or version < 2) and self.track_running_stats and key not in state_dict:
            count = self.num_batches_tracked
            known = count is not None and not count.is_meta
            state_dict[key] = count if known else facula.tensor(0, dtype=facula.int64)
        super()._load_from_state_dict(state_dict, prefix, metadata, *rest)


class _BatchNorm(_NormBase):
    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        if "num_batches_tracked" not in self._buffers:  # of a layer saved before 0.4.1
            count = facula.tensor(0) if self.track_running_stats else None
            self.register_buffer("num_batches_tracked", count)

    _allowed_dims: tuple[int, ...] = ()

    def _check_input_dim(self, input: Tensor) -> None:
        if not self._allowed_dims:  # a subclass of the user's defines either of the two
            raise NotImplementedError
        _check_dims(self, input, self._allowed_dims)

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        momentum = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            # Without a momentum the plain average of all batches; on meta it is of no number.
            if self.momentum is None and not self.num_batches_tracked.is_meta:
                momentum = 1.0 / float(self.num_batches_tracked)
        uses_batch = self.training or (self.running_mean is None and self.running_var is None)
        has_running = not self.training or self.track_running_stats
        return F.batch_norm(
            input,
            self.running_mean if has_running else None,
            self.running_var if has_running else None,
            self.weight,
            self.bias,
            uses_batch,
            momentum,
            self.eps,
        )


class _LazyNormBase(LazyModuleMixin, _NormBase):
    weight: Any
    bias: Any
    running_mean: Any
    running_var: Any

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        # affine and track_running_stats are off here, so that no tensor of 0 channels is made: the
        # uninitialized ones below take their places in the same order.
        super().__init__(0, eps, momentum, False, False, device, dtype)
        self.affine = affine
        self.track_running_stats = track_running_stats
        kind = {"device": device, "dtype": dtype}
        if affine:
            self.weight = UninitializedParameter(**kind)
            if bias:
                self.bias = UninitializedParameter(**kind)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(**kind)
            self.running_var = UninitializedBuffer(**kind)
            self.num_batches_tracked = facula.tensor(0, dtype=facula.int64, device=device)

    def reset_parameters(self) -> None:
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        if not self.has_uninitialized_params():
            return
        self.num_features = input.shape[1]
        for tensor in (self.weight, self.bias, self.running_mean, self.running_var):
            if isinstance(tensor, (UninitializedParameter, UninitializedBuffer)):
                tensor.materialize((self.num_features,))
        self.reset_parameters()


def _check_dims(layer: Module, input: Tensor, allowed: tuple[int, ...]) -> None:
    if input.dim() not in allowed:
        shapes = " or ".join(str(n) for n in allowed)
        raise ValueError(
            f"{type(layer).__name__}: expected an input of {shapes} dimensions, got "
            f"{tuple(input.shape)}. (expected {' or '.join(f'{n}D' for n in allowed)} input)"
        )


class BatchNorm1d(_BatchNorm):
    """Brings each channel to mean 0 and variance 1 over the batch, then scales and shifts it.

    In evaluation the running averages of mean and variance take the place of the batch's.

    Args:
        num_features: the number of channels.
        eps: a small number that is added to the variance, against division by zero.
        momentum: the weight of a new batch in the running averages; None for the plain average.
        affine: whether the layer has a weight for each channel.
        track_running_stats: whether the layer keeps running averages; otherwise those of the batch
            are always used.
        device: where the parameters and buffers are created.
        dtype: the dtype of the parameters and buffers.
        bias: whether a layer that has a weight has a bias, too.

    Shape:
        input ``(N, C)`` or ``(N, C, L)``; result of the same shape.

    Example:
        >>> m = facula.nn.BatchNorm1d(1)
        >>> m(facula.tensor([[1.0], [3.0]])).tolist()
        [[-0.9999949932098389], [0.9999949932098389]]
        >>> m.running_mean
        tensor([0.2000])
    """

    _allowed_dims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Brings each channel to mean 0 and variance 1 over a batch of images.

    The arguments are those of :class:`BatchNorm1d`.

    Shape:
        input ``(N, C, H, W)``; result of the same shape.

    Example:
        >>> facula.nn.BatchNorm2d(3)(facula.ones(2, 3, 4, 4)).shape
        torch.Size([2, 3, 4, 4])
    """

    _allowed_dims = (4,)


class BatchNorm3d(_BatchNorm):
    """Brings each channel to mean 0 and variance 1 over a batch of volumes.

    The arguments are those of :class:`BatchNorm1d`.

    Shape:
        input ``(N, C, D, H, W)``; result of the same shape.

    Example:
        >>> facula.nn.BatchNorm3d(3)(facula.ones(2, 3, 2, 4, 4)).shape
        torch.Size([2, 3, 2, 4, 4])
    """

    _allowed_dims = (5,)


class LazyBatchNorm1d(_LazyNormBase, _BatchNorm):
    """A :class:`BatchNorm1d` that takes ``num_features`` from its first input.

    Example:
        >>> m = facula.nn.LazyBatchNorm1d()
        >>> m(facula.ones(2, 3)).shape, m.num_features
        (torch.Size([2, 3]), 3)
    """

    cls_to_become = BatchNorm1d
    _allowed_dims = BatchNorm1d._allowed_dims


class LazyBatchNorm2d(_LazyNormBase, _BatchNorm):
    """A :class:`BatchNorm2d` that takes ``num_features`` from its first input.

    Example:
        >>> m = facula.nn.LazyBatchNorm2d()
        >>> m(facula.ones(2, 3, 2, 2)).shape, m.num_features
        (torch.Size([2, 3, 2, 2]), 3)
    """

    cls_to_become = BatchNorm2d
    _allowed_dims = BatchNorm2d._allowed_dims


class LazyBatchNorm3d(_LazyNormBase, _BatchNorm):
    """A :class:`BatchNorm3d` that takes ``num_features`` from its first input.

    Example:
        >>> m = facula.nn.LazyBatchNorm3d()
        >>> m(facula.ones(2, 3, 2, 2, 2)).shape, m.num_features
        (torch.Size([2, 3, 2, 2, 2]), 3)
    """

    cls_to_become = BatchNorm3d
    _allowed_dims = BatchNorm3d._allowed_dims


class SyncBatchNorm(_BatchNorm):
    """Batch norm over the batches of all processes; a single process normalises its own.

    The other arguments are those of :class:`BatchNorm1d`.

    Args:
        process_group: the processes that share their batches, which must be None.

    Shape:
        input ``(N, C, *)``; result of the same shape.

    Example:
        >>> facula.nn.SyncBatchNorm(3)(facula.ones(2, 3, 4)).shape
        torch.Size([2, 3, 4])
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        if process_group is not None:
            raise NotImplementedError(
                "SyncBatchNorm: groups of processes are not available; leave out process_group."
            )
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(
                f"SyncBatchNorm: expected an input (N, C, *), got {tuple(input.shape)}."
            )

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """The module with its batch norms replaced by ones of this class with the same parameters.

        Example:
            >>> net = facula.nn.Sequential(facula.nn.BatchNorm1d(3))
            >>> type(facula.nn.SyncBatchNorm.convert_sync_batchnorm(net)[0]).__name__
            'SyncBatchNorm'
        """
        result = module
        if isinstance(module, _BatchNorm):
            result = cls(
                module.num_features,
                module.eps,
                module.momentum,
                module.affine,
                module.track_running_stats,
                process_group,
                bias=module.bias is not None,
            )
            result.weight, result.bias = module.weight, module.bias
            result.running_mean, result.running_var = module.running_mean, module.running_var
            result.num_batches_tracked = module.num_batches_tracked
            result.training = module.training
        for name, child in module.named_children():
            result.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return result
