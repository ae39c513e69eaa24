"""Operations that PyTorch's core composes of others, as those: what ``__torch_dispatch__`` is told.

A rule takes ``tell``, by which it has an overload of ``aten`` asked for, and the arguments of the
operation. Operations that it calls itself are asked for in turn. Where it answers NotImplemented,
the operation is told as it is.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from types import EllipsisType, NoneType
from typing import Any

import facula
from facula import _core
from facula._core import Tensor
from facula._library.operators import OpOverload, namespace

Rule = Callable[..., Any]

# What is answered without a look at elements, and what makes tensors of data.
QUESTIONS = {
    *("__dir__", "__format__", "__hash__", "__len__", "__reduce_ex__", "__repr__", "__str__"),
    *("_is_view", "_make_subclass", "_nested_tensor_size", "as_subclass", "as_tensor", "asarray"),
    *("backward", "dim", "element_size", "from_numpy", "get_device", "has_names", "is_complex"),
    *("is_conj", "is_contiguous", "is_floating_point", "is_inference", "is_neg", "is_pinned"),
    *("is_same_size", "is_shared", "is_signed", "ndimension", "nelement", "numel"),
    *("register_hook", "requires_grad_", "retain_grad", "size", "storage_offset", "stride"),
    *(
        "_run_backward",
        "tensor",
        "result_type",
        "broadcast_shapes",
        "is_tensor",
        "register_post_accumulate_grad_hook",
    ),
}
RULES: dict[str, Rule] = {}


def _rule(*names: str) -> Callable[[Rule], Rule]:
    """Mark the rule of operations."""

    def register(rule: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, rule))
        return rule

    return register


def _aten(name: str, overload: str = "default") -> OpOverload:
    return getattr(getattr(namespace("aten"), name), overload)  # type: ignore[no-any-return]


# ---- operators


_OPERATORS = {
    "__abs__": "abs",
    "__and__": "bitwise_and",
    "__eq__": "eq",
    "__floordiv__": "floor_divide",
    "__ge__": "ge",
    "__gt__": "gt",
    "__iand__": "bitwise_and_",
    "__ifloordiv__": "floor_divide_",
    "__ilshift__": "bitwise_left_shift_",
    "__invert__": "bitwise_not",
    "__ior__": "bitwise_or_",
    "__ipow__": "pow_",
    "__irshift__": "bitwise_right_shift_",
    "__ixor__": "bitwise_xor_",
    "__le__": "le",
    "__lshift__": "bitwise_left_shift",
    "__lt__": "lt",
    "__mod__": "remainder",
    "__ne__": "ne",
    "__neg__": "neg",
    "__or__": "bitwise_or",
    "__pow__": "pow",
    "__rand__": "bitwise_and",
    "__ror__": "bitwise_or",
    "__rshift__": "bitwise_right_shift",
    "__rxor__": "bitwise_xor",
    "__xor__": "bitwise_xor",
}


def _operator(method: str) -> Rule:
    return lambda tell, self, *other: getattr(self, method)(*other)


RULES.update({name: _operator(method) for name, method in _OPERATORS.items()})


# Other names of operations, also of those in place.
_ALIASES = {
    "absolute": "abs",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "clip": "clamp",
    "divide": "div",
    "fix": "trunc",
    "greater": "gt",
    "greater_equal": "ge",
    "less": "lt",
    "less_equal": "le",
    "multiply": "mul",
    "negative": "neg",
    "not_equal": "ne",
    "subtract": "sub",
    "true_divide": "div",
}


def _alias(name: str) -> Rule:
    def rule(tell: Any, input: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(input, Tensor):
            return getattr(input, name)(*args, **kwargs)
        return getattr(facula, name)(input, *args, **kwargs)

    return rule


for _name, _usual in _ALIASES.items():
    RULES[_name], RULES[f"{_name}_"] = _alias(_usual), _alias(f"{_usual}_")


@_rule("square")
def _square(tell: Any, input: Tensor) -> Tensor:
    return input.pow(2)


@_rule("__rsub__")
def _rsub(tell: Any, self: Tensor, other: Any) -> Any:
    return tell(_aten("rsub", "Tensor" if isinstance(other, Tensor) else "Scalar"), self, other)


@_rule("__rtruediv__", "__rdiv__")
def _rdiv(tell: Any, self: Tensor, other: Any) -> Any:
    if not isinstance(other, (Tensor, int, float, complex)):
        return NotImplemented
    return self.reciprocal() * other


@_rule("__rpow__")
def _rpow(tell: Any, self: Tensor, other: Any) -> Any:
    return facula.pow(other, self)


@_rule("__matmul__")
def _matmul_operator(tell: Any, self: Tensor, other: Any) -> Any:
    return facula.matmul(self, other) if isinstance(other, Tensor) else NotImplemented


@_rule("__rmatmul__")
def _rmatmul(tell: Any, self: Tensor, other: Any) -> Any:
    return facula.matmul(other, self) if isinstance(other, Tensor) else NotImplemented


@_rule("item")
def _item(tell: Any, self: Tensor) -> Any:
    return NotImplemented if self.numel() != 1 else tell(_aten("_local_scalar_dense"), self)


def _number(kind: Any, refuses: Callable[[Tensor], bool]) -> Rule:
    """The rule of a conversion to a number of Python, and the tensors that have none."""

    def rule(tell: Any, self: Tensor) -> Any:
        if self.numel() != 1 or refuses(self):
            return NotImplemented
        return kind(tell(_aten("_local_scalar_dense"), self))

    return rule


RULES["__bool__"] = _number(bool, lambda x: False)
RULES["__complex__"] = _number(complex, lambda x: False)
RULES["__float__"] = _number(float, Tensor.is_complex)
RULES["__int__"] = _number(int, Tensor.is_complex)
RULES["__index__"] = _number(int, lambda x: x.is_complex() or x.is_floating_point())


def _extreme(name: str) -> Rule:
    def rule(tell: Any, input: Tensor, *args: Any, **kwargs: Any) -> Any:
        other = args[0] if args else kwargs.get("other")
        return getattr(facula, name)(input, other) if isinstance(other, Tensor) else NotImplemented

    return rule


RULES["max"], RULES["min"] = _extreme("maximum"), _extreme("minimum")


# ---- indices


@_rule("__getitem__")
def _getitem(tell: Any, self: Tensor, index: Any) -> Any:
    items = _index_items(self, index)
    if items is None:
        return NotImplemented
    view, indices = _view_at(tell, self, items)
    if indices is not None:
        return tell(_aten("index", "Tensor"), view, indices)
    return tell(_aten("alias"), view) if view is self else view


@_rule("__setitem__")
def _setitem(tell: Any, self: Tensor, index: Any, value: Any) -> Any:
    items = _index_items(self, index)
    if items is None:
        return NotImplemented
    values = value
    if not isinstance(value, Tensor):
        try:
            values = facula.tensor(value, dtype=self.dtype, device=self.device)
        except (TypeError, ValueError, RuntimeError):
            return NotImplemented  # which says what is expected
    view, indices = _view_at(tell, self, items)
    if indices is not None:
        tell(_aten("index_put_"), view, indices, _without_leading_ones(values, 0))
    elif isinstance(value, (int, float, complex)):
        view.fill_(value)
    else:
        view.copy_(_without_leading_ones(values, view.dim()))
    return None


def _without_leading_ones(x: Tensor, n_dims: int) -> Tensor:
    """A (1, 3) value as one of shape (3,), which fits a place of so many dimensions."""
    first = 0
    while x.dim() - first > n_dims and x.size(first) == 1:
        first += 1
    return x.view(x.shape[first:]) if first else x


_NO_NUMBERS = (Tensor, slice, EllipsisType, NoneType, list, tuple)


def _index_items(self: Tensor, index: Any) -> tuple[Any, ...] | None:
    """The parts of an index, sequences in it as tensors; None where it is no index."""
    # A short list that holds more than numbers is a tuple of indices, as it is in the core.
    is_several = isinstance(index, tuple) or (
        isinstance(index, list)
        and len(index) < 32
        and any(isinstance(item, _NO_NUMBERS) for item in index)
    )
    items = tuple(index) if is_several else (index,)
    try:
        return tuple(_index_item(self, item) for item in items)
    except (TypeError, ValueError, RuntimeError):
        return None


def _index_item(self: Tensor, item: Any) -> Any:
    if item is None or isinstance(item, (Tensor, slice, EllipsisType)):
        return item
    is_number = hasattr(item, "__index__") and not hasattr(item, "__len__")  # no array
    if is_number and not isinstance(item, bool):
        return operator.index(item)
    part = facula.tensor(item, device=self.device)
    return part.long() if part.numel() == 0 and part.is_floating_point() else part


def _view_at(
    tell: Any, self: Tensor, items: tuple[Any, ...]
) -> tuple[Tensor, list[Tensor | None] | None]:
    """The view of numbers, slices and None, and the tensors of indices that are left."""
    skipped = self.dim() - sum(_n_dims(item) for item in items)
    view, dim = self, 0
    indices: list[Tensor | None] = []
    for item in items:
        if item is Ellipsis:
            dim += skipped
            indices += [None] * skipped
            skipped = 0  # a second one stands for nothing
        elif item is None:
            view = view.unsqueeze(dim)
            dim += 1
            indices.append(None)
        elif isinstance(item, slice):
            step = 1 if item.step is None else item.step
            start, stop, _ = item.indices(view.size(dim))
            if (start, stop, step) != (0, view.size(dim), 1):
                end = 2**63 - 1 if item.stop is None else item.stop
                steps = () if step == 1 else (step,)
                first = 0 if item.start is None else item.start
                view = tell(_aten("slice", "Tensor"), view, dim, first, end, *steps)
            dim += 1
            indices.append(None)
        elif isinstance(item, int):
            view = tell(_aten("select", "int"), view, dim, item)
        else:
            dim += _n_dims(item)
            indices.append(item)
    while indices and indices[-1] is None:
        indices.pop()
    return view, indices or None


def _n_dims(item: Any) -> int:
    """How many dimensions an index stands for."""
    if item is None or item is Ellipsis:
        return 0
    is_mask = isinstance(item, Tensor) and item.dtype in (facula.bool, facula.uint8)
    return item.dim() if is_mask else 1


# ---- shapes


@_rule("T.__get__")
def _transposed(tell: Any, self: Tensor, *owner: Any) -> Tensor:
    return self.permute(*range(self.dim() - 1, -1, -1))


@_rule("mT.__get__", "mH.__get__")
def _matrix_transposed(tell: Any, self: Tensor, *owner: Any) -> Any:
    return NotImplemented if self.is_complex() or self.dim() < 2 else self.transpose(-2, -1)


@_rule("H.__get__")
def _adjoint(tell: Any, self: Tensor, *owner: Any) -> Any:
    return NotImplemented if self.is_complex() or self.dim() != 2 else self.transpose(-2, -1)


@_rule("data.__get__")
def _data(tell: Any, self: Tensor, *owner: Any) -> Tensor:
    return self.detach()


def _unseen(function: Any, *args: Any, **kwargs: Any) -> Any:
    """The result of an operation of the core that nobody is asked for."""
    return _core._resume(function, args, kwargs)


def _shaped(method: Any) -> Rule:
    """The rule of an operation whose result has the elements in another shape."""

    def rule(tell: Any, input: Tensor, *args: Any, **kwargs: Any) -> Any:
        form = _unseen(facula.empty_strided, input.shape, input.stride(), device="meta")
        size = _unseen(method, form, *args, **kwargs).shape
        try:
            _unseen(Tensor.view, form, size)
        except RuntimeError:
            copy = input.clone(memory_format=facula.contiguous_format)
            return tell(_aten("_unsafe_view"), copy, list(size))
        return input.view(size)

    return rule


RULES["reshape"], RULES["flatten"] = _shaped(Tensor.reshape), _shaped(Tensor.flatten)


@_rule("ravel")
def _ravel(tell: Any, input: Tensor) -> Tensor:
    return input.reshape(-1)


@_rule("narrow")
def _narrow(tell: Any, input: Tensor, dim: int, start: Any, length: int) -> Any:
    if isinstance(start, Tensor):
        return NotImplemented
    size = input.size(dim)
    if not (-size <= start <= size and length >= 0 and start + length <= size):
        return NotImplemented  # which says so
    first = start + size if start < 0 else start
    return tell(_aten("slice", "Tensor"), input, dim, first, first + length)


@_rule("view_as")
def _view_as(tell: Any, self: Tensor, other: Tensor) -> Tensor:
    return self.view(other.shape)


@_rule("reshape_as")
def _reshape_as(tell: Any, self: Tensor, other: Tensor) -> Tensor:
    return self.reshape(other.shape)


@_rule("expand_as")
def _expand_as(tell: Any, self: Tensor, other: Tensor) -> Tensor:
    return self.expand(other.shape)


@_rule("contiguous")
def _contiguous(tell: Any, self: Tensor, memory_format: Any = facula.contiguous_format) -> Tensor:
    if self.is_contiguous(memory_format=memory_format):
        return self
    return self.clone(memory_format=memory_format)


@_rule("chunk")
def _chunk(tell: Any, input: Tensor, chunks: int, dim: int = 0) -> Any:
    if chunks < 1 or input.size(dim) == 0:
        return NotImplemented
    return input.split(-(-input.size(dim) // chunks), dim)


@_rule("split")
def _split(
    tell: Any,
    tensor: Tensor,
    split_size_or_sections: Any = None,
    dim: int = 0,
    *,
    split_size: Any = None,  # what the method calls it
) -> Any:
    sizes = split_size if split_size_or_sections is None else split_size_or_sections
    if not isinstance(sizes, (tuple, list)):
        return NotImplemented
    return tell(_aten("split_with_sizes"), tensor, list(sizes), dim)


# ---- dtypes and devices


_DTYPES = {
    name: getattr(facula, name)
    for name in ("bfloat16", "bool", "double", "float", "half", "int", "long", "short")
}
_DTYPES |= {"byte": facula.uint8, "char": facula.int8}


def _cast(dtype: Any) -> Rule:
    return lambda tell, self, memory_format=None: _moved(tell, self, None, dtype, memory_format)


RULES.update({name: _cast(dtype) for name, dtype in _DTYPES.items()})


@_rule("cpu")
def _cpu(tell: Any, self: Tensor, memory_format: Any = None) -> Tensor:
    return _moved(tell, self, facula.device("cpu"), None, memory_format)


@_rule("type_as")
def _type_as(tell: Any, self: Tensor, other: Tensor) -> Tensor:
    return _moved(tell, self, other.device, other.dtype)


@_rule("to")
def _to(
    tell: Any,
    self: Tensor,
    *args: Any,
    device: Any = None,
    dtype: Any = None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: Any = None,
) -> Tensor:
    rest = []
    for value in args:
        if isinstance(value, Tensor):
            device, dtype = value.device, value.dtype
        elif isinstance(value, facula.dtype):
            dtype = value
        elif isinstance(value, bool):
            rest.append(value)
        elif value is not None:
            device = facula.device(value)
    non_blocking, copy = (*rest, *(non_blocking, copy)[len(rest) :])
    device = None if device is None else facula.device(device)
    return _moved(tell, self, device, dtype, memory_format, copy, non_blocking)


def _moved(
    tell: Any,
    self: Tensor,
    device: Any = None,
    dtype: Any = None,
    memory_format: Any = None,
    copy: bool = False,
    non_blocking: bool = False,
) -> Tensor:
    is_there = device is None or (
        device.type == self.device.type and device.index in (None, self.device.index)
    )
    is_same = dtype is None or dtype == self.dtype
    if is_there and is_same and not copy and memory_format in (None, facula.preserve_format):
        return self
    options: dict[str, Any] = {}
    if not is_same:
        options["dtype"] = dtype
    if not is_there:
        options["device"] = device
    if non_blocking:
        options["non_blocking"] = True
    if memory_format is not None:
        options["memory_format"] = memory_format
    return tell(_aten("_to_copy"), self, **options)  # type: ignore[no-any-return]


# ---- products


@_rule("linear", "_linear")
def _linear(tell: Any, input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Any:
    if weight.dim() != 2 or input.dim() == 0:
        return NotImplemented
    columns = weight.t()
    if bias is None:
        return facula.matmul(input, columns)
    if input.dim() == 2:
        return facula.addmm(bias, input, columns)
    if input.dim() == 1 or not input.is_contiguous():
        return facula.matmul(input, columns) + bias
    rows = input.view(math.prod(input.shape[:-1]), input.size(-1))
    return facula.addmm(bias, rows, columns).view(*input.shape[:-1], weight.size(0))


@_rule("matmul")
def _matmul(tell: Any, input: Tensor, other: Tensor) -> Any:
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
        return tell(_aten("_unsafe_view"), product, [*input.shape[:-1], *other.shape[1:]])
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
        tell: Any,
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
            batch = rule(tell, input.unsqueeze(0), weight, bias, stride, padding, dilation, groups)
            return batch.squeeze(0)
        return tell(
            *(_aten("convolution"), input, weight, bias, _each(stride, n), _each(padding, n)),
            *(steps, False, [0] * n, groups),
        )

    return rule


def _transposed_convolution(n: int) -> Rule:
    def rule(
        tell: Any,
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
            return rule(tell, input.unsqueeze(0), weight, bias, *options).squeeze(0)
        return tell(
            *(_aten("convolution"), input, weight, bias, _each(stride, n), _each(padding, n)),
            *(_each(dilation, n), True, _each(output_padding, n), groups),
        )

    return rule


for _n in (1, 2, 3):
    RULES[f"conv{_n}d"] = _convolution(_n)
    RULES[f"conv_transpose{_n}d"] = _transposed_convolution(_n)


@_rule("scaled_dot_product_attention")
def _attention(
    tell: Any,
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
    kernel = _aten("_scaled_dot_product_flash_attention_for_cpu")
    return tell(kernel, query, key, value, *causal, **given)[0]


# ---- networks


def _soft(name: str) -> Rule:
    def rule(tell: Any, input: Tensor, dim: int, dtype: Any = None) -> Any:
        converted = input if dtype is None else input.to(dtype)
        return tell(_aten(name), converted, dim, False)

    return rule


RULES["softmax"] = _soft("_softmax")
RULES["log_softmax"] = _soft("_log_softmax")


@_rule("dropout")
def _dropout(tell: Any, input: Tensor, p: float = 0.5, train: bool = True) -> Any:
    if not train or p == 0 or input.numel() == 0:
        return input
    if p == 1:
        return NotImplemented
    noise = facula.empty_like(input).bernoulli_(1 - p).div_(1 - p)
    return input * noise


@_rule("batch_norm")
def _batch_norm(
    tell: Any,
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
    return tell(_aten("native_batch_norm"), *tensors, training, momentum, eps)[0]


@_rule("layer_norm")
def _layer_norm(
    tell: Any,
    input: Tensor,
    normalized_shape: int | Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Any:
    shape = _each(normalized_shape, 1)
    return tell(_aten("native_layer_norm"), input, shape, weight, bias, eps)[0]


@_rule("group_norm")
def _group_norm(
    tell: Any,
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Any:
    n, channels = input.shape[:2]
    numbers = (n, channels, math.prod(input.shape[2:]), num_groups, eps)
    return tell(_aten("native_group_norm"), input, weight, bias, *numbers)[0]


@_rule("_cross_entropy")
def _cross_entropy(
    tell: Any,
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: int = 1,
    ignore_index: int = -100,
) -> Any:
    if input.dim() > 2 or input.dim() == 0:
        return NotImplemented
    logs = facula.log_softmax(input, input.dim() - 1)
    return tell(_aten("nll_loss_forward"), logs, target, weight, reduction, ignore_index)[0]


@_rule("_nll_loss")
def _nll_loss(
    tell: Any,
    input: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: int,
    ignore_index: int,
) -> Any:
    if input.dim() > 2 or input.dim() == 0:
        return NotImplemented
    return tell(_aten("nll_loss_forward"), input, target, weight, reduction, ignore_index)[0]


@_rule("_binary_cross_entropy")
def _binary_cross_entropy(tell: Any, input: Tensor, target: Tensor, reduction: int) -> Any:
    return tell(_aten("binary_cross_entropy"), input, target, None, reduction)


def _max_pool(n: int) -> Rule:
    def rule(
        tell: Any,
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
        return tell(_aten(f"max_pool{n}d_with_indices"), input, kernel, *options)[0]

    return rule


RULES["max_pool2d"] = _max_pool(2)
RULES["max_pool3d"] = _max_pool(3)


@_rule("_adaptive_avg_pool")
def _adaptive_avg_pool(tell: Any, input: Tensor, n: int, size: Sequence[int]) -> Any:
    if n == 1:
        return NotImplemented
    if all(length == 1 for length in size):
        return input.mean(list(range(-1, -n - 1, -1)), keepdim=True)
    return tell(_aten(f"_adaptive_avg_pool{n}d"), input, list(size))


# ---- statistics


def _spread(name: str) -> Rule:
    def rule(
        tell: Any, input: Tensor, dim: Any = None, unbiased: Any = None, *rest: Any, **kwargs: Any
    ) -> Any:
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        if rest or (unbiased is not None and "correction" in kwargs):
            return NotImplemented
        if unbiased is False:
            kwargs["correction"] = 0
        if kwargs.get("correction") == 1:
            del kwargs["correction"]
        if not kwargs.get("keepdim", True):
            del kwargs["keepdim"]
        dims = () if dim is None else ([dim] if isinstance(dim, int) else list(dim),)
        return tell(_aten(name, "correction"), input, *dims, **kwargs)

    return rule


for _name in ("std", "var", "std_mean", "var_mean"):
    RULES[_name] = _spread(_name)


@_rule("norm")
def _norm(
    tell: Any,
    input: Tensor,
    p: Any = "fro",
    dim: Any = None,
    keepdim: bool = False,
    dtype: Any = None,
) -> Any:
    if p == "nuc":
        return NotImplemented
    order = 2 if p in ("fro", None) else p
    return facula.linalg.vector_norm(input, order, dim, keepdim, dtype=dtype)


@_rule("_pad")
def _pad(tell: Any, input: Tensor, pad: Sequence[int], mode: str, value: float | None) -> Any:
    if mode != "constant":
        return NotImplemented
    return tell(_aten("constant_pad_nd"), input, list(pad), 0.0 if value is None else value)
