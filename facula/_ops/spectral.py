"""Spectra of short pieces of a signal, and the windows that pieces are weighted with."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from facula import _core
from facula._core import Tensor
from facula._ops._mark import looks_at_values, operation
from facula._warnings import warn_user

# Where the weights of all pieces that reach a point add up to less, the point is lost.
_SMALLEST_ENVELOPE = 1e-11


@operation(method=True)
def stft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    """Short-time Fourier transform: the spectra of overlapping pieces of a signal.

    Args:
        input: the signal, or a batch of signals, real or complex.
        n_fft: the number of points of each piece.
        hop_length: the distance between the starts of two pieces; ``n_fft // 4`` by default.
        win_length: the length of the window, with zeros around it up to ``n_fft``; ``n_fft`` by
            default.
        window: the weights of the points of a piece; ones by default.
        center: whether the pieces are centred at the multiples of ``hop_length``, for which the
            signal is padded at both ends.
        pad_mode: how it is padded then, see ``nn.functional.pad``.
        normalized: whether the spectra are divided by ``sqrt(n_fft)``.
        onesided: whether the redundant half of the spectrum of real numbers is left out; it is by
            default.
        return_complex: whether the result is complex; if not, its real and imaginary parts are a
            new last dimension. It must be given for real signals.
        align_to_window: whether the first window, rather than the first piece, begins with the
            signal. Not with ``center``.

    Shape:
        input ``(*, length)``; result ``(*, n_frequencies, n_pieces)``, where ``n_frequencies`` is
        ``n_fft // 2 + 1`` or ``n_fft``.

    Example:
        >>> signal, window = facula.ones(16), facula.hann_window(8)
        >>> facula.stft(signal, 8, window=window, return_complex=True).shape
        torch.Size([5, 9])
    """
    hop = n_fft // 4 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    if center and align_to_window:
        raise RuntimeError("stft: align_to_window should only be set when center = False.")
    if window is None:
        warn_user(
            "stft: without a window all points count alike, which smears the spectrum. Pass a "
            "window such as hann_window(n_fft), or ones to keep the result.",
        )
    is_complex = input.is_complex() or (window is not None and window.is_complex())
    if return_complex is None:
        if not is_complex:
            raise RuntimeError(
                "stft: requires the return_complex parameter be given for real inputs: True, or "
                "False for real and imaginary parts in a last dimension."
            )
        return_complex = True
    if input.dim() not in (1, 2):
        raise RuntimeError(f"stft: expected a 1D or 2D tensor, got shape {tuple(input.shape)}.")
    signals = input.unsqueeze(0) if input.dim() == 1 else input
    if center:
        signals = _padded(signals, n_fft // 2, pad_mode)
    elif align_to_window:
        signals = _padded(signals, (n_fft - length) // 2, "constant")
    if not is_complex and input.dtype not in (_core.float32, _core.float64):
        raise RuntimeError(
            "stft: expected a tensor of floating point or complex values, in single or double "
            f"precision, got {input.dtype}."
        )
    if not 0 < n_fft <= signals.size(-1):
        raise RuntimeError(
            f"stft: expected 0 < n_fft <= {signals.size(-1)}, the length of the padded signal, got "
            f"n_fft={n_fft}."
        )
    if hop <= 0:
        raise RuntimeError(f"stft: expected hop_length > 0, but got hop_length={hop}.")
    weights = _wide_window("stft", window, length, n_fft, input.device)
    is_half = not is_complex if onesided is None else onesided
    if is_half and is_complex:
        raise RuntimeError("stft: Cannot have onesided output if window or input is complex.")
    pieces = signals.unfold(-1, n_fft, hop)
    pieces = pieces if weights is None else pieces * weights
    norm = "ortho" if normalized else "backward"
    transform = _core._fft_to_half if is_half else _core._fft_complex
    spectra = transform(pieces, "stft", None, 2, norm, True, True)
    spectra = spectra.transpose(1, 2)
    spectra = spectra.squeeze(0) if input.dim() == 1 else spectra
    return spectra if return_complex else _core.view_as_real(spectra)


def _padded(signals: Tensor, n: int, mode: str) -> Tensor:
    from facula.nn.functional import pad

    return pad(signals.unsqueeze(0), (n, n), mode).squeeze(0)


def _wide_window(
    name: str, window: Tensor | None, length: int, n_fft: int, device: _core.device
) -> Tensor | None:
    """The window with as many zeros on both sides as make it ``n_fft`` long; None if it is ones."""
    if not 0 < length <= n_fft:
        raise RuntimeError(
            f"{name}: expected 0 < win_length <= n_fft, got win_length={length} and n_fft={n_fft}."
        )
    if window is not None and window.shape != (length,):
        raise RuntimeError(
            f"{name}: expected a 1D window tensor of size equal to win_length={length}, got shape "
            f"{tuple(window.shape)}."
        )
    if length == n_fft:
        return window
    before = (n_fft - length) // 2
    window = _core.ones(length, device=device) if window is None else window
    return _core.constant_pad_nd(window, (before, n_fft - length - before))


@operation(method=True)
@looks_at_values
def istft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    """Inverse of ``stft``: the signal from the spectra of its overlapping pieces.

    Args:
        input: the spectra, complex.
        n_fft: the number of points of each piece.
        hop_length: the distance between the starts of two pieces; ``n_fft // 4`` by default.
        win_length: the length of the window; ``n_fft`` by default.
        window: the weights that ``stft`` was given. In every point of the signal, at least one
            piece must have a weight that is not zero.
        center: whether the pieces are centred at the multiples of ``hop_length``.
        normalized: whether the spectra were divided by ``sqrt(n_fft)``.
        onesided: whether the redundant half of the spectra was left out; by default their size
            tells.
        length: the length to which the signal is cut or padded with zeros.
        return_complex: whether the signal is complex.

    Shape:
        input ``(*, n_frequencies, n_pieces)``; result ``(*, length)``.

    Example:
        >>> window = facula.hann_window(8)
        >>> spectra = facula.stft(facula.ones(16), 8, window=window, return_complex=True)
        >>> facula.istft(spectra, 8, window=window).shape
        torch.Size([16])
    """
    hop = n_fft // 4 if hop_length is None else hop_length
    win_length = n_fft if win_length is None else win_length
    if window is None:
        warn_user(
            "istft: without a window all points count alike. Pass the window that stft was given.",
        )
    _check_spectra(input, n_fft)
    is_half = input.size(-2) != n_fft if onesided is None else onesided
    expected = n_fft // 2 + 1 if is_half else n_fft
    if input.size(-2) != expected:
        raise RuntimeError(
            f"istft: expected {expected} frequencies (the dimension before the last) for "
            f"n_fft={n_fft} and onesided={is_half}, got shape {tuple(input.shape)}."
        )
    if not 0 < hop <= win_length:
        raise RuntimeError(
            f"istft: expected 0 < hop_length <= win_length, got {hop} and {win_length}."
        )
    weights = _wide_window("istft", window, win_length, n_fft, input.device)
    weights = input.new_ones(n_fft, dtype=input.dtype.to_real()) if weights is None else weights
    if weights.is_complex() and not return_complex:
        raise RuntimeError("istft: Complex windows are incompatible with return_complex=False.")
    if return_complex and is_half:
        raise RuntimeError("istft: Cannot have onesided output if window or input is complex.")
    spectra = (input.unsqueeze(0) if input.dim() == 2 else input).transpose(1, 2)
    norm = "ortho" if normalized else "backward"
    transform = _core._fft_complex if return_complex else _core._fft_from_half
    pieces = transform(spectra, "istft", n_fft, 2, norm, False, True)
    signal = _overlapped(pieces * weights, hop)
    envelope = _overlapped((weights * weights).expand(1, pieces.size(1), n_fft), hop)
    whole = signal.size(-1)
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else whole - (n_fft // 2 if center else 0)
    signal, envelope = (x[:, start : min(end, whole)] for x in (signal, envelope))
    if not envelope.is_meta and not (envelope.detach().abs() > _SMALLEST_ENVELOPE).all():
        raise RuntimeError(
            "istft: window overlap add min: there are points at which the windows of all pieces "
            "are zero. Choose a smaller hop_length, or center=True."
        )
    signal = signal / envelope
    signal = signal.squeeze(0) if input.dim() == 2 else signal
    if end > whole:
        warn_user(
            f"istft: the signal is shorter than length={length}; zeros are put to its end.",
        )
        signal = _core.constant_pad_nd(signal, (0, end - whole))
    return signal


def _check_spectra(input: Tensor, n_fft: int) -> None:
    if not input.is_complex():
        raise RuntimeError(
            "istft: requires a complex-valued input tensor matching the output from stft with "
            f"return_complex=True, got {input.dtype}."
        )
    if input.numel() == 0:
        raise RuntimeError(f"istft: input tensor cannot be empty, got {tuple(input.shape)}.")
    if input.dim() not in (2, 3):
        kind = RuntimeError if input.dim() else IndexError
        raise kind(f"istft: expected an input of 2 or 3 dimensions, got {tuple(input.shape)}.")


def _overlapped(pieces: Tensor, hop: int) -> Tensor:
    """The pieces added up, each ``hop`` points after the one before."""
    n_batch, n_pieces, n_points = pieces.shape
    starts = _core.arange(n_pieces, device=pieces.device) * hop
    places = starts.unsqueeze(1) + _core.arange(n_points, device=pieces.device)
    size = n_points + hop * (n_pieces - 1)
    zeros = _core.zeros(n_batch, size, dtype=pieces.dtype, device=pieces.device)
    return zeros.index_add(1, places.flatten(), pieces.reshape(n_batch, -1))


def made_window(
    name: str,
    n_points: int,
    is_periodic: bool,
    formula: Callable[[Tensor], Tensor],
    options: dict[str, Any],
    start: float = 0,
    n_steps: float | None = None,
) -> Tensor:
    """A window, from a formula of the position, which goes from 0 to 1.

    Args:
        name: the operation, for errors.
        n_points: the length of the window.
        is_periodic: whether 1 is the position after the last point, not that of the last point.
        formula: the weights at positions in double precision, which it may overwrite.
        options: the arguments ``dtype``, ``device`` and ``requires_grad``.
        start: the position of the first point, in points.
        n_steps: the number of points from position 0 to position 1, where the ends are elsewhere.
    """
    if n_points < 0:
        raise RuntimeError(f"{name}: requires non-negative window_length, got {n_points}.")
    dtype = options["dtype"] or _core.get_default_dtype()
    if not dtype.is_floating_point:
        raise RuntimeError(f"{name}: expects floating point dtypes, got {dtype}.")
    if n_points == 0 or (n_points == 1 and n_steps is None):
        weights = _core.ones(n_points, dtype=dtype, device=options["device"])
    else:
        steps = n_steps or (n_points if is_periodic else n_points - 1)
        end = start + n_points - 1
        positions = _core.linspace(
            start / steps, end / steps, n_points, dtype=_core.float64, device=options["device"]
        )
        weights = formula(positions).to(dtype)
    return weights.requires_grad_() if options["requires_grad"] else weights


def cosine_sum(coefficients: Sequence[float]) -> Callable[[Tensor], Tensor]:
    """The formula of a sum of cosines of multiples, their signs in turn plus and minus."""

    def formula(positions: Tensor) -> Tensor:
        weights: Tensor | None = None
        for i, coefficient in enumerate(coefficients[1:], 1):
            waves = (positions * (2 * math.pi * i)).cos_().mul_((-1) ** i * coefficient)
            weights = waves if weights is None else weights.add_(waves)
        if weights is None:
            return _core.full_like(positions, coefficients[0])
        return weights.add_(coefficients[0])

    return formula


def triangle(positions: Tensor) -> Tensor:
    """The formula that goes straight from 0 up to 1 and back."""
    distances = positions.sub_(0.5).abs_()
    one = _core.ones((), dtype=_core.float64, device=positions.device)
    return _core.add(one, distances, alpha=-2, out=distances)


def kaiser(beta: float) -> Callable[[Tensor], Tensor]:
    """The formula of Kaiser's window."""

    def formula(positions: Tensor) -> Tensor:
        distance = 2 * positions - 1
        height = _core.full((), beta, dtype=_core.float64, device=positions.device).i0()
        return (beta * (1 - distance * distance).clamp_min(0).sqrt()).i0() / height

    return formula


