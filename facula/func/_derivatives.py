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
from facula.autograd import _backward
from facula.autograd.grad_mode import enable_grad
from facula.utils._pytree import TreeSpec, tree_flatten, tree_map, tree_unflatten

__all__ = ["grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "vjp"]

_Argnums = int | tuple[int, ...]


class _Level:
    """The inputs of one transform call, and the rule for what leaves it."""

    def __init__(self) -> None:
        self.is_recorded_outside = _core.is_grad_enabled()
        self.leaves: list[Tensor] = []

    def enter(self, tensor: Any) -> Any:
        if not isinstance(tensor, Tensor):
            return tensor
        # A view is an input of this level and still belongs to the outer graph. The argument itself
        # would not do: it may be used elsewhere in `func`, where it counts as a constant.
        if self.is_recorded_outside and tensor.requires_grad:
            return tensor.view_as(tensor)
        leaf = tensor.detach().requires_grad_()
        self.leaves.append(leaf)
        return leaf

    def leave(self, value: Any) -> Any:
        """Detach a value that depends on nothing but this level's own leaves."""
        if not isinstance(value, Tensor) or not value.requires_grad:
            return value
        # The leaves of this level are unknown to the caller, to whom a value that depends on
        # nothing else is a constant.
        if self.is_recorded_outside and self._reaches_others(value):
            return value
        return value.detach()

    def _reaches_others(self, tensor: Tensor) -> bool:
        # A walk of our own with a stack: recursion would fail on long graphs.
        own = {id(leaf) for leaf in self.leaves}
        if tensor.grad_fn is None:
            return id(tensor) not in own
        # Nodes are kept, not only their ids: a freed one could lend its id to the next.
        seen = {tensor.grad_fn}
        stack = [tensor.grad_fn]
        while stack:
            for node, _ in stack.pop().next_functions:
                if node is None or node in seen:
                    continue
                variable = getattr(node, "variable", None)
                if variable is not None and id(variable) not in own:
                    return True
                seen.add(node)
                stack.append(node)
        return False


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
    outputs: Sequence[Tensor], inputs: Sequence[Tensor], seeds: Sequence[Tensor]
) -> list[Tensor]:
    """Differentiable gradients; zeros for what is not connected."""
    # create_graph in any case: whether an outer transform will differentiate the result is not
    # known here. It also keeps the graph, so that vjp_fn can be called more than once.
    pairs = [(o, s) for o, s in zip(outputs, seeds, strict=True) if o.requires_grad]
    if not pairs or not inputs:
        return [_core.zeros_like(x) for x in inputs]
    grads = _backward.grad(
        [o for o, _ in pairs],
        inputs,
        [s for _, s in pairs],
        create_graph=True,
        allow_unused=True,
        materialize_grads=True,
    )
    return list(grads)


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
        with enable_grad():
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
            grads = _gradients([output], leaves, [_core.ones_like(output)])
            gradients = tree_unflatten([level.leave(g) for g in grads], spec)
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
    with enable_grad():
        inputs = tuple(tree_map(level.enter, p) for p in primals)
        output, aux = _split_aux("vjp", func(*inputs), has_aux)
        leaves, spec = _tensors("vjp", inputs, "the arguments")
        outputs, output_spec = _tensors("vjp", output, "the output of the function")

    def vjp_fn(*cotangents: Any) -> tuple[Any, ...]:
        given = cotangents[0] if len(cotangents) == 1 else cotangents
        seeds, seed_spec = _tensors("vjp", given, "the cotangents")
        if seed_spec != output_spec:
            raise RuntimeError("vjp: the cotangents must be nested as the output is.")
        with enable_grad():
            grads = _gradients(outputs, leaves, seeds)
        result: tuple[Any, ...] = tree_unflatten([level.leave(g) for g in grads], spec)
        return result

    finished = tree_map(level.leave, output)
    return (finished, vjp_fn, tree_map(level.leave, aux)) if has_aux else (finished, vjp_fn)


