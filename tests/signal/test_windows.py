"""facula.signal.windows."""

import numpy as np
import pytest

import facula
from facula.signal import windows

REFERENCES = {
    "bartlett": np.bartlett,
    "blackman": np.blackman,
    "hamming": np.hamming,
    "hann": np.hanning,
    "kaiser": lambda n: np.kaiser(n, 12.0),
    "cosine": lambda n: np.sin(np.pi * (np.arange(n) + 0.5) / n),
    "exponential": lambda n: np.exp(-np.abs(np.arange(n) - (n - 1) / 2)),
    "gaussian": lambda n: np.exp(-((np.arange(n) - (n - 1) / 2) ** 2) / 2),
    "general_hamming": np.hamming,
    "nuttall": lambda n: sum(
        (-1) ** i * a * np.cos(i * 2 * np.pi * np.arange(n) / (n - 1))
        for i, a in enumerate([0.3635819, 0.4891775, 0.1365995, 0.0106411])
    ),
}


@pytest.mark.parametrize("name", REFERENCES)
@pytest.mark.parametrize("n", [2, 5, 8])
def test_windows_are_their_formulas(name, n):
    function, reference = getattr(windows, name), REFERENCES[name]
    symmetric = function(n, dtype=facula.float64)
    np.testing.assert_allclose(symmetric.numpy(), reference(n), rtol=1e-12, atol=1e-15)
    periodic = function(n, sym=False, dtype=facula.float64)
    np.testing.assert_allclose(periodic.numpy(), reference(n + 1)[:n], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", REFERENCES)
def test_short_windows_are_ones(name):
    for sym in (True, False):
        assert getattr(windows, name)(0, sym=sym).tolist() == []
        assert getattr(windows, name)(1, sym=sym).tolist() == [1]


def test_windows_have_numbers():
    assert windows.general_cosine(4, a=[0.54, 0.46]).tolist() == windows.hamming(4).tolist()
    assert windows.general_hamming(4, alpha=0.5).tolist() == windows.hann(4).tolist()
    assert windows.kaiser(4, beta=0.0).tolist() == [1, 1, 1, 1]
    off_centre = windows.exponential(3, center=0.0, tau=2.0, sym=False, dtype=facula.float64)
    np.testing.assert_allclose(off_centre.numpy(), np.exp(-np.arange(3) / 2))
    narrow = windows.gaussian(3, std=0.5, dtype=facula.float64)
    np.testing.assert_allclose(narrow.numpy(), np.exp([-2.0, 0.0, -2.0]))


def test_windows_are_made_as_asked():
    window = windows.hann(4, dtype=facula.float64, requires_grad=True)
    assert window.dtype == facula.float64 and window.requires_grad and window.is_leaf


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: windows.hann(-1), ValueError, "hann: requires non-negative window length"),
        (lambda: windows.hann(3, dtype=facula.float16), ValueError, "expects float32 or float64"),
        (lambda: windows.kaiser(3, beta=-1.0), ValueError, "kaiser: beta must be non-negative"),
        (lambda: windows.gaussian(3, std=0.0), ValueError, "Standard deviation must be positive"),
        (lambda: windows.exponential(3, tau=0.0), ValueError, "Tau must be positive"),
        (lambda: windows.exponential(3, center=1.0), ValueError, "Center must be None"),
        (lambda: windows.general_cosine(3, a=[]), ValueError, "Coefficients cannot be empty"),
        (lambda: windows.general_cosine(3, a=1.0), TypeError, "Coefficients must be a list"),
    ],
)
def test_what_makes_no_window_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
