"""facula.fft, against NumPy where it has the transform, and by definition where it has not."""

import numpy as np
import pytest

import facula
from check_op import TOLERANCES, check_threads
from facula.autograd import gradcheck, gradgradcheck

NORMS = [None, "backward", "ortho", "forward"]
LINES = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
SEVERAL = ["fft", "ifft", "rfft", "irfft"]  # those that NumPy has for several dimensions
TAKES_COMPLEX = {"fft", "ifft", "irfft", "hfft"}


def signal(shape, dtype="float64", seed=0):
    rng = np.random.default_rng(seed)
    a = rng.standard_normal(shape)
    return (a + 1j * rng.standard_normal(shape) if "complex" in dtype else a).astype(dtype)


def check(actual, expected, dtype):
    assert tuple(actual.shape) == expected.shape
    rtol, atol = TOLERANCES[dtype]
    scale = np.abs(expected).max(initial=1)
    np.testing.assert_allclose(actual.cpu().resolve_conj().numpy(), expected, rtol, atol * scale)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("n", [None, 1, 4, 5, 9])
@pytest.mark.parametrize("name", LINES)
def test_lines_agree_with_numpy(name, n, norm, device):
    for dtype in ["float32", "float64", *(["complex64", "complex128"] * (name in TAKES_COMPLEX))]:
        for dim in (0, 1, -1):
            a = signal((4, 5, 6), dtype)
            actual = getattr(facula.fft, name)(facula.tensor(a, device=device), n, dim, norm)
            assert actual.device.type == device
            check(actual, getattr(np.fft, name)(a, n, dim, norm), dtype)
            is_real = name in ("irfft", "hfft")
            width = 4 if dtype in ("float32", "complex64") else 8
            assert actual.itemsize == (width if is_real else 2 * width)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize(
    "s, dim", [(None, None), ((3, 8), None), (None, (2, 0)), ((3, -1), (0, 2))]
)
@pytest.mark.parametrize("name", SEVERAL)
def test_several_dimensions_agree_with_numpy(name, s, dim, norm, device):
    a = signal((4, 5, 6), "complex128" if name in TAKES_COMPLEX else "float64")
    actual = getattr(facula.fft, name + "n")(facula.tensor(a, device=device), s, dim, norm)
    sizes = dict(enumerate(a.shape)) | {2: 10} if name == "irfft" else dict(enumerate(a.shape))
    given = s and [sizes[d] if n == -1 else n for n, d in zip(s, dim or (1, 2), strict=True)]
    axes = dim or ((1, 2) if s else None)
    check(actual, getattr(np.fft, name + "n")(a, given, axes, norm), "float64")


@pytest.mark.parametrize("name", LINES)
def test_two_dimensions_are_the_last_two(name):
    x = facula.tensor(signal((3, 4, 5)))
    two, several = (getattr(facula.fft, name + suffix) for suffix in "2n")
    assert facula.equal(two(x), several(x, dim=(-2, -1)))


def test_hfftn_is_the_transform_of_the_whole_signal():
    whole = facula.fft.fftn(facula.tensor(signal((4, 6))))
    half = whole[:, :4].conj()
    # The conjugate of the transform of real numbers goes back to them, but for the factor.
    expected = facula.fft.ifftn(whole).real * 24
    check(facula.fft.hfftn(half), expected.numpy(), "float64")
    check(facula.fft.hfft2(half, norm="forward"), expected.numpy() / 24, "float64")


@pytest.mark.parametrize("suffix", ["", "2", "n"])
def test_inverses_undo_transforms(suffix):
    x = facula.tensor(signal((3, 4, 6)))
    for there, back in [("rfft", "irfft"), ("ihfft", "hfft")]:
        half = getattr(facula.fft, there + suffix)(x)
        check(getattr(facula.fft, back + suffix)(half), x.numpy(), "float64")
    y = getattr(facula.fft, "ifft" + suffix)(getattr(facula.fft, "fft" + suffix)(x))
    check(y, x.numpy().astype("complex128"), "complex128")


@pytest.mark.parametrize("name", [n + s for n in LINES for s in ("", "2", "n")])
@pytest.mark.parametrize("size", [4, 5])
def test_gradients_are_right_to_second_order(name, size):
    dtypes = ["float64", "complex128"] if name.rstrip("2n") in TAKES_COMPLEX else ["float64"]
    for dtype in dtypes:
        x = facula.tensor(signal((3, size), dtype), requires_grad=True)
        function = getattr(facula.fft, name)
        sizes = {} if name[-1] in "2n" else {"dim": 0, "n": size}
        assert gradcheck(lambda x: function(x, norm="ortho", **sizes), x)  # noqa: B023
        assert gradgradcheck(lambda x: function(x, **sizes), x)  # noqa: B023


def test_padding_and_cutting_have_gradients():
    x = facula.tensor(signal((3, 5)), requires_grad=True)
    assert gradcheck(lambda x: facula.fft.fftn(x, (4, 4)), x)
    assert gradcheck(lambda x: facula.fft.irfftn(x, (2, 9)), x)


def test_integers_become_the_default_dtype_and_halves_are_refused():
    assert facula.fft.fft(facula.tensor([1, 2])).dtype == facula.complex64
    assert facula.fft.irfft(facula.tensor([True, False])).dtype == facula.float32
    for dtype in (facula.float16, facula.bfloat16):
        with pytest.raises(RuntimeError, match="rfft: Unsupported dtype"):
            facula.fft.rfft(facula.ones(4, dtype=dtype))


