"""Products: of matrices, with one more dimension in front, and convolutions, folded into one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from facula import _core
from facula._core import Tensor
from facula.func._batching._batch import Batch, check_writable, loop_quietly, rule
from facula.func._batching._pointwise import aligned

_Function = Callable[..., Any]


@rule("matmul", "__matmul__", "__rmatmul__")
def matmul(batch: Batch, func: _Function, x: Any, y: Any) -> Any:
    if func.__name__ == "__rmatmul__":
        x, y = y, x
    return batch.wrap(_product(batch, x, y))


def _product(batch: Batch, x: Tensor, y: Tensor) -> Tensor:
    """All examples of ``x @ y``."""
    if not batch.has(y) and y.dim() <= 2 and x.dim() > 0:
        return _core.matmul(batch.lower(x), y)
    if x.dim() == 0 or y.dim() == 0:
        return _core.matmul(x, y)  # raises
    a, b = batch.lower(x), batch.lower(y)
    if x.dim() == 1:
        a = a.unsqueeze(-2)
    if y.dim() == 1:
        b = b.unsqueeze(-1)
    n_dims = max(int(x.dim()), int(y.dim()), 2)
    a, b = (_with_dims(batch, v, p, n_dims) for v, p in ((x, a), (y, b)))
    z = _core.matmul(a, b)
    if y.dim() == 1:
        z = z.squeeze(-1)
    return z.squeeze(-1 if y.dim() == 1 else -2) if x.dim() == 1 else z


def _with_dims(batch: Batch, x: Tensor, matrices: Tensor, n_dims: int) -> Tensor:
    missing = n_dims + 1 - int(matrices.dim())
    if not batch.has(x) or missing <= 0:
        return matrices
    return matrices.reshape(batch.size, *(1,) * missing, *matrices.shape[1:])


def _check_dims(name: str, tensors: list[tuple[Tensor, int]]) -> None:
    for x, n_dims in tensors:
        if x.dim() != n_dims:
            raise RuntimeError(
                f"{name}: expected a tensor of {n_dims} dimensions, got {tuple(x.shape)} inside of "
                "vmap."
            )


_FACTORS = {"mm": (2, 2), "bmm": (3, 3), "mv": (2, 1), "dot": (1, 1)}


@rule(*_FACTORS)
def product_of_two(batch: Batch, func: _Function, x: Tensor, *args: Any, **kwargs: Any) -> Any:
    y = args[0] if args else next(iter(kwargs.values()))
    n_x, n_y = _FACTORS[func.__name__]
    _check_dims(func.__name__, [(x, n_x), (y, n_y)])
    if not batch.has(x) and func.__name__ == "dot":
        x, y = y, x
    return batch.wrap(_product(batch, x, y))


@rule("outer", "ger")
def outer(batch: Batch, func: _Function, x: Tensor, *args: Any, **kwargs: Any) -> Any:
    y = args[0] if args else next(iter(kwargs.values()))
    _check_dims("outer", [(x, 1), (y, 1)])
    return batch.wrap(batch.lower(x).unsqueeze(-1) * batch.lower(y).unsqueeze(-2))


@rule("_csr_mm")
def sparse_product(
    batch: Batch, func: _Function, starts: Tensor, columns: Tensor, values: Tensor, dense: Tensor
) -> Any:
    if not batch.has(dense) or any(map(batch.has, (starts, columns, values))):
        return loop_quietly(batch, func, starts, columns, values, dense)
    # The columns of all examples beside each other.
    wide = batch.lower(dense).movedim(0, 1)
    y = func(starts, columns, values, wide.flatten(1))
    return batch.wrap(y.unflatten(1, wide.shape[1:]).movedim(1, 0))


_ADDED = {"addmm": (2, 2), "addmv": (2, 1), "baddbmm": (3, 3), "addbmm": (3, 3)}


@rule(*_ADDED, *(name + "_" for name in _ADDED))
def product_added(
    batch: Batch,
    func: _Function,
    x: Tensor,
    *args: Any,
    beta: Any = 1,
    alpha: Any = 1,
    **kwargs: Any,
) -> Any:
    a, b = (*args, *kwargs.values())
    name = func.__name__.rstrip("_")
    _check_dims(name, [(a, _ADDED[name][0]), (b, _ADDED[name][1])])
    if not batch.has(a) and not batch.has(b):
        result = _core.matmul(a, b)
        result = result.sum(0) if name == "addbmm" else result
        n_dims = int(result.dim())
    else:
        result = _product(batch, a, b)
        result = result.sum(1) if name == "addbmm" else result
        n_dims = int(result.dim()) - 1
    if not (x.is_floating_point() or x.is_complex()):
        alpha, beta = int(alpha), int(beta)  # as the operation itself takes them
    if alpha != 1:
        result = alpha * result
    if beta != 0:
        bias = aligned(batch, x, n_dims)
        result = result + (bias if beta == 1 else beta * bias)
    elif not (batch.has(a) or batch.has(b)):
        result = result.expand(batch.size, *result.shape)
    if not func.__name__.endswith("_"):
        return batch.wrap(result)
    check_writable(batch, func, (x,))
    batch.lower(x).copy_(result)
    return x


def _rows_times_weights(rows: Tensor, weights: Tensor, bias: Tensor | None) -> Tensor:
    """``rows @ weights.mT + bias`` of all examples.

    Programs view gradients of weights as one row for each example, so that they are contiguous:
    those of a left factor are, and those behind a flat view, at the cost of a copy.
    """
    if rows.shape[1] == 1:
        if bias is None:
            return _core.bmm(weights, rows.mT).mT
        return _core.baddbmm(bias.mT, weights, rows.mT).mT
    matrices = weights.flatten(1).view(weights.shape).mT
    return _core.bmm(rows, matrices) if bias is None else _core.baddbmm(bias, rows, matrices)


@rule("linear")
def linear(batch: Batch, func: _Function, x: Tensor, weight: Tensor, bias: Any = None) -> Any:
    if not batch.has(weight) and not batch.has(bias):
        return batch.wrap(func(batch.lower(x), weight, bias))
    if weight.dim() == 1 and bias is None:
        return batch.wrap(_product(batch, x, weight))
    if not batch.has(weight):
        y = func(batch.lower(x), weight)
        n_dims = int(x.dim())
        y = y if batch.has(x) else y.unsqueeze(0)
    elif batch.has(x):
        lowered = batch.lower(x)
        rows = lowered.unsqueeze(1) if x.dim() == 1 else lowered.flatten(1, -2)
        is_row = bias is not None and bias.dim() == 1
        added = batch.lower(bias).reshape(-1, 1, bias.shape[0]) if is_row else None
        y = _rows_times_weights(rows, batch.lower(weight), added)
        y = y.reshape(*lowered.shape[:-1], y.shape[-1])
        bias, n_dims = None if is_row else bias, int(x.dim())
    else:
        # One product with the rows of all weights.
        n_out = int(weight.shape[0])
        y = func(x, batch.lower(weight).flatten(0, 1))
        y = y.reshape(*x.shape[:-1], batch.size, n_out).movedim(-2, 0)
        n_dims = int(x.dim())
    if bias is not None:
        y = y + aligned(batch, bias, n_dims)
    return batch.wrap(y)


# ---- convolutions: examples that share a weight are one large batch, weights of their own are
# groups of one convolution


@rule("conv1d", "conv2d", "conv3d")
def conv(
    batch: Batch, func: _Function, x: Tensor, weight: Tensor, bias: Any = None, stride: Any = 1,
    padding: Any = 0, dilation: Any = 1, groups: int = 1,
) -> Any:  # fmt: skip
    return _convolved(
        batch, x, weight, bias, groups,
        lambda a, w, b, n_groups: func(a, w, b, stride, padding, dilation, n_groups),
        int(weight.dim()), is_transposed=False,
    )  # fmt: skip


@rule("conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
def conv_transpose(
    batch: Batch, func: _Function, x: Tensor, weight: Tensor, bias: Any = None, stride: Any = 1,
    padding: Any = 0, output_padding: Any = 0, groups: int = 1, dilation: Any = 1,
) -> Any:  # fmt: skip
    return _convolved(
        batch, x, weight, bias, groups,
        lambda a, w, b, n: func(a, w, b, stride, padding, output_padding, n, dilation),
        int(weight.dim()), is_transposed=True,
    )  # fmt: skip


@rule("convolution")
def convolution(
    batch: Batch, func: _Function, x: Tensor, weight: Tensor, bias: Any, stride: Any, padding: Any,
    dilation: Any, transposed: bool, output_padding: Any, groups: int,
) -> Any:  # fmt: skip
    return _convolved(
        batch, x, weight, bias, groups,
        lambda a, w, b, n_groups: func(
            a, w, b, stride, padding, dilation, transposed, output_padding, n_groups
        ),
        int(weight.dim()), is_transposed=transposed,
    )  # fmt: skip


# Gradients by themselves: every example has groups of its own.


@rule("_conv_input")
def conv_input(
    batch: Batch, func: _Function, op: str, input_size: Any, weight: Tensor, grad_output: Tensor,
    stride: Any, padding: Any, dilation: Any, groups: int,
) -> Any:  # fmt: skip
    n, (n_images, channels, *sizes) = batch.size, input_size
    y = func(
        op, (n_images, n * channels, *sizes), _of_all(batch, weight).flatten(0, 1),
        _side_by_side(batch, grad_output), stride, padding, dilation, n * groups,
    )  # fmt: skip
    return batch.wrap(y.unflatten(1, (n, -1)).transpose(0, 1))


@rule("_conv_weight")
def conv_weight(
    batch: Batch, func: _Function, op: str, x: Tensor, weight_size: Any, grad_output: Tensor,
    stride: Any, padding: Any, dilation: Any, groups: int,
) -> Any:  # fmt: skip
    n, (channels, *sizes) = batch.size, weight_size
    y = func(
        op, _side_by_side(batch, x), (n * channels, *sizes), _side_by_side(batch, grad_output),
        stride, padding, dilation, n * groups,
    )  # fmt: skip
    return batch.wrap(y.unflatten(0, (n, -1)))


def _of_all(batch: Batch, x: Tensor) -> Tensor:
    return batch.lower(x) if batch.has(x) else x.expand(batch.size, *x.shape)


def _side_by_side(batch: Batch, images: Tensor) -> Tensor:
    """The images of all examples, (N, B, C, ...), with their channels in a row, (B, N * C, ...)."""
    return _of_all(batch, images).transpose(0, 1).flatten(1, 2)


@rule("conv_tbc")
def conv_tbc(
    batch: Batch, func: _Function, x: Tensor, weight: Tensor, bias: Tensor, pad: int = 0
) -> Any:
    # (time, batch, channels), with weights (time, in, out).
    def moved(a: Tensor, *dims: int) -> Any:
        return batch.wrap(batch.lower(a).permute(0, *(d + 1 for d in dims))) if batch.has(
            a) else a.permute(dims)  # fmt: skip

    if x.dim() != 3 or weight.dim() != 3:
        return func(x, weight, bias, pad)  # raises
    images, kernels = moved(x, 1, 2, 0), moved(weight, 2, 1, 0)
    return moved(conv(batch, _core.conv1d, images, kernels, bias, 1, pad), 2, 0, 1)


def _convolved(
    batch: Batch, x: Tensor, weight: Tensor, bias: Any, groups: int, convolve: _Function,
    n_dims: int, *, is_transposed: bool,
) -> Any:  # fmt: skip
    n = batch.size
    has_images = x.dim() == n_dims  # else a single image
    images = batch.lower(x)
    if not has_images:
        images = images.unsqueeze(-n_dims)
    bias_inside = None if batch.has(bias) else bias
    if not batch.has(weight):
        if batch.has(x):
            y = convolve(images.flatten(0, 1), weight, bias_inside, groups)
            y = y.unflatten(0, (n, y.shape[0] // n if n else 0))
        else:
            y = convolve(images, weight, bias_inside, groups).unsqueeze(0)
    elif batch.has(x) or groups > 1 or is_transposed:
        # (N, B, C, ...) -> (B, N * C, ...): the channels of an example meet its own weight only.
        everything = images if batch.has(x) else images.expand(n, *images.shape)
        y = convolve(
            everything.transpose(0, 1).flatten(1, 2),
            batch.lower(weight).flatten(0, 1),
            None,
            groups * n,
        )
        y = y.unflatten(1, (n, -1)).transpose(0, 1)
        if bias_inside is not None:
            y = y + bias_inside.reshape(-1, *(1,) * (n_dims - 2))
    else:
        # The images meet every weight: the weights together are one with more channels.
        together = batch.lower(weight).flatten(0, 1)
        y = convolve(images, together, None, 1).unflatten(1, (n, -1)).transpose(0, 1)
        if bias_inside is not None:
            y = y + bias_inside.reshape(-1, *(1,) * (n_dims - 2))
    if batch.has(bias):
        y = y + batch.lower(bias).reshape(n, 1, -1, *(1,) * (n_dims - 2))
    return batch.wrap(y if has_images else y.squeeze(1))
