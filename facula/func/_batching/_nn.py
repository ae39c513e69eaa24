"""Layers and losses: most fold the examples into the batch that they have anyway."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from facula import _core
from facula._core import Tensor
from facula._transform import map_tensors
from facula.func._batching._batch import RULES, Batch, loop_quietly, rule
from facula.func._batching._pointwise import aligned

_Function = Callable[..., Any]
_NONE, _MEAN, _SUM = 0, 1, 2  # how the core counts reductions


# ---- operations on (batch, channels, places...): the number of dimensions with a batch

_FOLDED = {
    "adaptive_avg_pool1d": 3, "adaptive_max_pool1d": 3, "avg_pool1d": 3, "max_pool1d": 3,
    "max_pool1d_with_indices": 3, "_adaptive_max_pool1d": 3,
    "_adaptive_max_pool2d": 4, "_avg_pool2d": 4, "avg_pool2d": 4, "max_pool2d": 4,
    "_max_pool2d_with_indices": 4, "_im2col": 4, "_col2im": 3,
    "_adaptive_max_pool3d": 5, "_avg_pool3d": 5, "avg_pool3d": 5, "max_pool3d": 5,
    "_max_pool3d_with_indices": 5,
}  # fmt: skip


def fold(batch: Batch, func: _Function, x: Tensor, n_dims: int, *args: Any, **kwargs: Any) -> Any:
    """The operation on one batch of all examples' elements; an example may have no batch."""
    physical = batch.lower(x)
    if int(x.dim()) < n_dims:
        return batch.wrap_all(func(physical, *args, **kwargs))
    folded = func(physical.flatten(0, 1), *args, **kwargs)
    sizes = (batch.size, int(x.shape[0]))
    return batch.wrap_all(map_tensors(lambda y: y.unflatten(0, sizes), folded))


def _folding(n_dims: int) -> _Function:
    def folding_rule(batch: Batch, func: _Function, x: Tensor, *args: Any, **kwargs: Any) -> Any:
        if not batch.has(x) or x.dim() < n_dims - 1 or x.dim() > n_dims:
            return loop_quietly(batch, func, x, *args, **kwargs)
        return fold(batch, func, x, n_dims, *args, **kwargs)

    return folding_rule


for _name, _n_dims in _FOLDED.items():
    RULES[_name] = _folding(_n_dims)


@rule("_adaptive_avg_pool")
def adaptive_avg_pool(batch: Batch, func: _Function, x: Tensor, n: int, *args: Any) -> Any:
    return _folding(n + 2)(batch, func, x, n, *args)


@rule("_resample")
def resample(batch: Batch, func: _Function, x: Tensor, *args: Any, **kwargs: Any) -> Any:
    return fold(batch, func, x, int(x.dim()), *args, **kwargs)  # an example has a batch always


