"""Text of sparse tensors."""

from __future__ import annotations

from typing import Any

import facula
from facula import _tensor_str
from facula._core import Tensor
from facula.sparse._convert import is_parameter
from facula.sparse._tensor import BSC, COO, CSC, SparseTensor, rule


def _part(name: str, part: Tensor, indent: int) -> str:
    prefix = f"{name}=tensor("
    text = "[]" if part.numel() == 0 else _tensor_str._contents_str(part, indent + len(prefix))
    size = f", size={tuple(part.shape)}" if part.numel() == 0 else ""
    return f"{prefix}{text}{size})"


@rule("__repr__")
def sparse_repr(tensor: SparseTensor, *, tensor_contents: str | None = None) -> str:
    indent = len("tensor(")
    names = ("indices",) if tensor._kind is COO else ("crow_indices", "col_indices")
    if tensor._kind in (CSC, BSC):
        names = ("ccol_indices", "row_indices")
    parts = [*zip(names, tensor._index, strict=True), ("values", tensor._data)]
    separator = ",\n" + " " * indent
    contents = tensor_contents or separator.join(_part(*part, indent) for part in parts)
    suffixes = [f"size={tuple(tensor._size)}", f"nnz={tensor._data.size(0)}"]
    if tensor.device.type != "cpu":
        suffixes.insert(0, f"device='{tensor.device}'")
    default = facula.get_default_dtype()
    complex_default = facula.complex128 if default == facula.float64 else facula.complex64
    if tensor.dtype not in (default, facula.int64, facula.bool, complex_default):
        suffixes.append(f"dtype={tensor.dtype}")
    suffixes.append(f"layout={tensor._kind}")
    grad_fn: Any = tensor.grad_fn
    if grad_fn is not None:
        suffixes.append(f"grad_fn=<{_tensor_str._node_name(grad_fn)}>")
    elif tensor.requires_grad:
        suffixes.append("requires_grad=True")
    if tensor._kind is COO:  # PyTorch begins a line for these, and not for those of the others
        contents += separator + suffixes.pop(0)
    text = _tensor_str._add_suffixes("tensor(" + contents, suffixes, indent)
    return "Parameter containing:\n" + text if is_parameter(tensor) else text


@rule("__format__")
def _format(tensor: SparseTensor, spec: str) -> str:
    return object.__format__(tensor, spec)
