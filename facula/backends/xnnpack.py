"""XNNPACK, which is not used."""

__all__ = ["enabled"]

enabled = False
