"""The extension of Fourier transforms against array-api-strict."""

import numpy as np
import pytest
from array_api_cases import COMPLEX, FLOATS, arrays, assert_agree, given
from hypothesis import strategies as st

FROM_REAL = ["rfft", "ihfft"]


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
@given(st.data())
def test_along_one_axis(name, data):
    x = data.draw(arrays(FLOATS if name in FROM_REAL else COMPLEX, (2, 4, 3)))
    options = {
        "n": data.draw(st.none() | st.integers(2, 6)),
        "axis": data.draw(st.integers(-3, 2)),
        "norm": data.draw(st.sampled_from(["backward", "ortho", "forward"])),
    }
    assert_agree(f"fft.{name}", x, rtol=1e-4, **options)


@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn"])
@given(st.data())
def test_along_several_axes(name, data):
    x = data.draw(arrays(FLOATS if name == "rfftn" else COMPLEX, (2, 4, 3)))
    axes = data.draw(st.sampled_from([None, (0,), (-1, 0), (0, 1, 2)]))
    sizes = None if axes is None else data.draw(st.none() | st.just((4, 3, 2)[: len(axes)]))
    norm = data.draw(st.sampled_from(["backward", "ortho", "forward"]))
    assert_agree(f"fft.{name}", x, s=sizes, axes=axes, norm=norm, rtol=1e-4)


@pytest.mark.parametrize("name", ["fftfreq", "rfftfreq"])
@pytest.mark.parametrize("n", [1, 4, 5])
def test_frequencies(name, n):
    assert_agree(f"fft.{name}", n, d=0.5, dtype=np.dtype("float64"), rtol=1e-12)


@pytest.mark.parametrize("name", ["fftshift", "ifftshift"])
@pytest.mark.parametrize("axes", [None, 0, (1, 2)])
def test_shifts(name, axes):
    assert_agree(f"fft.{name}", np.arange(24.0).reshape(2, 4, 3), axes=axes)
