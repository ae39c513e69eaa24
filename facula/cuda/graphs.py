"""Graphs: work of the GPU that is captured once and launched again as a whole.

A network of many small operations spends its time on launching them one by one. Captured, they are
one launch::

    graph = facula.cuda.CUDAGraph()
    x = facula.zeros(64, 1000, device="cuda")
    with facula.cuda.graph(graph):
        y = model(x)
    x.copy_(batch)
    graph.replay()  # y has the result for the batch

What is captured reads and writes the same memory at every launch, and everything that the CPU does
between the operations (prints, conditions, optimisers' steps) happens while it is captured, not
later.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from typing import Any

from facula import _core
from facula.cuda._devices import device_index, is_available, synchronize
from facula.cuda.streams import Stream, stream

__all__ = [
    "CUDAGraph",
    "graph",
    "graph_pool_handle",
    "is_current_stream_capturing",
    "make_graphed_callables",
]


def graph_pool_handle() -> tuple[int, int]:
    """A name for memory that several graphs share, for the ``pool`` of :class:`graph`."""
    return (0, _core._cuda_new_pool())


def is_current_stream_capturing() -> bool:
    """Whether a graph is being captured on the current GPU; False where there is none.

    Example:
        >>> facula.cuda.is_current_stream_capturing()
        False
    """
    return is_available() and _core._cuda_is_capturing(device_index(None))


class CUDAGraph:
    """Work of a stream that :meth:`replay` launches again.

    Args:
        keep_graph: accepted as in PyTorch; nothing depends on it.
    """

    def __init__(self, keep_graph: bool = False) -> None:
        self._graph = _core._CudaGraph()

    def capture_begin(
        self, pool: tuple[int, int] | None = None, capture_error_mode: str = "global"
    ) -> None:
        """Starts to capture what is queued on the current stream, which must not be the default.

        Args:
            pool: memory that other graphs use too, as :meth:`pool` or :func:`graph_pool_handle`
                name it; None for memory of its own.
            capture_error_mode: accepted as in PyTorch; memory may be allocated during a capture.
        """
        number = (pool or graph_pool_handle())[1]
        self._graph.begin(device_index(None), number)

    def capture_end(self) -> None:
        """Ends the capture; the graph can be launched from now on."""
        self._graph.end()

    def replay(self) -> None:
        """Launches the captured work on the current stream."""
        self._graph.replay()

    def reset(self) -> None:
        """Forgets what was captured, and lets its memory be used again."""
        self._graph.reset()

    def pool(self) -> tuple[int, int]:
        """The name of the graph's memory, for graphs that are to share it."""
        return (0, self._graph.pool())


class graph:
    """A block whose work is captured instead of run.

    Args:
        cuda_graph: what gets the work.
        pool: memory that other graphs use too; None for memory of its own.
        stream: the stream on which the work is captured; None for one of its own.
        capture_error_mode: accepted as in PyTorch; memory may be allocated during a capture.
    """

    def __init__(
        self,
        cuda_graph: CUDAGraph,
        pool: tuple[int, int] | None = None,
        stream: Stream | None = None,
        capture_error_mode: str = "global",
    ) -> None:
        self.cuda_graph, self.pool, self.capture_stream = cuda_graph, pool, stream

    def __enter__(self) -> None:
        # What a collection would free in the middle of the capture.
        synchronize()
        gc.collect()
        _core._cuda_empty_cache()
        self._context = stream(self.capture_stream or Stream())
        self._context.__enter__()
        try:
            self.cuda_graph.capture_begin(self.pool)
        except BaseException as error:
            # No __exit__ follows an __enter__ that raises: the stream is switched back here.
            self._context.__exit__(type(error), error, error.__traceback__)
            raise

    def __exit__(self, kind: Any, *rest: object) -> None:
        try:
            if kind is None:
                self.cuda_graph.capture_end()
            else:
                self.cuda_graph.reset()
        finally:
            self._context.__exit__(kind, *rest)


