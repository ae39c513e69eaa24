"""Which implementation attention may use.

On the CPU there is one that serves all inputs: the choice is checked, kept and reported, and
changes nothing.
"""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Iterator

__all__ = ["SDPBackend", "sdpa_kernel"]


class SDPBackend(enum.Enum):
    """Implementations of :func:`facula.nn.functional.scaled_dot_product_attention`.

    Example:
        >>> from facula.nn.attention import SDPBackend
        >>> SDPBackend.MATH.name
        'MATH'
    """

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextlib.contextmanager
def sdpa_kernel(
    backends: list[SDPBackend] | SDPBackend, set_priority: bool = False
) -> Iterator[None]:
    """A context in which attention uses only these implementations.

    Args:
        backends: the implementation that may be used, or a list of several.
        set_priority: whether the order of the implementations is that of preference.

    Example:
        >>> from facula.nn.attention import SDPBackend, sdpa_kernel
        >>> x = facula.ones(1, 1, 2, 2)
        >>> with sdpa_kernel(SDPBackend.MATH):
        ...     facula.nn.functional.scaled_dot_product_attention(x, x, x).shape
        torch.Size([1, 1, 2, 2])
    """
    chosen = [backends] if isinstance(backends, SDPBackend) else backends
    if not isinstance(chosen, list) or not all(isinstance(b, SDPBackend) for b in chosen):
        raise AssertionError(
            f"sdpa_kernel: expected one SDPBackend or a list of several, got {backends!r}."
        )
    yield
