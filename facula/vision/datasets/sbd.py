"""The Semantic Boundaries Dataset."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from facula.vision._imports import optional
from facula.vision.datasets.utils import (
    download_and_extract_archive,
    download_url,
    read_image,
    verify_str_arg,
)
from facula.vision.datasets.vision import Root, Transform, VisionDataset

__all__ = ["SBDataset"]


class SBDataset(VisionDataset):
    """Semantic Boundaries: classes or boundaries of the pixels of VOC's images. It needs SciPy.

    Args:
        root: the folder that has, or is to have, the folders ``img`` and ``cls``.
        image_set: ``"train"``, ``"val"`` or ``"train_noval"`` (without those of VOC 2012's val).
        mode: ``"boundaries"`` (an array ``(20, H, W)``) or ``"segmentation"`` (an image).
        download: download what is not there.
        transforms: applied to image and target together.

    Example:
        >>> facula.vision.datasets.SBDataset(".", mode="boxes")
        Traceback (most recent call last):
        ValueError: mode: expected one of 'segmentation', 'boundaries', got 'boxes'.
    """

    url = (
        "https://www2.eecs.berkeley.edu/Research/Projects/CS/vision/grouping/semantic_contours/"
        "benchmark.tgz"
    )
    md5 = "82b4d87ceb2ed10f6038a1cba92111cb"
    filename = "benchmark.tgz"
    voc_train_url = "https://www.cs.cornell.edu/~bharathh/train_noval.txt"
    voc_split_filename = "train_noval.txt"
    voc_split_md5 = "79bff800c5f0b1ec6b21080a3c066722"

    def __init__(
        self,
        root: Root,
        image_set: str = "train",
        mode: str = "boundaries",
        download: bool = False,
        transforms: Transform | None = None,
    ) -> None:
        self._loadmat = optional("scipy.io").loadmat
        super().__init__(root, transforms)
        self.image_set = verify_str_arg(image_set, "image_set", ("train", "val", "train_noval"))
        self.mode = verify_str_arg(mode, "mode", ("segmentation", "boundaries"))
        self.num_classes = 20
        root = Path(self.root)
        if download and not (root / "img").is_dir():
            download_and_extract_archive(self.url, root, filename=self.filename, md5=self.md5)
            unpacked = root / "benchmark_RELEASE" / "dataset"
            for name in ("cls", "img", "inst", "train.txt", "val.txt"):
                shutil.move(unpacked / name, root)
            download_url(self.voc_train_url, root, self.voc_split_filename, self.voc_split_md5)
        listed = (root / f"{image_set}.txt").read_text().split()
        if not (root / "img").is_dir():
            raise RuntimeError(f"SBDataset: there is no folder {str(root / 'img')!r}.")
        self.images = [str(root / "img" / f"{name}.jpg") for name in listed]
        self.masks = [str(root / "cls" / f"{name}.mat") for name in listed]

    def _target(self, path: str) -> Any:
        import numpy

        content = self._loadmat(path)["GTcls"][0]
        if self.mode == "segmentation":
            return optional("PIL.Image").fromarray(content["Segmentation"][0])
        edges = content["Boundaries"][0]
        return numpy.stack([edges[i][0].toarray() for i in range(self.num_classes)])

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        image, target = read_image(self.images[index]), self._target(self.masks[index])
        return self._transformed_together(image, target)

    def __len__(self) -> int:
        return len(self.images)

    def extra_repr(self) -> str:
        return f"Image set: {self.image_set}\nMode: {self.mode}"
