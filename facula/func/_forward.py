"""Forward mode: a level in which tensors carry tangents, and the rules that carry them on.

A rule comes from the kind of the operation: a linear one does to the tangent what it does to the
value; a product has two terms; for an operation on single elements the row's derivative is one
factor, the slope. Any other takes the tangent from its recorded derivative: that is linear in the
vector it is given, and its own derivative with respect to that vector is the product wanted.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from facula import _core
from facula._core import Tensor
from facula._ops.other import cdist
from facula._transform import (
    Transform,
    enter_level,
    map_tensors,
    name_of,
    own_copy,
    repeatable,
    tensors_in,
    with_usual_names,
)
from facula.autograd.grad_mode import _transform_grad
from facula.func import _forward_linalg
from facula.func._batching._batch import writes_to_first

_Function = Callable[..., Any]

RULES: dict[str, _Function] = {}

Tensor._tangents = None  # of a tensor that has some: by level


class Forward(Transform):
    """One level of forward mode."""

    is_dual_level = False  # one of autograd.forward_ad, whose functions find it by this

    def __init__(self) -> None:
        self._duals: list[weakref.ref[Tensor]] = []

    def close(self) -> None:
        """Take the tangents of this level from tensors that live on: nobody can ask for them."""
        for dual in self._duals:
            x = dual()
            if x is not None:
                self.set_tangent(x, None)

    def tangent(self, x: Any) -> Any:
        """The tangent of ``x`` at this level; None if it has none."""
        if not isinstance(x, Tensor):
            return None
        tangents = x._tangents
        return None if tangents is None else tangents.get(self)

    def set_tangent(self, x: Tensor, tangent: Tensor | None) -> None:
        """Give ``x`` the tangent, or take its tangent away."""
        if tangent is None:
            if x._tangents is not None:
                x._tangents.pop(self, None)
                if not x._tangents:
                    del x._tangents
            return
        if x._tangents is None:
            x._tangents = {}
        if self not in x._tangents:
            self._duals.append(weakref.ref(x))
        x._tangents[self] = tangent

    def dual(self, x: Tensor, tangent: Tensor) -> Tensor:
        """The value with this tangent."""
        y = x.view_as(x)
        self.set_tangent(y, tangent)
        return y

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: tuple[type, ...],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        named = kwargs or {}
        if all(self.tangent(x) is None for x in tensors_in((*args, *named.values()))):
            return func(*args, **named)
        name = name_of(func)
        rule = RULES.get(name)
        if rule is None:
            if name.startswith("__") and name.endswith("__.__get__"):
                rule = _plain
            elif writes_to_first(name):
                rule = _in_place
            elif name.endswith((".__get__", ".__set__")):
                rule = _plain
            else:
                rule = _by_backward
            RULES[name] = rule
        if named.get("out") is not None:
            raise RuntimeError(
                f"{name}: functions with out=... arguments don't support automatic "
                "differentiation, but one of the arguments has a tangent. Use the result."
            )
        return rule(self, func, *with_usual_names(args, named), **named)

    def lower(self, value: Any) -> Any:
        """The tangent of each tensor in the value, zeros where there is none."""
        return map_tensors(self.tangent_or_zeros, value)

    def tangent_or_zeros(self, x: Tensor) -> Tensor:
        """The tangent, or zeros like ``x``."""
        tangent = self.tangent(x)
        return _core.zeros_like(x) if tangent is None else tangent


def _rule(*names: str) -> Callable[[_Function], _Function]:
    def mark(function: _Function) -> _Function:
        for name in names:
            RULES[name] = function
        return function

    return mark


def _is_differentiable(y: Tensor) -> bool:
    return bool(y.is_floating_point() or y.is_complex())


def _with_tangents(level: Forward, result: Any, tangents: Any) -> Any:
    for y, t in zip(tensors_in((result,)), tensors_in((tangents,)), strict=True):
        if _is_differentiable(y):
            level.set_tangent(y, t)
    return result


# ---- no tangent

_PLAIN = """
    detach data.__get__ zeros_like ones_like empty_like full_like rand_like randn_like randint_like
    dim ndimension size stride numel nelement element_size is_contiguous get_device is_complex
    is_floating_point is_signed is_conj is_neg is_inference is_pinned is_same_size is_tensor
    result_type storage_offset _is_view __len__ item __bool__ __float__ __int__ __index__ tolist
    equal is_nonzero argmax argmin argsort sign floor ceil trunc round new_zeros new_ones new_empty
    new_full new_tensor isnan isinf isfinite eq ne lt le gt ge __eq__ __ne__ __lt__ __le__ __gt__
    __ge__ requires_grad_ retain_grad data_ptr untyped_storage