@operation
def hann_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Hann's window: one period of a cosine, raised to lie between 0 and 1.

    Args:
        window_length: the number of points.
        periodic: whether the window is the period of a periodic function, as transforms need it;
            otherwise it is symmetric.
        dtype: the dtype of the result, floating point; by default the default dtype.
        layout: accepted for its only value, ``strided``.
        device: where the result is made.
        pin_memory: accepted for compatibility; the memory is ordinary.
        requires_grad: whether autograd should record operations on the result.

    Example:
        >>> facula.hann_window(4)
        tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    options = {"dtype": dtype, "device": device, "requires_grad": requires_grad}
    return made_window("hann_window", window_length, periodic, cosine_sum([0.5, 0.5]), options)


@operation
def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Hamming's window: one period of a cosine on a pedestal.

    Args:
        window_length: the number of points.
        periodic: whether the window is the period of a periodic function, as transforms need it;
            otherwise it is symmetric.
        alpha: the mean of the cosine, the height of the middle between pedestal and top.
        beta: the height of the cosine.
        dtype: the dtype of the result, floating point; by default the default dtype.
        layout: accepted for its only value, ``strided``.
        device: where the result is made.
        pin_memory: accepted for compatibility; the memory is ordinary.
        requires_grad: whether autograd should record operations on the result.

    Example:
        >>> facula.hamming_window(4)
        tensor([0.0800, 0.5400, 1.0000, 0.5400])
    """
    options = {"dtype": dtype, "device": device, "requires_grad": requires_grad}
    return made_window(
        "hamming_window", window_length, periodic, cosine_sum([alpha, beta]), options
    )


@operation
def blackman_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Blackman's window: a sum of two cosines.

    Args:
        window_length: the number of points.
        periodic: whether the window is the period of a periodic function, as transforms need it;
            otherwise it is symmetric.
        dtype: the dtype of the result, floating point; by default the default dtype.
        layout: accepted for its only value, ``strided``.
        device: where the result is made.
        pin_memory: accepted for compatibility; the memory is ordinary.
        requires_grad: whether autograd should record operations on the result.

    Example:
        >>> facula.blackman_window(4)[1:]
        tensor([0.3400, 1.0000, 0.3400])
    """
    options = {"dtype": dtype, "device": device, "requires_grad": requires_grad}
    return made_window(
        "blackman_window", window_length, periodic, cosine_sum([0.42, 0.5, 0.08]), options
    )


