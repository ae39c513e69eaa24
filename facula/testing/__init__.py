"""Comparing results in tests."""

from facula.testing._comparison import assert_close

__all__ = ["assert_close"]
