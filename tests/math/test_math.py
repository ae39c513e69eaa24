"""Accuracy, special values and agreement of the formulas in core/math, on every instruction set.

functions.cpp is compiled once per instruction set that this machine can run, with the flags that
the kernels are compiled with.
"""

import ctypes
import os
import platform
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
FLAGS = [
    "-std=c++17",
    "-O2",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-shared",
    "-fPIC",
]
ISA_FLAGS = {
    "baseline": [],
    "avx2": ["-mavx2", "-mfma", "-mf16c"],
    "avx512": [
        "-mavx512f",
        "-mavx512dq",
        "-mavx512bw",
        "-mavx512vl",
        "-mfma",
        "-mf16c",
        "-mprefer-vector-width=512",
    ],
}
CPU_FEATURES = {
    "baseline": set(),
    "avx2": {"avx2", "fma", "f16c"},
    "avx512": {"avx512f", "avx512dq", "avx512bw", "avx512vl", "fma", "f16c"},
}

UNARY = """
    exp exp2 expm1 log log2 log10 log1p logit sqrt rsqrt sin cos tan sinc asin acos atan
    sinh cosh tanh asinh acosh atanh erf erfc erfinv lgamma digamma i0 i1
    bessel_j0 bessel_j1 bessel_y0 bessel_y1
    sigmoid silu softplus logsigmoid mish gelu gelu_tanh floor ceil trunc round abs
""".split()  # noqa: SIM905
BINARY = ["pow", "atan2", "min", "max"]
# The special functions, and products of several rounded factors.
FOUR_UNITS = {"sinc", "erfc", "erfinv", "lgamma", "digamma", "i0"}
FOUR_UNITS |= {"bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1"}
FOUR_UNITS |= {"silu", "mish", "gelu", "gelu_tanh"}

# Results smaller than this are compared in units of this: there the absolute error is what counts.
FLOORS = {
    # A factor exp(x) becomes denormal before the product with x does.
    ("silu", "f32"): 2.0**-118,
    ("silu", "f64"): 2.0**-1012,
    ("mish", "f32"): 2.0**-118,
    ("mish", "f64"): 2.0**-1012,
    # The argument of the exponential is rounded, and large for large negative x.
    ("gelu", "f32"): 0.125,
    ("gelu", "f64"): 0.125,
    ("gelu_tanh", "f32"): 0.125,
    ("gelu_tanh", "f64"): 0.125,
    # Close to its zeros, as the Bessel functions.
    ("digamma", "f64"): 8.0,
    **{(f"bessel_{name}", "f64"): 1.0 for name in ("j0", "j1", "y0", "y1")},
}
# The C library's own function, which is not ours to improve; one whose argument is squared; and two
# that are sums of a logarithm and a polynomial.
BOUNDS = {("lgamma", "f64"): 6.0, ("i1", "f64"): 8.0}
BOUNDS |= {("bessel_y0", "f64"): 8.0, ("bessel_y1", "f64"): 8.0}

VECTOR, SCALAR = 0, 1
TYPES = {"f32": np.float32, "f64": np.float64}
BITS = {"f32": np.uint32, "f64": np.uint64}
EDGES = [0, 1e-310, 1e-45, 1e-40, 1e-30, 1e-8, 0.1, 0.25, 0.5, 0.75, 1 - 2**-24, 1 - 2**-53, 1, 1.5]
EDGES += [
    2,
    2.5,
    3,
    10,
    88.72,
    88.73,
    87.33,
    103.9,
    104,
    709.7,
    709.8,
    745.1,
    745.2,
    1e6,
    2**24 + 1,
]
EDGES += [1e10, 1e30, 3.4e38, 1e300, np.inf, np.nan]


def cpu_features():
    if platform.machine() != "x86_64":
        return set()
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return set(next((line for line in lines if line.startswith("flags")), "").split())


ISAS = [isa for isa, needs in CPU_FEATURES.items() if needs <= cpu_features()]


@pytest.fixture(scope="module")
def libraries(tmp_path_factory):
    compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    launcher = ["ccache"] if shutil.which("ccache") else []
    folder = tmp_path_factory.mktemp("math")
    jobs = {}
    for isa in ISAS:
        command = [*launcher, *compiler.split(), *FLAGS, *ISA_FLAGS[isa], f"-DFACULA_ISA={isa}"]
        command += [
            f"-I{ROOT / 'core'}",
            str(ROOT / "tests/math/functions.cpp"),
            "-o",
            str(folder / isa),
        ]
        jobs[isa] = subprocess.Popen(command)
    assert [job.wait() for job in jobs.values()] == [0] * len(jobs)
    return {isa: ctypes.CDLL(str(folder / isa)) for isa in jobs}


def pointer(array):
    return array.ctypes.data_as(ctypes.c_void_p)


