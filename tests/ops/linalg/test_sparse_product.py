"""The kernels behind products of sparse matrices, which trust no index."""

import numpy as np
import pytest

import facula
from facula import _core

pytestmark = pytest.mark.promise("T11")

STARTS, COLUMNS = facula.tensor([0, 2, 2, 3]), facula.tensor([0, 3, 1])
VALUES = facula.tensor([2.0, -1.0, 4.0])
MATRIX = np.array([[2, 0, 0, -1], [0, 0, 0, 0], [0, 4, 0, 0]])


@pytest.mark.parametrize(
    "dtype", ["float16", "bfloat16", "float32", "float64", "int32", "complex64"]
)
@pytest.mark.parametrize("n", [0, 1, 3, 70])
def test_rows_are_multiplied(dtype, n):
    dense = facula.arange(4 * n).reshape(4, n).remainder(7).to(getattr(facula, dtype))
    product = _core._csr_mm(STARTS, COLUMNS, VALUES.to(dense.dtype), dense)
    assert product.dtype == dense.dtype
    expected = MATRIX @ dense.to(facula.complex64).numpy()
    assert np.array_equal(product.to(facula.complex64).numpy(), expected)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_places_of_a_product_are_computed(dtype):
    a = facula.arange(3 * 5).reshape(3, 5).remainder(4).to(getattr(facula, dtype))
    b = facula.arange(4 * 5).reshape(4, 5).remainder(3).to(getattr(facula, dtype))
    dots = _core._csr_dots(STARTS, COLUMNS, a, b)
    full = a.double().numpy() @ b.double().numpy().T
    assert dots.double().tolist() == [full[0, 0], full[0, 3], full[2, 1]]


def test_indices_of_int32_and_strided_operands_are_taken():
    dense = facula.arange(12.0).reshape(3, 4).t()
    expected = _core._csr_mm(STARTS, COLUMNS, VALUES, dense.contiguous())
    assert facula.equal(_core._csr_mm(STARTS.int(), COLUMNS.int(), VALUES, dense), expected)


@pytest.mark.parametrize(
    "starts, columns, message",
    [
        ([0, 2, 1, 3], [0, 3, 1], "starts that rise"),
        ([0, 2, 2, 4], [0, 3, 1], "starts that rise"),
        ([1, 2, 2, 3], [0, 3, 1], "starts that rise"),
        ([0, 2, 2, 3], [0, 4, 1], "out of range for 4 columns"),
        ([0, 2, 2, 3], [0, -1, 1], "out of range for 4 columns"),
        ([], [0, 3, 1], "vectors of starts"),
        ([0, 2, 2, 3], [0, 3], "a value for each column"),
    ],
)
def test_lists_that_lead_outside_are_refused(starts, columns, message):
    starts, columns = (facula.tensor(t, dtype=facula.int64) for t in (starts, columns))
    with pytest.raises(RuntimeError, match=message):
        _core._csr_mm(starts, columns, VALUES, facula.ones(4, 2))


def test_operands_that_do_not_fit_are_refused():
    with pytest.raises(RuntimeError, match="one dtype"):
        _core._csr_mm(STARTS, COLUMNS, VALUES, facula.ones(4, 2, dtype=facula.float64))
    with pytest.raises(RuntimeError, match="expected a matrix"):
        _core._csr_mm(STARTS, COLUMNS, VALUES, facula.ones(4))
    with pytest.raises(RuntimeError, match="rows of one length"):
        _core._csr_dots(STARTS, COLUMNS, facula.ones(3, 2), facula.ones(4, 3))
    with pytest.raises(RuntimeError, match="floating-point"):
        ones = facula.ones(4, 3, dtype=facula.int64)
        _core._csr_dots(STARTS, COLUMNS, ones[:3], ones)
    with pytest.raises(RuntimeError, match="expected 3 rows"):
        _core._csr_dots(STARTS, COLUMNS, facula.ones(2, 3), facula.ones(4, 3))
