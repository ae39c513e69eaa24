"""Whether a model is being exported. Operations ask, which must not load the exporter for it."""

from __future__ import annotations

is_active = False  # set by facula.onnx while it runs a model
