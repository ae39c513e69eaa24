# mypy: implicit-reexport
"""Networks that give each pixel its class; the result is a dictionary with ``"out"``."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from facula.vision.models.segmentation import deeplabv3, fcn, lraspp
from facula.vision.models.segmentation.deeplabv3 import *  # noqa: F403
from facula.vision.models.segmentation.fcn import *  # noqa: F403
from facula.vision.models.segmentation.lraspp import *  # noqa: F403

if not _TYPE_CHECKING:  # mypy reads no computed list; without one, all names are public to it
    __all__ = [*deeplabv3.__all__, *fcn.__all__, *lraspp.__all__]
