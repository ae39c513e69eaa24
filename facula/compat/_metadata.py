"""What ``importlib.metadata`` says of ``torch`` and ``torchvision`` under ``facula run``."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from importlib.metadata import Distribution
from typing import Any

from facula.compat import _versions
from facula.compat._alias import _ROOT


class _Standing(Distribution):
    """The distribution of a package that ours stands for.

    Args:
        name: the package.
        version: the version that programs read.
    """

    def __init__(self, name: str, version: str) -> None:
        self._texts = {
            "METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
            "Summary: Facula, by the name of the package that it stands for\n"
            "Requires-Dist: numpy\n",
            "top_level.txt": f"{name}\n",
            "INSTALLER": "facula\n",
        }

    def read_text(self, filename: Any) -> str | None:
        """One of the files that describe the package."""
        return self._texts.get(str(filename))

    def locate_file(self, path: Any) -> Any:
        """Where a file of the package would be."""
        import pathlib

        return pathlib.Path(os.path.join(_ROOT, path))


def distributions(name: str | None) -> Iterable[Distribution]:
    """The packages that we stand for, or the one of a name."""
    # The rule by which names of packages are compared: PEP 503.
    wanted = name if name is None else re.sub(r"[-_.]+", "-", name).lower()
    return [
        _Standing(package, version)
        for package, version in _versions.versions().items()
        if wanted in (None, package)
    ]
