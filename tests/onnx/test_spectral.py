"""Fourier transforms, whose complex numbers are pairs in a model of ONNX."""

import pytest

import facula
import facula.onnx
from facula import fft, nn


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def check(function, x):
    program = facula.onnx.export(Function(function), (x,))
    facula.testing.assert_close(program(x)[0], function(x), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
@pytest.mark.parametrize(
    "function",
    [
        lambda x, norm: facula.view_as_real(fft.fft(x, norm=norm)),
        lambda x, norm: facula.view_as_real(fft.fft(x, n=5, dim=0, norm=norm)),
        lambda x, norm: fft.fft2(x, norm=norm).real,
        lambda x, norm: fft.fftn(x, dim=(0, 1), norm=norm).imag,
        lambda x, norm: fft.rfft(x, norm=norm).abs(),
        lambda x, norm: fft.rfft2(x, norm=norm).abs(),
        lambda x, norm: facula.view_as_real(fft.ihfft(x, norm=norm).resolve_conj()),
        lambda x, norm: fft.irfft(fft.rfft(x, norm=norm), norm=norm),
        lambda x, norm: fft.irfft2(fft.rfft2(x, norm=norm), x.shape[-2:], norm=norm),
        lambda x, norm: fft.ifft(fft.fft(x, norm=norm), norm=norm).real,
    ],
)
def test_transforms_are_those_of_onnx(function, norm):
    facula.manual_seed(0)
    check(lambda x: function(x, norm), facula.rand(3, 7, 8))


def test_complex_numbers_can_be_multiplied_and_added():
    facula.manual_seed(0)
    x = facula.rand(4, 8)
    kernel = fft.rfft(facula.rand(4, 8))

    def filtered(x):
        y = fft.rfft(x)
        return fft.irfft((y * kernel + y) * 0.5)

    check(filtered, x)
    check(lambda x: (fft.fft(x) * x).conj().transpose(0, 1).imag, x)


def test_a_spectrogram_is_exported():
    facula.manual_seed(0)
    window = facula.hann_window(16)
    check(
        lambda x: facula.stft(x, 16, 4, window=window, center=False, return_complex=True).abs(),
        facula.rand(2, 64),
    )


def test_other_operations_of_complex_numbers_are_refused_by_name():
    refused = pytest.raises(
        facula.onnx.errors.UnsupportedOperatorError, match="operation exp of complex numbers"
    )
    with refused:
        facula.onnx.export(Function(lambda x: fft.fft(x).exp().real), (facula.rand(4),))
