"""Function transforms for derivatives: they take a function and give a function.

Each call of a transform works on inputs of its own: a view of an argument that an outer
computation differentiates, or a new leaf for any other. So nested transforms never confuse their
levels, and an outer one can still differentiate what an inner one returns.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from facula import _core
from facula._core import Tensor
from facula._transform import enter_level, is_differentiated_outside, leave_level
from facula.autograd.grad_mode import _transform_grad
from facula.func._batching._batch import BatchedTensor
from facula.func._forward import Forward
from facula.func._tape import Tape
from facula.func._vmap import vmap
from facula.utils._pytree import TreeSpec, tree_flatten, tree_map, tree_unflatten

__all__ = ["grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "vjp"]

_Argnums = int | tuple[int, ...]


class _Level:
    """The inputs of one transform call, and the rule for what leaves it."""

    def __init__(self) -> None:
        self.is_recorded_outside = _core.is_grad_enabled()
        self.leaves: list[Tensor] = []

    def enter(self, tensor: Any) -> Any:
        if not isinstance(tensor, Tensor):
            return tensor
        inside = enter_level(tensor)
        self.leaves.append(inside)
        return inside

    def leave(self, value: Any) -> Any:
        """The value as the caller of the transform may see it."""
        if not isinstance(value, Tensor):
            return value
        return leave_level(value, self.leaves if self.is_recorded_outside else None)

    def is_differentiated_outside(self, outputs: Sequence[Tensor]) -> bool:
        """Whether the caller may differentiate gradients of the outputs once more."""
        return self.is_recorded_outside and any(
            is_differentiated_outside(y, self.leaves) for y in outputs
        )


def _tensors(name: str, value: Any, what: str) -> tuple[list[Tensor], TreeSpec]:
    leaves, spec = tree_flatten(value)
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise RuntimeError(f"{name}: expected {what} to be tensors, got {type(leaf).__name__}.")
    return leaves, spec


def _split_aux(name: str, result: Any, has_aux: bool) -> tuple[Any, Any]:
    if not has_aux:
        return result, None
    if not isinstance(result, tuple) or len(result) != 2:
        raise RuntimeError(
            f"{name}: with has_aux=True the function must return a tuple (output, aux)."
        )
    return result


def _gradients(
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    seeds: Sequence[Tensor | None],
    *,
    retain_graph: bool,
    create_graph: bool,
) -> list[Tensor]:
    """The gradients; zeros for what is not connected."""
    pairs = [(o, s) for o, s in zip(outputs, seeds, strict=True) if o.requires_grad]
    if not pairs or not inputs:
        return [_core.zeros_like(x) for x in inputs]
    found = _core._run_backward(
        [o for o, _ in pairs],
        [s for _, s in pairs],
        retain_graph,
        create_graph,
        inputs,
        True,
        False,
    )
    return [_core.zeros_like(x) if g is None else g for g, x in zip(found, inputs, strict=True)]


def _selected(name: str, args: tuple[Any, ...], argnums: _Argnums) -> tuple[int, ...]:
    numbers = (argnums,) if isinstance(argnums, int) else argnums
    if not isinstance(numbers, tuple) or not all(isinstance(n, int) for n in numbers):
        raise RuntimeError(
            f"{name}: expected argnums to be an int or a tuple of ints, got "
            f"{type(argnums).__name__}."
        )
    if not numbers:
        raise RuntimeError(f"{name}: argnums is empty.")
    for n in numbers:
        if not -len(args) <= n < len(args):
            raise RuntimeError(f"{name}: argnums has {n}, but there are {len(args)} arguments.")
    wrapped = tuple(n % len(args) for n in numbers)
    if len(set(wrapped)) != len(wrapped):
        raise RuntimeError(f"{name}: argnums names an argument twice: {numbers}.")
    return wrapped


def _replace(args: tuple[Any, ...], numbers: tuple[int, ...], values: Sequence[Any]) -> list[Any]:
    replaced = list(args)
    for number, value in zip(numbers, values, strict=True):
        replaced[number] = value
    return replaced


def grad_and_value(
    func: Callable[..., Any], argnums: _Argnums = 0, has_aux: bool = False
) -> Callable[..., tuple[Any, Any]]:
    """Make a function that returns the gradient of ``func`` and its value.

    Args:
        func: a function that returns a 0-d tensor, or ``(tensor, aux)`` with ``has_aux``.
        argnums: the arguments, by position, to differentiate with respect to.
        has_aux: whether ``func`` also returns something that is not differentiated.

    Returns:
        a function giving ``(gradient, value)``, or ``(gradient, (value, aux))``.

    Example:
        >>> facula.func.grad_and_value(lambda x: x**2)(facula.tensor(3.0))
        (tensor(6.), tensor(9.))
    """

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        level = _Level()
        with _transform_grad():
            numbers = _selected("grad", args, argnums)
            inputs = [tree_map(level.enter, args[n]) for n in numbers]
            result = func(*_replace(args, numbers, inputs), **kwargs)
            output, aux = _split_aux("grad", result, has_aux)
            if not isinstance(output, Tensor):
                raise RuntimeError(
                    f"grad: expected the function to return a tensor, got {type(output).__name__}."
                )
            if output.dim() != 0:
                raise RuntimeError(
                    "grad: expected the function to return a 0-d tensor, got "
                    f"{tuple(output.shape)}. For other outputs use vjp or jacrev."
                )
            leaves, spec = _tensors("grad", tuple(inputs), "the differentiated arguments")
            again = level.is_differentiated_outside([output])
            grads = _gradients([output], leaves, [None], retain_graph=again, create_graph=again)
            gradients = tree_unflatten([level.leave(g) for g in grads] if again else grads, spec)
            value = level.leave(output)
        gradient = gradients[0] if isinstance(argnums, int) else gradients
        return gradient, (value, tree_map(level.leave, aux)) if has_aux else value

    return wrapper


def grad(
    func: Callable[..., Any], argnums: _Argnums = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """Make a function that returns the gradient of ``func``.

    Args:
        func: a function that returns a 0-d tensor, or ``(tensor, aux)`` with ``has_aux``.
        argnums: the arguments, by position, to differentiate with respect to.
        has_aux: whether ``func`` also returns something that is not differentiated.

    Returns:
        a function giving the gradient, shaped as the argument (a tuple for a tuple ``argnums``),
        or ``(gradient, aux)``.

    Example:
        >>> cube = lambda x: x**3
        >>> facula.func.grad(facula.func.grad(cube))(facula.tensor(2.0))
        tensor(12.)
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        gradient, value = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return wrapper


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """Run ``func`` and return a function for products of vectors with its Jacobian.

    Args:
        func: a function that returns a tensor or a nested container of tensors.
        primals: the arguments of ``func``.
        has_aux: whether ``func`` returns a pair ``(output, aux)``, of which aux is not
            differentiated.

    Returns:
        ``(output, vjp_fn)`` or ``(output, vjp_fn, aux)``; ``vjp_fn`` takes cotangents shaped as
        the output and returns a tuple with one entry for each argument.

    Example:
        >>> output, vjp_fn = facula.func.vjp(lambda x: x**2, facula.tensor([1.0, 2.0]))
        >>> vjp_fn(facula.ones(2))
        (tensor([2., 4.]),)
    """
    level = _Level()
    with _transform_grad():
        inputs = tuple(tree_map(level.enter, p) for p in primals)
        leaves, spec = _tensors("vjp", inputs, "the arguments")
        with Tape(leaves) as tape:
            output, aux = _split_aux("vjp", func(*inputs), has_aux)
        outputs, output_spec = _tensors("vjp", output, "the output of the function")

    def vjp_fn(*cotangents: Any) -> tuple[Any, ...]:
        given = cotangents[0] if len(cotangents) == 1 else cotangents
        seeds, seed_spec = _tensors("vjp", given, "the cotangents")
        if seed_spec != output_spec:
            raise RuntimeError("vjp: the cotangents must be nested as the output is.")
        for y, seed in zip(outputs, seeds, strict=True):
            if y.shape != seed.shape:
                raise RuntimeError(
                    f"vjp: a cotangent has shape {tuple(seed.shape)}, its output {tuple(y.shape)}."
                )
        here, ys, xs = level, outputs, leaves
        with _transform_grad():
            if not _levels(seeds) <= _levels(outputs):
                # A vector for every example of a vmap: each needs a graph of its own.
                here = _Level()
                xs = [here.enter(level.leave(x)) for x in leaves]
                ys = tape.replay(xs, outputs)
            again = _core.is_grad_enabled() and (
                here.is_differentiated_outside(ys) or any(s.requires_grad for s in seeds)
            )
            grads = _gradients(ys, xs, seeds, retain_graph=True, create_graph=again)
            result: tuple[Any, ...] = tree_unflatten([here.leave(g) for g in grads], spec)
        return result

    finished = tree_map(level.leave, output)
    return (finished, vjp_fn, tree_map(level.leave, aux)) if has_aux else (finished, vjp_fn)


