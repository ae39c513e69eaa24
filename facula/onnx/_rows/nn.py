"""Layers: convolutions, pools, norms, softmax, attention, recurrent layers, losses."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import facula
from facula.onnx._capture import Form
from facula.onnx._rows import ROWS, Row, row
from facula.onnx._rows.reduce import reduced
from facula.onnx._rows.shape import SIZE_ROWS, permuted
from facula.onnx._writer import Value, Writer, wrap

# ---- convolutions


def spread(value: Any, n: int) -> list[int]:
    """One number for each of ``n`` dimensions."""
    items = list(value) if isinstance(value, (list, tuple)) else [value]
    return items * n if len(items) == 1 else items


def batched(n: int) -> Callable[[Row], Row]:
    """Let a translation for ``n`` dimensions of space also take inputs without a batch."""

    def decorate(function: Row) -> Row:
        def translate(g: Writer, x: Value, *args: Any, **kwargs: Any) -> str:
            if x.rank == n + 2:
                return str(function(g, x, *args, **kwargs))
            form = Form(x.dtype, (1, *x.shape))
            one = Value(g.op("Unsqueeze", x, g.constant([0])), form)
            return g.op("Squeeze", function(g, one, *args, **kwargs), g.constant([0]))

        return translate

    return decorate


def _conv(n: int) -> Any:
    @batched(n)
    def conv(
        g: Writer,
        x: Value,
        weight: Value,
        bias: Value | None = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> str:
        steps = spread(dilation, n)
        if padding == "same":
            total = [d * (int(k or 0) - 1) for d, k in zip(steps, weight.shape[2:], strict=True)]
            pads = [t // 2 for t in total] + [t - t // 2 for t in total]
        else:
            pads = spread(0 if padding == "valid" else padding, n) * 2
        strides = spread(stride, n)
        options = {"strides": strides, "pads": pads, "dilations": steps, "group": groups}
        return g.op("Conv", x, weight, bias, **options)

    return conv


def _conv_transpose(n: int) -> Any:
    @batched(n)
    def conv_transpose(
        g: Writer,
        x: Value,
        weight: Value,
        bias: Value | None = None,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        dilation: Any = 1,
    ) -> str:
        return g.op(
            "ConvTranspose",
            x,
            weight,
            bias,
            strides=spread(stride, n),
            pads=spread(padding, n) * 2,
            output_padding=spread(output_padding, n),
            dilations=spread(dilation, n),
            group=groups,
        )

    return conv_transpose


# ---- pools


def _max_pool(n: int) -> Any:
    @batched(n)
    def max_pool(
        g: Writer,
        x: Value,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
    ) -> str:
        return g.op(
            "MaxPool",
            x,
            kernel_shape=spread(kernel_size, n),
            strides=spread(kernel_size if stride in (None, ()) else stride, n),
            pads=spread(padding, n) * 2,
            dilations=spread(dilation, n),
            ceil_mode=int(ceil_mode),
        )

    return max_pool


def _avg_pool(n: int) -> Any:
    @batched(n)
    def avg_pool(
        g: Writer,
        x: Value,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> str:
        kernel = spread(kernel_size, n)
        mean = g.op(
            "AveragePool",
            x,
            kernel_shape=kernel,
            strides=spread(kernel_size if stride in (None, ()) else stride, n),
            pads=spread(padding, n) * 2,
            ceil_mode=int(ceil_mode),
            count_include_pad=int(count_include_pad or divisor_override is not None),
        )
        if divisor_override is None:
            return mean
        return g.op("Mul", mean, g.constant(math.prod(kernel) / divisor_override, x.dtype))

    return avg_pool


for _n in (1, 2, 3):
    ROWS[f"conv{_n}d"] = _conv(_n)
    ROWS[f"conv_transpose{_n}d"] = _conv_transpose(_n)
    ROWS[f"max_pool{_n}d"] = _max_pool(_n)
    ROWS[f"avg_pool{_n}d"] = _avg_pool(_n)


@row("adaptive_avg_pool1d")
def adaptive_avg_pool1d(g: Writer, x: Value, output_size: Any) -> str:
    return adaptive_avg_pool(g, x, 1, output_size)


@row("adaptive_avg_pool")
def adaptive_avg_pool(g: Writer, x: Value, n: int, output_size: Any) -> str:
    sizes = spread(output_size, n)
    dims = list(range(x.rank - n, x.rank))
    if all(size == 1 for size in sizes):
        return reduced(g, "ReduceMean", x, dims, True)
    y: str = x
    for dim, size in zip(dims, sizes, strict=True):
        length = x.shape[dim]
        if length is None:
            raise g.unsupported("an adaptive pool of a dynamic dimension to more than one element")
        if length != size:
            y = _averaged(g, y, x, dim, length, size)
    return y


def _averaged(g: Writer, y: str, x: Value, dim: int, length: int, size: int) -> str:
    """The means of pieces of a dimension, as a product with a matrix."""
    rows = []
    for i in range(size):
        start, end = i * length // size, -(-(i + 1) * length // size)
        rows.append([1 / (end - start) if start <= k < end else 0.0 for k in range(length)])
    swap = list(range(x.rank))
    swap[dim], swap[-1] = swap[-1], swap[dim]
    last = y if dim == x.rank - 1 else permuted(g, y, swap)
    columns = [list(column) for column in zip(*rows, strict=True)]
    mean = g.op("MatMul", last, g.constant(columns, x.dtype))
    return mean if dim == x.rank - 1 else permuted(g, mean, swap)


def _adaptive_max_pool(n: int) -> Any:
    def adaptive_max_pool(
        g: Writer, x: Value, output_size: Any, with_indices: bool = False
    ) -> list[str]:
        sizes = spread(output_size, n)
        if with_indices:
            raise g.unsupported("an adaptive pool with indices")
        dims = list(range(x.rank - n, x.rank))
        if all(size == 1 for size in sizes):
            return [reduced(g, "ReduceMax", x, dims, True)]
        lengths = [x.shape[dim] for dim in dims]
        if any(a is None or a % b for a, b in zip(lengths, sizes, strict=True)):
            raise g.unsupported("an adaptive pool whose pieces differ in size")
        kernel = [int(a or 0) // b for a, b in zip(lengths, sizes, strict=True)]
        return [ROWS[f"max_pool{n}d"](g, x, kernel)]

    return adaptive_max_pool


for _n in (1, 2, 3):
    ROWS[f"adaptive_max_pool{_n}d"] = _adaptive_max_pool(_n)


# ---- padding and other sizes


@row("pad", "constant_pad_nd")
def pad(g: Writer, x: Value, pad: Any, mode: Any = "constant", value: Any = None) -> str:
    if not isinstance(mode, str):  # constant_pad_nd(x, pad, value)
        mode, value = "constant", mode
    begins: list[Any] = [0] * x.rank
    ends: list[Any] = [0] * x.rank
    for i in range(len(pad) // 2):
        begins[-1 - i], ends[-1 - i] = pad[2 * i], pad[2 * i + 1]
    names = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}
    if mode == "circular" and g.opset < 19:
        raise g.unsupported("circular padding before opset 19")
    fill = g.number(value or 0, x.dtype) if mode == "constant" else None
    return g.op("Pad", x, g.ints(begins + ends), fill, mode=names[mode])


_MODES = {"nearest": "nearest", "nearest-exact": "nearest", "bilinear": "linear"}
_MODES |= {"linear": "linear", "trilinear": "linear", "bicubic": "cubic"}


@row("resample")
def resample(
    g: Writer, x: Value, mode: str, antialias: bool, size: Any, align_corners: bool, scales: Any
) -> str:
    kind = _MODES.get(mode)
    if kind is None:
        raise g.unsupported(f"resampling of mode {mode!r}")
    places = "align_corners" if align_corners else "pytorch_half_pixel"
    if mode.startswith("nearest"):
        places = "asymmetric" if mode == "nearest" else "half_pixel"
    options = {
        "mode": kind,
        "coordinate_transformation_mode": places,
        "nearest_mode": {"nearest": "floor", "nearest-exact": "round_prefer_ceil"}.get(mode),
        "cubic_coeff_a": -0.75 if kind == "cubic" else None,
        "antialias": 1 if antialias else None,
    }
    if all(scale > 0 for scale in scales):
        return g.op("Resize", x, None, g.constant([1.0, 1.0, *scales], facula.float32), **options)
    return g.op("Resize", x, None, None, g.ints([*g.shape(x)[:2], *size]), **options)


@row("grid_sampler", "grid_sampler_2d", "grid_sampler_3d")
def grid_sampler(
    g: Writer, x: Value, grid: Value, mode: int, padding: int, align_corners: bool
) -> str:
    kinds = ["linear", "nearest", "cubic"] if g.opset >= 20 else ["bilinear", "nearest", "bicubic"]
    return g.op(
        "GridSample",
        x,
        grid,
        mode=kinds[mode],
        padding_mode=["zeros", "border", "reflection"][padding],
        align_corners=int(bool(align_corners)),
    )


# ---- norms


@row("batch_norm")
def batch_norm(
    g: Writer,
    x: Value,
    weight: Value | None,
    bias: Value | None,
    mean: Value | None,
    var: Value | None,
    training: bool,
    momentum: float,
    eps: float,
    *cudnn: bool,
) -> str:
    channels = x.shape[1]
    ones = weight or g.constant([1.0] * int(channels or 0), x.dtype)
    zeros = bias or g.constant([0.0] * int(channels or 0), x.dtype)
    if not training:
        return g.op("BatchNormalization", x, ones, zeros, mean, var, epsilon=float(eps))
    # With the statistics of the batch, and without keeping them.
    dims = [d for d in range(x.rank) if d != 1]
    lined = [-1] + [1] * (x.rank - 2)
    y = _standard(g, x, x.dtype, dims, eps)
    return g.op("Add", g.op("Mul", y, g.reshape(ones, lined)), g.reshape(zeros, lined))


def _standard(g: Writer, x: str, dtype: facula.dtype, dims: list[int], eps: float) -> str:
    centred = g.op("Sub", x, reduced(g, "ReduceMean", x, dims, True))
    var = reduced(g, "ReduceMean", g.op("Mul", centred, centred), dims, True)
    return g.op("Div", centred, g.op("Sqrt", g.op("Add", var, g.constant(eps, dtype))))


@row("instance_norm")
def instance_norm(
    g: Writer,
    x: Value,
    weight: Value | None,
    bias: Value | None,
    mean: Value | None,
    var: Value | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    *cudnn: bool,
) -> str:
    if not use_input_stats:
        return batch_norm(g, x, weight, bias, mean, var, False, momentum, eps)
    return _grouped(g, x, x.shape[1] or 1, weight, bias, eps)


@row("group_norm")
def group_norm(
    g: Writer,
    x: Value,
    num_groups: int,
    weight: Value | None = None,
    bias: Value | None = None,
    eps: float = 1e-5,
    *cudnn: bool,
) -> str:
    return _grouped(g, x, num_groups, weight, bias, eps)


def _grouped(g: Writer, x: Value, n: int, weight: Any, bias: Any, eps: float) -> str:
    # Each group is one line.
    lines = g.reshape(x, [g.size(x, 0), n, -1])
    y = g.reshape(_standard(g, lines, x.dtype, [2], eps), g.shape(x))
    lined = [-1] + [1] * (x.rank - 2)
    if weight is not None:
        y = g.op("Mul", y, g.reshape(weight, lined))
    return y if bias is None else g.op("Add", y, g.reshape(bias, lined))


@row("layer_norm")
def layer_norm(
    g: Writer,
    x: Value,
    normalized_shape: Any,
    weight: Value | None = None,
    bias: Value | None = None,
    eps: float = 1e-5,
    *cudnn: bool,
) -> str:
    shape = spread(normalized_shape, 1)
    scale = weight or g.op("Expand", g.constant(1.0, x.dtype), g.constant(shape))
    return g.op("LayerNormalization", x, scale, bias, axis=-len(shape), epsilon=float(eps))


@row("rms_norm")
def rms_norm(
    g: Writer, x: Value, normalized_shape: Any, weight: Value | None = None, eps: Any = None
) -> str:
    n = len(spread(normalized_shape, 1))
    limit = facula.finfo(x.dtype).eps if eps is None else eps
    dims = list(range(x.rank - n, x.rank))
    square = reduced(g, "ReduceMean", g.op("Mul", x, x), dims, True)
    root = g.op("Sqrt", g.op("Add", square, g.constant(limit, x.dtype)))
    y = g.op("Div", x, root)
    return y if weight is None else g.op("Mul", y, weight)


# ---- softmax and attention


@row("softmax", "special_softmax")
def softmax(g: Writer, x: Value, dim: int, dtype: Any = None, *older: Any) -> str:
    return g.op("Softmax", g.cast(x, g.result.dtype), axis=wrap(dim, x.rank))


@row("log_softmax")
def log_softmax(g: Writer, x: Value, dim: int, dtype: Any = None, *older: Any) -> str:
    return g.op("LogSoftmax", g.cast(x, g.result.dtype), axis=wrap(dim, x.rank))


@row("scaled_dot_product_attention")
def attention(
    g: Writer,
    query: Value,
    key: Value,
    value: Value,
    attn_mask: Value | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> str:
    if dropout_p:
        raise g.unsupported("attention with dropout")
    dtype = query.dtype
    factor = 1 / math.sqrt(int(query.shape[-1] or 1)) if scale is None else scale
    k: str = key
    v: str = value
    if enable_gqa:
        k, v = _repeated(g, key, query), _repeated(g, value, query)
    order = [*range(key.rank - 2), key.rank - 1, key.rank - 2]
    scaled = g.op("Mul", query, g.constant(factor, dtype))
    scores = g.op("MatMul", scaled, permuted(g, k, order))
    mask: str | None = None
    if is_causal:
        ones = g.op("Expand", g.constant(1), g.ints([g.size(query, -2), g.size(key, -2)]))
        mask = g.cast(g.op("Trilu", ones, upper=0), facula.bool, facula.int64)
    elif attn_mask is not None and attn_mask.dtype == facula.bool:
        mask = attn_mask
    elif attn_mask is not None:
        scores = g.op("Add", scores, g.cast(attn_mask, dtype))
    if mask is None:
        return g.op("MatMul", g.op("Softmax", scores, axis=-1), v)
    lowest = g.constant(float("-inf"), dtype)
    weights = g.op("Softmax", g.op("Where", mask, scores, lowest), axis=-1)
    # A query that may look at nothing gets zeros, not NaN.
    return g.op("MatMul", g.op("Where", mask, weights, g.constant(0.0, dtype)), v)


def _repeated(g: Writer, x: Value, query: Value) -> str:
    """Each head as often as there are heads of queries for it."""
    times = SIZE_ROWS[operator.floordiv](g, g.size(query, -3), g.size(x, -3))
    *front, heads, length, width = g.shape(x)
    wide = g.op("Unsqueeze", x, g.constant([x.rank - 2]))
    tiled = g.op("Expand", wide, g.ints([*front, heads, times, length, width]))
    return g.reshape(tiled, [*front, g.size(query, -3), length, width])


# ---- recurrent layers

# The order of ONNX's gates in ours, and the operator's further attributes.
_CELLS: dict[str, tuple[str, list[int], dict[str, Any]]] = {
    "lstm": ("LSTM", [0, 3, 1, 2], {}),
    "gru": ("GRU", [1, 0, 2], {"linear_before_reset": 1}),
    "rnn_tanh": ("RNN", [0], {"activations": ["Tanh"]}),
    "rnn_relu": ("RNN", [0], {"activations": ["Relu"]}),
}


def _recurrent(name: str) -> Any:
    def translate(g: Writer, x: Value, *args: Any) -> list[str]:
        if isinstance(args[0], Value) and args[0].dtype == facula.int64:  # sizes of batches
            return _packed(g, name, x, *args)
        *others, batch_first = args if len(args) == 8 else (*args, False)
        n_steps = x.shape[1 if batch_first else 0]
        y, *ends = _layers(
            g, name, permuted(g, x, [1, 0, 2]) if batch_first else x, n_steps, None, *others
        )
        return [permuted(g, y, [1, 0, 2]) if batch_first else y, *ends]

    return translate


def _packed(g: Writer, name: str, x: Value, batch_sizes: Value, *others: Any) -> list[str]:
    """As a padded batch, with the lengths that ONNX's operators take beside it."""
    constant = g.initializers.get(batch_sizes)
    if constant is None:
        raise g.unsupported("a recurrent layer of packed sequences whose lengths are computed")
    sizes = constant.tolist()
    steps = [[b < size for b in range(sizes[0])] for size in sizes]
    starts = [sum(sizes[:t]) for t in range(len(sizes))]
    rows = [
        [start + b if is_there else 0 for b, is_there in enumerate(step)]
        for start, step in zip(starts, steps, strict=True)
    ]
    lengths = g.constant([sum(column) for column in zip(*steps, strict=True)], facula.int32)
    padded = g.op("Gather", x, g.constant(rows), axis=0)
    y, *ends = _layers(g, name, padded, len(sizes), lengths, *others)
    flat_y = g.op("Reshape", y, g.constant([len(sizes) * sizes[0], -1]))
    places = [t * sizes[0] + b for t, size in enumerate(sizes) for b in range(size)]
    return [g.op("Gather", flat_y, g.constant(places), axis=0), *ends]


