"""What asks for the form of a tensor, its history or its values, and the steps of derivatives."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

from facula import _core
from facula._core import Tensor
from facula._transform import name_of
from facula.func._batching._batch import RULES, Batch, always, example, rule

_Function = Callable[..., Any]

# Answered by one example, which has the form of all.
_FORM = """
    dim ndimension size stride numel nelement element_size is_contiguous get_device is_complex
    is_floating_point is_signed is_conj is_neg is_inference is_pinned is_same_size is_tensor
    result_type storage_offset _is_view __len__
    shape.__get__ dtype.__get__ device.__get__ ndim.__get__ itemsize.__get__ nbytes.__get__
    is_ipu.__get__ is_maia.__get__ is_mkldnn.__get__ is_mps.__get__ is_mtia.__get__
    is_nested.__get__ is_vulkan.__get__ is_xla.__get__ is_xpu.__get__
    is_cpu.__get__ is_cuda.__get__ is_meta.__get__ is_quantized.__get__ is_sparse.__get__
    layout.__get__ __dict__.__get__
"""


def of_one(batch: Batch, func: _Function, *args: Any, **kwargs: Any) -> Any:
    return func(*args, **kwargs)


for _name in _FORM.split():
    RULES[_name] = of_one


@rule("requires_grad.__get__", "is_leaf.__get__", "grad_fn.__get__", "_version.__get__",
      "_n_writes.__get__", "retains_grad.__get__", "output_nr.__get__", "grad.__get__",
      "_base.__get__", "requires_grad.__set__", "record_stream")  # fmt: skip
def of_all(batch: Batch, func: _Function, x: Tensor, *args: Any) -> Any:
    return batch.wrap_all(func(batch.lower(x), *args))


# ---- values, which are many

_ADVICE = {
    "item": "It looks like you're calling .item() on a Tensor. We don't support vmap over calling "
    ".item() on a Tensor: there is one value for every example. Use the tensor itself",
    "__bool__": "It looks like you're attempting to use a Tensor in some data-dependent control "
    "flow: an `if` or `while` cannot take one way for some examples and another for the rest. Use "
    "torch.where(condition, a, b) instead",
    "nonzero": "nonzero gives another number of elements for every example (data-dependent, a "
    "dynamic shape). Use torch.where(condition, a, b) with three arguments instead",
}
_ADVICE.update(dict.fromkeys(("__int__", "__float__", "__index__", "__complex__", "tolist", "numpy",
                              "__array__", "__dlpack__", "_to_dlpack", "_address", "data_ptr",
                              "storage", "untyped_storage", "_typed_storage", "share_memory_",
                              "__reduce_ex__"), _ADVICE["item"]))  # fmt: skip
_ADVICE.update(dict.fromkeys(("is_nonzero", "equal"), _ADVICE["__bool__"]))
_ADVICE.update(dict.fromkeys(("unique", "unique_consecutive", "_nms"), _ADVICE["nonzero"]))


@rule(*_ADVICE)
def refuse(batch: Batch, func: _Function, *args: Any, **kwargs: Any) -> Any:
    if batch.has_one_value(args):
        return func(*example(batch, args, 0), **kwargs)
    raise RuntimeError(f"vmap: {_ADVICE[name_of(func)]}.")


@rule("is_set_to")
def is_set_to(batch: Batch, func: _Function, x: Tensor, other: Tensor) -> Any:
    return func(batch.lower(x), batch.lower(other))


@rule("__repr__", "__format__")
def text(batch: Batch, func: _Function, x: Tensor, *args: Any) -> str:
    value = textwrap.indent(repr(batch.lower(x)), "    ")
    return f"BatchedTensor(lvl={batch.number}, bdim=0, value=\n{value}\n)"


@rule("__deepcopy__")
def deepcopy(batch: Batch, func: _Function, x: Tensor, memo: dict[int, Any]) -> Any:
    memo[id(x)] = copy = batch.wrap(func(batch.lower(x), memo))
    return copy


@rule("backward", "set_", "resize_", "resize_as_", "data.__set__", "grad.__set__", "_make_subclass",
      "_make_sparse", "register_hook", "register_post_accumulate_grad_hook")  # fmt: skip
def refuse_change(batch: Batch, func: _Function, *args: Any, **kwargs: Any) -> Any:
    raise RuntimeError(
        f"vmap: {name_of(func)} is not possible inside of vmap. Gradients inside of it are taken "
        "with func.grad, func.vjp or autograd.grad."
    )


# ---- where


_pointwise_where = RULES["where"]


@rule("where")
def where(batch: Batch, func: _Function, condition: Tensor, *args: Any, **kwargs: Any) -> Any:
    if not args and not kwargs:
        raise RuntimeError(f"vmap: {_ADVICE['nonzero']}.")
    return _pointwise_where(batch, func, condition, *args, **kwargs)


# ---- derivatives: examples know nothing of each other, so that the gradient of the sum over all of
# them holds the gradient of each


@always("own_copy")
def own_copy(batch: Batch, func: _Function, x: Tensor) -> Any:
    return batch.wrap(func(batch.all_of(x)))


@always("enter_level")
def enter_level(batch: Batch, func: _Function, x: Tensor) -> Any:
    # An input that the examples share has a gradient of its own in each of them.
    return batch.wrap(func(batch.all_of(x)))


@rule("leave_level")
def leave_level(batch: Batch, func: _Function, x: Tensor, leaves: list[Tensor] | None) -> Any:
    lowered = func(batch.lower(x), None if leaves is None else list(map(batch.lower, leaves)))
    return batch.wrap(lowered) if batch.has(x) else lowered


@rule("is_differentiated_outside")
def is_differentiated_outside(
    batch: Batch, func: _Function, x: Tensor, leaves: list[Tensor]
) -> Any:
    return func(batch.lower(x), list(map(batch.lower, leaves)))


@rule("_run_backward")
def run_backward(
    batch: Batch, func: _Function, roots: Any, grads: Any, retain: bool, create: bool, inputs: Any,
    allow_unused: bool, accumulate: bool,
) -> Any:  # fmt: skip
    if accumulate:
        return refuse_change(batch, _core.Tensor.backward)
    if not all(map(batch.has, inputs)):
        return _one_after_another(batch, func, roots, grads, retain, create, inputs, allow_unused)
    # What no example can be told apart in has no part in batched inputs.
    pairs = [(y, g) for y, g in zip(roots, grads, strict=True) if batch.has(y)]
    if not pairs:
        if allow_unused:
            return (None,) * len(inputs)
        pairs = list(zip(roots, grads, strict=True))
    seeds = [
        (_core.ones_like(batch.lower(y)) if y.dim() == 0 else None)
        if g is None
        else batch.all_of(g)
        for y, g in pairs
    ]
    physical = [batch.lower(y) for y, _ in pairs]
    found = func(
        physical, seeds, retain, create, [batch.lower(x) for x in inputs], allow_unused, False
    )
    return tuple(None if g is None else batch.wrap(g) for g in found)


def _one_after_another(
    batch: Batch, func: _Function, roots: Any, grads: Any, retain: bool, create: bool, inputs: Any,
    allow_unused: bool,
) -> Any:  # fmt: skip
    """Gradients by inputs that the examples share: a gradient for each example."""
    rows = []
    for i in range(batch.size):
        ys, gs = example(batch, (list(roots), list(grads)), i)
        keeps = retain or i < batch.size - 1
        found = func(ys, gs, keeps, create, list(map(batch.lower, inputs)), allow_unused, False)
        rows.append([
            g.select(0, i) if g is not None and batch.has(x) else g
            for x, g in zip(inputs, found, strict=True)
        ])  # fmt: skip
    if not rows:
        return tuple(batch.wrap(x.new_zeros(0, *x.shape)) for x in inputs)
    return tuple(
        None if column[0] is None else batch.wrap(_core.stack(column))
        for column in zip(*rows, strict=True)
    )


@rule("apply_function")
def apply_function(
    batch: Batch, func: _Function, function: Any, ctx: Any, args: Any, kwargs: Any
) -> Any:
    from facula.func import _custom  # which few need

    return _custom.batched(batch, function, ctx, args, kwargs)
