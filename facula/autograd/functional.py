"""Jacobians, Hessians and products with them, of functions from tensors to tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from facula import _core
from facula._core import Tensor
from facula.autograd._backward import grad
from facula.autograd.grad_mode import enable_grad

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

_Tensors = tuple[Tensor, ...]
_TensorOrTensors = Tensor | _Tensors


def _as_tuple(name: str, what: str, value: Any) -> tuple[_Tensors, bool]:
    """The value as a tuple of tensors, and whether it was one."""
    is_tuple = isinstance(value, tuple)
    tensors = value if is_tuple else (value,)
    for index, tensor in enumerate(tensors):
        if not isinstance(tensor, Tensor):
            raise TypeError(
                f"{name}: expected {what} to be a tensor or a tuple of tensors, got "
                f"{type(tensor).__name__} at index {index}."
            )
    return tensors, is_tuple


def _fresh_inputs(inputs: _Tensors, create_graph: bool) -> _Tensors:
    """New inputs with the same values, so that only what the function does with them counts."""
    # A view keeps the connection to the caller's graph, which only create_graph needs.
    return tuple(
        x.view_as(x) if create_graph and x.requires_grad else x.detach().requires_grad_()
        for x in inputs
    )


def _called(
    name: str, func: Callable[..., Any], inputs: Any, create_graph: bool, strict: bool
) -> tuple[_Tensors, _Tensors, bool]:
    """New inputs, the outputs of ``func`` for them, and whether those were a tuple."""
    own = _fresh_inputs(_as_tuple(name, "inputs", inputs)[0], create_graph)
    outputs, is_tuple = _as_tuple(name, "the output of func", func(*own))
    _check_connected(name, outputs, strict)
    return own, outputs, is_tuple


def _finished(value: _Tensors, is_tuple: bool, create_graph: bool) -> Any:
    kept = value if create_graph else tuple(t.detach() for t in value)
    return kept if is_tuple else kept[0]


def _check_connected(name: str, outputs: _Tensors, strict: bool) -> None:
    if not strict:
        return
    for index, output in enumerate(outputs):
        if not output.requires_grad:
            raise RuntimeError(
                f"{name}: output {index} of the function is independent of its inputs, which "
                "strict mode does not allow."
            )


def _checked_vector(name: str, v: Any, like: _Tensors, like_is_tuple: bool, what: str) -> _Tensors:
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(
                f"{name}: v may be left out only where the {what} is a single tensor with one "
                "element."
            )
        return tuple(_core.ones_like(t) for t in like)
    vectors, is_tuple = _as_tuple(name, "v", v)
    if len(vectors) != len(like):
        raise RuntimeError(
            f"{name}: v has {len(vectors)} tensors and the {what} {len(like)}; expected as many."
        )
    if is_tuple != like_is_tuple:
        raise RuntimeError(f"{name}: v must be a tuple exactly where the {what} is one.")
    for index, (vector, tensor) in enumerate(zip(vectors, like, strict=True)):
        if vector.shape != tensor.shape:
            raise RuntimeError(
                f"{name}: v has shape {tuple(vector.shape)} at index {index}, the {what} "
                f"{tuple(tensor.shape)}."
            )
    # A vector that requires grad keeps its graph: with create_graph the product depends on it, too.
    return tuple(vector.detach() if not vector.requires_grad else vector for vector in vectors)


def _grads(
    outputs: _Tensors, inputs: _Tensors, vectors: _Tensors | None, create_graph: bool
) -> tuple[Tensor | None, ...]:
    """Gradients where there are any; outputs without a graph simply give none."""
    vectors = tuple(_core.ones_like(o) for o in outputs) if vectors is None else vectors
    pairs = [(o, v) for o, v in zip(outputs, vectors, strict=True) if o.requires_grad]
    if not pairs:
        return (None,) * len(inputs)
    return grad(
        [o for o, _ in pairs],
        inputs,
        [v for _, v in pairs],
        create_graph=create_graph,
        retain_graph=True,
        allow_unused=True,
    )


def _materialized(
    name: str,
    grads: tuple[Tensor | None, ...],
    inputs: _Tensors,
    strict: bool,
    must_have_graph: bool,
) -> _Tensors:
    """Replace missing gradients by zeros; strict mode refuses them, and constant ones."""
    result = []
    for index, (g, x) in enumerate(zip(grads, inputs, strict=True)):
        if strict and g is None:
            raise RuntimeError(
                f"{name}: the output is independent of input {index}, which strict mode does "
                "not allow."
            )
        if strict and must_have_graph and g is not None and not g.requires_grad:
            raise RuntimeError(
                f"{name}: the derivative with respect to input {index} is independent of the "
                "inputs, which strict mode does not allow with create_graph=True."
            )
        result.append(_core.zeros_like(x) if g is None else g)
    return tuple(result)


def vjp(
    func: Callable[..., Any],
    inputs: _TensorOrTensors,
    v: _TensorOrTensors | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """Product of a vector with the Jacobian of ``func`` at ``inputs``.

    Args:
        func: a function that takes tensors and returns a tensor or a tuple of tensors.
        inputs: the arguments of ``func``, at which it is differentiated.
        v: the vector, shaped as the output of ``func``; it may be None for an output of one
            element.
        create_graph: whether the results can be differentiated again.
        strict: whether an output that does not depend on an input is an error, rather than giving
            zeros.

    Returns:
        the output, and the product, shaped as ``inputs``.

    Example:
        >>> x = facula.tensor([1.0, 2.0])
        >>> facula.autograd.functional.vjp(lambda x: x**2, x, facula.ones(2))
        (tensor([1., 4.]), tensor([2., 4.]))
    """
    with enable_grad():
        own, outputs, outputs_is_tuple = _called("vjp", func, inputs, create_graph, strict)
        vectors = _checked_vector("vjp", v, outputs, outputs_is_tuple, "output of func")
        grads = _grads(outputs, own, vectors, create_graph)
        product = _materialized("vjp", grads, own, strict, create_graph)
    return (
        _finished(outputs, outputs_is_tuple, create_graph),
        _finished(product, isinstance(inputs, tuple), create_graph),
    )


def jvp(
    func: Callable[..., Any],
    inputs: _TensorOrTensors,
    v: _TensorOrTensors | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """Product of the Jacobian of ``func`` at ``inputs`` with a vector.

    Computed by differentiating twice backwards: the vector-Jacobian product is linear in its
    vector, and its derivative with respect to that vector is this product.

    Args:
        func: a function that takes tensors and returns a tensor or a tuple of tensors.
        inputs: the arguments of ``func``, at which it is differentiated.
        v: the vector, shaped as ``inputs``; it may be None for one input of one element.
        create_graph: whether the results can be differentiated again.
        strict: whether an output that does not depend on an input is an error, rather than giving
            zeros.

    Returns:
        the output, and the product, shaped as the output.

    Example:
        >>> x = facula.tensor([1.0, 2.0])
        >>> facula.autograd.functional.jvp(lambda x: x**2, x, facula.ones(2))
        (tensor([1., 4.]), tensor([2., 4.]))
    """
    with enable_grad():
        vectors = _checked_vector("jvp", v, *_as_tuple("jvp", "inputs", inputs), "input")
        own, outputs, outputs_is_tuple = _called("jvp", func, inputs, create_graph, strict)
        product = _forward_product("jvp", outputs, own, vectors, create_graph, strict)
    return (
        _finished(outputs, outputs_is_tuple, create_graph),
        _finished(product, outputs_is_tuple, create_graph),
    )


def _forward_product(
    name: str,
    outputs: _Tensors,
    inputs: _Tensors,
    vectors: _Tensors,
    create_graph: bool,
    strict: bool,
) -> _Tensors:
    # The gradient is linear in the probes, so that its derivative is the same at any of their
    # values.
    probes = tuple(_core.zeros_like(o, requires_grad=True) for o in outputs)
    backward = _grads(outputs, inputs, probes, create_graph=True)
    backward = _materialized(name, backward, inputs, strict, must_have_graph=False)
    product = _grads(backward, probes, vectors, create_graph)
    return _materialized(name, product, outputs, strict, create_graph)


def jacobian(
    func: Callable[..., Any],
    inputs: _TensorOrTensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """Jacobian of ``func`` at ``inputs``.

    Args:
        func: a function that takes tensors and returns a tensor or a tuple of tensors.
        inputs: the arguments of ``func``, at which it is differentiated.
        create_graph: whether the Jacobian can be differentiated again.
        strict: whether an output that does not depend on an input is an error, rather than giving
            zeros.
        vectorize: whether all rows or columns are computed at once, by ``func.vmap``.
        strategy: how to compute: row by row, ``"reverse-mode"``, or column by column,
            ``"forward-mode"``, which needs ``vectorize=True``.

    Shape:
        for one output and one input ``output.shape + input.shape``; a tuple over inputs where
        ``inputs`` is a tuple, inside a tuple over outputs where ``func`` returns one.

    Example:
        >>> facula.autograd.functional.jacobian(lambda x: x**2, facula.tensor([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]])
    """
    _check_strategy("jacobian", strategy, create_graph, strict, vectorize)
    is_tuple = isinstance(inputs, tuple)
    if vectorize:
        return _at_once(func, inputs, create_graph, strategy)
    with enable_grad():
        own, outputs, outputs_is_tuple = _called("jacobian", func, inputs, create_graph, strict)
        blocks = tuple(
            _finished(_rows(output, own, index, create_graph, strict), is_tuple, create_graph)
            for index, output in enumerate(outputs)
        )
    return blocks if outputs_is_tuple else blocks[0]


def _at_once(
    func: Callable[..., Any], inputs: _TensorOrTensors, create_graph: bool, strategy: str
) -> Any:
    from facula import func as transforms  # which is made of this package

    own, is_tuple = _as_tuple("jacobian", "inputs", inputs)

    def checked(*given: Tensor) -> Any:
        output = func(*given)
        _as_tuple("jacobian", "outputs", output)
        return output

    with enable_grad():
        transform = transforms.jacrev if strategy == "reverse-mode" else transforms.jacfwd
        blocks = transform(checked, tuple(range(len(own))))(*own)
    rows = blocks if isinstance(blocks[0], tuple) else (blocks,)
    finished = tuple(_finished(row, is_tuple, create_graph) for row in rows)
    return finished if isinstance(blocks[0], tuple) else finished[0]


def _check_strategy(
    name: str, strategy: str, create_graph: bool, strict: bool, vectorize: bool
) -> None:
    if strategy not in ("forward-mode", "reverse-mode"):
        raise RuntimeError(
            f"{name}: expected strategy 'forward-mode' or 'reverse-mode', got {strategy!r}."
        )
    if strict and vectorize:
        raise RuntimeError(f"{name}: strict=True and vectorize=True exclude each other.")
    if strategy == "forward-mode" and create_graph:
        raise NotImplementedError(f"{name}: create_graph=True needs strategy='reverse-mode'.")
    if strategy == "forward-mode" and not vectorize:
        raise NotImplementedError(f"{name}: strategy='forward-mode' needs vectorize=True.")


def _rows(
    output: Tensor, inputs: _Tensors, index: int, create_graph: bool, strict: bool
) -> _Tensors:
    flat = output.reshape(-1)
    rows = []
    for element in flat.unbind(0):  # one graph, which _grads retains for all rows
        grads = _grads((element,), inputs, None, create_graph)
        rows.append(
            _materialized(f"jacobian (output {index})", grads, inputs, strict, create_graph)
        )
    shape = tuple(output.shape)
    if not rows:
        return tuple(x.new_zeros(shape + tuple(x.shape)) for x in inputs)
    return tuple(
        _core.stack(column).reshape(shape + tuple(x.shape))
        for column, x in zip(zip(*rows, strict=True), inputs, strict=True)
    )


def _single_element(name: str, func: Callable[..., Any]) -> Callable[..., Tensor]:
    def checked(*inputs: Tensor) -> Tensor:
        output = func(*inputs)
        if not isinstance(output, Tensor):
            raise RuntimeError(
                f"{name}: expected func to return a single tensor, got {type(output).__name__}."
            )
        if output.numel() != 1:
            raise RuntimeError(
                f"{name}: expected func to return one element, got {tuple(output.shape)}."
            )
        return output

    return checked


def hessian(
    func: Callable[..., Any],
    inputs: _TensorOrTensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """Matrix of second derivatives of a scalar function.

    Args:
        func: a function that takes tensors and returns a tensor of one element.
        inputs: the arguments of ``func``, at which it is differentiated.
        create_graph: whether the Hessian can be differentiated again.
        strict: whether an output that does not depend on an input is an error, rather than giving
            zeros.
        vectorize: whether the second derivative is computed at once, by ``func.vmap``.
        outer_jacobian_strategy: the ``strategy`` of :func:`jacobian` for the second derivative.

    Shape:
        for one input ``input.shape + input.shape``, else a tuple of tuples of such blocks.

    Example:
        >>> facula.autograd.functional.hessian(lambda x: (x**3).sum(), facula.tensor([1.0, 2.0]))
        tensor([[ 6.,  0.],
                [ 0., 12.]])
    """
    given, is_tuple = _as_tuple("hessian", "inputs", inputs)
    scalar = _single_element("hessian", func)

    def gradient(*own: Tensor) -> Any:
        if outer_jacobian_strategy == "forward-mode":  # whose inputs have tangents, and no graph
            own = tuple(x.view_as(x).requires_grad_() for x in own)
        rows = jacobian(lambda *x: scalar(*x).reshape(()), own, create_graph=True, strict=strict)
        return rows if is_tuple else rows[0]

    return jacobian(
        gradient,
        given if is_tuple else given[0],
        create_graph=create_graph,
        strict=strict,
        vectorize=vectorize,
        strategy=outer_jacobian_strategy,
    )


def vhp(
    func: Callable[..., Any],
    inputs: _TensorOrTensors,
    v: _TensorOrTensors | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """Product of a vector with the Hessian of a scalar function.

    Args:
        func: a function that takes tensors and returns a tensor of one element.
        inputs: the arguments of ``func``, at which it is differentiated.
        v: the vector, shaped as ``inputs``; it may be None for one input of one element.
        create_graph: whether the results can be differentiated again.
        strict: whether an output that does not depend on an input is an error, rather than giving
            zeros.

    Returns:
        the output, and the product, shaped as ``inputs``.

    Example:
        >>> x = facula.tensor([1.0, 2.0])
        >>> facula.autograd.functional.vhp(lambda x: (x**3).sum(), x, facula.ones(2))
        (tensor(9.), tensor([ 6., 12.]))
    """
    return _hessian_product("vhp", func, inputs, v, create_graph, strict)


def hvp(
    func: Callable[..., Any],
    inputs: _TensorOrTensors,
    v: _TensorOrTensors | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """Product of the Hessian of a scalar function with a vector.

    The Hessian of a twice continuously differentiable function is symmetric, so this is
    :func:`vhp`.

    Args:
        func: a function that takes tensors and returns a tensor of one element.
        inputs: the arguments of ``func``, at which it is differentiated.
        v: the vector, shaped as ``inputs``; it may be None for one input of one element.
        create_graph: whether the results can be differentiated again.
        strict: whether an output that does not depend on an input is an error, rather than giving
            zeros.

    Returns:
        the output, and the product, shaped as ``inputs``.

    Example:
        >>> x = facula.tensor([1.0, 2.0])
        >>> facula.autograd.functional.hvp(lambda x: (x**3).sum(), x, facula.ones(2))
        (tensor(9.), tensor([ 6., 12.]))
    """
    return _hessian_product("hvp", func, inputs, v, create_graph, strict)


def _hessian_product(
    name: str,
    func: Callable[..., Any],
    inputs: _TensorOrTensors,
    v: _TensorOrTensors | None,
    create_graph: bool,
    strict: bool,
) -> tuple[Any, Any]:
    with enable_grad():
        vectors = _checked_vector(name, v, *_as_tuple(name, "inputs", inputs), "input")
        own, (output,), _ = _called(name, _single_element(name, func), inputs, create_graph, strict)
        # Differentiated again whatever the caller's create_graph is, which concerns the result
        # only.
        first = _grads((output.reshape(()),), own, None, create_graph=True)
        first = _materialized(name, first, own, strict, must_have_graph=True)
        second = _grads(first, own, vectors, create_graph)
        product = _materialized(name, second, own, strict, create_graph)
    return (
        _finished((output,), False, create_graph),
        _finished(product, isinstance(inputs, tuple), create_graph),
    )
