"""Functions of the namespace against array-api-strict, on values of every dtype and shape."""

import numpy as np
import pytest
from array_api_cases import (
    ALL,
    COMPLEX,
    FLOATS,
    INTEGERS,
    NUMBERS,
    REALS,
    SHAPES,
    array_api,
    arrays,
    assert_agree,
    given,
    numbers,
    pairs,
    results,
)
from hypothesis import assume
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import facula

FILLED = hnp.array_shapes(min_dims=0, max_dims=3, max_side=3)
AT_LEAST_1D = hnp.array_shapes(min_dims=1, max_dims=3, max_side=3)
MATRICES = hnp.array_shapes(min_dims=2, max_dims=3, min_side=0, max_side=3)
VECTORS = hnp.array_shapes(min_dims=1, max_dims=1, max_side=5)


def axis_of(x):
    return st.integers(-x.ndim, x.ndim - 1)


def axes_of(x, min_size=0):
    """One axis or several, of either sign; None for all."""
    signed = st.tuples(st.permutations(range(x.ndim)), st.integers(min_size, x.ndim), st.booleans())
    several = signed.map(lambda t: tuple(d - x.ndim if t[2] else d for d in t[0][: t[1]]))
    return st.one_of(st.none(), several, *([axis_of(x)] if x.ndim else []))


REDUCTIONS = {
    "all": ALL,
    "any": ALL,
    "count_nonzero": ALL,
    "max": REALS,
    "mean": [*FLOATS, *COMPLEX],
    "min": REALS,
    "prod": NUMBERS,
    "std": FLOATS,
    "sum": NUMBERS,
    "var": FLOATS,
}


@pytest.mark.filterwarnings("ignore:.*(freedom|Degrees|Mean of empty).*")
@pytest.mark.parametrize("name", REDUCTIONS)
@given(st.data())
def test_reductions(name, data):
    # Of no elements there is no maximum, and NumPy warns of their mean.
    shapes = FILLED if name in ("max", "min", "mean", "std", "var") else SHAPES
    x = data.draw(arrays(REDUCTIONS[name], shapes))
    options = {"axis": data.draw(axes_of(x)), "keepdims": data.draw(st.booleans())}
    assert_agree(name, x, rtol=1e-5 if name in ("mean", "std", "var", "prod") else 0.0, **options)


@pytest.mark.parametrize("name", ["std", "var"])
@pytest.mark.parametrize("correction", [0, 1, 0.5])
def test_corrections(name, correction):
    x = np.array([[1.0, 2.0, 4.0], [0.0, 1.0, 5.0]])
    assert_agree(name, x, axis=1, correction=correction, rtol=1e-12)
    assert_agree(name, x, correction=correction, rtol=1e-12)


@pytest.mark.parametrize("name", ["sum", "prod", "cumulative_sum", "cumulative_prod"])
@pytest.mark.parametrize("dtype", ["int16", "float64", "complex128"])
def test_dtypes_of_sums(name, dtype):
    assert_agree(name, np.arange(4, dtype="int16"), dtype=np.dtype(dtype))


@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
@given(st.data())
def test_cumulative(name, data):
    x = data.draw(arrays(NUMBERS, AT_LEAST_1D))
    axis = data.draw(axis_of(x))
    assert_agree(name, x, axis=axis, include_initial=data.draw(st.booleans()), rtol=1e-5)


def test_cumulative_needs_an_axis_of_a_matrix():
    with pytest.raises(ValueError, match="expected axis for a tensor of 2 dimensions"):
        array_api.cumulative_sum(facula.ones(2, 2))


@given(st.data())
def test_diff(data):
    x = data.draw(arrays(NUMBERS, AT_LEAST_1D))
    axis = data.draw(axis_of(x))
    n = data.draw(st.integers(1, 2))
    assert_agree("diff", x, axis=axis, n=n)
    assert_agree("diff", x, axis=axis, prepend=x, append=x)


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@given(st.data())
def test_places_of_extremes(name, data):
    x = data.draw(arrays(REALS, FILLED))
    axis = data.draw(st.none() | axis_of(x) if x.ndim else st.none())
    assert_agree(name, x, axis=axis, keepdims=data.draw(st.booleans()))


