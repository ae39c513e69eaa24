"""KITTI: streets with boxes of cars and people."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import Any

from facula.vision.datasets._base import Files
from facula.vision.datasets.utils import read_image
from facula.vision.datasets.vision import Root, Transform, VisionDataset

__all__ = ["Kitti"]


class Kitti(VisionDataset):
    """Photographs of streets, with boxes of cars and people, in the order of their names.

    Args:
        root: the folder that has, or is to have, the folder ``Kitti/raw``.
        train: whether images are those to train with, or those to test, whose targets are None.
        transform: applied to the image.
        target_transform: applied to the list of objects, each a dict.
        transforms: applied to image and target together, in place of the other two.
        download: download what is not there.

    Example:
        >>> facula.vision.datasets.Kitti.image_dir_name
        'image_2'
    """

    data_url = "https://s3.eu-central-1.amazonaws.com/avg-kitti/"
    resources = ["data_object_image_2.zip", "data_object_label_2.zip"]
    image_dir_name = "image_2"
    labels_dir_name = "label_2"

    def __init__(
        self,
        root: Root,
        train: bool = True,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        transforms: Transform | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transforms, transform, target_transform)
        self.train = train
        part = f"Kitti/raw/{'training' if train else 'testing'}"
        folders = [f"{part}/{name}" for name in (self.image_dir_name, self.labels_dir_name)]
        archives = [(self.data_url + name, None) for name in self.resources]
        needed = folders if train else folders[:1]
        Files(needed, archives, into="Kitti/raw").provide(self, self.root, download)
        images, labels = (Path(self.root, name) for name in folders)
        names = sorted(os.listdir(images))
        self.images = [str(images / name) for name in names]
        self.targets = [str(labels / f"{Path(name).stem}.txt") for name in names if train]

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        image = read_image(self.images[index], mode=None)
        target = self._parse_target(self.targets[index]) if self.train else None
        return self._transformed_together(image, target)

    @staticmethod
    def _parse_target(path: str) -> list[dict[str, Any]]:
        with open(path) as file:
            rows = list(csv.reader(file, delimiter=" "))
        return [
            {
                "type": row[0],
                "truncated": float(row[1]),
                "occluded": int(row[2]),
                "alpha": float(row[3]),
                "bbox": [float(cell) for cell in row[4:8]],
                "dimensions": [float(cell) for cell in row[8:11]],
                "location": [float(cell) for cell in row[11:14]],
                "rotation_y": float(row[14]),
            }
            for row in rows
        ]

    def __len__(self) -> int:
        return len(self.images)
