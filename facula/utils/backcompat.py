"""Warnings for programs of old, of which the switches are kept."""

from __future__ import annotations

from types import SimpleNamespace

__all__ = ["broadcast_warning", "keepdim_warning"]

broadcast_warning = SimpleNamespace(enabled=False)
keepdim_warning = SimpleNamespace(enabled=False)
