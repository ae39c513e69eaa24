"""What PyTorch's compiler raises; scripts name it in ``except``."""

from facula.compiler import InvalidBackend

__all__ = ["BackendCompilerFailed", "InvalidBackend", "TorchDynamoException", "Unsupported"]


class TorchDynamoException(RuntimeError):
    """The base class of a compiler's errors."""


class Unsupported(TorchDynamoException):
    """Python that a compiler cannot read."""


class BackendCompilerFailed(TorchDynamoException):
    """A backend that has raised."""
