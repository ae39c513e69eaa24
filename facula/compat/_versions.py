"""The versions of the packages that we stand for: PyTorch's that we follow, marked as ours."""

from __future__ import annotations

# The versions whose documented behaviour is the specification.
_FOLLOWED = {"torch": "2.13.0", "torchvision": "0.28.0"}


def versions() -> dict[str, str]:
    """What programs read as ``__version__``, such as ``2.13.0+facula0.1.0``, by package."""
    from facula.version import _FACULA

    return {package: f"{version}+facula{_FACULA}" for package, version in _FOLLOWED.items()}
