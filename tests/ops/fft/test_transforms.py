"""The transforms of the core, over lengths, layouts, instruction sets and numbers of threads.

NumPy's transforms in double precision are the reference; facula.fft's arguments are tested in
tests/test_fft.py.
"""

import os
import subprocess
import sys

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

import facula
from check_op import check_threads

# Relative to the norm of the result. In double precision NumPy's own error is as large.
ERROR = {"float32": 3e-7, "float64": 1e-15}
# Direct ones with odd radices, of primes, convolutions, and those that threads share.
LENGTHS = [*range(1, 201), 256, 400, 509, 512, 1000, 1009, 1024, 1331, 2310, 4096, 4099, 16384]
LONG = [20000, 30030, 32768, 65536, 65537, 2 * 3**9, 1 << 18]


def signal(n_lines, n, dtype):
    rng = np.random.default_rng(n)
    real = rng.standard_normal((n_lines, n)).astype(dtype)
    imaginary = rng.standard_normal((n_lines, n)).astype(dtype)
    return real, real + 1j * imaginary


def error(actual, expected):
    difference = np.linalg.norm(actual.numpy() - expected)
    return difference / max(np.linalg.norm(expected), np.finfo("float64").tiny)


def transforms(real, points):
    """Each transform of the lines, and what NumPy makes of them."""
    n = points.shape[-1]
    wide, half = points.astype("complex128"), points[:, : n // 2 + 1]
    return {
        "fft": (lambda x: facula.fft.fft(x), points, np.fft.fft(wide)),
        "ifft": (lambda x: facula.fft.ifft(x), points, np.fft.ifft(wide)),
        "fft of reals": (lambda x: facula.fft.fft(x), real, np.fft.fft(wide.real)),
        "rfft": (lambda x: facula.fft.rfft(x), real, np.fft.rfft(wide.real)),
        "irfft": (
            lambda x: facula.fft.irfft(x, n),
            half,
            np.fft.irfft(half.astype("complex128"), n),
        ),
    }


def check_length(n, n_lines, dtype):
    for name, (transform, given, expected) in transforms(*signal(n_lines, n, dtype)).items():
        actual = transform(facula.tensor(given))
        assert error(actual, expected) < ERROR[dtype], f"{name} of {n} points"


@pytest.mark.parametrize("dtype", ERROR)
@pytest.mark.parametrize("n_lines", [1, 3, 40])
def test_every_length_agrees_with_numpy(n_lines, dtype):
    for n in LENGTHS:
        if n_lines * n <= 1 << 16:
            check_length(n, n_lines, dtype)


@pytest.mark.parametrize("dtype", ERROR)
@pytest.mark.parametrize("n", LONG)
def test_long_lines_agree_with_numpy(n, dtype):
    # A convolution adds its own error.
    for name, (transform, given, expected) in transforms(*signal(1, n, dtype)).items():
        actual = transform(facula.tensor(given))
        assert error(actual, expected) < 3 * ERROR[dtype], name


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("n", [6, 16, 48, 100, 128, 131, 1024, 20000])
def test_a_line_has_the_same_bits_alone_among_others_and_in_any_layout(n, dtype):
    real_dtype = "float32" if dtype == "complex64" else "float64"
    n_lines = 37 if n < 20000 else 3
    for name, (transform, given, _) in transforms(*signal(n_lines, n, real_dtype)).items():
        lines = facula.tensor(given)
        together = transform(lines)
        for i in (0, n_lines // 2, n_lines - 1):
            assert facula.equal(transform(lines[i]), together[i]), name
        for layout in (lines.t().contiguous().t(), facula.stack([lines, lines], 2)[..., 1]):
            assert not layout.is_contiguous()
            assert facula.equal(transform(layout), together), name
            assert facula.equal(transform(layout[0]), together[0]), name


def test_inverses_of_real_lines_are_conjugate_views():
    x = facula.tensor([[1.0, 2.0, 4.0, 8.0], [3.0, 1.0, 0.0, 5.0]])
    for inverse, forward in [
        (facula.fft.ifft, facula.fft.fft),
        (facula.fft.ihfft, facula.fft.rfft),
    ]:
        assert inverse(x).is_conj()
        assert facula.equal(inverse(x).resolve_conj(), forward(x, norm="forward").conj())


@pytest.mark.parametrize("shape", [(3, 4, 5), (17, 16, 2), (2, 33, 40), (1, 7, 1)])
def test_every_dimension_of_every_layout_is_transformed(shape):
    rng = np.random.default_rng(0)
    a = rng.standard_normal((*shape, 2)) + 1j * rng.standard_normal((*shape, 2))
    whole = facula.tensor(a)
    for x, b in [
        (whole[..., 1], a[..., 1]),
        (whole[..., 0].permute(2, 0, 1), a[..., 0].transpose(2, 0, 1)),
        (whole.flip(1)[::2, ..., 0], a[::2, ::-1, :, 0]),
        (whole[:1, ..., 0].expand(5, *shape[1:]), np.broadcast_to(a[:1, ..., 0], (5, *shape[1:]))),
    ]:
        for dim in range(3):
            assert error(facula.fft.fft(x, dim=dim), np.fft.fft(b, axis=dim)) < 1e-15
            real = facula.fft.rfft(x.real, dim=dim)
            assert error(real, np.fft.rfft(b.real, axis=dim)) < 1e-15
            n = 2 * x.size(dim) - 1
            back = facula.fft.irfft(x, n, dim=dim)
            assert error(back, np.fft.irfft(b, n, axis=dim)) < 1e-15
        assert error(facula.fft.fftn(x), np.fft.fftn(b)) < 1e-15
        assert error(facula.fft.rfftn(x.real), np.fft.rfftn(b.real)) < 1e-15


def test_threads_change_no_bit_of_lines_that_they_share():
    long, prime = facula.randn(1 << 17), facula.randn(3, 1031)
    columns = facula.randn(300, 400, dtype=facula.complex64)
    check_threads(
        lambda: facula.fft.rfft(long),
        lambda: facula.fft.irfft(facula.fft.rfft(long)),
        lambda: facula.fft.fft(long.double()),
        lambda: facula.fft.rfft(prime),
        lambda: facula.fft.fft(columns, dim=0),
        lambda: facula.fft.ifft2(columns),
    )


SIGNALS = st.integers(1, 400).flatmap(
    lambda n: st.integers(0, 2**32 - 1).map(
        lambda seed: facula.tensor(
            np.random.default_rng(seed).standard_normal((2, n, 2)).view("complex128")[..., 0]
        )
    )
)


@hypothesis.settings(max_examples=60, deadline=None)
@hypothesis.given(SIGNALS, st.floats(-3, 3), st.floats(-3, 3))
def test_transforms_are_linear_keep_energy_and_are_undone(x, a, b):
    y = facula.fft.fft(x)
    n, scale = x.size(1), float(x.abs().max()) * x.size(1)
    combined = facula.fft.fft(a * x[0] + b * x[1])
    assert facula.allclose(combined, a * y[0] + b * y[1], rtol=0, atol=1e-13 * scale)
    energy = x.abs().square().sum()
    assert facula.allclose(y.abs().square().sum() / n, energy, rtol=1e-12)
    assert facula.allclose(facula.fft.ifft(y), x, rtol=0, atol=1e-14 * scale)
    half = facula.fft.rfft(x.real)
    assert facula.allclose(
        half, facula.fft.fft(x.real)[:, : n // 2 + 1], rtol=0, atol=1e-13 * scale
    )
    assert facula.allclose(facula.fft.irfft(half, n), x.real, rtol=0, atol=1e-14 * scale)


def test_imaginary_parts_that_a_real_line_cannot_have_are_passed_over():
    for n in (2, 8, 100, 1024, 1 << 17):
        half = facula.fft.rfft(facula.randn(n, dtype=facula.float64))
        spoilt = half.clone()
        spoilt[0] += 3j
        spoilt[-1] -= 5j
        assert facula.equal(facula.fft.irfft(spoilt, n), facula.fft.irfft(half, n))


def test_infinities_and_nan_stay_in_their_line():
    x = facula.randn(40, 48, dtype=facula.complex64)
    clean = facula.fft.fft(x)
    x[5, 7], x[30, 0] = float("nan"), float("inf")
    y = facula.fft.fft(x)
    assert y[5].isnan().any() and not y[30].isfinite().all()
    kept = [i for i in range(40) if i not in (5, 30)]
    assert facula.equal(y[kept], clean[kept])


PROGRAM = """
import numpy as np, facula
for n in (1, 2, 5, 8, 15, 16, 36, 64, 100, 131, 256, 1000, 1024, 32768):
    for dtype, error in (("float32", 1e-6), ("float64", 1e-14)):
        a = np.random.default_rng(n).standard_normal((9, n)).astype(dtype)
        z = a + 1j * a[::-1]
        half = z[:, : n // 2 + 1]
        for actual, expected in [
            (facula.fft.fft(facula.tensor(z)), np.fft.fft(z)),
            (facula.fft.fft(facula.tensor(z.T.copy()), dim=0), np.fft.fft(z.T, axis=0)),
            (facula.fft.rfft(facula.tensor(a)), np.fft.rfft(a)),
            (facula.fft.irfft(facula.tensor(half), n), np.fft.irfft(half, n)),
            (facula.fft.rfft(facula.tensor(a[0])), np.fft.rfft(a[0])),
        ]:
            assert np.linalg.norm(actual.numpy() - expected) <= error * np.linalg.norm(expected), n
"""


@pytest.mark.parametrize("capability", ["baseline", "avx2"])
def test_other_instruction_sets_agree_with_numpy(capability):
    environment = os.environ | {"FACULA_CPU_CAPABILITY": capability}
    subprocess.run([sys.executable, "-c", PROGRAM], env=environment, check=True, timeout=120)
