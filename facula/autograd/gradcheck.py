"""Analytic gradients against finite differences.

Complex tensors count as pairs of reals: both sides become real Jacobians, with one row for each
real component of the outputs and one column for each of the inputs.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from facula import _core
from facula._core import Tensor
from facula._ops import allclose
from facula._warnings import warn_user
from facula.autograd._backward import grad
from facula.autograd.function import Function

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]

_Func = Callable[..., Any]


class GradcheckError(RuntimeError):
    """Raised by ``gradcheck`` and ``gradgradcheck`` when a gradient is wrong.

    Example:
        >>> from facula.autograd import GradcheckError, gradcheck
        >>> x = facula.tensor(2.0, dtype=facula.float64, requires_grad=True)
        >>> try:
        ...     gradcheck(lambda x: x.detach() * x, (x,))
        ... except GradcheckError:
        ...     print("wrong")
        wrong
    """


def gradcheck(
    func: _Func,
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Compare the gradients of ``func`` with finite differences.

    Args:
        func: a function that takes tensors and returns a tensor or a tuple of tensors.
        inputs: the arguments; those that require grad are checked and should be double precision.
        eps: half the distance of the two points of a finite difference.
        atol: the absolute tolerance.
        rtol: the relative tolerance.
        raise_exception: whether a mismatch is an exception, rather than the result False.
        nondet_tol: the difference that two runs of the same backward may have.
        check_undefined_grad: whether missing output gradients must also count as zeros.
        check_grad_dtypes: whether gradients must also have the dtype of their inputs.
        check_batched_grad: whether a batch of output gradients is also compared with single ones.
        check_batched_forward_grad: whether a batch of tangents is also compared with single ones.
        check_forward_ad: whether the tangents of forward mode are compared too.
        check_backward_ad: whether the gradients of backward are compared.
        fast_mode: whether one random projection is compared instead of whole Jacobians.
        masked: accepted for compatibility; it concerns sparse inputs only.

    Returns:
        True if all agree.

    Example:
        >>> x = facula.rand(3, dtype=facula.float64, requires_grad=True)
        >>> facula.autograd.gradcheck(lambda x: x.sin().sum(), (x,))
        True
    """
    if not check_forward_ad and not check_backward_ad:
        raise ValueError("gradcheck: expected check_forward_ad or check_backward_ad to be True.")
    if check_batched_forward_grad and not check_forward_ad:
        raise ValueError("gradcheck: check_batched_forward_grad=True needs check_forward_ad=True.")
    if check_batched_grad and not check_backward_ad:
        raise ValueError("gradcheck: check_batched_grad=True needs check_backward_ad=True.")
    # Only GradcheckError is an answer: arguments that cannot be checked raise in any case.
    try:
        args = _as_tuple(inputs)
        checked = _differentiable_inputs(args)
        outputs = _differentiable_outputs(func(*args))
        if not outputs:
            _check_constant(func, args, checked, eps, atol)
            return True
        if check_forward_ad:
            _check_forward(func, args, checked, eps, atol, rtol, fast_mode)
        if check_batched_forward_grad:
            _check_batched_forward(func, args, checked, atol, rtol)
        if not check_backward_ad:
            return True
        if fast_mode:
            _check_projection(func, args, checked, outputs, eps, atol, rtol)
        else:
            _check_jacobians(func, args, checked, outputs, eps, atol, rtol)
        _check_determinism(func, args, checked, nondet_tol)
        if check_grad_dtypes:
            _check_dtypes(outputs, checked)
        if check_undefined_grad:
            _check_undefined(func, args, checked)
        if check_batched_grad:
            _check_batched(outputs, checked, atol, rtol)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: _Func,
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Compare the gradients of the gradients of ``func`` with finite differences.

    Args:
        func: a function that takes tensors and returns a tensor or a tuple of tensors.
        inputs: the arguments; those that require grad are checked and should be double precision.
        grad_outputs: gradients of the outputs at which to check; random by default.
        eps: half the distance of the two points of a finite difference.
        atol: the absolute tolerance.
        rtol: the relative tolerance.
        gen_non_contig_grad_outputs: whether the random gradients are made non-contiguous.
        raise_exception: whether a mismatch is an exception, rather than the result False.
        nondet_tol: the difference that two runs of the same backward may have.
        check_undefined_grad: whether missing output gradients must also count as zeros.
        check_grad_dtypes: whether gradients must also have the dtype of their inputs.
        check_batched_grad: whether a batch of output gradients is also compared with single ones.
        check_fwd_over_rev: whether the tangents of the gradients are compared too.
        check_rev_over_rev: whether the gradients of the gradients are compared.
        fast_mode: whether one random projection is compared instead of whole Jacobians.
        masked: accepted for compatibility; it concerns sparse inputs only.

    Example:
        >>> x = facula.rand(3, dtype=facula.float64, requires_grad=True)
        >>> facula.autograd.gradgradcheck(lambda x: x.sin().sum(), (x,))
        True
    """
    args = _as_tuple(inputs)
    if grad_outputs is None:
        outputs = _differentiable_outputs(func(*args))
        seeds = tuple(_random_seed(o, gen_non_contig_grad_outputs) for o in outputs)
    else:
        seeds = _as_tuple(grad_outputs)
    n_seeds = len(seeds)

    # The first derivative as a function of the inputs and of the output gradients: a double
    # backward has derivatives with respect to both.
    def gradient(*both: Any) -> tuple[Tensor, ...]:
        own = both[: len(both) - n_seeds]
        outputs = _differentiable_outputs(func(*own))
        wanted = [x for x in own if isinstance(x, Tensor) and x.requires_grad]
        grads = grad(
            outputs, wanted, both[len(both) - n_seeds :], create_graph=True, allow_unused=True
        )
        return tuple(g for g in grads if g is not None)

    return gradcheck(
        gradient,
        args + seeds,
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
        masked=masked,
    )


def _random_seed(output: Tensor, is_non_contiguous: bool) -> Tensor:
    seed = _core.randn_like(output.detach())
    if is_non_contiguous and seed.dim() > 0:
        seed = _core.stack([seed, seed], -1).select(-1, 0)  # every other element
    return seed.requires_grad_()


def _random_like(tensor: Tensor, generator: _core.Generator) -> Tensor:
    """Numbers of a generator of our own: a check leaves those of the program as they are."""
    return _core.randn(tensor.shape, dtype=tensor.dtype, generator=generator).to(tensor.device)


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _differentiable_inputs(args: tuple[Any, ...]) -> list[Tensor]:
    checked = [a for a in args if isinstance(a, Tensor) and a.requires_grad]
    if not checked:
        raise ValueError("gradcheck: expected at least one input that requires grad.")
    for index, x in enumerate(checked):
        if x.dtype not in (_core.float64, _core.complex128):
            warn_user(
                f"gradcheck: input {index} is {x.dtype}; finite differences are too coarse for "
                "it. Use float64 or complex128.",
            )
        if any(stride == 0 and size > 1 for stride, size in zip(x.stride(), x.shape, strict=True)):
            raise RuntimeError(
                f"gradcheck: input {index} is expanded, so changing one element changes several. "
                "Pass x.contiguous()."
            )
        x.retain_grad()
    return checked


def _differentiable_outputs(result: Any) -> tuple[Tensor, ...]:
    return tuple(o for o in _as_tuple(result) if isinstance(o, Tensor) and o.requires_grad)


def _real_parts(tensor: Tensor) -> Tensor:
    """All real components in one vector."""
    tensor = tensor.detach()
    if tensor.is_complex():
        tensor = _core.view_as_real(tensor.resolve_conj())
    return tensor.reshape(-1)


def _run(func: _Func, args: tuple[Any, ...], selects: Callable[[Any], tuple[Tensor, ...]]) -> Any:
    # Clones, since an output may be a view of the input, which the next step overwrites.
    return [_real_parts(o).clone() for o in selects(func(*args))]


def _float_outputs(result: Any) -> tuple[Tensor, ...]:
    return tuple(
        o
        for o in _as_tuple(result)
        if isinstance(o, Tensor) and (o.is_floating_point() or o.is_complex())
    )


def _numeric_columns(
    func: _Func,
    args: tuple[Any, ...],
    x: Tensor,
    eps: float,
    selects: Callable[[Any], tuple[Tensor, ...]],
) -> list[list[Tensor]]:
    """For every real component of ``x`` the derivative of all selected outputs."""
    data = x.data  # its version is its own, so that the graphs made before stay valid
    steps = [eps, eps * 1j] if x.is_complex() else [eps]
    # Central differences: their error is of the order of eps², not eps. The value is restored from
    # a copy, because adding and subtracting a step need not give it back.
    columns = []
    for position in itertools.product(*map(range, x.shape)):
        element = data[position]
        original = element.clone()
        for step in steps:
            element.copy_(original + step)
            above = _run(func, args, selects)
            element.copy_(original - step)
            below = _run(func, args, selects)
            element.copy_(original)
            columns.append([(a - b) / (2 * eps) for a, b in zip(above, below, strict=True)])
    return columns


def _analytic_rows(output: Tensor, inputs: Sequence[Tensor]) -> list[list[Tensor]]:
    """For every real component of the output its gradient with respect to all inputs."""
    # A seed of 1 gives the derivatives of the real part, one of 1j those of the imaginary part.
    units = [1, 1j] if output.is_complex() else [1]
    rows = []
    for position in itertools.product(*map(range, output.shape)):
        for unit in units:
            seed = _core.zeros_like(output)
            seed[position] = unit
            grads = grad(output, inputs, seed, retain_graph=True, allow_unused=True)
            rows.append([_gradient_vector(g, x) for g, x in zip(grads, inputs, strict=True)])
    return rows


def _gradient_vector(g: Tensor | None, x: Tensor) -> Tensor:
    if g is None:  # an input without influence, whose column must be zeros in the numbers, too
        g = _core.zeros_like(x)
    if g.shape != x.shape:
        raise GradcheckError(
            f"gradcheck: the gradient has shape {tuple(g.shape)}, its input {tuple(x.shape)}."
        )
    if g.is_complex() and not x.is_complex():
        raise GradcheckError("gradcheck: the gradient of a real input is complex.")
    return _real_parts(g.to(x.dtype))


def _check_jacobians(
    func: _Func,
    args: tuple[Any, ...],
    inputs: list[Tensor],
    outputs: tuple[Tensor, ...],
    eps: float,
    atol: float,
    rtol: float,
) -> None:
    for input_index, x in enumerate(inputs):
        columns = _numeric_columns(func, args, x, eps, _differentiable_outputs)
        for output_index, output in enumerate(outputs):
            rows = [row[0] for row in _analytic_rows(output, [x])]
            numeric = [column[output_index] for column in columns]
            if not rows or not numeric:
                continue
            _compare(
                _core.stack(rows),
                _core.stack(numeric, 1),
                atol,
                rtol,
                f"output {output_index} with respect to input {input_index}",
            )


def _compare(analytic: Tensor, numeric: Tensor, atol: float, rtol: float, what: str) -> None:
    numeric = numeric.to(analytic.dtype)
    if allclose(analytic, numeric, rtol, atol):
        return
    raise GradcheckError(
        f"gradcheck: Jacobian mismatch for {what}.\nnumerical: {numeric}\nanalytical: {analytic}"
    )


def _check_projection(
    func: _Func,
    args: tuple[Any, ...],
    inputs: list[Tensor],
    outputs: tuple[Tensor, ...],
    eps: float,
    atol: float,
    rtol: float,
) -> None:
    generator = _core.Generator()
    for input_index, x in enumerate(inputs):
        direction = _unit_like(x, generator)
        differences = _directional(func, args, x, direction, eps)
        for output_index, output in enumerate(outputs):
            seed = _unit_like(output, generator)
            (g,) = grad(output, [x], seed, retain_graph=True, allow_unused=True)
            analytic = (_gradient_vector(g, x) * _real_parts(direction)).sum()
            numeric = (differences[output_index] * _real_parts(seed)).sum()
            # Every element of the Jacobian may be off by atol; the projection adds them up.
            scale = float(_real_parts(seed).abs().sum() * _real_parts(direction).abs().sum())
            what = f"output {output_index} with respect to input {input_index} (fast mode)"
            _compare(analytic, numeric, atol * max(scale, 1.0), rtol, what)


def _unit_like(tensor: Tensor, generator: _core.Generator) -> Tensor:
    # Of length 1, so that eps is the size of the step, however many elements there are.
    vector = _random_like(tensor, generator)
    length = float(_real_parts(vector).square().sum().sqrt())
    return vector / length if length > 0 else vector


def _directional(
    func: _Func, args: tuple[Any, ...], x: Tensor, direction: Tensor, eps: float
) -> list[Tensor]:
    data = x.data
    original = data.clone()
    data.copy_(original + direction * eps)
    above = _run(func, args, _differentiable_outputs)
    data.copy_(original - direction * eps)
    below = _run(func, args, _differentiable_outputs)
    data.copy_(original)
    return [(a - b) / (2 * eps) for a, b in zip(above, below, strict=True)]


def _tangents(
    func: _Func, args: tuple[Any, ...], x: Tensor, direction: Tensor
) -> tuple[Tensor, ...]:
    """The tangents of the differentiable outputs, by forward mode along one direction of x."""
    from facula.func import jvp  # which is made of this package

    def along(value: Tensor) -> tuple[Tensor, ...]:
        return _differentiable_outputs(func(*(value if a is x else a for a in args)))

    tangents: tuple[Tensor, ...] = jvp(along, (x,), (direction,))[1]
    return tangents


def _check_forward(
    func: _Func,
    args: tuple[Any, ...],
    inputs: list[Tensor],
    eps: float,
    atol: float,
    rtol: float,
    fast_mode: bool,
) -> None:
    generator = _core.Generator()
    for input_index, x in enumerate(inputs):
        for direction in [_unit_like(x, generator)] if fast_mode else _unit_vectors(x):
            differences = _directional(func, args, x, direction, eps)
            found = _tangents(func, args, x, direction)
            for output_index, (t, difference) in enumerate(zip(found, differences, strict=True)):
                what = f"output {output_index} with respect to input {input_index} (forward mode)"
                _compare(_real_parts(t), difference, atol, rtol, what)


def _unit_vectors(x: Tensor) -> Iterator[Tensor]:
    for i in range(x.numel()):
        for unit in (1, 1j) if x.is_complex() else (1,):
            vector = _core.zeros(x.numel(), dtype=x.dtype, device=x.device)
            vector[i] = unit
            yield vector.reshape(x.shape)


def _check_batched_forward(
    func: _Func, args: tuple[Any, ...], inputs: list[Tensor], atol: float, rtol: float
) -> None:
    from facula.func import vmap

    for x in inputs:
        directions = _core.stack([_core.randn_like(x.detach()) for _ in range(2)])
        batched = vmap(functools.partial(_tangents, func, args, x))(directions)
        for i, direction in enumerate(directions):
            for b, s in zip(batched, _tangents(func, args, x, direction), strict=True):
                _compare(b[i].detach(), s.detach(), atol, rtol, "a batch of tangents")


def _check_constant(
    func: _Func, args: tuple[Any, ...], inputs: list[Tensor], eps: float, atol: float
) -> None:
    """Outputs that claim to have no gradient must not change with the inputs."""
    for index, x in enumerate(inputs):
        for column in _numeric_columns(func, args, x, eps, _float_outputs):
            if any(float(c.abs().max()) > atol for c in column if c.numel() > 0):
                raise GradcheckError(
                    "gradcheck: no output requires grad, but the outputs change with input "
                    f"{index}: the numerical gradient is not zero."
                )


def _check_determinism(
    func: _Func, args: tuple[Any, ...], inputs: list[Tensor], tolerance: float
) -> None:
    generator = _core.Generator()
    for index, output in enumerate(_differentiable_outputs(func(*args))):
        seed = _random_like(output, generator)
        first, second = (
            grad(output, inputs, seed, retain_graph=True, allow_unused=True) for _ in range(2)
        )
        for a, b in zip(first, second, strict=True):
            if a is None or b is None or a.numel() == 0:
                continue
            difference = float((a - b).abs().max())
            if difference > tolerance:
                raise GradcheckError(
                    f"gradcheck: backward of output {index} is not deterministic: two runs "
                    f"differ by {difference}, more than nondet_tol={tolerance}."
                )


def _check_dtypes(outputs: tuple[Tensor, ...], inputs: list[Tensor]) -> None:
    for output in outputs:
        seed = _core.ones_like(output)
        grads = grad(output, inputs, seed, retain_graph=True, allow_unused=True)
        for g, x in zip(grads, inputs, strict=True):
            if g is not None and g.dtype != x.dtype:
                raise GradcheckError(f"gradcheck: the gradient is {g.dtype}, its input {x.dtype}.")


class _WithoutGrad(Function):
    """Passes its input on, and no gradient back."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        return None


