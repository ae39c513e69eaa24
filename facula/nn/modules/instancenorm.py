"""Normalisation of each channel of each sample."""

from __future__ import annotations

from typing import Any

from facula._core import Tensor
from facula._warnings import warn_user
from facula.nn import functional as F
from facula.nn.modules.batchnorm import _check_dims, _LazyNormBase, _NormBase

__all__ = [
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "LazyInstanceNorm1d",
    "LazyInstanceNorm2d",
    "LazyInstanceNorm3d",
]


class _InstanceNorm(_NormBase):
    _n_dims: int  # those of a sample without a batch

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )

    def _check_input_dim(self, input: Tensor) -> None:
        _check_dims(self, input, (self._n_dims, self._n_dims + 1))

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        metadata: Any,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        if metadata.get("version", None) is None and not self.track_running_stats:
            # Files from before version 2 have statistics that were never used.
            kept = [prefix + name for name in ("running_mean", "running_var")]
            kept = [key for key in kept if key in state_dict]
            if kept:
                names = " and ".join(f'"{key}"' for key in kept)
                error_msgs.append(
                    f"{type(self).__name__}: the state_dict has {names}, but "
                    "track_running_stats=False. Remove them from it, or make the module with "
                    "track_running_stats=True."
                )
                for key in kept:
                    state_dict.pop(key)
        super()._load_from_state_dict(
            state_dict, prefix, metadata, strict, missing_keys, unexpected_keys, error_msgs
        )

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        dim = input.dim() - self._n_dims
        if input.size(dim) != self.num_features:
            text = (
                f"{type(self).__name__}: expected {self.num_features} channels (dimension {dim}), "
                f"got an input {tuple(input.shape)}."
            )
            if self.affine:
                raise ValueError(text)
            warn_user(text + " Without affine it has no effect.")
        if dim == 0:
            return self._normalize(input.unsqueeze(0)).squeeze(0)
        return self._normalize(input)

    def _normalize(self, input: Tensor) -> Tensor:
        return F.instance_norm(
            input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            self.momentum if self.momentum is not None else 0.0,
            self.eps,
        )


class InstanceNorm1d(_InstanceNorm):
    """Brings each channel of each sequence to mean 0 and variance 1.

    Args:
        num_features: the number of channels.
        eps: a small number that is added to the variance, against division by zero.
        momentum: the weight of a new input in the running averages.
        affine: whether the layer has a weight for each channel.
        track_running_stats: whether the layer keeps running averages, which evaluation uses.
        device: where the parameters and buffers are created.
        dtype: the dtype of the parameters and buffers.
        bias: whether a layer that has a weight has a bias, too.

    Shape:
        input ``(N, C, L)`` or ``(C, L)``; result of the same shape.

    Example:
        >>> facula.nn.InstanceNorm1d(1, eps=0.0)(facula.tensor([[[1.0, 3.0]]]))
        tensor([[[-1.,  1.]]])
    """

    _n_dims = 2


class InstanceNorm2d(_InstanceNorm):
    """Brings each channel of each image to mean 0 and variance 1.

    The arguments are those of :class:`InstanceNorm1d`.

    Shape:
        input ``(N, C, H, W)`` or ``(C, H, W)``; result of the same shape.

    Example:
        >>> facula.nn.InstanceNorm2d(3)(facula.ones(2, 3, 4, 4)).shape
        torch.Size([2, 3, 4, 4])
    """

    _n_dims = 3


class InstanceNorm3d(_InstanceNorm):
    """Brings each channel of each volume to mean 0 and variance 1.

    The arguments are those of :class:`InstanceNorm1d`.

    Shape:
        input ``(N, C, D, H, W)`` or ``(C, D, H, W)``; result of the same shape.

    Example:
        >>> facula.nn.InstanceNorm3d(3)(facula.ones(2, 3, 2, 4, 4)).shape
        torch.Size([2, 3, 2, 4, 4])
    """

    _n_dims = 4


class _LazyInstanceNorm(_LazyNormBase, _InstanceNorm):
    def initialize_parameters(self, input: Tensor) -> None:
        self._check_input_dim(input)
        # The channels of a sample without a batch are dimension 0.
        super().initialize_parameters(input if input.dim() > self._n_dims else input.unsqueeze(0))


class LazyInstanceNorm1d(_LazyInstanceNorm):
    """An :class:`InstanceNorm1d` that takes ``num_features`` from its first input.

    Example:
        >>> m = facula.nn.LazyInstanceNorm1d()
        >>> m(facula.ones(2, 3, 4)).shape, m.num_features
        (torch.Size([2, 3, 4]), 3)
    """

    cls_to_become = InstanceNorm1d
    _n_dims = 2


class LazyInstanceNorm2d(_LazyInstanceNorm):
    """An :class:`InstanceNorm2d` that takes ``num_features`` from its first input.

    Example:
        >>> m = facula.nn.LazyInstanceNorm2d()
        >>> m(facula.ones(2, 3, 4, 4)).shape, m.num_features
        (torch.Size([2, 3, 4, 4]), 3)
    """

    cls_to_become = InstanceNorm2d
    _n_dims = 3


class LazyInstanceNorm3d(_LazyInstanceNorm):
    """An :class:`InstanceNorm3d` that takes ``num_features`` from its first input.

    Example:
        >>> m = facula.nn.LazyInstanceNorm3d()
        >>> m(facula.ones(2, 3, 2, 4, 4)).shape, m.num_features
        (torch.Size([2, 3, 2, 4, 4]), 3)
    """

    cls_to_become = InstanceNorm3d
    _n_dims = 4
