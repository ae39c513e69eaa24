"""Facula's namespace of the array API standard beside array-api-strict's, and values for both."""

import json
import subprocess
import sys

import array_api_strict
import hypothesis
import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from facula import array_api

array_api_strict.set_array_api_strict_flags(api_version="2024.12")

INTEGERS = ["int8", "int16", "int32", "int64", "uint8"]
FLOATS = ["float32", "float64"]
REALS = [*INTEGERS, *FLOATS]
COMPLEX = ["complex64", "complex128"]
NUMBERS = [*REALS, *COMPLEX]
DTYPES_WITHOUT_ARITHMETIC = ["uint16", "uint32", "uint64"]
ALL = ["bool", *NUMBERS]

SHAPES = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)


def given(*strategies):
    """Hypothesis's mark, with as many examples as many functions have time for."""
    return lambda test: hypothesis.settings(max_examples=30)(hypothesis.given(*strategies)(test))


def numbers(dtype):
    """Small numbers, of which sums and products are exact."""
    if dtype == "bool":
        return st.booleans()
    low = 0 if dtype == "uint8" else -4
    if dtype in INTEGERS:
        return st.integers(low, 4)
    real = st.integers(-4, 4).map(float)
    return st.builds(complex, real, real) if dtype in COMPLEX else real


def arrays(dtypes, shapes=SHAPES, elements=numbers):
    return st.sampled_from(dtypes).flatmap(
        lambda dtype: hnp.arrays(dtype, shapes, elements=elements(dtype))
    )


@st.composite
def pairs(draw, dtypes, elements=numbers):
    """Two arrays of one kind whose shapes broadcast."""
    shapes = draw(hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3))
    kinds = [[d for d in dtypes if d in kind] for kind in (["bool"], INTEGERS, FLOATS, COMPLEX)]
    kind = draw(st.sampled_from([kind for kind in kinds if kind]))
    return [draw(arrays(kind, shape, elements)) for shape in shapes.input_shapes]


def converted(namespace, value):
    """The value with its arrays as those of the namespace, and its dtypes, too."""
    if isinstance(value, np.ndarray):
        return namespace.asarray(value, copy=True)
    if isinstance(value, np.dtype):
        return getattr(namespace, value.name)
    if isinstance(value, (tuple, list)):
        return type(value)(converted(namespace, each) for each in value)
    return value


def results(name, *args, **options):
    """What the two namespaces return for NumPy's arrays; ``name`` may have a dot."""
    for namespace in array_api, array_api_strict:
        function = namespace
        for part in name.split("."):
            function = getattr(function, part)
        with np.errstate(all="ignore"):
            yield function(
                *converted(namespace, args),
                **{key: converted(namespace, value) for key, value in options.items()},
            )


def dtype_name(array):
    return str(array.dtype).rpartition(".")[2]


def assert_same(ours, theirs, rtol=0.0):
    """Equal in shape, dtype and values, the signs of zeros included; of tuples, in every part."""
    if isinstance(theirs, (tuple, list)):
        assert isinstance(ours, tuple) == isinstance(theirs, tuple)
        assert len(ours) == len(theirs)
        for ours_part, theirs_part in zip(ours, theirs, strict=True):
            assert_same(ours_part, theirs_part, rtol)
        return
    if not isinstance(theirs, array_api_strict._array_object.Array):
        assert ours == theirs
        return
    assert tuple(ours.shape) == theirs.shape
    # NumPy's sums of unsigned integers are uint64, which tensors cannot compute with.
    if dtype_name(theirs) != "uint64":
        assert dtype_name(ours) == dtype_name(theirs)
    expected = np.from_dlpack(theirs)
    for ours_part, part in parts(ours.numpy(), expected):
        np.testing.assert_allclose(ours_part, part, rtol=rtol, atol=rtol)
        if not rtol and part.dtype.kind == "f":
            there = ~np.isnan(part)
            np.testing.assert_array_equal(np.signbit(ours_part)[there], np.signbit(part)[there])


def parts(*values):
    if values[0].dtype.kind == "c":
        return [tuple(v.real for v in values), tuple(v.imag for v in values)]
    return [values]


def assert_agree(name, *args, rtol=0.0, **options):
    assert_same(*results(name, *args, **options), rtol=rtol)


def printed_by(program):
    """The JSON that the program prints in a process of its own."""
    command = [sys.executable, "-W", "ignore", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
