# mypy: implicit-reexport
"""Networks that tell how the pixels of one image have moved in another."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from facula.vision.models.optical_flow import raft
from facula.vision.models.optical_flow.raft import *  # noqa: F403

if not _TYPE_CHECKING:  # mypy reads no computed list; without one, all names are public to it
    __all__ = raft.__all__