@operation
def bartlett_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Bartlett's window: a triangle.

    Args:
        window_length: the number of points.
        periodic: whether the window is the period of a periodic function, as transforms need it;
            otherwise it is symmetric.
        dtype: the dtype of the result, floating point; by default the default dtype.
        layout: accepted for its only value, ``strided``.
        device: where the result is made.
        pin_memory: accepted for compatibility; the memory is ordinary.
        requires_grad: whether autograd should record operations on the result.

    Example:
        >>> facula.bartlett_window(4)
        tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    options = {"dtype": dtype, "device": device, "requires_grad": requires_grad}
    return made_window("bartlett_window", window_length, periodic, triangle, options)


@operation
def kaiser_window(
    window_length: int,
    periodic: bool = True,
    beta: float = 12.0,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Kaiser's window: a bell whose width is a parameter.

    Args:
        window_length: the number of points.
        periodic: whether the window is the period of a periodic function, as transforms need it;
            otherwise it is symmetric.
        beta: how narrow the bell is; at 0 it is flat.
        dtype: the dtype of the result, floating point; by default the default dtype.
        layout: accepted for its only value, ``strided``.
        device: where the result is made.
        pin_memory: accepted for compatibility; the memory is ordinary.
        requires_grad: whether autograd should record operations on the result.

    Example:
        >>> facula.kaiser_window(4)
        tensor([5.2773e-05, 2.1567e-01, 1.0000e+00, 2.1567e-01])
    """
    options = {"dtype": dtype, "device": device, "requires_grad": requires_grad}
    return made_window("kaiser_window", window_length, periodic, kaiser(beta), options)
