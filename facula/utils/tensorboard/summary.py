"""Summaries that programs build themselves, and hand to ``writer.file_writer.add_summary``."""

from facula.utils.tensorboard.writer import hparams

__all__ = ["hparams"]