def _check_undefined(func: _Func, args: tuple[Any, ...], inputs: list[Tensor]) -> None:
    """No gradient for an output must mean the same as a gradient of zeros."""
    # All missing, and each alone: a backward that handles None for one output may not for another.
    outputs = _differentiable_outputs(func(*args))
    subsets = [set(range(len(outputs)))]
    if len(outputs) > 1:
        subsets += [{i} for i in range(len(outputs))]
    for missing in subsets:
        seeds = [_core.ones_like(o) for o in outputs]
        cut = [_WithoutGrad.apply(o) if i in missing else o for i, o in enumerate(outputs)]
        undefined = grad(cut, inputs, seeds, retain_graph=True, allow_unused=True)
        seeds = [_core.zeros_like(s) if i in missing else s for i, s in enumerate(seeds)]
        zeros = grad(outputs, inputs, seeds, retain_graph=True, allow_unused=True)
        for u, z, x in zip(undefined, zeros, inputs, strict=True):
            if not _core.equal(_gradient_vector(u, x), _gradient_vector(z, x)):
                raise GradcheckError(
                    "gradcheck: a missing output gradient does not give the same as zeros. Is "
                    "None handled in backward?"
                )


def _check_batched(
    outputs: tuple[Tensor, ...], inputs: list[Tensor], atol: float, rtol: float
) -> None:
    for output in outputs:
        seeds = _core.stack([_core.randn_like(output.detach()) for _ in range(2)])
        batched = grad(
            output, inputs, seeds, retain_graph=True, allow_unused=True, is_grads_batched=True
        )
        for i, seed in enumerate(seeds):
            single = grad(output, inputs, seed, retain_graph=True, allow_unused=True)
            for b, s in zip(batched, single, strict=True):
                if s is not None:
                    _compare(b[i], s, atol, rtol, "a batch of output gradients")
