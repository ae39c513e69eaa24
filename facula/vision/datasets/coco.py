"""COCO: photographs with their objects or with captions."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from facula.vision.datasets._coco_masks import mask_of
from facula.vision.datasets.utils import read_image
from facula.vision.datasets.vision import Root, Transform, VisionDataset

__all__ = ["CocoCaptions", "CocoDetection"]


class COCO:
    """An index of a file of annotations, with the methods of pycocotools that look things up.

    Args:
        annotation_file: a JSON file in the format of COCO.
    """

    def __init__(self, annotation_file: Root) -> None:
        with open(annotation_file) as file:
            try:
                self.dataset: dict[str, Any] = json.load(file)
            except ValueError as error:
                raise ValueError(f"{os.fspath(annotation_file)} is no JSON: {error}") from error
        if not isinstance(self.dataset, dict):
            raise ValueError(f"{os.fspath(annotation_file)} has no object of COCO annotations.")
        self.anns: dict[int, Any] = {}
        self.imgs = {image["id"]: image for image in self.dataset.get("images", [])}
        self.cats = {category["id"]: category for category in self.dataset.get("categories", [])}
        self.imgToAnns: dict[int, list[Any]] = defaultdict(list)
        self.catToImgs: dict[int, list[int]] = defaultdict(list)
        for annotation in self.dataset.get("annotations", []):
            self.anns[annotation["id"]] = annotation
            self.imgToAnns[annotation["image_id"]].append(annotation)
            if self.cats and "category_id" in annotation:
                self.catToImgs[annotation["category_id"]].append(annotation["image_id"])

    def getAnnIds(
        self, imgIds: Any = (), catIds: Any = (), areaRng: Any = (), iscrowd: bool | None = None
    ) -> list[int]:
        """The ids of the annotations of these images, categories and areas; () stands for all."""
        images, categories = _listed(imgIds), set(_listed(catIds))
        if images:
            found = [a for i in images if i in self.imgToAnns for a in self.imgToAnns[i]]
        else:
            found = self.dataset.get("annotations", [])
        if categories:
            found = [a for a in found if a["category_id"] in categories]
        if areaRng:
            found = [a for a in found if areaRng[0] < a["area"] < areaRng[1]]
        if iscrowd is not None:
            found = [a for a in found if a["iscrowd"] == iscrowd]
        return [a["id"] for a in found]

    def getCatIds(self, catNms: Any = (), supNms: Any = (), catIds: Any = ()) -> list[int]:
        """The ids of the categories of these names, supercategories and ids; () stands for all."""
        wanted = {"name": _listed(catNms), "supercategory": _listed(supNms), "id": _listed(catIds)}
        found = self.dataset.get("categories", [])
        for key, values in wanted.items():
            found = [c for c in found if not values or c[key] in values]
        return [c["id"] for c in found]

    def getImgIds(self, imgIds: Any = (), catIds: Any = ()) -> list[int]:
        """The ids of the images that have all of these categories; () stands for all."""
        found = set(_listed(imgIds) or self.imgs)
        for category in _listed(catIds):
            found &= set(self.catToImgs[category])
        return list(found)

    def loadAnns(self, ids: Any = ()) -> list[Any]:
        """The annotations of these ids."""
        return [self.anns[i] for i in _listed(ids)]

    def loadCats(self, ids: Any = ()) -> list[Any]:
        """The categories of these ids."""
        return [self.cats[i] for i in _listed(ids)]

    def loadImgs(self, ids: Any = ()) -> list[Any]:
        """What the file has about the images of these ids."""
        return [self.imgs[i] for i in _listed(ids)]

    def annToMask(self, ann: Any) -> Any:
        """The mask of an annotation, a NumPy array of uint8 ``(height, width)`` of its image."""
        image = self.imgs[ann["image_id"]]
        return mask_of(ann["segmentation"], image["height"], image["width"])


def _listed(ids: Any) -> list[Any]:
    return list(ids) if isinstance(ids, Iterable) and not isinstance(ids, str) else [ids]


class CocoDetection(VisionDataset):
    """Photographs and, for each, the annotations of its objects.

    Args:
        root: the folder of the images.
        annFile: the JSON file of the annotations.
        transform: applied to the image, a PIL image in RGB.
        target_transform: applied to the annotations, a list of dicts.
        transforms: applied to image and target together, in place of the other two.

    Attributes:
        coco: an index of the annotations, with the methods of pycocotools that look things up.
        ids: the ids of the images, sorted.

    Example:
        >>> import json, pathlib, tempfile
        >>> from PIL import Image
        >>> root = pathlib.Path(tempfile.mkdtemp())
        >>> Image.new("RGB", (4, 2)).save(root / "1.png")
        >>> _ = (root / "instances.json").write_text(json.dumps({
        ...     "images": [{"id": 7, "file_name": "1.png"}],
        ...     "annotations": [{"id": 1, "image_id": 7, "category_id": 3, "bbox": [0, 0, 2, 2]}]}))
        >>> image, target = facula.vision.datasets.CocoDetection(root, root / "instances.json")[0]
        >>> image.size, target[0]["bbox"]
        ((4, 2), [0, 0, 2, 2])
    """

    def __init__(
        self,
        root: Root,
        annFile: Root,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        transforms: Transform | None = None,
    ) -> None:
        super().__init__(root, transforms, transform, target_transform)
        self.coco = COCO(annFile)
        self.ids = sorted(self.coco.imgs)

    def _load_image(self, id: int) -> Any:
        return read_image(os.path.join(self.root, self.coco.imgs[id]["file_name"]))

    def _load_target(self, id: int) -> list[Any]:
        return list(self.coco.imgToAnns.get(id, []))

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        if not isinstance(index, int):
            raise ValueError(f"{type(self).__name__}: expected an integer index, got {index!r}.")
        id = self.ids[index]
        return self._transformed_together(self._load_image(id), self._load_target(id))

    def __len__(self) -> int:
        return len(self.ids)


class CocoCaptions(CocoDetection):
    """Photographs and, for each, its captions: a list of strings.

    Its arguments are those of :class:`CocoDetection`.

    Example:
        >>> import json, pathlib, tempfile
        >>> from PIL import Image
        >>> root = pathlib.Path(tempfile.mkdtemp())
        >>> Image.new("RGB", (4, 2)).save(root / "1.png")
        >>> _ = (root / "captions.json").write_text(json.dumps({
        ...     "images": [{"id": 7, "file_name": "1.png"}],
        ...     "annotations": [{"id": 1, "image_id": 7, "caption": "black"}]}))
        >>> facula.vision.datasets.CocoCaptions(root, root / "captions.json")[0][1]
        ['black']
    """

    def _load_target(self, id: int) -> list[Any]:
        return [annotation["caption"] for annotation in super()._load_target(id)]
