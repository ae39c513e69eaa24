"""What this build has, as texts to read."""

from facula import _core
from facula.backends.cpu import get_cpu_capability
from facula.version import _FACULA

__all__ = ["parallel_info", "show"]


def show() -> str:
    """The build: version, instructions, libraries.

    Example:
        >>> facula.__config__.show().splitlines()[0]
        'Facula built with:'
    """
    lines = [
        f"  - Facula {_FACULA}",
        f"  - CPU capability usage: {get_cpu_capability()}",
        f"  - BLAS and LAPACK: {_core._blas_config()}",
    ]
    return "\n".join(["Facula built with:", *lines]) + "\n"


def parallel_info() -> str:
    """The threads that operations use.

    Example:
        >>> facula.__config__.parallel_info().splitlines()[0]
        'Facula threads:'
    """
    return f"Facula threads:\n\tget_num_threads() : {_core.get_num_threads()}\n"