def make_graphed_callables(
    callables: Any,
    sample_args: Any,
    num_warmup_iters: int = 3,
    allow_unused_input: bool = False,
    pool: tuple[int, int] | None = None,
) -> Any:
    """Functions or modules whose forward and backward passes are graphs.

    The result takes tensors of the shapes of the samples, positionally, and can stand anywhere in
    a network that otherwise runs as usual. Results are overwritten by the next call.

    Args:
        callables: a function or module, or a tuple of them in the order of their later calls.
        sample_args: a tuple of tensors like those of later calls; a tuple of tuples for several.
        num_warmup_iters: passes before the capture, in which libraries choose their algorithms.
        allow_unused_input: whether inputs and parameters may have no part in the result.
        pool: memory that other graphs use too; None for memory of its own.

    Returns:
        A callable for each; a module is returned itself, with another ``forward``.
    """
    single = not isinstance(callables, tuple)
    functions = (callables,) if single else callables
    samples = (sample_args,) if single else sample_args
    pool = pool or graph_pool_handle()
    graphed = tuple(
        _graphed(function, tuple(args), num_warmup_iters, allow_unused_input, pool)
        for function, args in zip(functions, samples, strict=True)
    )
    return graphed[0] if single else graphed


def _graphed(
    function: Any,
    samples: tuple[Any, ...],
    n_warm: int,
    allow_unused: bool,
    pool: tuple[int, int],
) -> Any:
    from facula import autograd, nn
    from facula.utils._pytree import tree_flatten, tree_unflatten

    is_module = isinstance(function, nn.Module)
    parameters = [p for p in function.parameters() if p.requires_grad] if is_module else []
    wanted = [*(x for x in samples if x.requires_grad), *parameters]

    def backward(outputs: Sequence[Any], grads: Sequence[Any]) -> tuple[Any, ...]:
        return autograd.grad(outputs, wanted, grads, allow_unused=allow_unused)

    def differentiable(flat: Sequence[Any]) -> list[Any]:
        return [y for y in flat if isinstance(y, _core.Tensor) and y.requires_grad]

    synchronize()
    with stream(Stream()):
        for _ in range(n_warm):
            outputs = differentiable(tree_flatten(function(*samples))[0])
            if outputs and wanted:
                backward(outputs, [_core.ones_like(y) for y in outputs])
            del outputs
    synchronize()
    forward_graph, backward_graph = CUDAGraph(), CUDAGraph()
    with graph(forward_graph, pool):
        results, spec = tree_flatten(function(*samples))
    outputs = differentiable(results)
    grads_in = [_core.empty_like(y) for y in outputs]
    grads: tuple[Any, ...] = ()
    if outputs and wanted:
        with graph(backward_graph, pool):
            grads = backward(outputs, grads_in)
    held = [y.detach() if isinstance(y, _core.Tensor) else y for y in results]
    places = [i for i, y in enumerate(results) if any(y is z for z in outputs)]

    class Graphed(autograd.Function):
        @staticmethod
        def forward(ctx: Any, *inputs: Any) -> Any:
            for own, given in zip(samples, inputs, strict=False):
                if own.data_ptr() != given.data_ptr():
                    own.detach().copy_(given)
            forward_graph.replay()
            shown = tuple(held[i].detach() for i in range(len(held)))
            rest = [y for i, y in enumerate(shown) if i not in places]
            ctx.mark_non_differentiable(*rest)
            return shown

        @staticmethod
        def backward(ctx: Any, *given: Any) -> Any:
            for own, i in zip(grads_in, places, strict=True):
                if own.data_ptr() != given[i].data_ptr():
                    own.copy_(given[i])
            backward_graph.replay()
            own_grads = iter(grads)
            by_input = [next(own_grads) if x.requires_grad else None for x in samples]
            by_input += list(own_grads)
            return tuple(None if g is None else g.detach() for g in by_input)

    def call(*inputs: Any) -> Any:
        return tree_unflatten(list(Graphed.apply(*inputs, *parameters)), spec)

    if not is_module:
        return call
    plain: Callable[..., Any] = function.forward
    was_training = function.training

    def forward(*inputs: Any) -> Any:
        # What was captured is the mode that the module was in.
        return call(*inputs) if function.training == was_training else plain(*inputs)

    function.forward = forward
    return function
