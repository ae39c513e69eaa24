"""Settings of fx."""

__all__ = ["disable_progress", "verbose_progress"]

# Accepted for programs that set them: interpreters show no progress.
disable_progress = True
verbose_progress = False