def _levels(tensors: Sequence[Any]) -> set[Any]:
    """The levels of vmap at which one of the tensors is batched."""
    levels = set()
    for x in tensors:
        while isinstance(x, BatchedTensor):
            levels.add(x.level)
            x = x.physical
    return levels


def jvp(
    func: Callable[..., Any],
    primals: Any,
    tangents: Any,
    *,
    strict: bool = False,
    has_aux: bool = False,
) -> tuple[Any, ...]:
    """Product of the Jacobian of ``func`` with a vector, by forward mode.

    Args:
        func: a function that returns a tensor or a nested container of tensors.
        primals: the arguments of ``func``, as a tuple.
        tangents: the vector, a tuple nested and shaped as ``primals``.
        strict: whether an output that does not depend on the inputs is an error, rather than giving
            zeros.
        has_aux: whether ``func`` returns a pair ``(output, aux)``, of which aux is not
            differentiated.

    Returns:
        ``(output, product)`` or ``(output, product, aux)``.

    Example:
        >>> facula.func.jvp(lambda x: x**2, (facula.tensor(3.0),), (facula.tensor(1.0),))
        (tensor(9.), tensor(6.))
    """
    for name, value in (("primals", primals), ("tangents", tangents)):
        if not isinstance(value, tuple):
            raise RuntimeError(f"jvp: expected {name} to be a tuple, got {type(value).__name__}.")
    xs, spec = _tensors("jvp", primals, "primals")
    vectors, vector_spec = _tensors("jvp", tangents, "tangents")
    if vector_spec != spec:
        raise RuntimeError("jvp: tangents must be nested as primals are.")
    for x, v in zip(xs, vectors, strict=True):
        if x.shape != v.shape:
            raise RuntimeError(
                f"jvp: a tangent has shape {tuple(v.shape)}, its primal {tuple(x.shape)}."
            )
    for name, tensors in (("primal", xs), ("tangent", vectors)):
        for x in tensors:
            if not (x.is_floating_point() or x.is_complex()):
                raise ValueError(
                    f"jvp: Expected {name} to be floating point or complex, but got: {x.dtype}"
                )
    level = Forward()
    duals = [level.dual(x, v) for x, v in zip(xs, vectors, strict=True)]
    with level:
        output, aux = _split_aux("jvp", func(*tree_unflatten(duals, spec)), has_aux)
    outputs, output_spec = _tensors("jvp", output, "the output of the function")
    if strict and any(level.tangent(y) is None for y in outputs):
        raise RuntimeError("jvp: an output is independent of the inputs (strict=True).")
    product = tree_unflatten([level.tangent_or_zeros(y) for y in outputs], output_spec)
    level.close()
    return (output, product, aux) if has_aux else (output, product)


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """Run ``func`` and return a function for products of its Jacobian with vectors.

    As :func:`jvp` with the same ``primals`` each time, of which only the part that depends on the
    vector is computed again.

    Args:
        func: a function that returns a tensor or a nested container of tensors.
        primals: the arguments of ``func``.

    Returns:
        ``(output, jvp_fn)``; ``jvp_fn`` takes tangents shaped as ``primals`` and returns the
        product, nested as the output.

    Example:
        >>> output, jvp_fn = facula.func.linearize(facula.sin, facula.tensor(0.0))
        >>> jvp_fn(facula.tensor(2.0))
        tensor(2.)
    """
    xs, spec = _tensors("linearize", primals, "the arguments")
    vectors = [_core.zeros_like(x) for x in xs]
    with Tape(vectors) as tape:
        output, product = jvp(func, primals, tree_unflatten(vectors, spec))
    products, output_spec = tree_flatten(product)

    def jvp_fn(*tangents: Any) -> Any:
        given, given_spec = _tensors("linearize", tangents, "the tangents")
        if given_spec != spec:
            raise RuntimeError("linearize: the tangents must be nested as the primals are.")
        for x, t in zip(xs, given, strict=True):
            if x.shape != t.shape or x.dtype is not t.dtype:
                raise RuntimeError(
                    f"linearize: expected a tangent as {x.dtype} {tuple(x.shape)}, got {t.dtype} "
                    f"{tuple(t.shape)}."
                )
        return tree_unflatten(tape.replay(given, products), output_spec)

    return output, jvp_fn


