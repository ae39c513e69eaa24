# mypy: implicit-reexport
"""Networks that classify videos ``(N, 3, T, H, W)``."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from facula.vision.models.video import mvit as mvit
from facula.vision.models.video import resnet as _resnet
from facula.vision.models.video import s3d as _s3d
from facula.vision.models.video import swin_transformer as _swin_transformer
from facula.vision.models.video.mvit import *  # noqa: F403
from facula.vision.models.video.resnet import *  # noqa: F403
from facula.vision.models.video.s3d import *  # noqa: F403
from facula.vision.models.video.swin_transformer import *  # noqa: F403

if not _TYPE_CHECKING:  # mypy reads no computed list; without one, all names are public to it
    __all__ = [*mvit.__all__, *_resnet.__all__, *_s3d.__all__, *_swin_transformer.__all__]
