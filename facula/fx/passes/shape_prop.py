"""Shapes and dtypes of all results of a graph, found by running it."""

from __future__ import annotations

from typing import Any, NamedTuple

import facula
from facula.fx.interpreter import Interpreter
from facula.fx.node import Node, map_aggregate

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(NamedTuple):
    """What is known of a tensor without its elements."""

    shape: facula.Size
    dtype: facula.dtype
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: facula.memory_format | None
    is_quantized: bool
    qparams: dict[str, Any]


def _extract_tensor_metadata(
    result: facula.Tensor, include_contiguity: bool = True
) -> TensorMetadata:
    """What is known of a tensor without its elements."""
    memory_format = None
    if include_contiguity:
        candidates = [facula.contiguous_format]
        candidates += [facula.channels_last] if result.dim() == 4 else []
        memory_format = next(
            (each for each in candidates if result.is_contiguous(memory_format=each)), None
        )
    return TensorMetadata(
        result.shape,
        result.dtype,
        result.requires_grad,
        tuple(result.stride()),
        memory_format,
        False,
        {},
    )


class ShapeProp(Interpreter):
    """Runs a graph, and writes shape and dtype of each result into ``node.meta["tensor_meta"]``.

    ``node.meta["type"]`` is the type of the result.

    Args:
        gm: the module whose graph is run.
        fake_mode: must be None: tensors without elements are on the device ``meta``.

    Example:
        >>> from facula.fx.passes.shape_prop import ShapeProp
        >>> traced = facula.fx.symbolic_trace(facula.nn.Sequential(facula.nn.Linear(3, 2)))
        >>> _ = ShapeProp(traced).propagate(facula.ones(5, 3))
        >>> for node in traced.graph.nodes:
        ...     print(node.name, node.meta["tensor_meta"].shape)
        input_1 torch.Size([5, 3])
        _0 torch.Size([5, 2])
        output torch.Size([5, 2])
    """

    def __init__(self, gm: Any, fake_mode: Any = None) -> None:
        super().__init__(gm)
        if fake_mode is not None:
            raise NotImplementedError(
                "ShapeProp: there are no fake tensors. Give inputs on the device 'meta' instead."
            )
        self.real_module = self.module

    def run_node(self, n: Node) -> Any:
        try:
            result = super().run_node(n)
        except Exception as error:
            raise RuntimeError(
                f"ShapeProp error for: node={n.format_node()} with meta={n.meta}"
            ) from error
        found = False

        def extract(obj: Any) -> Any:
            nonlocal found
            if isinstance(obj, facula.Tensor):
                found = True
                return _extract_tensor_metadata(obj)
            return obj

        meta = map_aggregate(result, extract)
        if found:
            n.meta["tensor_meta"] = meta
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """Run the graph; gives its result.

        Args:
            args: the inputs.
        """
        return super().run(*args)
