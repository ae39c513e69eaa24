"""Fourier transforms of one long line and of many short ones."""

from harness import Case, main


def signals(torch):
    torch.manual_seed(0)
    return {
        "line": torch.randn(1 << 20),
        "short": torch.randn(64),
        "prime": torch.randn(1009),
        "rows": torch.randn(1024, 1024),
        "points": torch.randn(1024, 1024, dtype=torch.complex64),
        "images": torch.randn(64, 256, 256),
        "thousands": torch.randn(1000, 1000, dtype=torch.complex128),
        "pieces": torch.randn(4096, 64),
        "sound": torch.randn(16, 16000),
        "window": torch.hann_window(400),
    }


STFT = "torch.stft(sound, 400, 160, window=window, return_complex=True)"
CASES = [
    Case("rfft, 64", "torch.fft.rfft(short)", signals, 1),
    Case("rfft, 1009", "torch.fft.rfft(prime)", signals, 1),
    Case("rfft, 1M", "torch.fft.rfft(line)", signals, 1, has_avx2_row=True),
    Case("rfft, 4096x64", "torch.fft.rfft(pieces)", signals, 1, has_avx2_row=True),
    Case("rfft, 1024x1024", "torch.fft.rfft(rows)", signals, 1, has_avx2_row=True),
    Case("rfft2, 64x256x256", "torch.fft.rfft2(images)", signals, 1, has_avx2_row=True),
    Case("fft2, complex 1024x1024", "torch.fft.fft2(points)", signals, 1, has_avx2_row=True),
    Case("ifft, complex128 1000x1000", "torch.fft.ifft(thousands)", signals, 1),
    Case("stft, 16x16000", STFT, signals, 1, has_avx2_row=True),
]

if __name__ == "__main__":
    main(__file__)
