"""Sparse tensors from indices and values that the user gives, or a file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import facula
from facula._core import Tensor
from facula.sparse import _index
from facula.sparse._convert import empty
from facula.sparse._derive import from_parts
from facula.sparse._invariants import check_sparse_tensor_invariants
from facula.sparse._tensor import BSC, BSR, COO, CSC, CSR, SparseTensor, is_sparse


def _as_indices(name: str, given: Any, device: Any, *, keeps_int32: bool = False) -> Tensor:
    tensor = given if isinstance(given, Tensor) else facula.tensor(given)
    dtype = tensor.dtype
    if is_sparse(tensor):
        raise RuntimeError(f"{name}: expected dense indices, got a sparse tensor.")
    if dtype.is_complex or dtype == facula.bool:
        raise RuntimeError(f"{name}: expected integers as indices, got {dtype}.")
    if dtype == facula.int64 or (keeps_int32 and dtype == facula.int32):
        return tensor.detach() if tensor.device == device else tensor.detach().to(device)
    return tensor.detach().to(device=device, dtype=facula.int64)


def _as_values(given: Any, dtype: Any, device: Any) -> Tensor:
    if not isinstance(given, Tensor):
        return facula.tensor(given, dtype=dtype, device=device)
    if is_sparse(given):
        raise RuntimeError("expected dense values, got a sparse tensor. Use its values().")
    return given if device is dtype is None else given.to(device=device, dtype=dtype)


def _finish(made: SparseTensor, requires_grad: bool) -> SparseTensor:
    # As in PyTorch the option makes a leaf; without it, values give their history.
    return made.detach().requires_grad_() if requires_grad else made  # type: ignore[return-value]


def _is_checked(check_invariants: bool | None) -> bool:
    if check_invariants is None:
        return check_sparse_tensor_invariants.is_enabled()
    return check_invariants


def coo(
    indices: Any,
    values: Any,
    size: Any,
    dtype: Any,
    device: Any,
    requires_grad: bool,
    check_invariants: bool | None,
    is_coalesced: bool | None,
) -> SparseTensor:
    """What ``sparse_coo_tensor`` makes."""
    if values is None:  # sizes alone
        size = tuple(indices if size is None else size)
        made = empty(COO, size, len(size), dtype, device)
        return made.requires_grad_(requires_grad)  # type: ignore[return-value]
    values = _as_values(values, dtype, device)
    indices = _as_indices("sparse_coo_tensor", indices, values.device)
    check_coo(indices, values, size)
    if size is None:
        size = _least_size(indices, values)
    if _is_checked(check_invariants):
        numbers = _index.places(indices, size)
        if is_coalesced and not _index.is_rising(numbers):
            raise RuntimeError(
                "cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor"
            )
    made = from_parts(COO, (indices,), values, size, bool(is_coalesced))
    return _finish(made, requires_grad)


def _least_size(indices: Tensor, values: Tensor) -> tuple[int, ...]:
    if indices.size(1) == 0:
        return (*[0] * indices.size(0), *values.shape[1:])
    if int(indices.min()) < 0:
        raise RuntimeError(f"found negative index {int(indices.min())} for dim 0")
    return (*(int(row.max()) + 1 for row in indices), *values.shape[1:])


def check_coo(indices: Tensor, values: Tensor, size: Sequence[int] | None) -> None:
    """Raise unless shapes of indices, values and result fit each other."""
    columns, shape = indices.shape, values.shape
    if len(columns) != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(columns)}")
    if len(shape) == 0:
        raise RuntimeError("values must have a dimension of length nnz, but got a number.")
    if columns[1] != shape[0]:
        raise RuntimeError(
            f"indices and values must have same nnz, but got nnz from indices: {columns[1]}, "
            f"nnz from values: {shape[0]}"
        )
    if size is None:
        return
    n, n_dense = columns[0], len(shape) - 1
    if len(size) != n + n_dense:
        raise RuntimeError(
            f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(size)}, "
            f"sparse_dim = {n}, dense_dim = {n_dense}"
        )
    if size and min(size) < 0:
        raise RuntimeError(f"expected sizes of at least 0, got {tuple(size)}.")
    if n_dense > 0 and tuple(shape[1:]) != tuple(size[n:]):
        raise RuntimeError(
            f"values has incorrect size, expected {[shape[0], *size[n:]]}, got {list(shape)}"
        )


_NAMES = {
    CSR: ("crow_indices", "col_indices"),
    CSC: ("ccol_indices", "row_indices"),
    BSR: ("crow_indices", "col_indices"),
    BSC: ("ccol_indices", "row_indices"),
}


def compressed(
    layout: Any,
    outer: Any,
    plain: Any,
    values: Any,
    size: Any,
    dtype: Any,
    device: Any,
    requires_grad: bool,
    check_invariants: bool | None,
) -> SparseTensor:
    """What ``sparse_csr_tensor`` and its relatives make."""
    if layout not in _NAMES:
        raise RuntimeError(
            f"sparse_compressed_tensor: expected sparse compressed tensor layout but got {layout}"
        )
    values = _as_values(values, dtype, device)
    first, second = _NAMES[layout]
    outer = _as_indices(first, outer, values.device, keeps_int32=True)
    plain = _as_indices(second, plain, values.device, keeps_int32=True)
    if outer.dtype != plain.dtype:
        raise RuntimeError(
            f"{first} and {second} must have the same dtype, bot got {outer.dtype} and "
            f"{plain.dtype}, respectively"
        )
    if outer.dim() > 1 or plain.dim() > 1:
        raise NotImplementedError(
            f"{layout}: batches of matrices are not implemented. Make a tensor of each, or a COO "
            "tensor with three sparse dimensions."
        )
    # Of blocks, rows and columns are counted in blocks.
    is_blocks = layout in (BSR, BSC)
    if is_blocks and (values.dim() < 3 or 0 in values.shape[1:3]):
        raise RuntimeError(
            f"values must have dimensionality > sum of batch and block dimensionalities (=0 + 2) "
            f"and blocks with elements, but got values of shape {list(values.shape)}"
        )
    block = tuple(values.shape[1:3]) if is_blocks else (1, 1)
    is_rows = layout in (CSR, BSR)
    if size is None:
        rest = tuple(values.shape[3 if is_blocks else 1 :])
        n_inner = int(plain.max()) + 1 if plain.numel() else 0
        n_outer = outer.numel() - 1
        n_rows, n_columns = (n_outer, n_inner) if is_rows else (n_inner, n_outer)
        size = (n_rows * block[0], n_columns * block[1], *rest)
    counts = _in_blocks(size, block) if is_blocks else tuple(size)
    by_line = CSR if is_rows else CSC
    check_compressed(by_line, outer, plain, values.flatten(1, 2) if is_blocks else values, counts)
    if _is_checked(check_invariants):
        check_compressed_places(by_line, outer, plain, counts)
    return _finish(from_parts(layout, (outer, plain), values, size), requires_grad)


def _in_blocks(size: Sequence[int], block: tuple[int, ...]) -> tuple[int, ...]:
    """The size as that of a matrix of blocks, whose values have each block as one dimension."""
    if len(size) < 2 or min((*size, 0)) < 0 or size[0] % block[0] or size[1] % block[1]:
        raise RuntimeError(
            f"size: expected two sizes that are divisible by those of the blocks, {block}, and "
            f"those of the values behind them, got {tuple(size)}."
        )
    return (size[0] // block[0], size[1] // block[1], block[0] * block[1], *size[2:])


def check_compressed(
    layout: Any, outer: Tensor, plain: Tensor, values: Tensor, size: Sequence[int]
) -> None:
    """Raise unless shapes of indices, values and result fit each other."""
    first, second = _NAMES[layout]
    starts, places, shape = outer.shape, plain.shape, values.shape
    if len(starts) != 1 or len(places) != 1 or len(shape) < 1:
        raise RuntimeError(
            f"{first} and {second} must be vectors and values have their length first, got shapes "
            f"{list(starts)}, {list(places)} and {list(shape)}."
        )
    n_starts, n_places = starts[0], places[0]
    if len(size) != 1 + len(shape) or min(size) < 0:
        raise RuntimeError(
            f"size: expected two sizes and those of the values behind their first dimension, got "
            f"{tuple(size)} for values of shape {list(shape)}."
        )
    n_outer = size[0] if layout is CSR else size[1]
    if n_starts != n_outer + 1:
        raise RuntimeError(
            f"{first}.shape[-1] must be equal to the number of "
            f"{'rows' if layout is CSR else 'columns'} + 1 (i.e., {n_outer + 1}), but got "
            f"{n_starts}"
        )
    if n_places != shape[0]:
        raise RuntimeError(
            f"{second}.shape[-1] must be equal to nnz ({shape[0]}) as defined by "
            f"values.shape[0], but got {n_places}"
        )
    if len(shape) > 1 and tuple(shape[1:]) != tuple(size[2:]):
        raise RuntimeError(
            f"values must have the shape (nnz, *{list(size[2:])}), got {list(shape)}"
        )


def check_compressed_places(layout: Any, outer: Tensor, plain: Tensor, size: Sequence[int]) -> None:
    """Raise unless the lists rise from 0 to their end, with indices in range, each once."""
    first, second = _NAMES[layout]
    n_inner = size[1] if layout is CSR else size[0]
    if int(outer[0]) != 0:
        raise RuntimeError(f"`{first}[..., 0] == 0` is not satisfied.")
    if int(outer[-1]) != plain.numel():
        raise RuntimeError(f"`{first}[..., -1] == nnz` is not satisfied.")
    if not bool((outer[1:] >= outer[:-1]).all()):
        raise RuntimeError(
            f"`0 <= {first}[..., 1:] - {first}[..., :-1] <= plain_dim` is not satisfied."
        )
    if plain.numel() and not 0 <= int(plain.min()) <= int(plain.max()) < n_inner:
        raise RuntimeError(f"`0 <= {second} < plain_dim` is not satisfied.")
    numbers = _index.rows_of(outer, plain.numel()) * n_inner + plain
    if not _index.is_rising(numbers):
        raise RuntimeError(
            f"`{second}[..., {first}[..., i - 1]:{first}[..., i]] for all i = 1, ..., are sorted "
            "and distinct along the last dimension values` is not satisfied."
        )


def spdiags(diagonals: Tensor, offsets: Tensor, shape: Any, layout: Any) -> SparseTensor:
    """What ``sparse.spdiags`` makes."""
    rows = diagonals.unsqueeze(0) if diagonals.dim() == 1 else diagonals
    steps = offsets.reshape(-1)
    if rows.dim() != 2:
        raise RuntimeError("spdiags: Diagonals must be vector or matrix")
    if offsets.dim() > 1:
        raise RuntimeError("spdiags: Offsets must be scalar or vector")
    if len(shape) != 2:
        raise RuntimeError("spdiags: Output shape must be 2d")
    if steps.numel() != rows.size(0):
        raise RuntimeError(
            f"spdiags: Number of diagonals ({rows.size(0)}) does not match the number of offsets "
            f"({steps.numel()})"
        )
    if steps.dtype != facula.int64:
        raise RuntimeError(f"spdiags: Offset Tensor must have dtype Long but got {offsets.dtype}")
    if steps.unique().numel() != steps.numel():
        raise RuntimeError("Offset tensor contains duplicate values")
    n_rows, n_columns = shape
    # Element j of a diagonal lies in column j, if its row is one of the matrix.
    column = facula.arange(min(rows.size(1), n_columns)).expand(rows.size(0), -1)
    row = column - steps.unsqueeze(1)
    kept = ((row >= 0) & (row < n_rows)).reshape(-1).nonzero().reshape(-1)
    indices = facula.stack([row.reshape(-1), column.reshape(-1)]).index_select(1, kept)
    data = rows[:, : column.size(1)].reshape(-1).index_select(0, kept)
    made = from_parts(COO, (indices,), data, (n_rows, n_columns))
    if layout in (None, COO):
        return made
    return made.to_sparse(layout=layout)  # type: ignore[return-value]


def rebuilt(layout: Any, parts: Sequence[Any]) -> SparseTensor:
    """A tensor of the parts that a pickle has, all of them checked."""
    if layout is COO:
        indices, values, size = parts[:3]
        is_coalesced = bool(parts[3]) if len(parts) > 3 else None
        return coo(indices, values, size, None, None, False, True, is_coalesced)
    outer, plain, values, size = parts
    return compressed(layout, outer, plain, values, size, None, None, False, True)
