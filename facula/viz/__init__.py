"""Things to look at: tables and pages about models, losses and checkpoints."""

from __future__ import annotations

from facula.viz._checkpoint import checkpoint
from facula.viz._graph import graph
from facula.viz._page import Page
from facula.viz._summary import Layer, Summary, summary
from facula.viz._training import TrainingPage, training

__all__ = ["Layer", "Page", "Summary", "TrainingPage", "checkpoint", "graph", "summary", "training"]
