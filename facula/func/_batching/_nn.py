"""Layers and losses: most fold the examples into the batch that they have anyway."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from facula import _core
from facula._core import Tensor
from facula._limits import finfo
from facula._transform import map_tensors
from facula.func._batching._batch import (
    RULES,
    Batch,
    all_values,
    are_within,
    as_rows,
    loop_quietly,
    rule,
)
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


@rule("_pair_distances")
def pair_distances(batch: Batch, func: _Function, x: Tensor, p: float) -> Any:
    everything = batch.lower(x)
    distances = _core._row_distances(everything, everything, p)
    n = int(x.shape[0])
    first, second = _core.ones(n, n, device=x.device).triu(1).nonzero(as_tuple=True)
    return batch.wrap(distances[:, first, second])


@rule("_fractional_max_pool")
def fractional_max_pool(
    batch: Batch, func: _Function, x: Tensor, n: int, kernel_size: Any, output_size: Any,
    samples: Tensor, with_indices: bool,
) -> Any:  # fmt: skip
    images, draws = batch.all_of(x), batch.all_of(samples).flatten(0, 1)
    has_images = x.dim() == n + 2  # else a single image
    folded = images.flatten(0, 1) if has_images else images
    result = func(folded, n, kernel_size, output_size, draws, with_indices)
    if has_images:
        sizes = (batch.size, int(x.shape[0]))
        result = map_tensors(lambda y: y.unflatten(0, sizes), result)
    return batch.wrap_all(result)


@rule("_roi_align", "_roi_pool", "_ps_roi_align", "_ps_roi_pool")
def roi(batch: Batch, func: _Function, x: Tensor, rois: Tensor, *args: Any) -> Any:
    n_images = int(x.shape[0]) if x.dim() else 0
    boxes = batch.all_of(rois)
    # Numbers of images are counted in the boxes' dtype, which must have them all.
    n_exact = 2 / finfo(rois.dtype).eps
    is_usual = x.dim() == 4 and rois.dim() == 2 and batch.size * n_images <= n_exact
    if not is_usual or not are_within(boxes[..., 0], n_images):
        return loop_quietly(batch, func, x, rois, *args)
    images = x
    if batch.has(x):
        images = batch.lower(x).flatten(0, 1)
        first = _core.arange(batch.size, dtype=rois.dtype, device=rois.device) * n_images
        numbers = boxes[..., :1] + first.reshape(-1, 1, 1)
        boxes = _core.cat([numbers, boxes[..., 1:]], -1)
    y = func(images, boxes.flatten(0, 1), *args)
    return batch.wrap(y.unflatten(0, (batch.size, int(rois.shape[0]))))


@rule("scaled_dot_product_attention")
def attention(
    batch: Batch, func: _Function, query: Tensor, key: Tensor, value: Tensor, attn_mask: Any = None,
    dropout_p: float = 0.0, is_causal: bool = False, **kwargs: Any,
) -> Any:  # fmt: skip
    n_dims = int(query.dim())
    if dropout_p > 0 and batch.randomness != "different":
        check_random(batch)
        return loop_same(batch, func, query, key, value, attn_mask, dropout_p, is_causal, **kwargs)
    if n_dims < 2 or key.dim() != n_dims or value.dim() != n_dims:
        return loop_quietly(
            batch, func, query, key, value, attn_mask, dropout_p, is_causal, **kwargs
        )
    if n_dims == 2:
        given = (batch.all_of(a) for a in (query, key, value))
        return batch.wrap(func(*given, batch.lower(attn_mask), dropout_p, is_causal, **kwargs))
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


@rule("native_layer_norm")
def native_layer_norm(
    batch: Batch, func: _Function, x: Tensor, normalized_shape: Any, weight: Any, bias: Any,
    eps: float,
) -> Any:  # fmt: skip
    if not batch.has(weight) and not batch.has(bias):
        return batch.wrap_all(func(batch.lower(x), normalized_shape, weight, bias, eps))
    form = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    y, *statistics = func(batch.all_of(x), normalized_shape, None, None, eps)
    return tuple(map(batch.wrap, (_scaled(batch, y, weight, bias, form), *statistics)))


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
    return batch.wrap(_scaled(batch, y, weight, bias, _form_of_channels(x)))


@rule("native_group_norm")
def native_group_norm(
    batch: Batch, func: _Function, x: Tensor, weight: Any, bias: Any, N: int, *args: Any
) -> Any:
    images = batch.all_of(x).flatten(0, 1)
    is_shared = not batch.has(weight) and not batch.has(bias)
    inside = (weight, bias) if is_shared else (None, None)
    results = func(images, *inside, batch.size * N, *args)
    y, *statistics = (part.unflatten(0, (batch.size, N)) for part in results)
    if not is_shared:
        y = _scaled(batch, y, weight, bias, _form_of_channels(x))
    return tuple(map(batch.wrap, (y, *statistics)))


def _form_of_channels(x: Tensor) -> tuple[int, ...]:
    return (int(x.shape[1]), *(1,) * (int(x.dim()) - 2))


@rule("batch_norm")
def batch_norm(
    batch: Batch, func: _Function, x: Tensor, weight: Any, bias: Any, running_mean: Any,
    running_var: Any, training: bool, *args: Any,
) -> Any:  # fmt: skip
    statistics = (running_mean, running_var)
    if training or any(map(batch.has, statistics)):
        y = _by_channels(batch, func, x, statistics, training, *args)
    else:
        folded = func(batch.all_of(x).flatten(0, 1), None, None, *statistics, training, *args)
        y = folded.unflatten(0, (batch.size, int(x.shape[0])))
    return batch.wrap(_scaled(batch, y, weight, bias, _form_of_channels(x)))


@rule("native_batch_norm")
def native_batch_norm(
    batch: Batch, func: _Function, x: Tensor, weight: Any, bias: Any, running_mean: Any,
    running_var: Any, training: bool, *args: Any,
) -> Any:  # fmt: skip
    y, *own = _by_channels(batch, func, x, (running_mean, running_var), training, *args)
    y = _scaled(batch, y, weight, bias, _form_of_channels(x))
    return tuple(map(batch.wrap, (y, *(_by_example(batch, part) for part in own))))


@rule("instance_norm")
def instance_norm(
    batch: Batch, func: _Function, x: Tensor, weight: Any, bias: Any, running_mean: Any,
    running_var: Any, use_input_stats: bool, *args: Any,
) -> Any:  # fmt: skip
    statistics = (running_mean, running_var)
    if statistics != (None, None):
        y = _by_channels(batch, func, x, statistics, use_input_stats, *args)
    else:
        y = func(batch.all_of(x).flatten(0, 1), None, None, None, None, use_input_stats, *args)
        y = y.unflatten(0, (batch.size, int(x.shape[0])))
    return batch.wrap(_scaled(batch, y, weight, bias, _form_of_channels(x)))


def _by_example(batch: Batch, of_channels: Tensor) -> Tensor:
    n_channels = int(of_channels.numel()) // max(batch.size, 1)
    return of_channels.reshape(batch.size, n_channels)


def _by_channels(
    batch: Batch, func: _Function, x: Tensor, statistics: tuple[Any, Any], training: bool,
    *args: Any,
) -> Any:  # fmt: skip
    """A norm with the channels of every example as channels of their own, (N, B * C, ...)."""
    if training and batch.has(x):
        for running in statistics:
            if running is not None and not batch.has(running):
                raise RuntimeError(
                    "Batch norm got a batched tensor as input while the running_mean or "
                    "running_var, which will be updated in place, were not batched. Please pass "
                    "track_running_stats=False, or call replace_all_batch_norm_modules_(model)."
                )
    channels = batch.all_of(x).transpose(0, 1).flatten(1, 2)
    # Copies, which every example can write to.
    running = [r if r is None else batch.all_of(r).reshape(-1).clone() for r in statistics]
    result = func(channels, None, None, *running, training, *args)
    if training:
        for own, changed in zip(statistics, running, strict=True):
            if own is not None:
                everything = _by_example(batch, changed)
                batch.lower(own).copy_(everything if batch.has(own) else everything[0])
    y, *rest = result if isinstance(result, tuple) else (result,)
    y = y.unflatten(1, (batch.size, int(x.shape[1]))).transpose(0, 1)
    return (y, *rest) if rest else y


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
    number = _number(size_average, reduce, reduction)
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
    logits, targets = batch.all_of(x), batch.all_of(target)
    has_rows = x.dim() > 1
    are_classes = not targets.is_floating_point()
    if batch.has(weight) and not are_classes:
        # Weights of classes are factors of their probabilities.
        targets = targets * batch.lower(weight).reshape(
            batch.size, *(1,) * has_rows, -1, *(1,) * (int(x.dim()) - 2)
        )
    if has_rows:
        logits, targets = logits.flatten(0, 1), targets.flatten(0, 1)
    losses = func(logits, targets, None if batch.has(weight) else weight, _NONE, ignore_index)
    if has_rows:
        sizes = (batch.size, int(x.shape[0]))
        losses, targets = losses.unflatten(0, sizes), targets.unflatten(0, sizes)
    counts = None
    if are_classes:
        counts = _counts(batch, targets, weight, ignore_index).to(losses.dtype)
        if batch.has(weight):
            losses = losses * counts
    if reduction == _NONE:
        return batch.wrap(losses)
    total = losses.flatten(1).sum(1) if has_rows else losses
    if reduction == _SUM:
        return batch.wrap(total)
    if counts is None:
        n = max(int(losses[0].numel()), 1) if has_rows else 1
        return batch.wrap(total / n)
    return batch.wrap(total / (counts.flatten(1).sum(1) if has_rows else counts))


def _counts(batch: Batch, targets: Tensor, weight: Any, ignore_index: int) -> Tensor:
    """How much each target counts: the weight of its class, or 0 where it is ignored.

    As in the losses themselves, no gradient goes to the weights of classes.
    """
    is_counted = targets != ignore_index
    if weight is None:
        return is_counted
    classes = _core.where(is_counted, targets, 0)
    if not batch.has(weight):
        return weight.detach()[classes] * is_counted  # type: ignore[no-any-return]
    own = batch.lower(weight).detach().gather(1, as_rows(classes))
    return own.reshape(targets.shape) * is_counted  # type: ignore[no-any-return]


@rule("multi_margin_loss")
def multi_margin_loss(
    batch: Batch, func: _Function, x: Tensor, target: Tensor, p: int = 1, margin: float = 1.0,
    weight: Any = None, size_average: Any = None, reduce: Any = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    n_classes = int(x.shape[-1]) if x.dim() else 1
    is_usual = x.dim() <= 2 and target.dim() <= 1 and x.numel() == target.numel() * n_classes
    has_weights = batch.has(weight)
    if not is_usual or (has_weights and tuple(weight.shape) != (n_classes,)):
        old = (size_average, reduce, reduction)
        return loop_quietly(batch, func, x, target, p, margin, weight, *old)  # raises
    scores, classes = batch.all_of(x).reshape(-1, n_classes), batch.all_of(target).reshape(-1)
    shared = None if has_weights else weight
    losses = func(scores, classes, p, margin, shared, reduction="none")
    losses = losses.reshape(batch.size, *target.shape)
    if has_weights:
        own = batch.lower(weight).gather(1, as_rows(batch.all_of(target)))
        losses = losses * own.reshape(losses.shape)
    return batch.wrap(_reduced(losses, _number(size_average, reduce, reduction)))


@rule("multilabel_margin_loss")
def multilabel_margin_loss(
    batch: Batch, func: _Function, x: Tensor, target: Tensor, size_average: Any = None,
    reduce: Any = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    if x.dim() > 2 or x.shape != target.shape:
        return loop_quietly(batch, func, x, target, size_average, reduce, reduction)  # raises
    rows = (-1, int(x.shape[-1]) if x.dim() else 1)
    losses = func(*(batch.all_of(a).reshape(rows) for a in (x, target)), reduction="none")
    losses = losses.reshape(batch.size, *x.shape[:-1])
    return batch.wrap(_reduced(losses, _number(size_average, reduce, reduction)))


def _number(size_average: Any, reduce: Any, reduction: str) -> int:
    from facula.nn._reduction import get_enum, resolve  # nn is imported by those who use it

    return get_enum(resolve(size_average, reduce, reduction))


@rule("ctc_loss")
def ctc_loss(
    batch: Batch, func: _Function, log_probs: Tensor, targets: Tensor, input_lengths: Any,
    target_lengths: Any, blank: int = 0, reduction: Any = "mean", zero_infinity: bool = False,
) -> Any:  # fmt: skip
    is_batch = log_probs.dim() == 3
    given = (log_probs, targets, input_lengths, target_lengths)
    n = int(log_probs.shape[1]) if is_batch else 1
    if not (is_batch or log_probs.dim() == 2) or not _are_sequences(batch, *given[1:], n, is_batch):
        return loop_quietly(batch, func, *given, blank, reduction, zero_infinity)
    # (N, T, B, C) -> (T, N * B, C): the sequences of all examples are one batch.
    steps = batch.all_of(log_probs).movedim(0, 1)
    labels = batch.all_of(targets)
    lengths = [_lengths(batch, given) for given in (input_lengths, target_lengths)]
    losses = func(
        steps.flatten(1, 2) if is_batch else steps,
        labels.flatten(0, 1) if is_batch or labels.dim() == 3 else labels,
        *(length.flatten() for length in lengths), blank,
        "none" if isinstance(reduction, str) else _NONE, zero_infinity,
    ).reshape(batch.size, n)  # fmt: skip
    number = reduction if isinstance(reduction, int) else _number(None, None, reduction)
    if number == _MEAN:
        losses = losses / lengths[1].to(losses.device, losses.dtype).clamp_min(1)
    if number == _NONE:
        return batch.wrap(losses if is_batch else losses.squeeze(1))
    return batch.wrap(_reduced(losses, number))


def _lengths(batch: Batch, lengths: Any) -> Tensor:
    """All examples of the lengths, as rows."""
    everything = lengths if isinstance(lengths, Tensor) else _core.tensor(list(lengths))
    return as_rows(batch.all_of(everything))


def _are_sequences(
    batch: Batch, targets: Tensor, input_lengths: Any, target_lengths: Any, n: int, is_batch: bool
) -> bool:
    """Whether all have ``n`` sequences; of labels in a row, nothing may be left at its end."""
    counts = [_lengths(batch, given) for given in (input_lengths, target_lengths)]
    if any(int(count.shape[1]) != n or count.is_floating_point() for count in counts):
        return False
    if targets.dim() == 2:
        return int(targets.shape[0]) == n
    if targets.dim() != 1 or not is_batch:
        return targets.dim() == 1
    return bool((all_values(counts[1]).sum(-1) == int(targets.shape[0])).all())


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