def _layers(
    g: Writer,
    name: str,
    y: str,
    n_steps: int | None,
    lengths: str | None,
    hx: Any,
    params: Any,
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
) -> list[str]:
    n_directions = 2 if bidirectional else 1
    per_direction = len(params) // (num_layers * n_directions)
    is_projected = per_direction != (4 if has_biases else 2)
    if is_projected and lengths is not None:
        raise g.unsupported("an LSTM with projections of packed sequences")
    states = list(hx) if name == "lstm" else [hx]
    ends: list[list[str]] = []
    for layer in range(num_layers):
        first = layer * n_directions
        weights = [
            params[i * per_direction : (i + 1) * per_direction]
            for i in range(first, first + n_directions)
        ]
        rows = g.constant(list(range(first, first + n_directions)))
        begins = [g.op("Gather", state, rows, axis=0) for state in states]
        if is_projected:
            y, *end = _projected_layer(g, y, n_steps, begins, weights)
        else:
            y, *end = _layer(g, name, y, lengths, begins, weights)
        ends.append(end)
    return [y, *(g.op("Concat", *parts, axis=0) for parts in zip(*ends, strict=True))]


def _layer(
    g: Writer, name: str, x: str, lengths: str | None, states: list[str], weights: list[Any]
) -> list[str]:
    kind, order, attributes = _CELLS[name]

    def reordered(parameter: str) -> str:
        parts = g.ops("Split", len(order), parameter, axis=0, num_outputs=len(order))
        return g.op("Concat", *(parts[i] for i in order), axis=0)

    def stacked(columns: list[str]) -> str:
        wide = [g.op("Unsqueeze", column, g.constant([0])) for column in columns]
        return g.op("Concat", *wide, axis=0)

    w, r, *biases = (
        stacked([reordered(p) for p in column]) for column in zip(*weights, strict=True)
    )
    b = g.op("Concat", *biases, axis=1) if biases else None
    hidden = weights[0][1].shape[1]
    if "activations" in attributes:
        attributes = {"activations": attributes["activations"] * len(weights)}
    y, *ends = g.ops(
        kind,
        1 + len(states),
        x,
        w,
        r,
        b,
        lengths,
        *states,
        hidden_size=hidden,
        direction="bidirectional" if len(weights) == 2 else "forward",
        **attributes,
    )
    # (time, direction, batch, hidden) to (time, batch, all of hidden); 0 keeps a size.
    lines = permuted(g, y, [0, 2, 1, 3])
    return [g.op("Reshape", lines, g.constant([0, 0, -1])), *ends]