def jvp(
    func: Callable[..., Any],
    primals: Any,
    tangents: Any,
    *,
    strict: bool = False,
    has_aux: bool = False,
) -> tuple[Any, ...]:
    """Product of the Jacobian of ``func`` with a vector.

    Computed by differentiating twice backwards: the vector-Jacobian product is linear in its
    vector, and its derivative with respect to that vector is this product.

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
    level = _Level()
    with enable_grad():
        inputs = tuple(tree_map(level.enter, p) for p in primals)
        leaves, spec = _tensors("jvp", inputs, "primals")
        vectors, vector_spec = _tensors("jvp", tangents, "tangents")
        if vector_spec != spec:
            raise RuntimeError("jvp: tangents must be nested as primals are.")
        for x, v in zip(leaves, vectors, strict=True):
            if x.shape != v.shape:
                raise RuntimeError(
                    f"jvp: a tangent has shape {tuple(v.shape)}, its primal {tuple(x.shape)}."
                )
        output, aux = _split_aux("jvp", func(*inputs), has_aux)
        outputs, output_spec = _tensors("jvp", output, "the output of the function")
        if strict and not all(o.requires_grad for o in outputs):
            raise RuntimeError("jvp: an output is independent of the inputs (strict=True).")
        products = [level.leave(p) for p in _pushed_forward(level, outputs, leaves, vectors)]
    finished = tree_map(level.leave, output)
    product = tree_unflatten(products, output_spec)
    return (finished, product, tree_map(level.leave, aux)) if has_aux else (finished, product)


def _pushed_forward(
    level: _Level, outputs: Sequence[Tensor], inputs: Sequence[Tensor], vectors: Sequence[Tensor]
) -> list[Tensor]:
    # The gradient is linear in the probes, so that its derivative is the same at any of their
    # values. They are leaves of this level: a result that depends on them alone leaves it as a
    # constant.
    probes = [_core.zeros_like(o, requires_grad=True) for o in outputs]
    level.leaves += probes
    backward = _gradients(outputs, inputs, probes)
    return _gradients(backward, probes, vectors)


def jacrev(
    func: Callable[..., Any],
    argnums: _Argnums = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """Make a function that returns the Jacobian of ``func``, computed row by row.

    Args:
        func: a function that returns a tensor or a nested container of tensors.
        argnums: the arguments, by position, to differentiate with respect to.
        has_aux: whether ``func`` returns a pair ``(output, aux)``, of which aux is not
            differentiated.
        chunk_size: accepted for compatibility; rows are always computed one by one.

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
    return _jacobian("jacrev", func, argnums, has_aux, _rows)


def jacfwd(
    func: Callable[..., Any],
    argnums: _Argnums = 0,
    has_aux: bool = False,
    *,
    randomness: str = "error",
) -> Callable[..., Any]:
    """Make a function that returns the Jacobian of ``func``, computed column by column.

    Args:
        func: a function that returns a tensor or a nested container of tensors.
        argnums: the arguments, by position, to differentiate with respect to.
        has_aux: whether ``func`` returns a pair ``(output, aux)``, of which aux is not
            differentiated.
        randomness: accepted for compatibility; ``func`` runs once, so all columns see the same
            random numbers.

    Returns:
        a function as :func:`jacrev` makes it.

    Example:
        >>> facula.func.jacfwd(facula.square)(facula.tensor([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]])
    """
    return _jacobian("jacfwd", func, argnums, has_aux, _columns)


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


_Blocks = Callable[[_Level, Tensor, list[Tensor]], list[Tensor]]


def _jacobian(
    name: str, func: Callable[..., Any], argnums: _Argnums, has_aux: bool, blocks: _Blocks
) -> Callable[..., Any]:
    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        level = _Level()
        with enable_grad():
            numbers = _selected(name, args, argnums)
            inputs = [tree_map(level.enter, args[n]) for n in numbers]
            result = func(*_replace(args, numbers, inputs), **kwargs)
            output, aux = _split_aux(name, result, has_aux)
            wanted = inputs[0] if isinstance(argnums, int) else tuple(inputs)
            leaves, spec = _tensors(name, wanted, "the differentiated arguments")
            outputs, output_spec = _tensors(name, output, "the output of the function")
            parts = []
            for o in outputs:
                finished = [level.leave(b) for b in blocks(level, o, leaves)]
                parts.append(tree_unflatten(finished, spec))
        jacobian = tree_unflatten(parts, output_spec)
        return (jacobian, tree_map(level.leave, aux)) if has_aux else jacobian

    return wrapper


def _unit(like: Tensor, position: int) -> Tensor:
    unit = _core.zeros(like.numel(), dtype=like.dtype, device=like.device)
    unit[position] = 1
    return unit.reshape(like.shape)


def _stacked(vectors: list[Tensor], like: Tensor, shape: tuple[int, ...], dim: int) -> Tensor:
    if not vectors:
        return _core.zeros(shape, dtype=like.dtype, device=like.device)
    return _core.stack(vectors, dim).reshape(shape)


def _rows(level: _Level, output: Tensor, inputs: list[Tensor]) -> list[Tensor]:
    rows = [_gradients([output], inputs, [_unit(output, i)]) for i in range(output.numel())]
    return [
        _stacked([row[j] for row in rows], x, tuple(output.shape) + tuple(x.shape), 0)
        for j, x in enumerate(inputs)
    ]


def _columns(level: _Level, output: Tensor, inputs: list[Tensor]) -> list[Tensor]:
    blocks = []
    for j, x in enumerate(inputs):
        columns = []
        for i in range(x.numel()):
            vectors = [_unit(x, i) if k == j else _core.zeros_like(t) for k, t in enumerate(inputs)]
            columns += _pushed_forward(level, [output], inputs, vectors)
        blocks.append(_stacked(columns, output, tuple(output.shape) + tuple(x.shape), -1))
    return blocks
