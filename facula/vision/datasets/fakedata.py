"""Random images, to try a program without data."""

from __future__ import annotations

from typing import Any

import facula
from facula.vision.datasets.vision import Transform, VisionDataset

__all__ = ["FakeData"]


class FakeData(VisionDataset):
    """Random PIL images with random classes, the same at every run.

    Args:
        size: the number of images.
        image_size: channels, height and width of the images.
        num_classes: the number of classes.
        transform: applied to the image.
        target_transform: applied to the index of the class.
        random_offset: added to the index of an image to get its seed.

    Example:
        >>> image, target = facula.vision.datasets.FakeData(2, (3, 4, 5), num_classes=10)[0]
        >>> image.size, target
        ((5, 4), 9)
    """

    def __init__(
        self,
        size: int = 1000,
        image_size: tuple[int, int, int] = (3, 224, 224),
        num_classes: int = 10,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        random_offset: int = 0,
    ) -> None:
        super().__init__(transform=transform, target_transform=target_transform)
        self.size = size
        self.num_classes = num_classes
        self.image_size = image_size
        self.random_offset = random_offset

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        from facula.vision.transforms.v2.functional import to_pil_image

        if index >= len(self):
            raise IndexError(f"FakeData: index {index} is out of range of {self.size} images.")
        generator = facula.Generator().manual_seed(index + self.random_offset)
        image = facula.randn(*self.image_size, generator=generator)
        target = facula.randint(0, self.num_classes, (1,), generator=generator)
        return self._transformed(to_pil_image(image), target.item())

    def __len__(self) -> int:
        return self.size