@pytest.mark.parametrize("name", ["sort", "argsort"])
@given(st.data())
def test_sorting(name, data):
    x = data.draw(arrays(REALS, AT_LEAST_1D))
    options = {"axis": data.draw(axis_of(x)), "descending": data.draw(st.booleans())}
    assert_agree(name, x, **options)


@given(arrays(ALL, AT_LEAST_1D))
def test_nonzero(x):
    assert_agree("nonzero", x)


@given(arrays(REALS, VECTORS), st.data(), st.sampled_from(["left", "right"]))
def test_searchsorted(x, data, side):
    kind = INTEGERS if x.dtype.name in INTEGERS else FLOATS
    wanted = data.draw(arrays(kind))
    assert_agree("searchsorted", np.sort(x), wanted, side=side)
    assert_agree("searchsorted", x, wanted, side=side, sorter=np.argsort(x))


@given(arrays(ALL))
def test_unique(x):
    assert_agree("unique_all", x)
    assert_agree("unique_counts", x)
    assert_agree("unique_inverse", x)
    assert_agree("unique_values", x)


def test_nans_are_distinct():
    unique = array_api.unique_all(facula.tensor([facula.nan, 1.0, facula.nan]))
    assert unique.indices.tolist() == [1, 0, 2]
    assert unique.inverse_indices.tolist() == [1, 0, 2]
    assert unique.counts.tolist() == [1, 1, 1]
    assert str(unique.values.tolist()) == "[1.0, nan, nan]"


@given(pairs(ALL), st.data())
def test_where(values, data):
    shape = np.broadcast_shapes(*(x.shape for x in values))
    assert_agree("where", data.draw(arrays(["bool"], shape)), *values)


@given(st.data())
def test_manipulations_of_one(data):
    x = data.draw(arrays(ALL, AT_LEAST_1D))
    axis = data.draw(axis_of(x))
    assert_agree("flip", x, axis=data.draw(axes_of(x)))
    assert_agree("permute_dims", x, tuple(data.draw(st.permutations(range(x.ndim)))))
    assert_agree("moveaxis", x, axis, data.draw(axis_of(x)))
    assert_agree("expand_dims", x, axis)
    assert_agree("squeeze", np.expand_dims(x, axis), axis)
    assert_agree("tile", x, tuple(data.draw(st.lists(st.integers(0, 2), max_size=4))))
    assert_agree("unstack", x, axis=axis)
    assert_agree("reshape", x, (-1,))
    assert_agree("reshape", x, x.shape[::-1], copy=True)
    assert_agree("broadcast_to", x, (2, *x.shape))
    assert_agree("repeat", x, 2, axis=data.draw(st.none() | st.just(axis)))
    repeats = np.arange(x.shape[axis], dtype=data.draw(st.sampled_from(INTEGERS)))
    assert_agree("repeat", x, repeats, axis=axis)


@given(st.data())
def test_roll(data):
    x = data.draw(arrays(ALL, AT_LEAST_1D))
    axis = data.draw(axes_of(x, min_size=1))
    shifts = st.integers(-4, 4)
    if isinstance(axis, tuple):
        shifts |= st.tuples(*[shifts] * len(axis))
    assert_agree("roll", x, data.draw(shifts), axis=axis)


@given(pairs(ALL))
def test_joining(values):
    assert_agree("broadcast_arrays", *values)
    assert_agree("concat", values, axis=None)
    together = [x.copy() for x in np.broadcast_arrays(*values)]
    assert_agree("stack", together, axis=-1)
    if together[0].ndim:
        assert_agree("concat", together, axis=-1)


@given(st.data())
def test_taking(data):
    x = data.draw(arrays(ALL, AT_LEAST_1D))
    axis = data.draw(axis_of(x))
    size = x.shape[axis]
    places = arrays(["int64", "int32"], VECTORS, lambda dtype: st.integers(-size, size - 1))
    indices = data.draw(places)
    assert_agree("take", x, indices, axis=axis)
    shape = [*x.shape]
    shape[axis] = 2
    assert_agree("take_along_axis", x, np.full(shape, indices[0]), axis=axis)


def test_taking_needs_an_axis_of_a_matrix():
    with pytest.raises(ValueError, match="expected axis for a tensor of 2 dimensions"):
        array_api.take(facula.ones(2, 2), facula.tensor([0]))


