"""Windows and frequencies, which are made from numbers alone."""

from __future__ import annotations

from typing import Any

import pytest

from .outcome import agree

WINDOWS = {
    "hann_window": [(), (False,)],
    "hamming_window": [(), (False,), (True, 0.5), (False, 0.5, 0.4)],
    "blackman_window": [(), (False,)],
    "bartlett_window": [(), (False,)],
    "kaiser_window": [(), (False,), (True, 3.0)],
}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int64"])
@pytest.mark.parametrize("name", WINDOWS)
def test_windows_agree(name: str, dtype: str) -> None:
    for n_points in (-1, 0, 1, 2, 5, 16):
        for arguments in WINDOWS[name]:

            def make(lib: Any, n: int = n_points, more: tuple[Any, ...] = arguments) -> Any:
                return getattr(lib, name)(n, *more, dtype=getattr(lib, dtype))

            agree(make, kind="special")


@pytest.mark.parametrize("name", ["fftfreq", "rfftfreq"])
def test_frequencies_agree(name: str) -> None:
    for n_points in (0, 1, 2, 5, 16):
        for distance in (1.0, 0.1):
            for dtype in ("float32", "float64", "complex64", "int64"):

                def make(lib: Any, n: int = n_points, d: float = distance, of: str = dtype) -> Any:
                    return getattr(lib.fft, name)(n, d, dtype=getattr(lib, of))

                agree(make)