def jacrev(
    func: Callable[..., Any],
    argnums: _Argnums = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """Make a function that returns the Jacobian of ``func``, computed by rows.

    Args:
        func: a function that returns a tensor or a nested container of tensors.
        argnums: the arguments, by position, to differentiate with respect to.
        has_aux: whether ``func`` returns a pair ``(output, aux)``, of which aux is not
            differentiated.
        chunk_size: how many rows are computed at a time; by default all.

    Returns:
        a function whose result is nested as the output, then as the argument (a tuple for a
        tuple ``argnums``), with blocks of shape ``output.shape + argument.shape``.

    Example:
        >>> facula.func.jacrev(facula.square)(facula.tensor([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]])
    """
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"jacrev: expected a positive chunk_size, got {chunk_size}.")

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        numbers = _selected("jacrev", args, argnums)
        xs, spec = _wanted("jacrev", args, argnums, numbers)
        seen: list[Any] = []  # how the output is nested

        def flat(*inputs: Tensor) -> Any:
            given = _given(args, argnums, numbers, tree_unflatten(list(inputs), spec))
            output, aux = _split_aux("jacrev", func(*given, **kwargs), has_aux)
            outputs, output_spec = _tensors("jacrev", output, "the output of the function")
            seen.append(output_spec)
            return tuple(outputs), aux

        outputs, vjp_fn, aux = vjp(flat, *xs, has_aux=True)
        rows = _for_each_unit(outputs, lambda *seeds: vjp_fn(seeds), chunk_size, "same")
        parts = []
        start = 0
        for y in outputs:
            n = int(y.numel())
            blocks = [r[start : start + n].reshape((*y.shape, *r.shape[1:])) for r in rows]
            parts.append(tree_unflatten(blocks, spec))
            start += n
        jacobian = tree_unflatten(parts, seen[0])
        return (jacobian, aux) if has_aux else jacobian

    return wrapper


