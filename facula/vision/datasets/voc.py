"""Pascal VOC, 2007 to 2012: segmentation and detection."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from facula.vision.datasets.utils import download_and_extract_archive, read_image, verify_str_arg
from facula.vision.datasets.vision import Root, Transform, VisionDataset

__all__ = ["VOCDetection", "VOCSegmentation"]

_URL = "https://thor.robots.ox.ac.uk/pascal/VOC/"

# The archive of each year, its MD5 hash, and where it has its files.
_ARCHIVES = {
    "2012": ("voc2012/VOCtrainval_11-May-2012.tar", "6cd6e144f989b92b3379bac3b3de84fd", ""),
    "2011": ("voc2011/VOCtrainval_25-May-2011.tar", "6c3384ef61512963050cb5d687e5bf1e", "TrainVal"),
    "2010": ("voc2010/VOCtrainval_03-May-2010.tar", "da459979d0c395079b5c75ee67908abb", ""),
    "2009": ("voc2009/VOCtrainval_11-May-2009.tar", "a3e00b113cfcfebf17e343f59da3caa1", ""),
    "2008": ("voc2008/VOCtrainval_14-Jul-2008.tar", "2629fa636546599198acfcfbfcf1904a", ""),
    "2007": ("voc2007/VOCtrainval_06-Nov-2007.tar", "c52e279531787c972589f7e41ab4ae64", ""),
    "2007-test": ("voc2007/VOCtest_06-Nov-2007.tar", "b6e924de25625d8de591ea690078ad9f", ""),
}


class _VOC(VisionDataset):
    _SPLITS_DIR = ""
    _TARGET_DIR = ""
    _TARGET_FILE_EXT = ""

    def __init__(
        self,
        root: Root,
        year: str = "2012",
        image_set: str = "train",
        download: bool = False,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        transforms: Transform | None = None,
    ) -> None:
        super().__init__(root, transforms, transform, target_transform)
        self.year = verify_str_arg(year, "year", [y for y in _ARCHIVES if y != "2007-test"])
        sets = ["train", "trainval", "val", *(["test"] if year == "2007" else [])]
        self.image_set = verify_str_arg(image_set, "image_set", sets)
        archive = "2007-test" if (year, image_set) == ("2007", "test") else year
        url, self.md5, folder = _ARCHIVES[archive]
        self.url = _URL + url
        self.filename = os.path.basename(url)
        base = Path(self.root, folder, "VOCdevkit", f"VOC{year}")
        if download:
            download_and_extract_archive(self.url, self.root, filename=self.filename, md5=self.md5)
        if not base.is_dir():
            raise self._missing(f"there is no folder {str(base)!r}")
        listed = base / "ImageSets" / self._SPLITS_DIR / f"{image_set}.txt"
        names = listed.read_text().splitlines()
        self.images = [str(base / "JPEGImages" / f"{name}.jpg") for name in names]
        ending = self._TARGET_FILE_EXT
        self.targets = [str(base / self._TARGET_DIR / f"{name}{ending}") for name in names]

    def __len__(self) -> int:
        return len(self.images)


class VOCSegmentation(_VOC):
    """Photographs and, for each, the class of every pixel.

    Args:
        root: the folder that has, or is to have, the folder ``VOCdevkit``.
        year: ``"2007"`` to ``"2012"``.
        image_set: ``"train"``, ``"trainval"`` or ``"val"``; ``"test"`` in 2007.
        download: download what is not there.
        transform: applied to the image, a PIL image in RGB.
        target_transform: applied to the mask, a PIL image of indices with a palette.
        transforms: applied to image and target together, in place of the other two.

    Example:
        >>> from facula.vision.datasets import VOCSegmentation
        >>> VOCSegmentation(".", image_set="test")
        Traceback (most recent call last):
        ValueError: image_set: expected one of 'train', 'trainval', 'val', got 'test'.
    """

    _SPLITS_DIR = "Segmentation"
    _TARGET_DIR = "SegmentationClass"
    _TARGET_FILE_EXT = ".png"

    @property
    def masks(self) -> list[str]:
        """The files of the masks."""
        return self.targets

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        image, mask = read_image(self.images[index]), read_image(self.masks[index], mode=None)
        return self._transformed_together(image, mask)


class VOCDetection(_VOC):
    """Photographs and, for each, the boxes and classes of its objects.

    Args:
        root: the folder that has, or is to have, the folder ``VOCdevkit``.
        year: ``"2007"`` to ``"2012"``.
        image_set: ``"train"``, ``"trainval"`` or ``"val"``; ``"test"`` in 2007.
        download: download what is not there.
        transform: applied to the image, a PIL image in RGB.
        target_transform: applied to the annotation, a dict as the XML file has it.
        transforms: applied to image and target together, in place of the other two.

    Example:
        >>> from xml.etree import ElementTree
        >>> xml = ElementTree.fromstring("<size><width>3</width><height>2</height></size>")
        >>> facula.vision.datasets.VOCDetection.parse_voc_xml(xml)
        {'size': {'width': '3', 'height': '2'}}
    """

    _SPLITS_DIR = "Main"
    _TARGET_DIR = "Annotations"
    _TARGET_FILE_EXT = ".xml"

    @property
    def annotations(self) -> list[str]:
        """The files of the annotations."""
        return self.targets

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        image, path = read_image(self.images[index]), self.annotations[index]
        try:
            target = self.parse_voc_xml(ElementTree.parse(path).getroot())
        except ElementTree.ParseError as error:
            raise ElementTree.ParseError(f"{path} is damaged: {error}") from error
        return self._transformed_together(image, target)

    @staticmethod
    def parse_voc_xml(node: ElementTree.Element) -> dict[str, Any]:
        """An element as a dict of its tag: of its children by their tags, or of its text.

        Children of one tag become a list if there are several; the objects of an annotation always
        do. Empty elements are left out.
        """
        if not len(node):
            return {node.tag: node.text.strip()} if node.text else {}
        children: dict[str, list[Any]] = {}
        for child in node:
            for tag, value in VOCDetection.parse_voc_xml(child).items():
                children.setdefault(tag, []).append(value)
        always = "object" if node.tag == "annotation" else None
        if always:
            children.setdefault(always, [])
        lists = {tag for tag, values in children.items() if tag == always or len(values) > 1}
        return {node.tag: {tag: v if tag in lists else v[0] for tag, v in children.items()}}