def test_a_dimension_of_another_size_is_not_squeezed():
    with pytest.raises(ValueError, match="expected size 1 at 0"):
        array_api.squeeze(facula.ones(2, 1), (0, 1))


def test_a_reshape_that_needs_a_copy_can_be_refused():
    x = facula.arange(6).reshape(2, 3)
    assert array_api.reshape(x, (6,), copy=False).data_ptr() == x.data_ptr()
    assert array_api.reshape(x, (6,), copy=True).data_ptr() != x.data_ptr()
    with pytest.raises(ValueError, match="without a copy"):
        array_api.reshape(x.T, (6,), copy=False)


@given(st.data())
def test_products(data):
    kind = data.draw(st.sampled_from([INTEGERS, FLOATS, COMPLEX]))
    batch = data.draw(st.sampled_from([(), (2,), (2, 1)]))
    rows, inner, columns = (data.draw(st.integers(0, 3)) for _ in range(3))
    left = data.draw(arrays(kind, (*batch, rows, inner)))
    right = data.draw(arrays(kind, (inner, columns)))
    assert_agree("matmul", left, right)
    assert_agree("matmul", left, data.draw(arrays(kind, (inner,))))
    assert_agree("matrix_transpose", left)
    assert_agree("tensordot", left, right, axes=1)
    assert_agree("tensordot", left, right, axes=((-1,), (0,)))
    assert_agree("tensordot", left, right, axes=0)
    assert_agree("vecdot", left, data.draw(arrays(kind, (inner,))))
    assert_agree("vecdot", left, data.draw(arrays(kind, (rows, 1))), axis=-2)


def test_vectors_of_other_sizes_have_no_product():
    with pytest.raises(ValueError, match="expected vectors of one size"):
        array_api.vecdot(facula.ones(1), facula.ones(3))


@given(arrays(ALL, MATRICES), st.integers(-4, 4))
def test_triangles(x, k):
    assert_agree("tril", x, k=k)
    assert_agree("triu", x, k=k)


@given(st.integers(0, 4), st.none() | st.integers(0, 4), st.integers(-6, 6))
def test_eye(rows, columns, k):
    assert_agree("eye", rows, columns, k=k, dtype=np.dtype("int64"))


@given(st.lists(VECTORS.flatmap(lambda s: arrays(["float64"], s)), max_size=3))
def test_meshgrid(vectors):
    assert_agree("meshgrid", *vectors)
    assert_agree("meshgrid", *vectors, indexing="ij")


@given(st.integers(-5, 5), st.integers(-5, 5), st.sampled_from([-2, -1, 1, 3]))
def test_arange(start, stop, step):
    assert_agree("arange", start, stop, step)
    assert_agree("arange", stop)
    assert_agree("arange", start / 2, stop, step / 4, dtype=np.dtype("float64"))


@pytest.mark.parametrize("bounds", [(0.0,), (0.0, 0), (0, 0.0), (3.0, 1), (1, 0.5), (0, 0, 1.0)])
def test_arange_without_numbers_keeps_the_kind(bounds):
    assert array_api.arange(*bounds).shape == (0,)
    assert array_api.arange(*bounds).dtype is facula.get_default_dtype()
    assert array_api.arange(*map(int, bounds)).dtype is facula.int64


@given(st.integers(-5, 5), st.integers(-5, 5), st.integers(0, 6), st.booleans())
def test_linspace(start, stop, num, endpoint):
    options = {"endpoint": endpoint, "dtype": np.dtype("float64")}
    assert_agree("linspace", start, stop, num, rtol=1e-12, **options)


@given(arrays(ALL), st.sampled_from(ALL))
def test_filled(x, dtype):
    value = np.dtype(dtype).type(1).item()
    for name in "zeros", "ones":
        assert_agree(name, x.shape, dtype=np.dtype(dtype))
        assert_agree(f"{name}_like", x)
        assert_agree(f"{name}_like", x, dtype=np.dtype(dtype))
    assert_agree("full", x.shape, value, dtype=np.dtype(dtype))
    assert_agree("full_like", x, value, dtype=np.dtype(dtype))
    for ours, theirs in [
        results("empty", x.shape, dtype=np.dtype(dtype)),
        results("empty_like", x),
    ]:
        assert tuple(ours.shape) == theirs.shape


