"""Errors of exports to ONNX."""

from __future__ import annotations

__all__ = ["OnnxExporterError", "UnsupportedOperatorError"]


class OnnxExporterError(RuntimeError):
    """An export that cannot be done; the message says why, and what to do instead."""


class UnsupportedOperatorError(OnnxExporterError):
    """An operation that has no translation to ONNX."""
