"""The rules of PyTorch 0.1 to 0.4 that contradict those of today, at the seam of all operations.

Note [Whose line]
Our own code is written for today's rules: a layer, an optimiser or a transform that computes in
Python must not find a number where it reduces a tensor. So most rules hold for operations that
the program itself calls, which is told by the file of the calling frame. What is known of a tensor
(whether it is a Variable) is carried through all operations.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

import facula
from facula import _core
from facula._core import Tensor
from facula._notes import note
from facula._transform import name_of, tensors_in
from facula.compat.era._variables import (
    is_element,
    is_variable,
    mark_element,
    mark_variable,
    unmarked,
    with_dimension,
)
from facula.overrides import TorchFunctionMode

_OURS = os.path.dirname(os.path.abspath(facula.__file__)) + os.sep
_READER = f"{_OURS}doctor{os.sep}_watch.py", "__get__"  # reads .data for the line that it watches
_Rule = Callable[["Call"], Any]


class Call:
    """An operation that is about to be done."""

    def __init__(
        self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], era: Era
    ) -> None:
        self.func = func
        self.args = list(args)
        self.kwargs = kwargs
        self.era = era

    def run(self) -> Any:
        """Do the operation with the arguments as they are now."""
        return self.func(*self.args, **self.kwargs)

    def get(self, place: int, name: str) -> Any:
        """An argument by its place or its name; None if it is not given."""
        return self.args[place] if len(self.args) > place else self.kwargs.get(name)

    def set(self, place: int, name: str, value: Any) -> None:
        """Give another value for an argument."""
        if len(self.args) > place:
            self.args[place] = value
        else:
            self.kwargs[name] = value


class Era(TorchFunctionMode):
    """The rules of one version.

    Args:
        version: the two first numbers of the version, such as ``(0, 3)``.
    """

    def __init__(self, version: tuple[int, int]) -> None:
        self.has_variables = version < (0, 4)  # apart from tensors
        self.keeps_dim = version < (0, 2)
        self.version = version

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: tuple[type, ...],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        name = name_of(func)
        call = Call(func, args, kwargs or {}, self)
        code = sys._getframe(1).f_code
        if (code.co_filename, code.co_name) == _READER:
            code = sys._getframe(2).f_code
        is_users = not code.co_filename.startswith(_OURS)
        rule = _RULES.get(name)
        if rule is not None:
            rule(call)
        if not is_users:
            return self._tracked(name, call, call.run())
        rule = _USERS_RULES.get(name)
        if self.has_variables and name not in _FOR_THE_TENSOR_ITSELF:
            call.args = [_with_dimensions(arg) for arg in call.args]
        result = call.run() if rule is None else rule(call)
        result = _as_bytes(result)
        if not self.has_variables:
            return result
        return self._as_it_was(name, call, self._tracked(name, call, result))

    def _tracked(self, name: str, call: Call, result: Any) -> Any:
        """The result, with its tensors marked if they are Variables."""
        if not self.has_variables or name == "data.__get__":
            return result
        tensors = list(tensors_in([result]))
        if tensors and (name == "grad.__get__" or any(map(is_variable, _inputs(call)))):
            for x in tensors:
                mark_variable(x)
        return result

    def _as_it_was(self, name: str, call: Call, result: Any) -> Any:
        """The result, with what has no dimension today in the form of then."""
        if isinstance(result, (tuple, list)) and any(
            isinstance(x, Tensor) and x.dim() == 0 for x in result
        ):
            return type(result)([self._as_it_was(name, call, x) for x in result])
        if not isinstance(result, Tensor) or result.dim() or name in _FOR_THE_TENSOR_ITSELF:
            return result
        inputs = list(_inputs(call))
        if not inputs or any(x is result for x in inputs):
            return result
        is_number = name in _GIVES_NUMBERS and not _has_dim(name, call)
        if is_variable(result) or not is_number:
            return with_dimension(result)
        if name != "__getitem__" or not is_element(inputs[0]):  # of that is told elsewhere
            note(
                "An element, or the sum, of a tensor is a Python number, as it was before 0.4. "
                "Today it is a tensor without dimensions: write .item() for the number."
            )
        return result.item()


def _inputs(call: Call) -> Iterator[Tensor]:
    return tensors_in((*call.args, *call.kwargs.values()))


def _with_dimensions(value: Any) -> Any:
    if isinstance(value, Tensor):
        return with_dimension(value) if value.dim() == 0 and is_variable(value) else value
    if isinstance(value, (list, tuple)) and any(isinstance(x, Tensor) for x in value):
        parts = [_with_dimensions(x) for x in value]
        return parts if isinstance(value, list) else tuple(parts)
    return value


def _as_bytes(result: Any) -> Any:
    """Masks as they were: of uint8, which can be computed with."""
    if not isinstance(result, Tensor) or result.dtype != _core.bool:
        return result
    mask = result.to(_core.uint8).contiguous()  # as results were, whatever the operands
    mask.__dict__["_is_mask"] = True
    return mask


# What asks for, or changes, the very tensor: a view with a dimension would not be it.
_FOR_THE_TENSOR_ITSELF = {
    "backward",
    "register_hook",
    "retain_grad",
    "requires_grad_",
    "detach_",
    "item",
    "tolist",
    "new",
    "type",
    "__repr__",
    "__format__",
    "__float__",
    "__int__",
    "__bool__",
    "__index__",
    "__complex__",
    "__setitem__",
    "__reduce_ex__",
    "__deepcopy__",
    "reinforce",
    *(f"{name}.__get__" for name in ("grad", "grad_fn", "creator", "volatile", "is_leaf")),
    *(f"{name}.__get__" for name in ("requires_grad", "is_cuda", "dtype", "device")),
    *(f"{name}.__set__" for name in ("grad", "volatile", "requires_grad", "data")),
}
_REDUCTIONS = {
    **dict.fromkeys(("sum", "mean", "prod", "max", "min", "std", "var", "median", "mode"), 1),
    **dict.fromkeys(("all", "any", "argmax", "argmin"), 1),
    **dict.fromkeys(("norm", "kthvalue"), 2),
}
_GIVES_NUMBERS = {*_REDUCTIONS, "dist", "dot", "trace", "__getitem__", "unbind"}


def _has_dim(name: str, call: Call) -> bool:
    place = _REDUCTIONS.get(name)
    return place is not None and isinstance(call.get(place, "dim"), int)


# ---- rules for all callers: what layers do


def _elementwise_loss(call: Call) -> None:
    """Losses compared elements in order, whatever the shapes; today they broadcast, or refuse."""
    input, target = call.get(0, "input"), call.get(1, "target")
    if not call.era.has_variables or not (isinstance(input, Tensor) and isinstance(target, Tensor)):
        return
    if input.shape != target.shape and input.numel() == target.numel():
        note(
            f"{call.func.__name__}: a target of shape {tuple(target.shape)} is compared with an "
            f"input of shape {tuple(input.shape)} element by element, as before 0.4. Write "
            "target.view_as(input)."
        )
        call.set(1, "target", target.view_as(input))


def _aligned_resize(call: Call) -> None:
    mode = call.get(3, "mode") or "nearest"
    if call.era.has_variables and mode.endswith("linear") and call.get(4, "align_corners") is None:
        _align(call, 4)


def _aligned_grid(place: int) -> _Rule:
    def rule(call: Call) -> None:
        if call.get(place, "align_corners") is None:
            _align(call, place)

    return rule


def _align(call: Call, place: int) -> None:
    note(
        f"{call.func.__name__}: the corners of images are aligned, as in the first versions. Write "
        "align_corners=True, or False for today's default."
    )
    call.set(place, "align_corners", True)


_LOSSES = [
    "mse_loss",
    "l1_loss",
    "smooth_l1_loss",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "soft_margin_loss",
    "kl_div",
]
_RULES: dict[str, _Rule] = {
    **dict.fromkeys(_LOSSES, _elementwise_loss),
    "interpolate": _aligned_resize,
    "upsample": _aligned_resize,
    "grid_sample": _aligned_grid(4),
    "affine_grid": _aligned_grid(2),
}


# ---- rules for the program's own lines


def _divide(call: Call) -> Any:
    """Integers divided by integers gave integers."""
    a, b = call.args[0], call.get(1, "other")
    if not (_is_whole(a) and _is_whole(b)) or call.kwargs.get("rounding_mode") is not None:
        return call.run()
    note(
        "Integers divided by integers give integers, as in the first versions. Write x // y, or "
        "x.div(y, rounding_mode='trunc')."
    )
    if call.func.__name__ == "__rtruediv__":
        return _core.div(_core.tensor(b, dtype=a.dtype), a, rounding_mode="trunc")
    call.kwargs["rounding_mode"] = "trunc"
    return call.run()


def _is_whole(x: Any) -> bool:
    if isinstance(x, Tensor):
        return not x.dtype.is_floating_point and not x.dtype.is_complex
    return isinstance(x, int)


def _invert(call: Call) -> Any:
    x = call.args[0]
    if x.dtype != _core.uint8:
        return call.run()
    note("~mask of uint8 is 1 - mask, as in the first versions. Use masks of bool.")
    return 1 - x


def _of_mask(call: Call) -> Any:
    """Arithmetic of what comparisons gave."""
    if any("_is_mask" in x.__dict__ for x in _inputs(call)):
        note(
            "A comparison gives a mask of uint8, which can be computed with, as in the first "
            "versions. Today it is of bool: write ~mask for 1 - mask, or mask.long()."
        )
    return call.run()


def _with_bool_mask(place: int, name: str) -> _Rule:
    def rule(call: Call) -> Any:
        mask = call.get(place, name)
        if isinstance(mask, Tensor) and mask.dtype == _core.uint8:
            if "_is_mask" not in mask.__dict__:
                note("A mask of uint8 is an older form. Use mask.bool().")
            call.set(place, name, mask.bool())
        return call.run()

    return rule


def _index(call: Call) -> Any:
    x, index = call.args
    if is_element(x) and index in (0, -1):
        note("Indexing a tensor of one element is an older form: write loss.item().")
        if x.dim() == 0:
            return x
    if isinstance(index, Tensor) and "_is_mask" in index.__dict__:
        call.args[1] = index.bool()
    elif isinstance(index, tuple):
        call.args[1] = tuple(
            i.bool() if isinstance(i, Tensor) and "_is_mask" in i.__dict__ else i for i in index
        )
    return call.run()


def _assign(call: Call) -> Any:
    index = call.args[1]
    if isinstance(index, Tensor) and index.dtype == _core.uint8:
        call.args[1] = index.bool()
    return call.run()


def _data(call: Call) -> Any:
    (x,) = call.args
    result = call.run()
    if is_element(x) and result.dim():
        mark_element(result)
    return result


def _float_range(call: Call) -> Any:
    if all(isinstance(x, int) for x in call.args) and not call.kwargs.keys() & {"dtype", "out"}:
        note("arange of ints is of the default dtype, as in the first versions. Write dtype=.")
        call.kwargs["dtype"] = _core.get_default_dtype()
    return call.run()


def _reduce(call: Call) -> Any:
    name = call.func.__name__
    place = _REDUCTIONS[name]
    has_dim = isinstance(call.get(place, "dim"), int)
    is_open = "keepdim" not in call.kwargs and len(call.args) <= place + 1
    if call.era.keeps_dim and has_dim and is_open and name not in ("all", "any"):
        note(
            f"{name}(dim) keeps the dimension, with size 1, as before 0.2. Write keepdim=True, or "
            "run with --era 0.3."
        )
        call.kwargs["keepdim"] = True
    return call.run()


def _backward(call: Call) -> Any:
    x, gradient = call.args[0], call.get(1, "gradient")
    if "_sampled" in x.__dict__:
        from facula.compat.era._stochastic import surrogate

        return surrogate(x).backward()
    if isinstance(gradient, Tensor) and gradient.shape != x.shape and gradient.numel() == x.numel():
        note("backward: a gradient of shape (1,) for a loss is an older form. Leave it out.")
        call.set(1, "gradient", gradient.view_as(x))
    return call.run()


def _view(call: Call) -> Any:
    """Results were contiguous, whatever their operands, so that every view of them was possible."""
    x = call.args[0]
    try:
        return call.run()
    except RuntimeError:
        if x.is_contiguous() or x._base is not None:
            raise
    note("view: the result of an operation is not contiguous today. Write reshape.")
    return x.reshape(*call.args[1:])


def _copy(call: Call) -> Any:
    """copy_ took any tensor of as many elements."""
    x, source = call.args[0], call.get(1, "src")
    if isinstance(source, Tensor) and source.numel() == x.numel() and source.shape != x.shape:
        note("copy_ of a tensor of another shape is an older form. Write source.view_as(x).")
        call.set(1, "src", source.reshape(x.shape))
    return call.run()


def _join(call: Call) -> Any:
    tensors = call.get(0, "tensors")
    if isinstance(tensors, (list, tuple)) and any(
        isinstance(x, Tensor) and is_element(x) for x in tensors
    ):
        note("cat of tensors of one element is an older form. Write torch.stack.")
    return call.run()


def _sample(call: Call) -> Any:
    if call.func.__name__ == "multinomial" and call.get(1, "num_samples") is None:
        call.kwargs["num_samples"] = 1
    result = call.run()
    if isinstance(result, Tensor) and any(x.requires_grad for x in _inputs(call)):
        result = result.detach()
        result.__dict__["_sampled"] = call.func.__name__, call.args, call.kwargs
        mark_variable(result)
    return result


def _reduce_ex(call: Call) -> Any:
    """A file keeps nothing of these rules."""
    x = call.args[0]
    attributes = dict(x.__dict__)
    x.__dict__.clear()
    x.__dict__.update(unmarked(attributes))
    try:
        return call.run()
    finally:
        x.__dict__.update(attributes)


_USERS_RULES: dict[str, _Rule] = {
    **dict.fromkeys(("div", "div_", "__rtruediv__"), _divide),
    **dict.fromkeys(("add", "sub", "__rsub__", "neg", "add_", "sub_"), _of_mask),
    **dict.fromkeys(_REDUCTIONS, _reduce),
    **dict.fromkeys(("masked_fill", "masked_fill_"), _with_bool_mask(1, "mask")),
    **dict.fromkeys(("masked_scatter", "masked_scatter_"), _with_bool_mask(1, "mask")),
    **dict.fromkeys(("masked_select", "masked_copy_"), _with_bool_mask(1, "mask")),
    **dict.fromkeys(("multinomial", "bernoulli", "normal"), _sample),
    "where": _with_bool_mask(0, "condition"),
    "__invert__": _invert,
    "__getitem__": _index,
    "__setitem__": _assign,
    "data.__get__": _data,
    "arange": _float_range,
    "backward": _backward,
    "copy_": _copy,
    "view": _view,
    "cat": _join,
    "__reduce_ex__": _reduce_ex,
}