"""


def _plain(level: Forward, func: _Function, *args: Any, **kwargs: Any) -> Any:
    return func(*args, **kwargs)


RULES.update(dict.fromkeys(_PLAIN.split(), _plain))


@_rule("detach_")
def _detach_in_place(level: Forward, func: _Function, x: Tensor) -> Any:
    func(x)
    level.set_tangent(x, None)
    return x


# ---- linear operations of one tensor

_LINEAR = """
    view reshape view_as reshape_as expand expand_as broadcast_to permute transpose swapaxes
    swapdims t T.__get__ mT.__get__ H.__get__ mH.__get__ adjoint movedim moveaxis flatten squeeze
    unsqueeze select narrow split split_with_sizes chunk unbind unsafe_chunk unsafe_split
    unsafe_split_with_sizes unfold diagonal diag tril triu flip roll repeat tile __getitem__ gather
    index_select take take_along_dim sum mean cumsum sum_to_size neg negative __neg__ positive
    __pos__ clone contiguous to type_as bfloat16 double float half cpu cuda real imag real.__get__
    imag.__get__ conj conj_physical resolve_conj resolve_neg view_as_real view_as_complex _conj
    _neg_view
    pixel_shuffle pixel_unshuffle channel_shuffle native_channel_shuffle avg_pool1d _avg_pool2d
    avg_pool2d _avg_pool3d avg_pool3d adaptive_avg_pool1d _adaptive_avg_pool _im2col _col2im
    _resample _max_unpool deg2rad rad2deg as_strided _fft_complex _fft_to_half
    _fft_from_half