def jacfwd(
    func: Callable[..., Any],
    argnums: _Argnums = 0,
    has_aux: bool = False,
    *,
    randomness: str = "error",
) -> Callable[..., Any]:
    """Make a function that returns the Jacobian of ``func``, computed by columns in forward mode.

    Args:
        func: a function that returns a tensor or a nested container of tensors.
        argnums: the arguments, by position, to differentiate with respect to.
        has_aux: whether ``func`` returns a pair ``(output, aux)``, of which aux is not
            differentiated.
        randomness: what random operations inside do for the columns, as for :func:`vmap`.

    Returns:
        a function as :func:`jacrev` makes it.

    Example:
        >>> facula.func.jacfwd(facula.square)(facula.tensor([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]])
    """

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        numbers = _selected("jacfwd", args, argnums)
        xs, spec = _wanted("jacfwd", args, argnums, numbers)
        seen: list[Any] = []  # how the output is nested, and what is beside it
        outside = _core._transforms()

        def column(*vectors: Tensor) -> tuple[Tensor, ...]:
            def flat(*inputs: Tensor) -> Any:
                given = _given(args, argnums, numbers, tree_unflatten(list(inputs), spec))
                output, aux = _split_aux("jacfwd", func(*given, **kwargs), has_aux)
                outputs, output_spec = _tensors("jacfwd", output, "the output of the function")
                seen[:] = [output_spec, aux]
                return tuple(outputs)

            _, products = jvp(flat, tuple(xs), vectors)
            seen[1] = tree_map(functools.partial(_of_first, outside), seen[1])
            return tuple(products)

        columns = _for_each_unit(xs, column, None, randomness)
        parts = []
        for whole in columns:
            blocks, start = [], 0
            for x in xs:
                n = int(x.numel())
                block = whole[start : start + n].movedim(0, -1)
                blocks.append(block.reshape((*whole.shape[1:], *x.shape)))
                start += n
            parts.append(tree_unflatten(blocks, spec))
        jacobian = tree_unflatten(parts, seen[0])
        return (jacobian, seen[1]) if has_aux else jacobian

    return wrapper


