"""``autograd.Function`` inside of ``vmap``."""

from __future__ import annotations

from typing import Any, NamedTuple

from facula._core import Tensor
from facula._transform import map_tensors
from facula.autograd.function import Function
from facula.func._batching._batch import Batch


class VmapInfo(NamedTuple):
    """What ``Function.vmap`` is told of the vmap around it."""

    batch_size: int
    randomness: str


def batched(
    batch: Batch, function: Any, ctx: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Apply a Function to all examples, in the way that it says."""
    has_rule = function.vmap is not Function.vmap
    if function.generate_vmap_rule:
        if has_rule:
            raise RuntimeError(
                f"{function.__name__}: generate_vmap_rule=True and a vmap staticmethod are "
                "defined. Choose one of them."
            )
        return _by_rules(batch, function, ctx, args, kwargs)
    if not has_rule:
        raise RuntimeError(
            f"You tried to vmap over {function.__name__}, but it does not have vmap support. "
            "Override the vmap staticmethod, or set generate_vmap_rule=True where forward and "
            "backward are made of operations."
        )
    in_dims = tuple(
        map_tensors(lambda x: 0 if batch.has(x) else None, a) if batch.has_any((a,)) else None
        for a in args
    )
    lowered = map_tensors(batch.lower, args)
    result = function.vmap(VmapInfo(batch.size, batch.randomness), in_dims, *lowered)
    if not isinstance(result, tuple) or len(result) != 2:
        raise RuntimeError(
            f"{function.__name__}.vmap: expected a pair (outputs, out_dims), got "
            f"{type(result).__name__}."
        )
    outputs = _wrapped(batch, *result)
    if function.setup_context is not Function.setup_context:
        with batch:  # for jvp, which looks at what one example has saved
            function.setup_context(ctx, args, outputs)
    return outputs


def _wrapped(batch: Batch, outputs: Any, out_dims: Any) -> Any:
    if isinstance(outputs, tuple):
        dims = out_dims if isinstance(out_dims, tuple) else (out_dims,) * len(outputs)
        return tuple(_wrapped(batch, y, dim) for y, dim in zip(outputs, dims, strict=True))
    if out_dims is None or not isinstance(outputs, Tensor):
        return outputs
    return batch.wrap(outputs.movedim(out_dims, 0))


def _by_rules(
    batch: Batch, function: Any, inner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """A Function of all examples: its forward and backward run those of one inside of the vmap."""
    is_batched = [batch.has(a) for a in args]

    def raised(values: Any) -> Any:
        return tuple(
            batch.wrap(x) if is_own and isinstance(x, Tensor) else x
            for x, is_own in zip(values, is_batched, strict=True)
        )

    class OfAll(Function):
        @staticmethod
        def forward(ctx: Any, *lowered: Any) -> Any:
            inner.needs_input_grad = ctx.needs_input_grad
            given = raised(lowered)
            with batch:
                if function.setup_context is Function.setup_context:
                    output = function.forward(inner, *given, **kwargs)
                else:
                    output = function.forward(*given, **kwargs)
                    function.setup_context(inner, given, output)
            saved = inner._to_save
            ctx.save_for_backward(*(batch.lower(x) for x in saved))
            ctx.was_batched = [batch.has(x) for x in saved]
            inner._to_save = ()
            outputs = output if isinstance(output, tuple) else (output,)
            ctx.mark_non_differentiable(
                *(batch.all_of(x) for x in inner._non_differentiable if isinstance(x, Tensor))
            )
            everything = tuple(batch.all_of(y) if isinstance(y, Tensor) else y for y in outputs)
            return everything if isinstance(output, tuple) else everything[0]

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            inner._shown = tuple(
                batch.wrap(x) if is_own and x is not None else x
                for x, is_own in zip(ctx.saved_tensors, ctx.was_batched, strict=True)
            )
            with batch:
                seeds = [None if g is None else batch.wrap(g) for g in grads]
                found = function._user_backward()(inner, *seeds)
            found = found if isinstance(found, tuple) else (found,)
            return tuple(
                _gradient(batch, g, is_own) for g, is_own in zip(found, is_batched, strict=False)
            )

    OfAll.__name__ = function.__name__
    result = OfAll.apply(*map(batch.lower, args))
    return batch.wrap_all(result)


def _gradient(batch: Batch, grad: Any, is_batched: bool) -> Any:
    """The gradient of an argument: of one that all examples share, the sum of theirs."""
    if grad is None:
        return None
    everything = batch.all_of(grad)
    return everything if is_batched else everything.sum(0)
