"""Arm's KleidiAI, which is not used."""

__all__ = ["is_available"]


def is_available() -> bool:
    """Whether KleidiAI is used: no.

    Example:
        >>> facula.backends.kleidiai.is_available()
        False
    """
    return False