@rule("_pad")
def pad(batch: Batch, func: _Function, x: Tensor, pads: Any, mode: str, value: Any) -> Any:
    if mode == "constant":
        return batch.wrap(func(batch.lower(x), pads, mode, value))
    return fold(batch, func, x, len(pads) // 2 + 2, pads, mode, value)


@rule("channel_shuffle", "native_channel_shuffle")
def channel_shuffle(batch: Batch, func: _Function, x: Tensor, groups: int) -> Any:
    return fold(batch, func, x, int(x.dim()), groups)


@rule("grid_sampler", "grid_sampler_2d", "grid_sampler_3d", "_max_unpool", "_sample_pixels",
      "_row_distances")  # fmt: skip
def fold_both(
    batch: Batch, func: _Function, x: Tensor, other: Tensor, *args: Any, **kwargs: Any
) -> Any:
    if func.__name__ == "_max_unpool" and x.dim() < args[0] + 2:
        return batch.wrap(func(batch.all_of(x), batch.all_of(other), *args, **kwargs))
    if x.dim() < 3 or x.dim() != other.dim() or x.shape[0] != other.shape[0]:
        if func.__name__ == "_row_distances" and x.dim() == other.dim() == 2:
            return batch.wrap(func(batch.all_of(x), batch.all_of(other), *args, **kwargs))
        return loop_quietly(batch, func, x, other, *args, **kwargs)
    everything = [batch.all_of(a).flatten(0, 1) for a in (x, other)]
    return batch.wrap(
        func(*everything, *args, **kwargs).unflatten(0, (batch.size, int(x.shape[0])))
    )


@rule("affine_grid_generator")
def affine_grid(batch: Batch, func: _Function, theta: Tensor, size: Any, *args: Any) -> Any:
    sizes = (batch.size, int(theta.shape[0]))
    everything = (sizes[0] * sizes[1], *tuple(size)[1:])
    return batch.wrap(func(batch.lower(theta).flatten(0, 1), everything, *args).unflatten(0, sizes))


@rule("native_layer_norm")
def native_layer_norm(batch: Batch, func: _Function, x: Tensor, *args: Any) -> Any:
    if not batch.has(x) or any(map(batch.has, args)):
        return loop_quietly(batch, func, x, *args)
    return batch.wrap_all(func(batch.lower(x), *args))


@rule("scaled_dot_product_attention")
def attention(
    batch: Batch, func: _Function, query: Tensor, key: Tensor, value: Tensor, attn_mask: Any = None,
    dropout_p: float = 0.0, is_causal: bool = False, **kwargs: Any,
) -> Any:  # fmt: skip
    n_dims = int(query.dim())
    if dropout_p > 0 and batch.randomness != "different":
        check_random(batch)
        return loop_same(batch, func, query, key, value, attn_mask, dropout_p, is_causal, **kwargs)
    if n_dims < 3 or key.dim() != n_dims or value.dim() != n_dims:
        return loop_quietly(
            batch, func, query, key, value, attn_mask, dropout_p, is_causal, **kwargs
        )
    folded = [batch.all_of(a).flatten(0, 1) for a in (query, key, value)]
    mask = attn_mask
    if isinstance(mask, Tensor) and (batch.has(mask) or mask.dim() == n_dims):
        mask = aligned(batch, mask, n_dims) if batch.has(mask) else mask.unsqueeze(0)
        mask = mask.expand(batch.size, int(query.shape[0]), *mask.shape[2:]).flatten(0, 1)
    y = func(*folded, mask, dropout_p, is_causal, **kwargs)
    return batch.wrap(y.unflatten(0, (batch.size, int(query.shape[0]))))


def check_random(batch: Batch) -> None:
    """Refuse to draw random numbers where the caller of vmap has not said what they should be."""
    if batch.randomness == "error":
        raise RuntimeError(
            "vmap: called random operation while in randomness error mode. Please either use the "
            "'same' or 'different' randomness flags on vmap or perform the randomness operation "
            "out of vmap"
        )


def loop_same(batch: Batch, func: _Function, *args: Any, **kwargs: Any) -> Any:
    """Every example with the numbers that the first one draws."""
    state = _core.get_rng_state()

    def draw(*given: Any, **named: Any) -> Any:
        _core.set_rng_state(state)
        return func(*given, **named)

    draw.__name__ = func.__name__
    return loop_quietly(batch, draw, *args, **kwargs)


# ---- norms: weights of their own are applied afterwards


def _scaled(batch: Batch, y: Tensor, weight: Any, bias: Any, form: tuple[int, ...]) -> Tensor:
    """``y * weight + bias``, where one example of a weight has this form beside the rest of y."""
    for parameter, is_weight in ((weight, True), (bias, False)):
        if parameter is None:
            continue
        values = batch.lower(parameter).reshape(
            *((batch.size,) if batch.has(parameter) else ()), *form
        )
        if batch.has(parameter):
            values = values.reshape(batch.size, *(1,) * (int(y.dim()) - int(values.dim())), *form)
        y = y * values if is_weight else y + values
    return y


@rule("layer_norm", "rms_norm")
def layer_norm(
    batch: Batch, func: _Function, x: Tensor, normalized_shape: Any, weight: Any = None, *args: Any,
    **kwargs: Any,
) -> Any:  # fmt: skip
    if not batch.has(weight) and not any(map(batch.has, (*args, *kwargs.values()))):
        return batch.wrap(func(batch.lower(x), normalized_shape, weight, *args, **kwargs))
    bias = None
    if func.__name__ == "layer_norm":
        bias = args[0] if args else kwargs.pop("bias", None)
        args = (None, *args[1:]) if args else ()
    form = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    y = func(batch.all_of(x), normalized_shape, None, *args, **kwargs)
    return batch.wrap(_scaled(batch, y, weight, bias, form))


@rule("group_norm")
def group_norm(
    batch: Batch, func: _Function, x: Tensor, num_groups: int, weight: Any = None, bias: Any = None,
    eps: float = 1e-5, *args: Any, **kwargs: Any,
) -> Any:  # fmt: skip
    images = batch.all_of(x).flatten(0, 1)
    sizes = (batch.size, int(x.shape[0]))
    if not batch.has(weight) and not batch.has(bias):
        return batch.wrap(func(images, num_groups, weight, bias, eps).unflatten(0, sizes))
    y = func(images, num_groups, None, None, eps).unflatten(0, sizes)
    form = (int(x.shape[1]), *(1,) * (int(x.dim()) - 2))
    return batch.wrap(_scaled(batch, y, weight, bias, form))


@rule("batch_norm")
def batch_norm(
    batch: Batch, func: _Function, x: Tensor, weight: Any, bias: Any, running_mean: Any,
    running_var: Any, training: bool, momentum: float, eps: float, *args: Any,
) -> Any:  # fmt: skip
    statistics = (running_mean, running_var)
    form = (int(x.shape[1]), *(1,) * (int(x.dim()) - 2))
    if training and batch.has(x):
        for running in statistics:
            if running is not None and not batch.has(running):
                raise RuntimeError(
                    "Batch norm got a batched tensor as input while the running_mean or "
                    "running_var, which will be updated in place, were not batched. Please pass "
                    "track_running_stats=False, or call replace_all_batch_norm_modules_(model)."
                )
    everything = batch.all_of(x)
    if not training and not any(map(batch.has, statistics)):
        folded = func(
            everything.flatten(0, 1), None, None, *statistics, training, momentum, eps, *args
        )
        y = folded.unflatten(0, (batch.size, int(x.shape[0])))
    else:
        # The channels of every example are channels of their own: (B, N * C, ...).
        channels = everything.transpose(0, 1).flatten(1, 2)
        # Copies, which every example can write to.
        running = [r if r is None else batch.all_of(r).reshape(-1).clone() for r in statistics]
        y = func(channels, None, None, *running, training, momentum, eps, *args)
        y = y.unflatten(1, (batch.size, -1)).transpose(0, 1)
        if training:
            for own, changed in zip(statistics, running, strict=True):
                if own is not None:
                    everything = changed.reshape(batch.size, -1)
                    batch.lower(own).copy_(everything if batch.has(own) else everything[0])
    return batch.wrap(_scaled(batch, y, weight, bias, form))


@rule("instance_norm")
def instance_norm(
    batch: Batch, func: _Function, x: Tensor, weight: Any, bias: Any, running_mean: Any,
    running_var: Any, *args: Any,
) -> Any:  # fmt: skip
    if running_mean is not None or running_var is not None:
        return loop_quietly(batch, func, x, weight, bias, running_mean, running_var, *args)
    y = func(batch.all_of(x).flatten(0, 1), None, None, None, None, *args)
    y = y.unflatten(0, (batch.size, int(x.shape[0])))
    form = (int(x.shape[1]), *(1,) * (int(x.dim()) - 2))
    return batch.wrap(_scaled(batch, y, weight, bias, form))


# ---- losses: without a reduction for all examples, then reduced for each


def _reduced(losses: Tensor, reduction: int) -> Tensor:
    if reduction == _NONE or losses.dim() == 1:
        return losses
    losses = losses.flatten(1)
    return losses.mean(1) if reduction == _MEAN else losses.sum(1)


def elementwise_loss(
    batch: Batch, func: _Function, x: Tensor, target: Tensor, reduction: int, *args: Any
) -> Any:
    """The rule of losses that a function of Python stands before."""
    both = _pair(batch, x, target)
    return batch.wrap(_reduced(func(*both, _NONE, *args), reduction))


def public_loss(
    batch: Batch, func: _Function, x: Tensor, target: Tensor, size_average: Any = None,
    reduce: Any = None, reduction: str = "mean", *args: Any, **kwargs: Any,
) -> Any:  # fmt: skip
    """The rule of losses that are public as they are."""
    from facula.nn._reduction import get_enum, resolve  # nn is imported by those who use it

    number = get_enum(resolve(size_average, reduce, reduction))
    losses = func(*_pair(batch, x, target), None, None, "none", *args, **kwargs)
    return batch.wrap(_reduced(losses, number))


def _pair(batch: Batch, x: Tensor, target: Tensor) -> tuple[Any, Any]:
    if x.shape == target.shape:
        return batch.all_of(x), batch.all_of(target)
    n_dims = max(int(x.dim()), int(target.dim()))
    return aligned(batch, x, n_dims), aligned(batch, target, n_dims)


for _table, _name in _core._rows():
    if _table == "loss":
        RULES["_" + _name] = elementwise_loss
        RULES[_name] = public_loss


@rule("_cross_entropy", "_nll_loss")
def class_loss(
    batch: Batch, func: _Function, x: Tensor, target: Tensor, weight: Any, reduction: int,
    ignore_index: int,
) -> Any:  # fmt: skip
    if batch.has(weight):
        return loop_quietly(batch, func, x, target, weight, reduction, ignore_index)
    logits, targets = batch.all_of(x), batch.all_of(target)
    has_rows = x.dim() > 1
    if has_rows:
        logits, targets = logits.flatten(0, 1), targets.flatten(0, 1)
    losses = func(logits, targets, weight, _NONE, ignore_index)
    if has_rows:
        sizes = (batch.size, int(x.shape[0]))
        losses, targets = losses.unflatten(0, sizes), targets.unflatten(0, sizes)
    if reduction == _NONE:
        return batch.wrap(losses)
    total = losses.flatten(1).sum(1) if has_rows else losses
    if reduction == _SUM:
        return batch.wrap(total)
    if targets.is_floating_point():
        n = max(int(losses[0].numel()), 1) if has_rows else 1
        return batch.wrap(total / n)
    is_counted = targets != ignore_index
    if weight is None:
        counts = is_counted.to(losses.dtype)
    else:
        counts = weight[_core.where(is_counted, targets, 0)] * is_counted
    return batch.wrap(total / (counts.flatten(1).sum(1) if has_rows else counts))


# ---- recurrent layers: examples that share the weights are one large batch


@rule("lstm", "gru", "rnn_tanh", "rnn_relu")
def recurrent(batch: Batch, func: _Function, x: Tensor, hx: Any, params: Any, *args: Any) -> Any:
    states = [hx] if isinstance(hx, Tensor) else list(hx)
    is_packed = len(args) != 6
    if is_packed or x.dim() != 3 or any(map(batch.has, params)) or (args[2] > 0 and args[3]):
        return loop_quietly(batch, func, x, hx, params, *args)
    place = 0 if args[-1] else 1  # of the batch in the input and the output
    n, size = batch.size, int(x.shape[place])
    folded = batch.all_of(x).movedim(0, place).flatten(place, place + 1)
    starts = [batch.all_of(h).movedim(0, 1).flatten(1, 2) for h in states]
    start: Any = starts[0] if isinstance(hx, Tensor) else starts
    y, *ends = func(folded, start, params, *args)
    y = y.unflatten(place, (n, size)).movedim(place, 0)
    ends = [end.unflatten(1, (n, size)).movedim(1, 0) for end in ends]
    return tuple(batch.wrap(part) for part in (y, *ends))


@rule("lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell")
def recurrent_cell(batch: Batch, func: _Function, x: Tensor, hx: Any, *params: Any) -> Any:
    states = [hx] if isinstance(hx, Tensor) else list(hx)
    if x.dim() != 2 or any(map(batch.has, params)):
        return loop_quietly(batch, func, x, hx, *params)
    starts = [batch.all_of(h).flatten(0, 1) for h in states]
    start: Any = starts[0] if isinstance(hx, Tensor) else starts
    result = func(batch.all_of(x).flatten(0, 1), start, *params)
    sizes = (batch.size, int(x.shape[0]))
    return batch.wrap_all(map_tensors(lambda y: y.unflatten(0, sizes), result))
