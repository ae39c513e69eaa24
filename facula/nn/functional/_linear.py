"""Linear and bilinear maps."""

from __future__ import annotations

import facula
from facula._core import Tensor, linear

__all__ = ["bilinear", "linear"]


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input1 @ weight[k] @ input2 + bias[k]`` for every feature ``k`` of the result.

    Shape:
        input1 ``(*, in1_features)``, input2 ``(*, in2_features)``, weight
        ``(out_features, in1_features, in2_features)``, bias ``(out_features,)``; result
        ``(*, out_features)``.

    Example:
        >>> from facula.nn import functional as F
        >>> F.bilinear(facula.ones(2, 3), facula.ones(2, 4), facula.ones(1, 3, 4))
        tensor([[12.],
                [12.]])
    """
    _check_bilinear(input1, input2, weight, bias)
    n_out, n_in1, n_in2 = weight.shape
    # (N, in1) @ (in1, out * in2): all products with the first input in one.
    left = facula.matmul(input1, weight.transpose(0, 1).reshape(n_in1, n_out * n_in2))
    left = left.reshape(*input1.shape[:-1], n_out, n_in2)
    product = facula.matmul(left, input2.unsqueeze(-1)).view(*input1.shape[:-1], n_out)
    return product if bias is None else product + bias


def _check_bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    given = {"input1": input1, "input2": input2, "weight": weight, "bias": bias}
    for name, value in given.items():
        if not isinstance(value, Tensor) and (name, value) != ("bias", None):
            raise TypeError(
                f"bilinear: expected {name} to be a tensor, got {type(value).__name__}."
            )

    def shape(t: Tensor) -> str:
        return str(tuple(t.shape))

    if weight.dim() != 3:
        kind = RuntimeError if weight.dim() else IndexError
        raise kind(f"bilinear: expected a weight of 3 dimensions, got {shape(weight)}.")
    if input1.dim() == 0 or input1.dim() != input2.dim() or input1.shape[:-1] != input2.shape[:-1]:
        raise RuntimeError(
            "bilinear: expected inputs that agree in all dimensions but the last, got "
            f"input1 {shape(input1)} and input2 {shape(input2)}."
        )
    for name, tensor, dim in (("input1", input1, 1), ("input2", input2, 2)):
        if tensor.size(-1) != weight.size(dim):
            raise RuntimeError(
                f"bilinear: expected {name} to have {weight.size(dim)} features (its last "
                f"dimension) for a weight {shape(weight)}, got {shape(tensor)}."
            )
    if bias is not None and bias.shape != weight.shape[:1]:
        raise RuntimeError(
            f"bilinear: expected a bias of {weight.size(0)} elements, got {shape(bias)}."
        )
