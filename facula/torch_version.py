"""The type of ``__version__``: a string that is compared as a version."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["TorchVersion"]

_PATTERN = (
    r"v?(?:(?P<epoch>\d+)!)?(?P<release>\d+(?:\.\d+)*)"
    r"(?:[-_.]?(?P<stage>alpha|a|beta|b|preview|pre|c|rc)[-_.]?(?P<pre>\d*))?"
    r"(?P<post>(?:[-_.]?(?:post|rev|r)[-_.]?\d*)|(?:-\d+))?"
    r"(?P<dev>[-_.]?dev[-_.]?\d*)?(?:\+(?P<local>[a-z0-9]+(?:[-_.][a-z0-9]+)*))?"
)
_STAGES = {"a": 0, "alpha": 0, "b": 1, "beta": 1}  # all others are candidates for a release
_LAST = float("inf")


def _key(version: str) -> tuple[Any, ...] | None:
    """What orders versions, by the rules of PEP 440; None if the string is no version."""
    import re  # patterns take a while to compile, and few programs compare versions

    match = re.fullmatch(_PATTERN, version.strip().lower())
    if match is None:
        return None
    release = [int(part) for part in match["release"].split(".")]
    while len(release) > 1 and release[-1] == 0:
        release.pop()
    pre: tuple[float, float] = (_LAST, 0)
    if match["stage"]:
        pre = (_STAGES.get(match["stage"], 2), int(match["pre"] or 0))
    elif match["dev"] and not match["post"]:
        pre = (-_LAST, 0)  # before the first alpha version
    local = [
        (1, int(part), "") if part.isdigit() else (0, 0, part)
        for part in re.split(r"[-_.]", match["local"] or "")
        if part
    ]
    return (
        int(match["epoch"] or 0),
        release,
        pre,
        _number(match["post"], -1),
        _number(match["dev"], _LAST),
        local,
    )


def _number(text: str | None, absent: float) -> float:
    return absent if not text else int("".join(filter(str.isdigit, text)) or 0)


class TorchVersion(str):
    """A version that is a string, and is compared as a version.

    It may be compared with a string, or with the numbers of a version. A string that is no
    version is compared as a string.

    Example:
        >>> version = facula.torch_version.TorchVersion("2.13.0+facula0.1")
        >>> version > "2.9", version >= (2, 13), version == "2.13.0"
        (True, True, False)
    """

    def _pair(self, other: Any) -> tuple[Any, Any]:
        if isinstance(other, Iterable) and not isinstance(other, str):
            other = ".".join(map(str, other))
        if not isinstance(other, str):
            other = str(other)  # a Version of the package packaging
        mine, its = _key(str.__str__(self)), _key(other)
        if mine is None or its is None:
            return str.__str__(self), str.__str__(other)
        return mine, its

    def __lt__(self, other: Any) -> bool:
        mine, its = self._pair(other)
        return bool(mine < its)

    def __le__(self, other: Any) -> bool:
        mine, its = self._pair(other)
        return bool(mine <= its)

    def __gt__(self, other: Any) -> bool:
        mine, its = self._pair(other)
        return bool(mine > its)

    def __ge__(self, other: Any) -> bool:
        mine, its = self._pair(other)
        return bool(mine >= its)

    def __eq__(self, other: object) -> bool:
        mine, its = self._pair(other)
        return bool(mine == its)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__