def test_views_are_transformed_as_their_copies():
    x = facula.tensor(signal((6, 8, 4)))
    for view in (x.transpose(0, 2), x[::2, 1:], x[:1].expand(3, 8, 4)):
        for dim in (0, 1, 2):
            expected = np.fft.fft(view.contiguous().numpy(), axis=dim)
            check(facula.fft.fft(view, dim=dim), expected, "complex128")


def test_the_input_is_not_changed():
    x = facula.tensor(signal((4, 6), "complex128"))
    before = x.clone()
    for name in ("fft2", "irfft2", "hfft2"):
        getattr(facula.fft, name)(x)
    assert facula.equal(x, before)


def test_threads_change_no_bit():
    x = facula.tensor(signal((64, 1024), "float32"))
    check_threads(
        lambda: facula.fft.rfft(x), lambda: facula.fft.fft2(x), lambda: facula.fft.irfft2(x)
    )


def test_no_lines_give_no_result():
    assert facula.fft.rfft(facula.ones(0, 4)).shape == (0, 3)
    assert facula.fft.fft(facula.ones(0), n=3).tolist() == [0, 0, 0]
    assert facula.fft.fftn(facula.tensor(2.0)).item() == 2


def test_results_go_into_out():
    x = facula.ones(4)
    out = facula.empty(0, dtype=facula.complex64)
    assert facula.fft.fft(x, out=out) is out
    assert out.tolist() == [4, 0, 0, 0]
    with pytest.raises(RuntimeError, match=r"fft: the result is .*complex64 and cannot be stored"):
        facula.fft.fft(x, out=facula.empty(4))


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda x: facula.fft.fft(x, 0), RuntimeError, r"fft: Invalid number of data points \(0\)"),
        (lambda x: facula.fft.irfft(x, -1), RuntimeError, r"Invalid number of data points \(-1\)"),
        (
            lambda x: facula.fft.irfft(x[:, :1]),
            RuntimeError,
            "irfft: Invalid number of data points",
        ),
        (lambda x: facula.fft.fft(x, dim=2), IndexError, "fft: dim 2 is out of range"),
        (lambda x: facula.fft.fft(x[0, 0]), IndexError, "fft: dim .* is out of range"),
        (lambda x: facula.fft.fft(x, dim=(0, 1)), TypeError, "fft: expected an int as dim"),
        (lambda x: facula.fft.fft(x, norm="one"), RuntimeError, "Invalid normalization mode"),
        (lambda x: facula.fft.rfft(x + 0j), RuntimeError, "rfft: expected a real input"),
        (lambda x: facula.fft.ihfft(x + 0j), RuntimeError, "ihfft: expected a real input"),
        (lambda x: facula.fft.fftn(x, dim=(0, -2)), RuntimeError, "dims must be unique"),
        (lambda x: facula.fft.fftn(x, (1, 2, 3)), RuntimeError, "Got shape with 3 values"),
        (lambda x: facula.fft.fftn(x, (1,), (0, 1)), RuntimeError, "must have the same length"),
        (lambda x: facula.fft.rfftn(x, dim=()), RuntimeError, "at least one axis"),
        (lambda x: facula.fft.fft([1.0]), TypeError, "fft: expected a tensor as input"),
        (lambda x: facula.fft.fftfreq(3, dtype=facula.int64), RuntimeError, "floating point"),
    ],
)
def test_what_cannot_be_transformed_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call(facula.ones(3, 4))


@pytest.mark.parametrize("n", [0, 1, 2, 5, 8])
def test_frequencies_and_shifts_are_numpy_s(n):
    frequencies = facula.fft.fftfreq(n, 0.5, dtype=facula.float64)
    if n:
        np.testing.assert_allclose(frequencies.numpy(), np.fft.fftfreq(n, 0.5))
        half = facula.fft.rfftfreq(n, 0.5, dtype=facula.float64)
        np.testing.assert_allclose(half.numpy(), np.fft.rfftfreq(n, 0.5))
    a = np.arange(3 * n).reshape(3, n)
    x = facula.tensor(a)
    assert facula.fft.fftshift(x).tolist() == np.fft.fftshift(a).tolist()
    assert facula.fft.ifftshift(x, 1).tolist() == np.fft.ifftshift(a, 1).tolist()
    assert facula.fft.fftshift(x, (0,)).tolist() == np.fft.fftshift(a, 0).tolist()


def test_frequencies_are_made_as_asked():
    x = facula.fft.fftfreq(4, requires_grad=True)
    assert x.requires_grad and x.is_leaf and x.dtype == facula.float32
    out = facula.empty(0, dtype=facula.float64)
    assert facula.fft.rfftfreq(4, out=out) is out and out.tolist() == [0, 0.25, 0.5]


def test_transforms_run_inside_of_vmap_and_are_differentiated_there():
    x = facula.randn(4, 8)
    functions = [
        facula.fft.fft,
        facula.fft.rfft,
        lambda v: facula.fft.irfft(facula.fft.rfft(v) * 2),
        lambda v: facula.fft.fft2(v.reshape(2, 4)),
    ]
    for function in functions:
        for dim in (0, 1):
            batched = facula.vmap(function, dim)(x if dim == 0 else x.t())
            assert facula.allclose(batched, facula.stack([function(v) for v in x]), atol=1e-5)

        def energy(v, function=function):
            return function(v).abs().square().sum()

        gradients = facula.vmap(facula.func.grad(energy))(x)
        alone = facula.stack([facula.func.grad(energy)(v) for v in x])
        assert facula.allclose(gradients, alone, atol=1e-3)
