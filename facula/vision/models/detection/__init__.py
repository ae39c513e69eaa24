# mypy: implicit-reexport
"""Detectors: networks that find objects, and say where they are.

Images are a list of ``(3, H, W)`` of any sizes, with values from 0 to 1::

    model = fasterrcnn_resnet50_fpn(weights="DEFAULT").eval()
    [found] = model([image])
    found["boxes"], found["labels"], found["scores"]
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from facula.vision.models.detection.faster_rcnn import *  # noqa: F403
from facula.vision.models.detection.fcos import *  # noqa: F403
from facula.vision.models.detection.keypoint_rcnn import *  # noqa: F403
from facula.vision.models.detection.mask_rcnn import *  # noqa: F403
from facula.vision.models.detection.retinanet import *  # noqa: F403
from facula.vision.models.detection.ssd import *  # noqa: F403
from facula.vision.models.detection.ssdlite import *  # noqa: F403

if not _TYPE_CHECKING:  # mypy reads no computed list; without one, all names are public to it
    __all__ = sorted(name for name in globals() if not name.startswith("_"))
