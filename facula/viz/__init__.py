"""Things to look at: tables and pages about models."""

from __future__ import annotations

from facula.viz._summary import Layer, Summary, summary

__all__ = ["Layer", "Summary", "summary"]