def _projected_layer(
    g: Writer, x: str, n_steps: int | None, states: list[str], weights: list[Any]
) -> list[str]:
    """ONNX's operator has no projections: each step is written out."""
    if n_steps is None:
        raise g.unsupported("an LSTM with projections over a dynamic number of steps")
    lines, ends = [], []
    for place, parameters in enumerate(weights):
        w_ih, w_hh, *biases, w_hr = parameters
        of_inputs = g.op("MatMul", x, permuted(g, w_ih, [1, 0]))
        for bias in biases:
            of_inputs = g.op("Add", of_inputs, bias)
        steps = g.ops("Split", n_steps, of_inputs, axis=0, num_outputs=n_steps)
        row = g.constant([place])
        h, c = (g.op("Gather", state, row, axis=0) for state in states)
        of_state, to_state = permuted(g, w_hh, [1, 0]), permuted(g, w_hr, [1, 0])
        outputs = []
        for step in reversed(steps) if place else steps:
            sums = g.op("Add", step, g.op("MatMul", h, of_state))
            gates = g.ops("Split", 4, sums, axis=-1, num_outputs=4)
            i, f, o = (g.op("Sigmoid", gates[k]) for k in (0, 1, 3))
            c = g.op("Add", g.op("Mul", f, c), g.op("Mul", i, g.op("Tanh", gates[2])))
            h = g.op("MatMul", g.op("Mul", o, g.op("Tanh", c)), to_state)
            outputs.append(h)
        lines.append(g.op("Concat", *(outputs[::-1] if place else outputs), axis=0))
        ends.append((h, c))
    y = g.op("Concat", *lines, axis=-1)
    return [y, *(g.op("Concat", *parts, axis=0) for parts in zip(*ends, strict=True))]


