"""The processor's part."""

from facula import _core

__all__ = ["get_cpu_capability"]


def get_cpu_capability() -> str:
    """The instruction set that kernels use; ``FACULA_CPU_CAPABILITY`` can ask for a lesser one.

    Example:
        >>> facula.backends.cpu.get_cpu_capability() in ("DEFAULT", "AVX2", "AVX512")
        True
    """
    name = _core._cpu_capability()
    return "DEFAULT" if name == "baseline" else name.upper()
