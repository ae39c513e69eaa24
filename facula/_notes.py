"""One note to the user for each older form that a program uses, at the user's own line."""

from __future__ import annotations

import warnings

from facula._warnings import warn_user

_told: set[str] = set()  # by this process


class OlderFormWarning(UserWarning):
    """What is told of a form that PyTorch had before 1.0, and that is accepted here."""


def note(message: str, place: tuple[str, int] | None = None) -> None:
    """Tell of an older form, the first time that it is met.

    Args:
        message: what was met, and what is written today.
        place: the file and the line, where they are not those of the user's frame.
    """
    if message in _told:
        return
    _told.add(message)
    if place is None:
        warn_user(message, OlderFormWarning)
    else:
        warnings.warn_explicit(message, OlderFormWarning, *place)