for _name in _CELLS:
    ROWS[_name] = _recurrent(_name)


def _gates(g: Writer, x: str, h: str, weights: Any, n: int) -> tuple[list[str], list[str]]:
    """The products of input and state with their weights, gate by gate."""
    w_ih, w_hh, b_ih, b_hh = (*weights, None, None)[:4]
    a = g.op("Gemm", x, w_ih, b_ih, transB=1)
    b = g.op("Gemm", h, w_hh, b_hh, transB=1)
    return g.ops("Split", n, a, axis=1, num_outputs=n), g.ops("Split", n, b, axis=1, num_outputs=n)


@row("lstm_cell")
def lstm_cell(g: Writer, x: Value, hx: Any, *weights: Any) -> list[str]:
    h, c = hx
    sums = [g.op("Add", a, b) for a, b in zip(*_gates(g, x, h, weights, 4), strict=True)]
    i, f, o = (g.op("Sigmoid", sums[k]) for k in (0, 1, 3))
    new = g.op("Add", g.op("Mul", f, c), g.op("Mul", i, g.op("Tanh", sums[2])))
    return [g.op("Mul", o, g.op("Tanh", new)), new]


@row("gru_cell")
def gru_cell(g: Writer, x: Value, hx: Value, *weights: Any) -> str:
    a, b = _gates(g, x, hx, weights, 3)
    r, z = (g.op("Sigmoid", g.op("Add", a[k], b[k])) for k in (0, 1))
    new = g.op("Tanh", g.op("Add", a[2], g.op("Mul", r, b[2])))
    return g.op("Add", new, g.op("Mul", z, g.op("Sub", hx, new)))


