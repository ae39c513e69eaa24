"""Datasets of scenes with boxes, outlines or classes of pixels."""

from __future__ import annotations

import csv
import json
import os
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import facula
from facula.vision._imports import optional
from facula.vision.datasets._listed import provide
from facula.vision.datasets._targets import one_or_all
from facula.vision.datasets.utils import (
    download_and_extract_archive,
    download_file_from_google_drive,
    download_url,
    extract_archive,
    read_image,
    verify_str_arg,
)
from facula.vision.datasets.vision import Root, Transform, VisionDataset


class Kitti(VisionDataset):
    """Photographs of streets, with boxes of cars and people, in the order of their names.

    Args:
        root: the folder that has, or is to have, the folder ``Kitti/raw``.
        train: the images to train with, or those to test, whose targets are None.
        transform: of the image.
        target_transform: of the list of objects, each a dict.
        transforms: of both, in place of the former two.
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
        base = Path(self.root, "Kitti", "raw")
        part = base / ("training" if train else "testing")
        images, labels = part / self.image_dir_name, part / self.labels_dir_name
        archives = [(self.data_url + name, None) for name in self.resources]
        provide(self, [images, labels] if train else [images], download, base, *archives)
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


class WIDERFace(VisionDataset):
    """Photographs with boxes of the faces in them.

    Args:
        root: the folder that has, or is to have, the folder ``widerface``.
        split: ``"train"``, ``"val"`` or ``"test"``, whose targets are None.
        transform: of the image.
        target_transform: of a dict of tensors: ``bbox`` has x, y, width and height of each face.
        download: download what is not there.

    Example:
        >>> facula.vision.datasets.WIDERFace.BASE_FOLDER
        'widerface'
    """

    BASE_FOLDER = "widerface"
    FILE_LIST = [
        (
            "15hGDLhsx8bLgLcIRD5DhYt5iBxnjNF1M",
            "3fedf70df600953d25982bcd13d91ba2",
            "WIDER_train.zip",
        ),
        ("1GUCogbp16PMGa39thoMMeWxp7Rp5oM8Q", "dfa7d7e790efa35df3788964cf0bbaea", "WIDER_val.zip"),
        ("1HIfDbVEWKmsYKJZm4lchTBDLW5N7dY5T", "e5d8f4248ed24c334bbd12f49c29dd40", "WIDER_test.zip"),
    ]
    ANNOTATIONS_FILE = (
        "http://shuoyang1213.me/WIDERFACE/support/bbx_annotation/wider_face_split.zip",
        "0e3767bcf0e326556d407bf5bff5d27c",
        "wider_face_split.zip",
    )
    _COLUMNS = ("blur", "expression", "illumination", "occlusion", "pose", "invalid")

    def __init__(
        self,
        root: Root,
        split: str = "train",
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
    ) -> None:
        root = os.path.join(os.path.expanduser(root), self.BASE_FOLDER)
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.split = verify_str_arg(split, "split", ("train", "val", "test"))
        if download:
            self.download()
        if not self._check_integrity():
            raise RuntimeError(
                f"WIDERFace: the dataset is not in {self.root!r}. Pass download=True to download "
                "it."
            )
        self.img_info: list[dict[str, Any]] = []
        if split == "test":
            self.parse_test_annotations_file()
        else:
            self.parse_train_val_annotations_file()

    def _lines(self, name: str) -> list[str]:
        return Path(self.root, "wider_face_split", name).read_text().splitlines()

    def _path(self, name: str) -> str:
        return os.path.join(self.root, f"WIDER_{self.split}", "images", name.strip())

    def parse_train_val_annotations_file(self) -> None:
        """Read the list of images with boxes."""
        name = f"wider_face_{self.split}_bbx_gt.txt"
        lines = iter(self._lines(name))
        for image in lines:
            try:
                # An image without faces has a row of zeros.
                rows = [next(lines) for _ in range(max(1, int(next(lines))))]
                boxes = facula.tensor([[int(cell) for cell in row.split()] for row in rows])
            except (StopIteration, ValueError) as error:
                raise RuntimeError(f"WIDERFace: {name} is damaged at {image!r}.") from error
            columns = {kind: boxes[:, 4 + i].clone() for i, kind in enumerate(self._COLUMNS)}
            target = {"bbox": boxes[:, :4].clone(), **columns}
            self.img_info.append({"img_path": self._path(image), "annotations": target})

    def parse_test_annotations_file(self) -> None:
        """Read the list of images without boxes."""
        listed = self._lines("wider_face_test_filelist.txt")
        self.img_info += [{"img_path": self._path(name)} for name in listed]

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        info = self.img_info[index]
        return self._transformed(read_image(info["img_path"], mode=None), info.get("annotations"))

    def __len__(self) -> int:
        return len(self.img_info)

    def _check_integrity(self) -> bool:
        names = [name for *_, name in (*self.FILE_LIST, self.ANNOTATIONS_FILE)]
        return all(os.path.exists(os.path.join(self.root, name[:-4])) for name in names)

    def download(self) -> None:
        """Download and unpack the archives, if their folders are not there."""
        if self._check_integrity():
            return
        for file_id, md5, name in self.FILE_LIST:
            download_file_from_google_drive(file_id, self.root, name, md5)
            extract_archive(os.path.join(self.root, name))
        url, md5, _ = self.ANNOTATIONS_FILE
        download_and_extract_archive(url, self.root, md5=md5)

    def extra_repr(self) -> str:
        return f"Split: {self.split}"


class SBDataset(VisionDataset):
    """Semantic Boundaries: classes or boundaries of the pixels of VOC's images. It needs SciPy.

    Args:
        root: the folder that has, or is to have, the folders ``img`` and ``cls``.
        image_set: ``"train"``, ``"val"`` or ``"train_noval"`` (without those of VOC 2012's val).
        mode: ``"boundaries"`` (an array ``(20, H, W)``) or ``"segmentation"`` (an image).
        download: download what is not there.
        transforms: of image and target.

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


class CityscapesClass(NamedTuple):
    """A class of :class:`Cityscapes`."""

    name: str
    id: int
    train_id: int
    category: str
    category_id: int
    has_instances: bool
    ignore_in_eval: bool
    color: tuple[int, int, int]


# Name, train id, category, whether it has instances, colour. Train id 255 is not evaluated.
_CITYSCAPES = """
unlabeled            255 void         0 0,0,0
ego vehicle          255 void         0 0,0,0
rectification border 255 void         0 0,0,0
out of roi           255 void         0 0,0,0
static               255 void         0 0,0,0
dynamic              255 void         0 111,74,0
ground               255 void         0 81,0,81
road                 0   flat         0 128,64,128
sidewalk             1   flat         0 244,35,232
parking              255 flat         0 250,170,160
rail track           255 flat         0 230,150,140
building             2   construction 0 70,70,70
wall                 3   construction 0 102,102,156
fence                4   construction 0 190,153,153
guard rail           255 construction 0 180,165,180
bridge               255 construction 0 150,100,100
tunnel               255 construction 0 150,120,90
pole                 5   object       0 153,153,153
polegroup            255 object       0 153,153,153
traffic light        6   object       0 250,170,30
traffic sign         7   object       0 220,220,0
vegetation           8   nature       0 107,142,35
terrain              9   nature       0 152,251,152
sky                  10  sky          0 70,130,180
person               11  human        1 220,20,60
rider                12  human        1 255,0,0
car                  13  vehicle      1 0,0,142
truck                14  vehicle      1 0,0,70
bus                  15  vehicle      1 0,60,100
caravan              255 vehicle      1 0,0,90
trailer              255 vehicle      1 0,0,110
train                16  vehicle      1 0,80,100
motorcycle           17  vehicle      1 0,0,230
bicycle              18  vehicle      1 119,11,32
license plate        -1  vehicle      0 0,0,142
"""


def _cityscapes_classes() -> list[CityscapesClass]:
    classes: list[CityscapesClass] = []
    categories: list[str] = []
    for i, line in enumerate(_CITYSCAPES.strip().splitlines()):
        *words, train_id, category, has_instances, color = line.split()
        if category not in categories:
            categories.append(category)
        name = " ".join(words)
        red, green, blue = (int(part) for part in color.split(","))
        classes.append(
            CityscapesClass(
                name,
                -1 if name == "license plate" else i,
                int(train_id),
                category,
                categories.index(category),
                has_instances == "1",
                train_id in ("255", "-1"),
                (red, green, blue),
            )
        )
    return classes


class Cityscapes(VisionDataset):
    """Photographs of streets of 50 cities, with classes and instances of pixels.

    Args:
        root: the folder that has the folders ``leftImg8bit`` and ``gtFine`` or ``gtCoarse``, or the
            archives that the web site offers.
        split: ``"train"``, ``"val"``, and with ``mode="fine"`` ``"test"``, with ``mode="coarse"``
            ``"train_extra"``.
        mode: ``"fine"`` or ``"coarse"``.
        target_type: what to return with an image, one of these or a list of them: ``"instance"``,
            ``"semantic"``, ``"color"`` (images), ``"polygon"`` (a dict).
        transform: of the image.
        target_transform: of the target, a tuple where there are several types.
        transforms: of both, in place of the former two.

    Example:
        >>> facula.vision.datasets.Cityscapes.classes[7].name
        'road'
    """

    CityscapesClass = CityscapesClass
    classes = _cityscapes_classes()
    _SUFFIXES = {
        "instance": "instanceIds.png",
        "semantic": "labelIds.png",
        "color": "color.png",
        "polygon": "polygons.json",
    }

    def __init__(
        self,
        root: Root,
        split: str = "train",
        mode: str = "fine",
        target_type: list[str] | str = "instance",
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        transforms: Transform | None = None,
    ) -> None:
        super().__init__(root, transforms, transform, target_transform)
        verify_str_arg(mode, "mode", ("fine", "coarse"))
        self.mode = "gtFine" if mode == "fine" else "gtCoarse"
        splits = ("train", "test", "val") if mode == "fine" else ("train", "train_extra", "val")
        self.split = verify_str_arg(split, "split", splits)
        types = [target_type] if isinstance(target_type, str) else target_type
        valid = ("instance", "semantic", "polygon", "color")
        self.target_type = [verify_str_arg(kind, "target_type", valid) for kind in types]
        self.images_dir = os.path.join(self.root, "leftImg8bit", split)
        self.targets_dir = os.path.join(self.root, self.mode, split)
        if not self._is_there():
            self._unpack()
        self.images: list[str] = []
        self.targets: list[list[str]] = []
        for city in sorted(os.listdir(self.images_dir)):
            for name in sorted(os.listdir(os.path.join(self.images_dir, city))):
                start = f"{name.split('_leftImg8bit')[0]}_{self.mode}_"
                self.images.append(os.path.join(self.images_dir, city, name))
                self.targets.append(
                    [
                        os.path.join(self.targets_dir, city, start + self._SUFFIXES[kind])
                        for kind in self.target_type
                    ]
                )

    def _is_there(self) -> bool:
        return os.path.isdir(self.images_dir) and os.path.isdir(self.targets_dir)

    def _unpack(self) -> None:
        """Unpack the archives, if they are in the root folder."""
        extra = self.split == "train_extra"
        images = "leftImg8bit_trainextra.zip" if extra else "leftImg8bit_trainvaltest.zip"
        labels = "gtCoarse.zip" if self.mode == "gtCoarse" else "gtFine_trainvaltest.zip"
        paths = [os.path.join(self.root, name) for name in (images, labels)]
        if all(map(os.path.isfile, paths)):
            for path in paths:
                extract_archive(path, self.root)
        if not self._is_there():
            raise RuntimeError(
                f"Cityscapes: there is no {self.images_dir!r} or no {self.targets_dir!r}. Put "
                f"{images} and {labels} of https://www.cityscapes-dataset.com into {self.root!r}."
            )

    def _load(self, path: str) -> Any:
        if path.endswith(".json"):
            with open(path) as file:
                return json.load(file)
        return read_image(path, mode=None)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        target = one_or_all([self._load(path) for path in self.targets[index]])
        return self._transformed_together(read_image(self.images[index]), target)

    def __len__(self) -> int:
        return len(self.images)

    def extra_repr(self) -> str:
        return f"Split: {self.split}\nMode: {self.mode}\nType: {self.target_type}"
