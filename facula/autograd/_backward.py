"""``backward`` and ``grad``: arguments completed, then one call of the engine, which checks them.

The engine's entry is ``_core._run_backward(tensors, grad_tensors, retain_graph, create_graph,
inputs, allow_unused, accumulate_grad)``, which returns the gradients of ``inputs`` (a tuple, with
``None`` for the unused), or accumulates into ``.grad`` and returns an empty tuple.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from facula import _core
from facula._core import Tensor
from facula._notes import note
from facula._warnings import warn_user
from facula.autograd.graph import GradientEdge

__all__ = ["backward", "grad"]

_Tensors = Tensor | GradientEdge | Sequence[Tensor] | Sequence[GradientEdge]
_OptionalTensors = Tensor | Sequence[Tensor | None] | None


# In a program of PyTorch before 0.4: gives roots and gradients in today's form.
_older_roots: Callable[..., tuple[tuple[Tensor, ...], tuple[Tensor | None, ...]]] | None = None


def _as_tuple(tensors: _Tensors) -> tuple[Tensor, ...]:
    """The tensors, and for edges of the graph others that stand for them."""
    if isinstance(tensors, Tensor):
        return (tensors,)
    given: tuple[Any, ...] = (tensors,) if isinstance(tensors, GradientEdge) else tuple(tensors)
    return tuple(
        _core._tensor_of_edge(t.node, t.output_nr) if isinstance(t, GradientEdge) else t
        for t in given
    )


def _one_each(outputs: tuple[Tensor, ...], grads: _OptionalTensors) -> tuple[Tensor | None, ...]:
    if grads is None:
        return (None,) * len(outputs)
    return (grads,) if isinstance(grads, Tensor) else tuple(grads)


def backward(
    tensors: _Tensors,
    grad_tensors: _OptionalTensors = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: _OptionalTensors = None,
    inputs: _Tensors | None = None,
    *,
    retain_variables: bool | None = None,
) -> None:
    """Accumulate the gradients of ``tensors`` into the leaves they were made from.

    Args:
        tensors: the tensors to differentiate, or edges of the graph in their place.
        grad_tensors: the gradient of each tensor; it may be None for scalars.
        retain_graph: whether the graph is kept for another backward; by default ``create_graph``.
        create_graph: whether the computation of the gradients is recorded, for higher derivatives.
        grad_variables: the old name of ``grad_tensors``.
        inputs: the tensors to accumulate gradients into; by default all leaves.
        retain_variables: the older name of ``retain_graph``.

    Example:
        >>> x = facula.tensor(2.0, requires_grad=True)
        >>> facula.autograd.backward(x * x)
        >>> x.grad
        tensor(4.)
    """
    if grad_variables is not None:
        warn_user("backward: grad_variables is the old name of grad_tensors.", FutureWarning)
        if grad_tensors is not None:
            raise RuntimeError("backward: give grad_tensors or grad_variables, not both.")
        grad_tensors = grad_variables
    if retain_variables is not None:
        note("backward(retain_variables=...) is an older form of backward(retain_graph=...).")
        retain_graph = retain_variables
    roots = _as_tuple(tensors)
    targets = None if inputs is None else _as_tuple(inputs)
    keeps_graph = create_graph if retain_graph is None else retain_graph
    grads = _one_each(roots, grad_tensors)
    if _older_roots is not None:
        roots, grads = _older_roots(roots, grads)
    _core._run_backward(roots, grads, keeps_graph, create_graph, targets, True, True)


def grad(
    outputs: _Tensors,
    inputs: _Tensors,
    grad_outputs: _OptionalTensors = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor, ...]:
    """Return the gradients of ``outputs`` with respect to ``inputs``, leaving ``.grad`` alone.

    Args:
        outputs: the tensors to differentiate, or edges of the graph in their place.
        inputs: the tensors that the gradients are taken with respect to, or edges of the graph.
        grad_outputs: the gradient of each output; it may be None for scalars.
        retain_graph: whether the graph is kept for another call; by default ``create_graph``.
        create_graph: whether the computation of the gradients is recorded, for higher derivatives.
        only_inputs: must be True; kept from older versions.
        allow_unused: whether inputs that the outputs do not depend on get None, instead of an
            error; by default ``materialize_grads``.
        is_grads_batched: whether the first dimension of ``grad_outputs`` counts separate gradients.
        materialize_grads: whether unused inputs get zeros instead of None.

    Example:
        >>> x = facula.tensor(2.0, requires_grad=True)
        >>> facula.autograd.grad(x * x, x)
        (tensor(4.),)
    """
    if materialize_grads and allow_unused is False:
        raise ValueError("grad: materialize_grads=True needs allow_unused to be True or None.")
    if not only_inputs:
        warn_user("grad: only_inputs=False is ignored.", FutureWarning)
    allows_unused = materialize_grads if allow_unused is None else allow_unused
    roots, targets = _as_tuple(outputs), _as_tuple(inputs)
    grads = _one_each(roots, grad_outputs)
    if _older_roots is not None:
        roots, grads = _older_roots(roots, grads)
    keeps_graph = create_graph if retain_graph is None else retain_graph
    result: tuple[Any, ...]
    if is_grads_batched:
        result = _batched_grad(roots, targets, grads, keeps_graph, create_graph, allows_unused)
    else:
        result = _core._run_backward(
            roots, grads, keeps_graph, create_graph, targets, allows_unused, False
        )
    if materialize_grads:
        n = None if not is_grads_batched else _batch_size(grads)
        result = tuple(
            _zeros_for(x, n) if g is None else g for g, x in zip(result, targets, strict=True)
        )
    return tuple(result)


def _batch_size(grads: tuple[Tensor | None, ...]) -> int:
    return next(int(g.size(0)) for g in grads if g is not None)


def _zeros_for(x: Tensor, n_batch: int | None) -> Tensor:
    shape = tuple(x.shape) if n_batch is None else (n_batch, *x.shape)
    return _core.zeros(shape, dtype=x.dtype, device=x.device)


def _batched_grad(
    outputs: tuple[Tensor, ...],
    inputs: tuple[Tensor, ...],
    grads: tuple[Tensor | None, ...],
    keeps_graph: bool,
    create_graph: bool,
    allows_unused: bool,
) -> tuple[Tensor | None, ...]:
    n_batch = _batch_size(grads)
    rows = []
    for i in range(n_batch):
        row = tuple(None if g is None else g[i] for g in grads)
        keeps = keeps_graph or i < n_batch - 1
        rows.append(
            _core._run_backward(outputs, row, keeps, create_graph, inputs, allows_unused, False)
        )
    if not rows:
        return tuple(_zeros_for(x, 0) for x in inputs)
    return tuple(None if c[0] is None else _core.stack(c) for c in zip(*rows, strict=True))


# By PyTorch's name: packages with a checkpoint of their own ask for it in backward.
def _is_checkpoint_valid() -> bool:
    """False while gradients of some inputs only are computed."""
    return _core._current_graph_task_id() == -1 or _core._is_backward_to_leaves()