"""


def _linear(level: Forward, func: _Function, x: Tensor, *args: Any, **kwargs: Any) -> Any:
    if level.tangent(x) is None:  # another argument has one, which counts for its form at most
        return func(x, *args, **kwargs)
    result = func(x, *args, **kwargs)
    return _with_tangents(level, result, func(level.tangent(x), *args, **kwargs))


RULES.update(dict.fromkeys(_LINEAR.split(), _linear))


@_rule("constant_pad_nd")
def _pad_with(level: Forward, func: _Function, x: Tensor, pad: Any, value: Any = 0) -> Any:
    return _with_tangents(level, func(x, pad, value), func(level.tangent(x), pad, 0))


@_rule("_pad")
def _pad(level: Forward, func: _Function, x: Tensor, pad: Any, mode: str, value: Any) -> Any:
    no_value = 0.0 if mode == "constant" else value
    tangent = func(level.tangent(x), pad, mode, no_value)
    return _with_tangents(level, func(x, pad, mode, value), tangent)


@_rule("cat", "concat", "concatenate", "stack")
def _join(level: Forward, func: _Function, tensors: Any, *args: Any, **kwargs: Any) -> Any:
    result = func(tensors, *args, **kwargs)
    return _with_tangents(level, result, func(level.lower(list(tensors)), *args, **kwargs))


@_rule("where")
def _where(level: Forward, func: _Function, *args: Any, **kwargs: Any) -> Any:
    given = (*args, *kwargs.values())
    if len(given) == 1:
        return func(*given)
    y = func(*given)
    a, condition, b = given if func is Tensor.where else (given[1], given[0], given[2])
    ta, tb = (0 if (t := level.tangent(x)) is None else t for x in (a, b))
    return _with_tangents(level, y, _core.where(condition, ta, tb).to(y.dtype))


# ---- sums and products


def _sum_of(y: Tensor, terms: list[Any]) -> Any:
    """The terms that are there, added and in the form of the result."""
    present = [t for t in terms if t is not None]
    if not present:
        return None
    total = present[0]
    for term in present[1:]:
        total = total + term
    if total.dtype is not y.dtype:
        total = total.to(y.dtype)
    return total if total.shape == y.shape else total.expand(y.shape)


@_rule("add", "sub", "subtract", "__add__", "__radd__", "__sub__", "__rsub__", "rsub")
def _add(level: Forward, func: _Function, a: Any, other: Any, *, alpha: Any = 1) -> Any:
    b = other
    y = func(a, b, alpha=alpha) if alpha != 1 else func(a, b)
    name = func.__name__
    sign_a = -alpha if name in ("rsub", "__rsub__") else 1
    sign_b = -alpha if name in ("sub", "subtract", "__sub__") else alpha
    if name in ("rsub", "__rsub__"):
        sign_b = 1
    terms = [
        t if t is None or sign == 1 else sign * t
        for t, sign in ((level.tangent(a), sign_a), (level.tangent(b), sign_b))
    ]
    level.set_tangent(y, _sum_of(y, terms))
    return y


@_rule("mul", "multiply", "__mul__", "__rmul__", "matmul", "__matmul__", "__rmatmul__", "mm", "bmm",
       "mv", "dot", "outer", "ger")  # fmt: skip
def _product(level: Forward, func: _Function, a: Any, *args: Any, **kwargs: Any) -> Any:
    b = args[0] if args else next(iter(kwargs.values()))
    y = func(a, b)
    ta, tb = level.tangent(a), level.tangent(b)
    terms = [None if ta is None else func(ta, b), None if tb is None else func(a, tb)]
    level.set_tangent(y, _sum_of(y, terms))
    return y


@_rule("linear")
def _affine(level: Forward, func: _Function, x: Tensor, weight: Tensor, bias: Any = None) -> Any:
    y = func(x, weight, bias)
    tx, tw = level.tangent(x), level.tangent(weight)
    terms = [
        None if tx is None else func(tx, weight),
        None if tw is None else func(x, tw),
        level.tangent(bias),
    ]
    level.set_tangent(y, _sum_of(y, terms))
    return y


@_rule("conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
def _conv(
    level: Forward, func: _Function, x: Tensor, weight: Tensor, bias: Any = None, *args: Any,
    **kwargs: Any,
) -> Any:  # fmt: skip
    y = func(x, weight, bias, *args, **kwargs)
    tx, tw, tb = level.tangent(x), level.tangent(weight), level.tangent(bias)
    terms = [
        None if tx is None else func(tx, weight, None, *args, **kwargs),
        None if tw is None else func(x, tw, None, *args, **kwargs),
        None if tb is None else tb.reshape(-1, *(1,) * (int(weight.dim()) - 2)),
    ]
    level.set_tangent(y, _sum_of(y, terms))
    return y


# ---- softmax, whose Jacobian is symmetric


@_rule("softmax", "log_softmax")
def _softmax(
    level: Forward, func: _Function, x: Tensor, dim: int, *args: Any, **kwargs: Any
) -> Any:
    y = func(x, dim, *args, **kwargs)
    t = level.tangent(x)
    t = t if t.dtype is y.dtype else t.to(y.dtype)
    if func.__name__ == "softmax":
        level.set_tangent(y, y * (t - (y * t).sum(dim, keepdim=True)))
    else:
        level.set_tangent(y, t - (y.exp() * t).sum(dim, keepdim=True))
    return y


# ---- operations on single elements: the derivative of the row is one factor


def _slope(level: Forward, func: _Function, *args: Any, **kwargs: Any) -> Any:
    y = func(*args, **kwargs)
    if not isinstance(y, Tensor) or not y.is_floating_point():
        return _by_backward(level, func, *args, **kwargs)
    values = [*args, *kwargs.values()]
    places = [i for i, x in enumerate(values) if level.tangent(x) is not None]
    tangents = [level.tangent(values[i]) for i in places]
    if any(x.is_complex() for x in tensors_in(values)):
        return _by_backward(level, func, *args, **kwargs)
    is_recorded = _core.is_grad_enabled()
    create = is_recorded and any(x.requires_grad for x in tensors_in(values))
    with _transform_grad():
        inputs = []
        for i in places:
            x = values[i] if values[i].shape == y.shape else values[i].expand(y.shape)
            # A view, which keeps the tangents of levels further out.
            x = x.view_as(x)
            values[i] = x if x.requires_grad else x.requires_grad_()
            inputs.append(values[i])
        named = dict(zip(kwargs, values[len(args) :], strict=True))
        again = func(*values[: len(args)], **named)
        if not again.requires_grad:
            return y
        slopes = _core._run_backward(
            [again], [_core.ones_like(again)], True, create, inputs, True, False
        )
    terms = [None if s is None else s * t for s, t in zip(slopes, tangents, strict=True)]
    level.set_tangent(y, _sum_of(y, terms))
    return y


_ELEMENTWISE = """
    absolute abs __abs__ arccos arccosh arcsin arcsinh arctan arctan2 arctanh clamp clamp_max
    clamp_min clip copysign div divide true_divide __truediv__ __rtruediv__ __pow__ __rpow__ pow
    lerp logit nan_to_num polygamma square special_polygamma
