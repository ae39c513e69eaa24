"""Questions about dtypes, and numbers too small to be normal."""

import itertools

import pytest

import facula

KINDS = {
    "bool": ("bool",),
    "integer": ("uint8", "int8", "int16", "int32", "int64"),
    "floating": ("float16", "bfloat16", "float32", "float64"),
    "complex": ("complex64", "complex128"),
}
ALL = [(name, rank) for rank, names in enumerate(KINDS.values()) for name in names]


@pytest.mark.promise("T7")
def test_types_promote_as_sums_of_tensors_do():
    for (a, _), (b, _) in itertools.product(ALL, ALL):
        types = getattr(facula, a), getattr(facula, b)
        x, y = (facula.ones(1, dtype=t) for t in types)
        assert facula.promote_types(*types) == (x * y).dtype == facula.promote_types(*types[::-1])


@pytest.mark.promise("T7")
def test_a_cast_may_not_go_to_a_lower_kind():
    for (a, rank_a), (b, rank_b) in itertools.product(ALL, ALL):
        can = facula.can_cast(getattr(facula, a), getattr(facula, b))
        assert can == (rank_a <= rank_b), (a, b)


def test_denormal_numbers_are_flushed_where_asked():
    x = facula.tensor([1e-310, 1.0], dtype=facula.float64)
    can = facula.set_flush_denormal(True)
    try:
        flushed = (x * 1).tolist()
    finally:
        facula.set_flush_denormal(False)
    assert flushed == ([0, 1] if can else x.tolist())
    assert (x * 1).tolist() == [1e-310, 1]
