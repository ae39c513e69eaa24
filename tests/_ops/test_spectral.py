"""Short-time spectra, and windows."""

import numpy as np
import pytest

import facula
from facula.autograd import gradcheck, gradgradcheck

WINDOWS = {
    "hann_window": np.hanning,
    "hamming_window": np.hamming,
    "blackman_window": np.blackman,
    "bartlett_window": np.bartlett,
    "kaiser_window": lambda n: np.kaiser(n, 12.0),
}


@pytest.mark.parametrize("name", WINDOWS)
@pytest.mark.parametrize("n", [0, 1, 2, 5, 8])
def test_windows_agree_with_numpy(name, n):
    window, reference = getattr(facula, name), WINDOWS[name]
    symmetric = window(n, False, dtype=facula.float64)
    np.testing.assert_allclose(symmetric.numpy(), reference(n), rtol=1e-12, atol=1e-15)
    periodic = window(n, dtype=facula.float64)
    expected = reference(n + 1)[:-1] if n > 1 else reference(n)
    np.testing.assert_allclose(periodic.numpy(), expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", WINDOWS)
def test_windows_are_made_as_asked(name):
    window = getattr(facula, name)(4, dtype=facula.float16, requires_grad=True)
    assert window.dtype == facula.float16 and window.requires_grad and window.is_leaf
    assert getattr(facula, name)(4).dtype == facula.get_default_dtype()
    with pytest.raises(RuntimeError, match=f"{name}: requires non-negative window_length"):
        getattr(facula, name)(-1)
    with pytest.raises(RuntimeError, match=f"{name}: expects floating point dtypes"):
        getattr(facula, name)(4, dtype=facula.int64)


def test_windows_have_numbers():
    assert facula.hamming_window(4, True, 0.5, 0.5).tolist() == facula.hann_window(4).tolist()
    assert facula.kaiser_window(4, True, 0.0).tolist() == [1, 1, 1, 1]


def signal(*shape):
    return facula.tensor(np.random.default_rng(0).standard_normal(shape))


@pytest.mark.parametrize("hop, length", [(None, None), (3, None), (2, 6)])
def test_stft_is_the_transform_of_each_weighted_piece(hop, length):
    x, window = signal(2, 20), facula.hann_window(length or 8, dtype=facula.float64)
    result = facula.stft(x, 8, hop, length, window, center=False, return_complex=True)
    hop, margin = hop or 2, (8 - (length or 8)) // 2
    weights = np.pad(window.numpy(), (margin, margin))
    for i in range(1 + (20 - 8) // hop):
        piece = x.numpy()[:, hop * i : hop * i + 8] * weights
        np.testing.assert_allclose(result[..., i].numpy(), np.fft.rfft(piece), atol=1e-12)
    assert result.shape == (2, 5, i + 1)


def test_stft_pads_for_centred_pieces():
    x, window = signal(20), facula.hann_window(8, dtype=facula.float64)
    padded = facula.tensor(np.pad(x.numpy(), 4, mode="reflect"))
    expected = facula.stft(padded, 8, window=window, center=False, return_complex=True)
    assert facula.equal(facula.stft(x, 8, window=window, return_complex=True), expected)
    aligned = padded.stft(
        8, 2, 4, window[2:6], center=False, align_to_window=True, return_complex=True
    )
    assert aligned.shape == (5, 13)


def test_stft_gives_what_is_asked_for():
    x, window = signal(20), facula.ones(8, dtype=facula.float64)
    half = facula.stft(x, 8, window=window, return_complex=True)
    whole = facula.stft(x, 8, window=window, onesided=False, return_complex=True)
    assert facula.allclose(whole[:5], half) and whole.shape == (8, 11)
    pairs = facula.stft(x, 8, window=window, return_complex=False)
    assert facula.equal(facula.view_as_complex(pairs), half)
    normalized = facula.stft(x, 8, window=window, normalized=True, return_complex=True)
    np.testing.assert_allclose(normalized.numpy(), half.numpy() / np.sqrt(8))
    assert facula.stft(x + 0j, 8, window=window).shape == (8, 11)


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("shape", [(40,), (3, 40)])
def test_istft_gives_the_signal_back(shape, is_complex):
    x, window = signal(*shape), facula.hann_window(8, dtype=facula.float64)
    x = x + 1j * x.flip(-1) if is_complex else x
    for normalized in (False, True):
        kwargs = {"window": window, "normalized": normalized}
        spectra = facula.stft(x, 8, return_complex=True, **kwargs)
        back = spectra.istft(8, return_complex=is_complex, **kwargs)
        np.testing.assert_allclose(back.numpy(), x.numpy(), atol=1e-12)
    back = facula.istft(spectra, 8, length=30, return_complex=is_complex, **kwargs)
    np.testing.assert_allclose(back.numpy(), x[..., :30].numpy(), atol=1e-12)
    with pytest.warns(UserWarning, match="istft: the signal is shorter than length=60"):
        back = facula.istft(spectra, 8, length=60, return_complex=is_complex, **kwargs)
    assert back.shape == (*shape[:-1], 60) and (back[..., -10:] == 0).all()


def test_stft_and_istft_have_gradients():
    x = signal(2, 12).requires_grad_()
    window = (facula.hann_window(6, dtype=facula.float64) + 0.1).requires_grad_()

    def there(x, window):
        return facula.stft(x, 6, window=window, return_complex=True)

    def back(spectra, window):
        return facula.istft(spectra, 6, window=window)

    assert gradcheck(there, (x, window)) and gradgradcheck(there, (x, window))
    spectra = there(x, window).detach().requires_grad_()
    assert gradcheck(back, (spectra, window)) and gradgradcheck(back, (spectra, window))


def test_a_missing_window_is_warned_of():
    with pytest.warns(UserWarning, match="stft: without a window"):
        spectra = facula.stft(facula.ones(16), 8, return_complex=True)
    with pytest.warns(UserWarning, match="istft: without a window"):
        assert facula.allclose(facula.istft(spectra, 8), facula.ones(16))


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"return_complex": None}, "stft: requires the return_complex parameter"),
        ({"input": facula.ones(1, 1, 20)}, "stft: expected a 1D or 2D tensor"),
        ({"input": facula.ones(20, dtype=facula.int64)}, "floating point or complex values"),
        ({"n_fft": 40, "center": False}, "stft: expected 0 < n_fft <= 20"),
        ({"hop_length": 0}, "stft: expected hop_length > 0"),
        ({"win_length": 9}, "stft: expected 0 < win_length <= n_fft"),
        ({"window": facula.ones(7)}, "stft: expected a 1D window tensor of size"),
        ({"window": facula.ones(8) + 0j, "onesided": True}, "stft: Cannot have onesided output"),
        ({"align_to_window": True}, "align_to_window should only be set when center = False"),
    ],
)
def test_stft_refuses(changes, message):
    arguments = {"input": facula.ones(20), "n_fft": 8, "window": facula.ones(8)}
    with pytest.raises(RuntimeError, match=message):
        facula.stft(**{**arguments, "return_complex": True, **changes})


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"input": facula.ones(5, 6)}, "istft: requires a complex-valued input"),
        ({"input": facula.ones(5, 0) + 0j}, "istft: input tensor cannot be empty"),
        ({"input": facula.ones(5) + 0j}, "istft: expected an input of 2 or 3 dimensions"),
        ({"n_fft": 12, "window": None}, "istft: expected 7 frequencies"),
        ({"hop_length": 9}, "istft: expected 0 < hop_length <= win_length"),
        ({"window": facula.ones(7)}, "istft: expected a 1D window tensor of size"),
        ({"window": facula.ones(8) + 0j}, "istft: Complex windows are incompatible"),
        ({"return_complex": True}, "istft: Cannot have onesided output"),
        ({"window": facula.zeros(8)}, "istft: window overlap add min"),
    ],
)
@pytest.mark.filterwarnings("ignore:istft. without a window")
def test_istft_refuses(changes, message):
    arguments = {"input": facula.ones(5, 6) + 0j, "n_fft": 8, "window": facula.ones(8)}
    with pytest.raises(RuntimeError, match=message):
        facula.istft(**{**arguments, **changes})
