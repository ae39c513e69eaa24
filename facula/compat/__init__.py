"""``facula run``: unchanged PyTorch programs, with Facula by the names of PyTorch's packages."""

from __future__ import annotations

import os
from importlib import import_module

from facula.compat import _alias

__all__ = ["install"]


def install(*, era: str | None = None) -> None:
    """Let ``torch``, ``torchvision`` and ``tensorboardX`` be Facula from now on.

    What ``facula run`` does for a whole program, for a notebook or a program that cannot be
    started by it. It holds for this process and all that it starts. A second call does nothing.

    Args:
        era: the version of PyTorch that the program was written for, such as ``"0.3"``, where its
            rules differ from today's.

    Raises:
        RuntimeError: if ``torch`` is imported already, and is not Facula.

    Example:
        >>> import facula.compat
        >>> facula.compat.install()  # doctest: +SKIP
        >>> import torch  # doctest: +SKIP
        >>> torch is facula  # doctest: +SKIP
        True
    """
    if era is not None:
        os.environ[_alias.ERA] = era  # which the first look at the package finds, and children
    if _alias.is_installed() and era is not None:
        import_module("facula.compat.era").enable(era)
    _alias.install()