# ---- losses


def _joined(g: Writer, x: str, reduction: int) -> str:
    kind = {1: "ReduceMean", 2: "ReduceSum"}.get(reduction)
    return x if kind is None else g.op(kind, x, keepdims=0)


@row("mse_loss")
def mse_loss(g: Writer, x: Value, target: Value, reduction: int = 1, *more: Any) -> str:
    difference = g.op("Sub", x, target)
    return _joined(g, g.op("Mul", difference, difference), reduction)


@row("l1_loss")
def l1_loss(g: Writer, x: Value, target: Value, reduction: int = 1, *more: Any) -> str:
    return _joined(g, g.op("Abs", g.op("Sub", x, target)), reduction)


@row("cross_entropy")
def cross_entropy(
    g: Writer, x: Value, target: Value, weight: Any = None, reduction: int = 1, ignore: int = -100
) -> str:
    if target.dtype.is_floating_point:
        raise g.unsupported("cross_entropy with probabilities as targets")
    kind = ["none", "mean", "sum"][reduction]
    options = {"reduction": kind, "ignore_index": ignore}
    return g.op("SoftmaxCrossEntropyLoss", x, target, weight, **options)


@row("nll_loss")
def nll_loss(
    g: Writer, x: Value, target: Value, weight: Any = None, reduction: int = 1, ignore: int = -100
) -> str:
    kind = ["none", "mean", "sum"][reduction]
    options = {"reduction": kind, "ignore_index": ignore}
    return g.op("NegativeLogLikelihoodLoss", x, target, weight, **options)


# ---- boxes


@row("nms")
def nms(g: Writer, boxes: Value, scores: Value, iou_threshold: float) -> str:
    found = g.op(
        "NonMaxSuppression",
        g.op("Unsqueeze", boxes, g.constant([0])),
        g.op("Unsqueeze", scores, g.constant([0, 1])),
        g.constant([2**31 - 1]),
        g.constant([iou_threshold], facula.float32),
    )
    # Of batch, class and box the last.
    return g.op("Gather", found, g.constant(2), axis=1)


@row("roi_align")
def roi_align(
    g: Writer,
    x: Value,
    rois: Value,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    sampling_ratio: int,
    aligned: bool,
) -> str:
    batch = g.op("Gather", rois, g.constant(0), axis=1)
    return g.op(
        "RoiAlign",
        x,
        g.op("Gather", rois, g.constant([1, 2, 3, 4]), axis=1),
        g.cast(batch, facula.int64, rois.dtype),
        output_height=pooled_height,
        output_width=pooled_width,
        sampling_ratio=max(sampling_ratio, 0),
        spatial_scale=spatial_scale,
        coordinate_transformation_mode="half_pixel" if aligned else "output_half_pixel",
    )