def call(library, name, suffix, x, y, path):
    x = np.ascontiguousarray(x, TYPES[suffix])
    y = np.ascontiguousarray(x if y is None else y, TYPES[suffix])
    out = np.empty_like(x)
    function = getattr(library, f"{name}_{suffix}")
    function(path, pointer(x), pointer(y), pointer(out), ctypes.c_int64(x.size))
    return out


def largest_error(library, name, suffix, x, y, got):
    """In units of the last place, and the arguments where it is."""
    function = getattr(library, f"{name}_{suffix}_error")
    function.restype = ctypes.c_double
    where = ctypes.c_int64(0)
    floor = ctypes.c_double(FLOORS.get((name, suffix), 0.0))
    y = x if y is None else y
    n = ctypes.c_int64(x.size)
    error = function(pointer(x), pointer(y), pointer(got), n, floor, ctypes.byref(where))
    return error, (x[where.value], y[where.value])


def samples(suffix, n, seed=0):
    """Edge cases, ranges where functions have their shape, and n bit patterns of all exponents."""
    rng = np.random.default_rng(seed)
    if suffix == "f32":
        patterns = np.linspace(0, 2**32 - 1, n).astype(np.uint32).view(np.float32)
    else:
        patterns = rng.integers(0, 2**64, n, dtype=np.uint64).view(np.float64)
    sign = rng.choice([-1, 1], n // 4)
    parts = [
        EDGES,
        -np.array(EDGES),
        rng.uniform(-1, 1, n // 4),
        rng.uniform(-20, 20, n // 4),
        rng.uniform(-120, 120, n // 4),
        rng.uniform(-760, 760, n // 4),
        sign * np.exp2(rng.uniform(-30, 30, n // 4)),
        1 + sign * np.exp2(rng.uniform(-40, 0, n // 4)),
    ]
    with np.errstate(over="ignore"):
        shaped = np.concatenate(parts).astype(TYPES[suffix])
    return np.concatenate([shaped, patterns])


def pairs(suffix, n):
    edges = np.concatenate([EDGES, -np.array(EDGES)])
    rng = np.random.default_rng(1)
    with np.errstate(over="ignore"):
        grid = [g.ravel().astype(TYPES[suffix]) for g in np.meshgrid(edges, edges)]
        powers = [np.exp(rng.uniform(-4, 4, n)), rng.uniform(-30, 30, n)]
        powers = [p.astype(TYPES[suffix]) for p in powers]
    x, y = samples(suffix, n), rng.permutation(samples(suffix, n, seed=2))
    return np.concatenate([grid[0], x, powers[0]]), np.concatenate([grid[1], y, powers[1]])


def arguments(name, suffix, n):
    if name in BINARY:
        return pairs(suffix, n)
    x = samples(suffix, n)
    if (name, suffix) == ("digamma", "f64"):
        x = x[~(x < -100)]  # where it is the difference of two large numbers
    # The limit is -0, which the product inf * 0 of the reference hides.
    return (x[x != -np.inf] if name == "gelu" else x), None


def same_bits(a, b, suffix):
    both_nan = np.isnan(a) & np.isnan(b)
    return both_nan | (a.view(BITS[suffix]) == b.view(BITS[suffix]))


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("suffix", TYPES)
@pytest.mark.parametrize("name", UNARY + BINARY)
def test_result_is_within_two_units_of_the_last_place_or_four(libraries, name, suffix, isa):
    x, y = arguments(name, suffix, 200_000 if suffix == "f32" else 40_000)
    got = call(libraries[isa], name, suffix, x, y, VECTOR)
    error, where = largest_error(libraries[isa], name, suffix, x, y, got)
    bound = BOUNDS.get((name, suffix), 4.0 if name in FOUR_UNITS else 2.0)
    assert error <= bound, f"{name}{where}: {error} units"


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("suffix", TYPES)
@pytest.mark.parametrize("name", UNARY + BINARY)
def test_vector_and_element_have_the_same_bits(libraries, name, suffix, isa):
    x, y = arguments(name, suffix, 20_000)
    vector = call(libraries[isa], name, suffix, x, y, VECTOR)
    scalar = call(libraries[isa], name, suffix, x, y, SCALAR)
    equal = same_bits(vector, scalar, suffix)
    assert equal.all(), (x[~equal][:3], vector[~equal][:3], scalar[~equal][:3])


@pytest.mark.skipif("avx512" not in ISAS, reason="needs AVX-512")
@pytest.mark.parametrize("suffix", TYPES)
@pytest.mark.parametrize("name", UNARY + BINARY)
def test_avx2_and_avx512_have_the_same_bits(libraries, name, suffix):
    x, y = arguments(name, suffix, 20_000)
    a = call(libraries["avx2"], name, suffix, x, y, VECTOR)
    b = call(libraries["avx512"], name, suffix, x, y, VECTOR)
    equal = same_bits(a, b, suffix)
    assert equal.all(), (x[~equal][:3], a[~equal][:3], b[~equal][:3])


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("n", range(1, 20))
def test_short_tails_leave_the_memory_behind_them_alone(libraries, n, isa):
    x = np.linspace(-1, 1, n).astype(np.float32)
    out = np.full(n + 20, 7, np.float32)
    libraries[isa].abs_f32(VECTOR, pointer(x), pointer(x), pointer(out), ctypes.c_int64(n))
    assert (out[:n] == np.abs(x)).all() and (out[n:] == 7).all()


INF, NAN = np.inf, np.nan


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("path", [VECTOR, SCALAR])
@pytest.mark.parametrize("suffix", TYPES)
@pytest.mark.parametrize(
    "name, x, expected",
    [
        (
            "exp",
            [0, -0.0, INF, -INF, NAN, 1e4, -1e4, 1e30, -1e30],
            [1, 1, INF, 0, NAN] + [INF, 0] * 2,
        ),
        ("expm1", [-0.0, INF, -INF, 1e4, -1e4], [-0.0, INF, -1, INF, -1]),
        ("log", [0, -0.0, 1, -1, INF, -INF], [-INF, -INF, 0, NAN, INF, NAN]),
        ("log2", [8, 0.125, 2.0**-126], [3, -3, -126]),
        ("log10", 10.0 ** np.arange(-10, 11), np.arange(-10, 11)),
        ("log1p", [-0.0, -1, -2, INF], [-0.0, -INF, NAN, INF]),
        ("rsqrt", [0, -0.0, 4, INF, -1], [INF, -INF, 0.5, 0, NAN]),
        ("sin", [0, -0.0, INF, NAN], [0, -0.0, NAN, NAN]),
        ("tanh", [-0.0, 100, -100, 1e30, INF, -INF], [-0.0, 1, -1, 1, 1, -1]),
        ("sigmoid", [0, 200, INF, -INF, -1e4], [0.5, 1, 1, 0, 0]),
        ("erf", [-0.0, 10, -10, INF], [-0.0, 1, -1, 1]),
        ("erfinv", [0, 1, -1, 2], [0, INF, -INF, NAN]),
        ("sinc", [0, 1, -2, 1e10], [1, 0, 0, 0]),
        ("digamma", [0, -0.0, -1, -2, INF], [-INF, INF, NAN, NAN, INF]),
        ("lgamma", [1, 2, -1, INF, -INF], [0, 0, INF, INF, INF]),
        ("logit", [0, 1, 0.5, 2], [-INF, INF, 0, NAN]),
        ("softplus", [-INF, INF, 500], [0, INF, 500]),
        ("gelu", [0, -0.0, INF, 100, -INF], [0, -0.0, INF, 100, -0.0]),
        ("silu", [-0.0, INF, 200], [-0.0, INF, 200]),
        ("mish", [-0.0, INF, 200], [-0.0, INF, 200]),
    ],
)
def test_special_values(libraries, name, x, expected, suffix, path, isa):
    got = call(libraries[isa], name, suffix, x, None, path)
    expected = np.array(expected, TYPES[suffix])
    assert np.array_equal(got, expected, equal_nan=True), got
    numbers = ~np.isnan(expected)
    assert (np.signbit(got) == np.signbit(expected))[numbers].all(), got


@pytest.mark.parametrize("isa", ISAS)
def test_float16_conversions_round_as_numpy_does(libraries, isa):
    every = np.arange(2**16, dtype=np.uint16).view(np.float16)
    wide = np.empty(every.size, np.float32)
    libraries[isa].from_half(pointer(every), pointer(wide), ctypes.c_int64(every.size))
    assert np.array_equal(wide, every.astype(np.float32), equal_nan=True)
    x = np.concatenate([samples("f32", 100_000), np.nextafter(wide, np.float32(0)), wide])
    narrow = np.empty(x.size, np.float16)
    libraries[isa].to_half(pointer(x), pointer(narrow), ctypes.c_int64(x.size))
    with np.errstate(over="ignore"):
        assert np.array_equal(narrow, x.astype(np.float16), equal_nan=True)


@pytest.mark.parametrize("isa", ISAS)
def test_bfloat16_conversions_round_to_nearest_even(libraries, isa):
    every = np.arange(2**16, dtype=np.uint16)
    wide = np.empty(every.size, np.float32)
    libraries[isa].from_bfloat16(pointer(every), pointer(wide), ctypes.c_int64(every.size))
    assert np.array_equal(wide.view(np.uint32), every.astype(np.uint32) << 16)
    x = samples("f32", 100_000)
    narrow = np.empty(x.size, np.uint16)
    libraries[isa].to_bfloat16(pointer(x), pointer(narrow), ctypes.c_int64(x.size))
    u = x.view(np.uint32).astype(np.uint64)
    expected = np.where(np.isnan(x), 0x7FC0, (u + 0x7FFF + ((u >> 16) & 1)) >> 16)
    assert np.array_equal(narrow, expected)
