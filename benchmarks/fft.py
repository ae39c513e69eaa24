"""Fourier transforms of one long line and of many short ones."""

from harness import Case, main


def signals(torch):
    torch.manual_seed(0)
    return {
        "line": torch.randn(1 << 20),
        "rows": torch.randn(1024, 1024),
        "points": torch.randn(1024, 1024, dtype=torch.complex64),
        "sound": torch.randn(16, 16000),
        "window": torch.hann_window(400),
    }


STFT = "torch.stft(sound, 400, 160, window=window, return_complex=True)"
CASES = [
    Case("rfft, 1M", "torch.fft.rfft(line)", signals, 1),
    Case("rfft, 1024x1024", "torch.fft.rfft(rows)", signals, 1),
    Case("fft2, complex 1024x1024", "torch.fft.fft2(points)", signals, 1),
    Case("stft, 16x16000", STFT, signals, 1),
]

if __name__ == "__main__":
    main(__file__)
