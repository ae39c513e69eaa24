"""Rules of products and of what networks are made of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import facula
from facula._core import Tensor
from facula._library._parts import RULES, Rule, aten, rule_of

# ---- products


@rule_of("linear", "_linear")
def _linear(dispatch: Any, input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Any:
    if weight.dim() != 2 or input.dim() == 0:
        return NotImplemented
    columns = weight.t()
    if bias is None:
        return facula.matmul(input, columns)
    if input.dim() == 2:
        return facula.addmm(bias, input, columns)
    if not input.is_contiguous():
        return facula.matmul(input, columns) + bias
    rows = input.view(math.prod(input.shape[:-1]), input.size(-1))
    return facula.addmm(bias, rows, columns).view(*input.shape[:-1], weight.size(0))


@rule_of("matmul")
def _matmul(dispatch: Any, input: Tensor, other: Tensor) -> Any:
    if not (isinstance(input, Tensor) and isinstance(other, Tensor)):
        return NotImplemented
    dims = (input.dim(), other.dim())
    if 0 in dims:
        return NotImplemented
    if dims == (1, 1):
        return facula.dot(input, other)
    if dims == (2, 1):
        return facula.mv(input, other)
    if dims == (1, 2):
        return facula.mm(input.unsqueeze(0), other).squeeze(0)
    if dims == (2, 2):
        return facula.mm(input, other)
    if dims[1] <= 2:
        rows = input.reshape(math.prod(input.shape[:-1]), input.size(-1))
        product = facula.mm(rows, other) if dims[1] == 2 else facula.mv(rows, other)
        return dispatch(aten("_unsafe_view"), product, [*input.shape[:-1], *other.shape[1:]])
    if dims[0] == 1:
        return facula.matmul(input.unsqueeze(0), other).squeeze(-2)
    batch = facula.broadcast_shapes(input.shape[:-2], other.shape[:-2])
    n, m, k = math.prod(batch), input.size(-2), input.size(-1)
    a = input.expand(*batch, m, k).reshape(n, m, k)
    b = other.expand(*batch, k, other.size(-1)).reshape(n, k, other.size(-1))
    return facula.bmm(a, b).view(*batch, m, other.size(-1))


def _each(value: Any, n: int) -> list[int]:
    values = [value] if isinstance(value, int) else list(value)
    return values * n if len(values) == 1 else values


def _convolution(n: int) -> Rule:
    def rule(
        dispatch: Any,
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Any:
        steps = _each(dilation, n)
        if padding == "valid":
            padding = 0
        elif padding == "same":
            padding = [d * (k - 1) for d, k in zip(steps, weight.shape[2:], strict=True)]
            if any(p % 2 for p in padding) or any(s != 1 for s in _each(stride, n)):
                return NotImplemented
            padding = [p // 2 for p in padding]
        elif isinstance(padding, str):
            return NotImplemented
        if input.dim() == n + 1:
            batch = rule(
                dispatch, input.unsqueeze(0), weight, bias, stride, padding, dilation, groups
            )
            return batch.squeeze(0)
        return dispatch(
            *(aten("convolution"), input, weight, bias, _each(stride, n), _each(padding, n)),
            *(steps, False, [0] * n, groups),
        )

    return rule


def _transposed_convolution(n: int) -> Rule:
    def rule(
        dispatch: Any,
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        dilation: Any = 1,
    ) -> Any:
        if input.dim() == n + 1:
            options = (stride, padding, output_padding, groups, dilation)
            return rule(dispatch, input.unsqueeze(0), weight, bias, *options).squeeze(0)
        return dispatch(
            *(aten("convolution"), input, weight, bias, _each(stride, n), _each(padding, n)),
            *(_each(dilation, n), True, _each(output_padding, n), groups),
        )

    return rule


for _n in (1, 2, 3):
    RULES[f"conv{_n}d"] = _convolution(_n)
    RULES[f"conv_transpose{_n}d"] = _transposed_convolution(_n)


@rule_of("scaled_dot_product_attention")
def _attention(
    dispatch: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    is_usual = query.dim() == 4 and query.device.type == "cpu" and dropout_p == 0
    if not is_usual or enable_gqa or query.size(-1) != value.size(-1):
        return NotImplemented
    options = {"attn_mask": attn_mask, "scale": scale}
    given = {name: option for name, option in options.items() if option is not None}
    causal = (0.0, True) if is_causal else ()
    kernel = aten("_scaled_dot_product_flash_attention_for_cpu")
    return dispatch(kernel, query, key, value, *causal, **given)[0]


# ---- networks


def _soft(name: str) -> Rule:
    def rule(dispatch: Any, input: Tensor, dim: int, dtype: Any = None) -> Any:
        converted = input if dtype is None else input.to(dtype)
        return dispatch(aten(name), converted, dim, False)

    return rule


RULES["softmax"] = _soft("_softmax")
RULES["log_softmax"] = _soft("_log_softmax")


@rule_of("selu")
def _selu(dispatch: Any, input: Tensor) -> Any:
    return dispatch(aten("elu"), input, 1.6732632423543772, 1.0507009873554805)


@rule_of("_l1_loss")
def _l1_loss(dispatch: Any, input: Tensor, target: Tensor, reduction: int = 1) -> Tensor:
    difference = (input - target).abs()
    if reduction == 0:
        return difference
    return difference.mean() if reduction == 1 else difference.sum()


@rule_of("dropout")
def _dropout(dispatch: Any, input: Tensor, p: float = 0.5, train: bool = True) -> Any:
    if not train or p == 0 or input.numel() == 0:
        return input
    if p == 1:
        return NotImplemented
    noise = facula.empty_like(input).bernoulli_(1 - p).div_(1 - p)
    return input * noise


@rule_of("batch_norm")
def _batch_norm(
    dispatch: Any,
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Any:
    tensors = (input, weight, bias, running_mean, running_var)
    return dispatch(aten("native_batch_norm"), *tensors, training, momentum, eps)[0]


@rule_of("layer_norm")
def _layer_norm(
    dispatch: Any,
    input: Tensor,
    normalized_shape: int | Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Any:
    shape = _each(normalized_shape, 1)
    return dispatch(aten("native_layer_norm"), input, shape, weight, bias, eps)[0]


@rule_of("group_norm")
def _group_norm(
    dispatch: Any,
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Any:
    n, channels = input.shape[:2]
    numbers = (n, channels, math.prod(input.shape[2:]), num_groups, eps)
    return dispatch(aten("native_group_norm"), input, weight, bias, *numbers)[0]


@rule_of("_cross_entropy")
def _cross_entropy(
    dispatch: Any,
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: int = 1,
    ignore_index: int = -100,
) -> Any:
    if input.dim() > 2 or input.dim() == 0:
        return NotImplemented
    logs = facula.log_softmax(input, input.dim() - 1)
    return dispatch(aten("nll_loss_forward"), logs, target, weight, reduction, ignore_index)[0]


@rule_of("_nll_loss")
def _nll_loss(
    dispatch: Any,
    input: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: int,
    ignore_index: int,
) -> Any:
    if input.dim() > 2 or input.dim() == 0:
        return NotImplemented
    return dispatch(aten("nll_loss_forward"), input, target, weight, reduction, ignore_index)[0]


@rule_of("_binary_cross_entropy")
def _binary_cross_entropy(dispatch: Any, input: Tensor, target: Tensor, reduction: int) -> Any:
    return dispatch(aten("binary_cross_entropy"), input, target, None, reduction)


def _max_pool(n: int) -> Rule:
    def rule(
        dispatch: Any,
        input: Tensor,
        kernel_size: Any,
        stride: Any = (),
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
    ) -> Any:
        kernel = _each(kernel_size, n)
        step = [] if stride is None else _each(stride, n)
        options: list[Any] = [step, _each(padding, n), _each(dilation, n), ceil_mode]
        defaults = [[], [0] * n, [1] * n, False]
        while options and options[-1] == defaults[len(options) - 1]:
            options.pop()
        return dispatch(aten(f"max_pool{n}d_with_indices"), input, kernel, *options)[0]

    return rule


@rule_of("avg_pool1d")
def _avg_pool1d(
    dispatch: Any,
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Any:
    step = _each(kernel_size if stride is None or stride == () else stride, 1)
    sizes = ([1, *_each(kernel_size, 1)], [1, *step], [0, *_each(padding, 1)])
    line = input.unsqueeze(-2)  # an image of one row
    return dispatch(aten("avg_pool2d"), line, *sizes, ceil_mode, count_include_pad).squeeze(-2)


RULES["max_pool2d"] = _max_pool(2)
RULES["max_pool3d"] = _max_pool(3)


@rule_of("adaptive_avg_pool1d")
def _adaptive_avg_pool1d(dispatch: Any, input: Tensor, output_size: Any) -> Any:
    return _adaptive_avg_pool(dispatch, input, 1, _each(output_size, 1))


@rule_of("_adaptive_avg_pool")
def _adaptive_avg_pool(dispatch: Any, input: Tensor, n: int, size: Sequence[int]) -> Any:
    if n == 1:
        image = dispatch(aten("_adaptive_avg_pool2d"), input.unsqueeze(-2), [1, *size])
        return image.squeeze(-2)
    if all(length == 1 for length in size):
        return input.mean(list(range(-1, -n - 1, -1)), keepdim=True)
    return dispatch(aten(f"_adaptive_avg_pool{n}d"), input, list(size))


@rule_of("_pad")
def _pad(dispatch: Any, input: Tensor, pad: Sequence[int], mode: str, value: float | None) -> Any:
    if mode != "constant":
        return NotImplemented
    return dispatch(aten("constant_pad_nd"), input, list(pad), 0.0 if value is None else value)
