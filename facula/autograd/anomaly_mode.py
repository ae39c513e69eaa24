"""Anomaly detection: find the forward operation behind a failing or NaN-making backward."""

from __future__ import annotations

from facula import _core
from facula._warnings import warn_user

__all__ = ["detect_anomaly", "set_detect_anomaly"]


class set_detect_anomaly:
    """Switch anomaly detection on or off, at once or for a ``with`` block.

    Args:
        mode: whether anomaly detection is on.
        check_nan: whether a NaN that a backward function makes is an error.

    Example:
        >>> with facula.autograd.set_detect_anomaly(True):
        ...     facula.is_anomaly_enabled()
        True
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._previous = (_core.is_anomaly_enabled(), _core.is_anomaly_check_nan_enabled())
        _core._set_anomaly_enabled(mode, check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc_info: object) -> None:
        _core._set_anomaly_enabled(*self._previous)


class detect_anomaly:
    """Run a block with anomaly detection on.

    A backward error then also shows where the forward operation was called, and a NaN made by
    backward raises. It is slow: meant for finding a bug, not for training.

    Args:
        check_nan: whether a NaN that a backward function makes is an error.

    Example:
        >>> import warnings
        >>> warnings.simplefilter("ignore")
        >>> x = facula.tensor(-1.0, requires_grad=True)
        >>> try:
        ...     with facula.autograd.detect_anomaly():
        ...         (x.sqrt() * 0).backward()
        ... except RuntimeError as error:
        ...     print("nan" in str(error).lower())
        True
    """

    def __init__(self, check_nan: bool = True) -> None:
        self._check_nan = check_nan
        warn_user(
            "detect_anomaly: every operation now records where it was called, which is slow. "
            "Switch it off again once the bug is found.",
        )

    def __enter__(self) -> None:
        self._previous = (_core.is_anomaly_enabled(), _core.is_anomaly_check_nan_enabled())
        _core._set_anomaly_enabled(True, self._check_nan)

    def __exit__(self, *exc_info: object) -> None:
        _core._set_anomaly_enabled(*self._previous)
