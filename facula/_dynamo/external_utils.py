"""Questions of programs to PyTorch's compiler."""

from facula.compiler import is_compiling

__all__ = ["is_compiling"]
