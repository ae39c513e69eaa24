"""ONNX nodes, constants and values by name: what the translations of operations write with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import facula
from facula import Tensor
from facula.onnx._capture import Form
from facula.onnx.errors import OnnxExporterError

# By name, since the package onnx is loaded when it is used: their numbers in TensorProto.
_DTYPES = {
    facula.float32: 1,
    facula.uint8: 2,
    facula.int8: 3,
    facula.int16: 5,
    facula.int32: 6,
    facula.int64: 7,
    facula.bool: 9,
    facula.float16: 10,
    facula.float64: 11,
    facula.bfloat16: 16,
}


def package(name: str) -> Any:
    """A module that may not be installed: ``onnx``, or one of it, or ``onnxruntime``."""
    try:
        return import_module(name)
    except ImportError as error:
        top = name.partition(".")[0]
        install = "facula[onnx]" if top == "onnx" else top
        raise ImportError(
            f"facula.onnx needs the package {top}, which is not installed. Install it with "
            f"pip install {install}."
        ) from error


def element_type(dtype: facula.dtype) -> int:
    """ONNX's number of a dtype."""
    if dtype not in _DTYPES:
        raise OnnxExporterError(f"onnx.export: ONNX's operators know no tensors of {dtype}.")
    return _DTYPES[dtype]


class Value(str):
    """The name of a value in the model, and what is known of it.

    Args:
        name: the name.
        form: its dtype and sizes.
    """

    dtype: facula.dtype
    shape: tuple[int | None, ...]

    def __new__(cls, name: str, form: Form) -> Value:
        value = super().__new__(cls, name)
        value.dtype, value.shape = form
        return value

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.shape)


class SizeValue(Value):
    """The name of a size that the model computes: a tensor of one int64.

    Args:
        name: the name.
    """

    def __new__(cls, name: str, form: Form = Form(facula.int64, (1,))) -> SizeValue:  # noqa: B008
        return super().__new__(cls, name, form)  # type: ignore[return-value]


# A size in a list of sizes.
Dim = int | SizeValue


class Writer:
    """What a translation writes to: nodes and constants of a model.

    :attr:`result` is the form of the operation's result, a list of forms for several.

    Args:
        opset: the version of ONNX's operators.
    """

    def __init__(self, opset: int) -> None:
        self.opset = opset
        self.nodes: list[Any] = []
        self.initializers: dict[str, Tensor] = {}
        self.scope = ""
        self.result: Any = None
        self._constants: dict[Any, str] = {}
        self._counts: dict[str, int] = {}
        self._taken: set[str] = set()

    def name(self, wish: str) -> str:
        """A name that no other value has.

        Args:
            wish: how it should begin.
        """
        while True:
            n = self._counts.get(wish, 0)
            self._counts[wish] = n + 1
            name = f"{wish}_{n}" if n else wish
            if name not in self._taken:
                self._taken.add(name)
                return name

    def ops(self, kind: str, n_results: int, *inputs: str | None, **attributes: Any) -> list[str]:
        """Add a node; the names of its results.

        Args:
            kind: ONNX's name of the operator.
            n_results: how many results it has.
            inputs: names of values; None for one that is left out.
            attributes: the operator's attributes; None for one that is left out.
        """
        name = self.name(f"{self.scope}/{kind}" if self.scope else kind)
        results = [self.name(f"{name}_output_{i}") for i in range(n_results)]
        given = [str(each or "") for each in inputs]
        while given and not given[-1]:
            given.pop()
        kept = {k: v for k, v in attributes.items() if v is not None}
        make_node = package("onnx.helper").make_node
        self.nodes.append(make_node(kind, given, results, name=name, **kept))
        return results

    def op(self, kind: str, *inputs: str | None, **attributes: Any) -> str:
        """Add a node of one result; its name.

        Args:
            kind: ONNX's name of the operator.
            inputs: names of values; None for one that is left out.
            attributes: the operator's attributes; None for one that is left out.
        """
        return self.ops(kind, 1, *inputs, **attributes)[0]

    def constant(self, data: Any, dtype: facula.dtype = facula.int64) -> str:
        """The name of a constant; the same for the same.

        Args:
            data: a number, or a list of numbers.
            dtype: its dtype.
        """
        # Not by equality: 0.0 and -0.0 are equal, and NaN is not.
        key = repr(data), dtype
        if key not in self._constants:
            self._constants[key] = self.name("const")
            self.initializers[self._constants[key]] = facula.tensor(data, dtype=dtype)
        return self._constants[key]

    def ints(self, sizes: Sequence[Dim]) -> str:
        """The name of a one-dimensional tensor of sizes, of which some may be dynamic.

        Args:
            sizes: the sizes.
        """
        if not any(isinstance(size, str) for size in sizes):
            return self.constant([int(size) for size in sizes])
        parts = [s if isinstance(s, str) else self.constant([int(s)]) for s in sizes]
        return self.op("Concat", *parts, axis=0) if len(parts) > 1 else parts[0]

    def number(self, value: Any, dtype: facula.dtype) -> str:
        """The name of an operand: a value in a dtype, or a number as a constant.

        Args:
            value: the value, a size, or a number.
            dtype: the dtype that the operator is to see.
        """
        if isinstance(value, SizeValue):
            return self.cast(self.op("Squeeze", value), dtype, facula.int64)
        if isinstance(value, Value):
            return self.cast(value, dtype)
        if isinstance(value, float) and not dtype.is_floating_point and math.isfinite(value):
            value = int(value)
        return self.constant(value, dtype)

    def cast(self, value: str, dtype: facula.dtype, known: facula.dtype | None = None) -> str:
        """A value in another dtype.

        Args:
            value: the value.
            dtype: the dtype.
            known: the dtype of a value that does not know its own.
        """
        if (value.dtype if isinstance(value, Value) else known) == dtype:
            return value
        return self.op("Cast", value, to=element_type(dtype))

    def shape(self, x: Value) -> list[Dim]:
        """The sizes of a value; those of dynamic dimensions are read from it.

        Args:
            x: the value.
        """
        return [self.size(x, dim) for dim in range(x.rank)]

    def size(self, x: Value, dim: int) -> Dim:
        """A size of a value.

        Args:
            x: the value.
            dim: the dimension.
        """
        static = x.shape[dim]
        if static is not None:
            return static
        dim %= x.rank
        key = "size", str(x), dim
        if key not in self._constants:
            self._constants[key] = self.op("Shape", x, start=dim, end=dim + 1)
        return SizeValue(self._constants[key])

    def reshape(self, x: str, sizes: Sequence[Dim]) -> str:
        """A value in another shape.

        Args:
            x: the value.
            sizes: the shape; one size may be -1.
        """
        return self.op("Reshape", x, self.ints(sizes), allowzero=1 if 0 in sizes else None)

    def unsupported(self, what: str) -> OnnxExporterError:
        """An error for a form of an operation that has no translation.

        Args:
            what: the form, such as ``"padding of mode 'x'"``.
        """
        return OnnxExporterError(f"onnx.export: {what} has no translation to ONNX.")


def wrap(dim: int, rank: int) -> int:
    """A dimension counted from the front."""
    return dim % max(rank, 1)


def flat(sizes: Any) -> list[Any]:
    """The sizes of a call that gives them as one list, or one by one."""
    if len(sizes) == 1 and isinstance(sizes[0], (list, tuple)):
        return list(sizes[0])
    return list(sizes)