def hessian(func: Callable[..., Any], argnums: _Argnums = 0) -> Callable[..., Any]:
    """Make a function that returns the second derivatives of ``func``.

    Args:
        func: a function that returns a tensor.
        argnums: the arguments, by position, to differentiate with respect to.

    Example:
        >>> facula.func.hessian(lambda x: (x**3).sum())(facula.tensor([1.0, 2.0]))
        tensor([[ 6.,  0.],
                [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)


def _wanted(
    name: str, args: tuple[Any, ...], argnums: _Argnums, numbers: tuple[int, ...]
) -> tuple[list[Tensor], TreeSpec]:
    wanted = args[numbers[0]] if isinstance(argnums, int) else tuple(args[n] for n in numbers)
    return _tensors(name, wanted, "the differentiated arguments")


def _given(
    args: tuple[Any, ...], argnums: _Argnums, numbers: tuple[int, ...], inputs: Any
) -> list[Any]:
    return _replace(args, numbers, [inputs] if isinstance(argnums, int) else inputs)


def _of_first(outside: list[Any], value: Any) -> Any:
    """What is beside an output, for the first column: the same for all, unless it is random."""
    is_batched = isinstance(value, BatchedTensor) and value.level not in outside
    return value.physical[0] if is_batched else value


def _for_each_unit(
    like: Sequence[Tensor],
    function: Callable[..., Any],
    chunk_size: int | None,
    randomness: str,
) -> tuple[Tensor, ...]:
    """``function`` of each unit vector of the space of the tensors, stacked."""
    n = sum(int(x.numel()) for x in like)
    if n == 1:  # nothing to batch
        results = function(*(_core.ones_like(x) for x in like))
        return tuple(r.unsqueeze(0) for r in results)
    vectors, start = [], 0
    for x in like:
        size = int(x.numel())
        units = _core.zeros(n, size, dtype=x.dtype, device=x.device)
        units[start : start + size].fill_diagonal_(1)
        vectors.append(units.reshape(n, *x.shape))
        start += size

    def along(*directions: Any) -> Any:
        directions[0].level.is_of_directions = True
        return function(*directions)

    batched = vmap(along, randomness=randomness, chunk_size=chunk_size)
    result: tuple[Tensor, ...] = tuple(batched(*vectors))
    return result
