"""What limits the rows in which PyTorch is faster, as profiles showed it."""

import re
from collections.abc import Iterable

# The first pattern that a name has in it counts.
REASONS: tuple[tuple[str, str], ...] = ()
UNKNOWN = "Not looked into, or another run's noise."


def explained(names: Iterable[str]) -> str:
    """An item for each reason, with the names that it is of."""
    by_reason: dict[str, list[str]] = {reason: [] for _, reason in REASONS}
    for name in dict.fromkeys(names):
        found = (reason for pattern, reason in REASONS if re.search(pattern, name))
        by_reason.setdefault(next(found, UNKNOWN), []).append(name)
    lines = []
    for reason, of in by_reason.items():
        if of:
            lines.append("- " + ", ".join(f"`{name.strip('`')}`" for name in of) + f": {reason}")
    return "\n".join(lines)
