"""EuroSAT: the ground seen from satellites."""

from __future__ import annotations

import os
from pathlib import Path

from facula.vision.datasets._base import Files
from facula.vision.datasets.folder import ImageFolder, Loader, default_loader
from facula.vision.datasets.vision import Root, Transform

__all__ = ["EuroSAT"]


class EuroSAT(ImageFolder):
    """Photographs of the ground from satellites, of ten kinds.

    Args:
        root: the folder that has, or is to have, the folder ``eurosat``.
        transform: applied to the image.
        target_transform: applied to the index of the class.
        download: download what is not there.
        loader: reads the image of a path.

    Example:
        >>> facula.vision.datasets.EuroSAT("nowhere")
        Traceback (most recent call last):
        RuntimeError: EuroSAT: there is no 'nowhere/eurosat/2750'. Pass download=True to download
        the dataset.
    """

    _URL = (
        "https://huggingface.co/datasets/torchgeo/eurosat/resolve/"
        "c877bcd43f099cd0196738f714544e355477f3fd/EuroSAT.zip"
    )
    _FILES = Files(["eurosat/2750"], [(_URL, "c8fa014336c82ac7804f0398fcb19387")], into="eurosat")

    def __init__(
        self,
        root: Root,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
        loader: Loader = default_loader,
    ) -> None:
        root = os.path.expanduser(root)
        self._FILES.provide(self, root, download)
        super().__init__(Path(root, "eurosat/2750"), transform, target_transform, loader)
        self.root = root
