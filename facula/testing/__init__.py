"""Making tensors for tests, and comparing results."""

from facula.testing._comparison import assert_allclose, assert_close
from facula.testing._creation import make_tensor

__all__ = ["assert_allclose", "assert_close", "make_tensor"]
