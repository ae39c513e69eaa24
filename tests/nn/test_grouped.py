import pytest

import facula
from facula.nn import functional as F

OFFS = facula.tensor([2, 2, 5], dtype=facula.int32)


def test_groups_of_rows_meet_their_matrices():
    a, b = facula.randn(6, 4), facula.randn(3, 4, 2)
    result = F.grouped_mm(a, b, offs=OFFS)
    expected = facula.cat([a[:2] @ b[0], a[2:5] @ b[2], facula.zeros(1, 2)])
    facula.testing.assert_close(result, expected)


def test_groups_of_columns_and_of_both():
    a, b = facula.randn(3, 2, 4), facula.randn(4, 5)
    expected = facula.cat([a[0] @ b[:, :2], a[2] @ b[:, 2:]], 1)
    facula.testing.assert_close(F.grouped_mm(a, b, offs=OFFS), expected)
    a, b = facula.randn(2, 5), facula.randn(5, 3)
    parts = [a[:, :2] @ b[:2], facula.zeros(2, 3), a[:, 2:] @ b[2:]]
    facula.testing.assert_close(F.grouped_mm(a, b, offs=OFFS), facula.stack(parts))
    a, b = facula.randn(3, 2, 4), facula.randn(3, 4, 5)
    assert F.grouped_mm(a, b, out_dtype=facula.float64).dtype == facula.float64


def test_groups_have_gradients():
    a = facula.randn(5, 2, dtype=facula.float64, requires_grad=True)
    b = facula.randn(3, 2, 2, dtype=facula.float64, requires_grad=True)
    assert facula.autograd.gradcheck(lambda a, b: F.grouped_mm(a, b, offs=OFFS), (a, b))


def test_no_groups_are_no_products():
    none = facula.tensor([], dtype=facula.int32)
    assert F.grouped_mm(facula.ones(2, 4), facula.ones(4, 3), offs=none).shape == (0, 2, 3)
    assert F.grouped_mm(facula.ones(2, 4), facula.ones(0, 4, 3), offs=none).shape == (2, 3)


def rows_cut_at(ends, dtype=facula.int32):
    offs = facula.tensor(ends, dtype=dtype)
    return F.grouped_mm(facula.ones(4, 16), facula.ones(2, 16, 16), offs=offs)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: F.grouped_mm(facula.ones(2, 2), facula.ones(3, 2, 2)), "offs is needed"),
        (lambda: F.grouped_mm(facula.ones(5, 2), facula.ones(2, 2, 2), offs=OFFS), "3 groups"),
        (lambda: F.grouped_mm(facula.ones(2), facula.ones(2, 2)), "2 or 3 dimensions"),
        (lambda: F.grouped_mm(*[facula.ones(1, 2, 2)] * 2, offs=OFFS), "only for matrices of 2"),
        (lambda: F.grouped_mm(*[facula.ones(1, 2, 2)] * 2, bias=OFFS), "add it to the result"),
        (lambda: F.grouped_mm(facula.ones(2, 5), facula.ones(6, 3), offs=OFFS), "as many columns"),
        (lambda: rows_cut_at([4, 2]), r"ascend from 0 to 4 at most, got \[4, 2\]"),
        (lambda: rows_cut_at([2, 400]), r"ascend from 0 to 4 at most, got \[2, 400\]"),
        (lambda: rows_cut_at([-2, 4]), r"ascend from 0 to 4 at most, got \[-2, 4\]"),
        (lambda: rows_cut_at([[2, 4]]), "offs has to be 1D"),
        (lambda: rows_cut_at([2, 4], facula.int64), "Offsets have to be int32"),
    ],
)
def test_what_is_refused(call, message):
    with pytest.raises(RuntimeError, match=message):
        call()


def test_scales_multiply_elements():
    a, b = facula.randn(3, 4), facula.randn(4, 2)
    rows, columns = facula.rand(3), facula.rand(2)
    by_row, whole = F.ScalingType.RowWise, F.ScalingType.TensorWise
    expected = (a * rows[:, None]) @ (b * columns)
    result = F.scaled_mm(a, b, rows, by_row, columns, by_row, output_dtype=facula.float32)
    facula.testing.assert_close(result, expected)
    two = facula.tensor(2.0)
    eights = a.to(facula.float8_e4m3fn)
    result = F.scaled_mm(eights, b, [two], whole, columns, by_row, bias=columns)
    assert result.dtype == facula.bfloat16
    with pytest.raises(NotImplementedError, match="TensorWise or RowWise"):
        F.scaled_mm(a, b, two, F.ScalingType.BlockWise1x32, two, whole)
    with pytest.raises(NotImplementedError, match="natural order"):
        F.scaled_mm(a, b, two, whole, two, whole, F.SwizzleType.SWIZZLE_32_4_4)


def test_scaled_groups():
    a, b = facula.randn(5, 4), facula.randn(3, 4, 2)
    rows, columns = facula.rand(5), facula.rand(3, 2)
    by_row = F.ScalingType.RowWise
    result = F.scaled_grouped_mm(
        a, b, rows, by_row, columns, by_row, offs=OFFS, output_dtype=facula.float32
    )
    expected = F.grouped_mm(a * rows[:, None], b * columns[:, None], offs=OFFS)
    facula.testing.assert_close(result, expected)


def test_names_of_other_modules_are_here_too():
    assert not F.has_torch_function((facula.ones(1),))
    assert F.BroadcastingList2[int] is None
    assert callable(F.boolean_dispatch)
