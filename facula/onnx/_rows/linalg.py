"""Products of matrices and vectors."""

from __future__ import annotations

from typing import Any

from facula.onnx._rows import row
from facula.onnx._rows.shape import permuted
from facula.onnx._writer import Value, Writer


@row("matmul", "mm", "bmm", "mv", "dot")
def matmul(g: Writer, x: Value, other: Value) -> str:
    return g.op("MatMul", x, other)


@row("linear")
def linear(g: Writer, x: Value, weight: Value, bias: Value | None = None) -> str:
    if x.rank == 2 and bias is not None:
        return g.op("Gemm", x, weight, bias, transB=1)
    factor = permuted(g, weight, [1, 0]) if weight.rank == 2 else weight
    y = g.op("MatMul", x, factor)
    return y if bias is None else g.op("Add", y, bias)


def _plus(g: Writer, x: Value, product: str, beta: Any, alpha: Any) -> str:
    """``beta * x + alpha * product``."""
    if alpha != 1:
        product = g.op("Mul", product, g.constant(alpha, x.dtype))
    if beta == 0:
        return product
    scaled = x if beta == 1 else g.op("Mul", x, g.constant(beta, x.dtype))
    return g.op("Add", scaled, product)


@row("addmm", "addmv")
def addmm(g: Writer, x: Value, mat1: Value, mat2: Value, beta: Any = 1, alpha: Any = 1) -> str:
    return _plus(g, x, g.op("MatMul", mat1, mat2), beta, alpha)


@row("baddbmm")
def baddbmm(
    g: Writer, x: Value, batch1: Value, batch2: Value, beta: Any = 1, alpha: Any = 1
) -> str:
    return _plus(g, x, g.op("MatMul", batch1, batch2), beta, alpha)


@row("outer", "ger")
def outer(g: Writer, x: Value, vec2: Value) -> str:
    return g.op("Mul", g.op("Unsqueeze", x, g.constant([1])), vec2)