@given(arrays(ALL), st.sampled_from(ALL))
def test_astype(x, dtype):
    assume(dtype in COMPLEX or x.dtype.name not in COMPLEX)
    assume(dtype != "uint8" or np.all(x >= 0))
    assert_agree("astype", x, np.dtype(dtype))


def test_astype_copies_unless_it_need_not():
    x = facula.ones(2)
    assert array_api.astype(x, facula.float32) is not x
    assert array_api.astype(x, facula.float32, copy=False) is x
    with pytest.raises(TypeError, match="cannot cast"):
        array_api.astype(facula.tensor([1j]), facula.float32)


@given(st.sampled_from(ALL), st.sampled_from(ALL))
def test_casts(from_, to):
    assert_agree("can_cast", np.dtype(from_), np.dtype(to))
    assert_agree("isdtype", np.dtype(from_), np.dtype(to))


@pytest.mark.parametrize("dtype", ALL)
def test_kinds(dtype):
    for kind in "bool", "signed integer", "unsigned integer", "integral", "real floating":
        assert_agree("isdtype", np.dtype(dtype), kind)
    assert_agree("isdtype", np.dtype(dtype), ("complex floating", "bool"))
    assert_agree("isdtype", np.dtype(dtype), "numeric")


def test_a_kind_that_is_none_is_refused():
    with pytest.raises(ValueError, match="expected a dtype or one of"):
        array_api.isdtype(facula.int8, "integer")


@given(pairs(ALL))
def test_result_types(values):
    ours, theirs = results("result_type", *values)
    assert str(ours).rpartition(".")[2] == str(theirs).rpartition(".")[2]


def test_numbers_alone_have_no_result_type():
    assert array_api.result_type(facula.float32, 1j) == facula.complex64
    with pytest.raises(ValueError, match="expected a tensor or a dtype"):
        array_api.result_type(1, 2)


@pytest.mark.parametrize("dtype", [*FLOATS, *COMPLEX])
def test_limits_of_floats(dtype):
    ours, theirs = results("finfo", np.dtype(dtype))
    for name in "bits", "eps", "max", "min", "smallest_normal":
        assert type(getattr(ours, name)) is type(getattr(theirs, name))
        assert getattr(ours, name) == getattr(theirs, name)
    assert ours.dtype == (facula.float32 if ours.bits == 32 else facula.float64)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_limits_of_integers(dtype):
    ours, theirs = results("iinfo", np.zeros(1, dtype))
    assert (ours.bits, ours.max, ours.min) == (theirs.bits, theirs.max, theirs.min)
    assert ours.dtype == getattr(facula, dtype)


ROWS = st.sampled_from(ALL).flatmap(
    lambda dtype: st.lists(st.tuples(numbers(dtype), numbers(dtype)), min_size=1)
)


@given(ROWS)
def test_asarray_of_lists(values):
    ours, theirs = results("asarray", values)
    assert ours.tolist() == np.from_dlpack(theirs).tolist()
    assert_agree("asarray", values, dtype=np.dtype("complex128"))


def test_asarray_copies_as_it_is_told():
    x = facula.ones(2)
    assert array_api.asarray(x) is x
    assert array_api.asarray(x, copy=False) is x
    assert array_api.asarray(x, copy=True).data_ptr() != x.data_ptr()
    for obj, options in (x, {"dtype": facula.int8}), ([1], {}), (1, {}):
        with pytest.raises(ValueError, match="without a copy"):
            array_api.asarray(obj, copy=False, **options)


def test_asarray_keeps_a_tensor_in_its_graph():
    x = facula.ones(2, requires_grad=True)
    array_api.asarray(x, dtype=facula.float64).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_asarray_reads_buffers_by_their_own_dtype():
    assert array_api.asarray(bytearray(b"ab")).tolist() == [97, 98]
    assert array_api.asarray([facula.tensor(1), facula.tensor(2)]).tolist() == [1, 2]
    x = np.arange(3)
    assert array_api.asarray(x, copy=False).data_ptr() == x.ctypes.data


def test_from_dlpack_shares_memory_unless_a_copy_is_wanted():
    x = np.arange(3)
    assert array_api.from_dlpack(x).data_ptr() == x.ctypes.data
    assert array_api.from_dlpack(x, copy=True, device="cpu").data_ptr() != x.ctypes.data