"""


def _add_rows() -> None:
    for table, name in _core._rows():
        if table in ("unary", "binary", "ternary", "activation"):
            RULES.setdefault(name, _slope)
    for name in _ELEMENTWISE.split():
        RULES.setdefault(name, _slope)


_add_rows()


# ---- factorisations


@_rule("_linalg_cholesky_ex")
def _cholesky(level: Forward, func: _Function, a: Tensor, upper: bool, *args: Any) -> Any:
    factor, *rest = func(a, upper, *args)
    level.set_tangent(factor, _forward_linalg.of_cholesky(factor, level.tangent(a), upper))
    return (factor, *rest)


@_rule("_linalg_eigh")
def _eigh(level: Forward, func: _Function, a: Tensor, uplo: str, compute_v: bool) -> Any:
    values, vectors = func(a, uplo, True)
    tangents = _forward_linalg.of_eigh(values, vectors, level.tangent(a))
    return _with_tangents(level, (values, vectors), tangents)


@_rule("_linalg_eig")
def _eig(level: Forward, func: _Function, a: Tensor, compute_v: bool) -> Any:
    values, vectors = func(a, True)
    tangents = _forward_linalg.of_eig(values, vectors, level.tangent(a))
    return _with_tangents(level, (values, vectors), tangents)


@_rule("_linalg_svd")
def _svd(level: Forward, func: _Function, a: Tensor, full_matrices: bool, compute_uv: bool) -> Any:
    u, values, vh = func(a, full_matrices and compute_uv, True)
    n = int(values.shape[-1])
    tangents = _forward_linalg.of_svd(u[..., :n], values, vh[..., :n, :], level.tangent(a))
    # Vectors that belong to no value have no tangent.
    of_u = _core.constant_pad_nd(tangents[0], (0, int(u.shape[-1]) - n))
    of_vh = _core.constant_pad_nd(tangents[2], (0, 0, 0, int(vh.shape[-2]) - n))
    return _with_tangents(level, (u, values, vh), (of_u, tangents[1], of_vh))


# ---- anything else


def _by_backward(level: Forward, func: _Function, *args: Any, **kwargs: Any) -> Any:
    func = repeatable(func)
    result = func(*args, **kwargs)
    outputs = [y for y in tensors_in((result,)) if _is_differentiable(y)]
    if not outputs:
        return result
    for y, t in zip(outputs, _pushed_forward(level, func, args, kwargs), strict=True):
        level.set_tangent(y, t)
    return result


@_rule("_row_distances")
def _row_distances(level: Forward, func: _Function, x1: Tensor, x2: Tensor, p: float) -> Any:
    # Of examples of a vmap, in whose function the tangents cannot be seen.
    return _by_backward(level, cdist, x1, x2, p, "donot_use_mm_for_euclid_dist")


def _pushed_forward(
    level: Forward, func: _Function, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> list[Tensor | None]:
    """The tangents of what ``func`` returns, from its derivative differentiated once more."""
    is_recorded = _core.is_grad_enabled()
    inputs: list[Tensor] = []
    tangents: list[Tensor] = []

    def enter(x: Tensor) -> Tensor:
        t = level.tangent(x)
        if t is None:
            return x
        # Entered, and not only viewed: a vmap further out may have a tangent for each example.
        inside = enter_level(x)
        inputs.append(inside)
        tangents.append(t)
        return inside

    everything = (*args, *kwargs.values())
    create = is_recorded and any(x.requires_grad for x in tensors_in(everything))
    create = create or (is_recorded and any(t.requires_grad for t in tangents))
    with _transform_grad():
        inside = map_tensors(enter, everything)
        named = dict(zip(kwargs, inside[len(args) :], strict=True))
        again = func(*inside[: len(args)], **named)
        outputs = [y for y in tensors_in((again,)) if _is_differentiable(y)]
        found: list[Tensor | None] = [None] * len(outputs)
        places = [i for i, y in enumerate(outputs) if y.requires_grad]
        if not places:
            return found
        # The gradient is linear in the probes, so that its derivative is the same at any of them.
        probes = [enter_level(_core.ones_like(outputs[i])) for i in places]
        grads = _core._run_backward(
            [outputs[i] for i in places], probes, True, True, inputs, True, False
        )
        pairs = [
            (g, t)
            for g, t in zip(grads, tangents, strict=True)
            if g is not None and g.requires_grad
        ]
        if not pairs:
            return found
        pushed = _core._run_backward(
            [g for g, _ in pairs], [t for _, t in pairs], True, create, probes, True, False
        )
    for i, t in zip(places, pushed, strict=True):
        found[i] = t
    return found


# ---- in place: the tangent of what is written, into the tangent of what is written to


def _in_place(level: Forward, func: _Function, x: Tensor, *args: Any, **kwargs: Any) -> Any:
    name = name_of(func)
    functional = (
        _FUNCTIONAL.get(name) or getattr(Tensor, name[:-1], None) or getattr(_core, name[:-1])
    )
    with level:  # the form that returns a new tensor, by its own rule
        as_new = functional(_copy(level, x), *args, **kwargs)
    tangent = level.tangent(as_new)
    if tangent is None and level.tangent(x) is not None:
        tangent = _core.zeros_like(x)
    result = func(x, *args, **kwargs)
    _write(level, x, tangent)
    return result


def _copy(level: Forward, x: Tensor) -> Tensor:
    y = x.clone()
    level.set_tangent(y, level.tangent(x))
    return y


def _write(level: Forward, x: Tensor, tangent: Tensor | None) -> None:
    base = x._base if x._is_view() else None
    if base is None:
        level.set_tangent(x, _with_history_of(level.tangent(x), tangent))
        return
    # A view is a part of its base: so is its tangent.
    place = (x.shape, x.stride(), x.storage_offset() - base.storage_offset())
    whole = own_copy(level.tangent_or_zeros(base))
    whole.as_strided(*place).copy_(0 if tangent is None else tangent)
    whole = _with_history_of(level.tangent(base), whole)
    level.set_tangent(base, whole)
    level.set_tangent(x, whole.as_strided(*place))


def _with_history_of(before: Tensor | None, now: Any) -> Any:
    """The tangent of what was written without a record: as x itself, it keeps its history."""
    if before is None or now is None or _core.is_grad_enabled() or not before.requires_grad:
        return now
    with _transform_grad():
        return before + (now - before).detach()


def _slot(name: str) -> _Function:
    return lambda x, other: getattr(x, name)(other)


_FUNCTIONAL: dict[str, _Function] = {
    f"__i{name}__": _slot(f"__{name}__")
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor")
}
_FUNCTIONAL["copy_"] = lambda x, other, non_blocking=False: (x * 0).detach() + other
_FUNCTIONAL["zero_"] = lambda x: _core.zeros_like(x)
_FUNCTIONAL["fill_"] = lambda x, value: _core.zeros_like(x) + value


@_rule("__setitem__")
def _setitem(level: Forward, func: _Function, x: Tensor, index: Any, value: Any) -> Any:
    func(x, index, value)
    tangent = own_copy(level.tangent_or_zeros(x))
    t = level.tangent(value)
    tangent[index] = 0 if t is None else t
    _write(level, x, tangent)


# ---- the steps of other transforms


@_rule("enter_level")
def _enter_level(level: Forward, func: _Function, x: Tensor) -> Any:
    y = func(x)
    level.set_tangent(y, level.tangent(x))
    return y


@_rule("leave_level")
def _leave_level(level: Forward, func: _Function, x: Tensor, leaves: list[Tensor] | None) -> Any:
    y = func(x, leaves)
    t = level.tangent(x)
    if t is not None:
        level.set_tangent(y, func(t, leaves))
    return y


@_rule("is_differentiated_outside")
def _is_differentiated_outside(
    level: Forward, func: _Function, x: Tensor, leaves: list[Tensor]
) -> bool:
    t = level.tangent(x)
    return bool(func(x, leaves)) or (t is not None and bool(func(t, leaves)))


@_rule("_run_backward")
def _run_backward(
    level: Forward, func: _Function, roots: Any, grads: Any, retain: bool, create: bool,
    inputs: Any, allow_unused: bool, accumulate: bool,
) -> Any:  # fmt: skip
    # The tangent of a gradient is the gradient of the tangent: derivatives by the inputs and along
    # the tangents may be taken in either order.
    found = func(roots, grads, True, create, inputs, allow_unused, accumulate)
    if accumulate:
        return found
    more_roots, seeds = [], []
    for y, g in zip(roots, grads, strict=True):
        seed = _core.ones_like(y) if g is None else g
        t = level.tangent(y)
        if t is not None and t.requires_grad:
            more_roots.append(t)
            seeds.append(seed)
        if g is not None and level.tangent(g) is not None and y.requires_grad:
            more_roots.append(y)
            seeds.append(level.tangent(g))
    if more_roots:
        tangents = func(more_roots, seeds, True, create, inputs, True, False)
        for g, t in zip(found, tangents, strict=True):
            if g is not None and t is not None:
                level.set_tangent(g, t)
    return found


@_rule("apply_function")
def _apply_function(
    level: Forward, func: _Function, function: Any, ctx: Any, args: Any, kwargs: Any
) -> Any:
    if function.jvp is _no_jvp():
        return _by_backward(level, lambda *a: function.apply(*a, **kwargs), *args)
    result = func(function, ctx, args, kwargs)
    ctx._shown = ctx._saved_for_forward
    try:
        tangents = function.jvp(ctx, *(level.tangent(a) for a in args))
    finally:
        ctx._shown = None
    outputs = result if isinstance(result, tuple) else (result,)
    given = tangents if isinstance(tangents, tuple) else (tangents,)
    if len(given) != len(outputs):
        raise RuntimeError(
            f"{function.__name__}.jvp: expected {len(outputs)} tangents, one for each output of "
            f"forward, got {len(given)}."
        )
    for y, t in zip(outputs, given, strict=True):
        if isinstance(y, Tensor) and t is not None:
            if t.shape != y.shape:
                raise RuntimeError(
                    f"{function.__name__}.jvp: expected a tangent of shape {tuple(y.shape)}, as "
                    f"the output has, got {tuple(t.shape)}."
                )
            level.set_tangent(y, t)
    return result


def _no_jvp() -> Any:
    from facula.autograd.function import Function

    return Function.jvp
