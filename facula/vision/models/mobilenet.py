# mypy: implicit-reexport
"""MobileNet v2 and v3 under one name."""

from facula.vision.models import mobilenetv2, mobilenetv3
from facula.vision.models.mobilenetv2 import *  # noqa: F403
from facula.vision.models.mobilenetv3 import *  # noqa: F403

__all__ = [*mobilenetv2.__all__, *mobilenetv3.__all__]
