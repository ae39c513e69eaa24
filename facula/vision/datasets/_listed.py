"""Datasets of classified images whose files lie in one archive, with lists of them beside."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from facula.vision._imports import optional
from facula.vision.datasets.folder import (
    Loader,
    default_loader,
    make_dataset,
)
from facula.vision.datasets.utils import (
    check_integrity,
    download_and_extract_archive,
    download_url,
    verify_str_arg,
)
from facula.vision.datasets.vision import Root, Transform, VisionDataset


def provide(
    dataset: VisionDataset,
    needed: Sequence[Path],
    download: bool,
    folder: Path,
    *archives: tuple[str, str | None],
) -> None:
    """Download the archives into ``folder`` if anything ``needed`` is not there."""
    if download and not all(path.exists() for path in needed):
        for url, md5 in archives:
            download_and_extract_archive(url, folder, md5=md5)
    missing = next((path for path in needed if not path.exists()), None)
    if missing is not None:
        raise RuntimeError(
            f"{type(dataset).__name__}: there is no {str(missing)!r}. Pass download=True to "
            "download the dataset."
        )


def numbered(classes: Iterable[str]) -> dict[str, int]:
    """The index of each class."""
    return {name: index for index, name in enumerate(classes)}


class Listed(VisionDataset):
    """Images of a list of files, each with its class."""

    loader: Loader = staticmethod(default_loader)
    _image_files: Sequence[Root]
    _labels: Sequence[Any]

    @property
    def _samples(self) -> list[tuple[Root, Any]]:
        return list(zip(self._image_files, self._labels, strict=True))

    @_samples.setter
    def _samples(self, samples: Sequence[tuple[Root, Any]]) -> None:
        self._image_files = [path for path, _ in samples]
        self._labels = [label for _, label in samples]

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        return self._transformed(self.loader(self._image_files[index]), self._labels[index])

    def __len__(self) -> int:
        return len(self._image_files)


class Food101(Listed):
    """Photographs of 101 dishes.

    Args:
        root: the folder that has, or is to have, the folder ``food-101``.
        split: ``"train"`` or ``"test"``.
        transform: of the image.
        target_transform: of the index of the class.
        download: download what is not there.
        loader: reads the image of a path.

    Example:
        >>> facula.vision.datasets.Food101(".", split="val")
        Traceback (most recent call last):
        ValueError: split: expected one of 'train', 'test', got 'val'.
    """

    _URL = "http://data.vision.ee.ethz.ch/cvl/food-101.tar.gz"
    _MD5 = "85eeb15f3717b99a5da872d97d918f87"

    def __init__(
        self,
        root: Root,
        split: str = "train",
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
        loader: Loader = default_loader,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self._split = verify_str_arg(split, "split", ("train", "test"))
        self.loader = loader
        base = Path(self.root, "food-101")
        needed = [base / "meta", base / "images"]
        provide(self, needed, download, Path(self.root), (self._URL, self._MD5))
        listed = json.loads((base / "meta" / f"{split}.json").read_text())
        self.classes = sorted(listed)
        self.class_to_idx = numbered(self.classes)
        self._samples = [
            (base / "images" / f"{file}.jpg", self.class_to_idx[name])
            for name, files in listed.items()
            for file in files
        ]

    def extra_repr(self) -> str:
        return f"split={self._split}"


class DTD(Listed):
    """Photographs of 47 textures.

    Args:
        root: the folder that has, or is to have, the folder ``dtd``.
        split: ``"train"``, ``"val"`` or ``"test"``.
        partition: one of ten ways to split, 1 to 10.
        transform: of the image.
        target_transform: of the index of the class.
        download: download what is not there.
        loader: reads the image of a path.

    Example:
        >>> facula.vision.datasets.DTD(".", partition=11)
        Traceback (most recent call last):
        ValueError: DTD: expected a partition from 1 to 10, got 11.
    """

    _URL = "https://www.robots.ox.ac.uk/~vgg/data/dtd/download/dtd-r1.0.1.tar.gz"
    _MD5 = "fff73e5086ae6bdbea199a49dfb8a4c1"

    def __init__(
        self,
        root: Root,
        split: str = "train",
        partition: int = 1,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
        loader: Loader = default_loader,
    ) -> None:
        self._split = verify_str_arg(split, "split", ("train", "val", "test"))
        if not 1 <= partition <= 10:
            raise ValueError(f"DTD: expected a partition from 1 to 10, got {partition!r}.")
        super().__init__(root, transform=transform, target_transform=target_transform)
        self._partition = partition
        self.loader = loader
        base = Path(self.root, "dtd", "dtd")
        archive = self._URL, self._MD5
        provide(self, [base / "labels", base / "images"], download, base.parent, archive)
        listed = (base / "labels" / f"{split}{partition}.txt").read_text().splitlines()
        names = [line.partition("/")[0] for line in listed]
        self.classes = sorted(set(names))
        self.class_to_idx = numbered(self.classes)
        self._image_files = [base / "images" / line for line in listed]
        self._labels = [self.class_to_idx[name] for name in names]

    def extra_repr(self) -> str:
        return f"split={self._split}, partition={self._partition}"


class GTSRB(Listed):
    """German traffic signs of 43 kinds.

    Args:
        root: the folder that has, or is to have, the folder ``gtsrb``.
        split: ``"train"`` or ``"test"``.
        transform: of the image.
        target_transform: of the index of the class.
        download: download what is not there.

    Example:
        >>> facula.vision.datasets.GTSRB(".", split="val")
        Traceback (most recent call last):
        ValueError: split: expected one of 'train', 'test', got 'val'.
    """

    _URL = "https://sid.erda.dk/public/archives/daaeac0d7ce1152aea9b61d9f1e19370/"
    _ARCHIVES = {
        "train": [("GTSRB-Training_fixed.zip", "513f3c79a4c5141765e10e952eaa2478")],
        "test": [
            ("GTSRB_Final_Test_Images.zip", "c7e4e6327067d32654124b0fe9e82185"),
            ("GTSRB_Final_Test_GT.zip", "fe31e9c9270bbcd7b84b7f21a9d9d9e5"),
        ],
    }

    def __init__(
        self,
        root: Root,
        split: str = "train",
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self._split = verify_str_arg(split, "split", ("train", "test"))
        base = Path(self.root, "gtsrb")
        folder = base / "GTSRB" / ("Training" if split == "train" else "Final_Test/Images")
        archives = [(self._URL + name, md5) for name, md5 in self._ARCHIVES[split]]
        provide(self, [folder], download, base, *archives)
        if split == "train":
            self._samples = make_dataset(folder, extensions=(".ppm",))
        else:
            with open(base / "GT-final_test.csv") as file:
                rows = list(csv.DictReader(file, delimiter=";"))
            self._samples = [(str(folder / row["Filename"]), int(row["ClassId"])) for row in rows]


class StanfordCars(Listed):
    """Photographs of 196 kinds of cars. It needs SciPy, and can no longer be downloaded.

    Args:
        root: the folder that has the folder ``stanford_cars``.
        split: ``"train"`` or ``"test"``.
        transform: of the image.
        target_transform: of the index of the class.
        download: must be False.
        loader: reads the image of a path.

    Example:
        >>> facula.vision.datasets.StanfordCars(".", split="val")
        Traceback (most recent call last):
        ValueError: split: expected one of 'train', 'test', got 'val'.
    """

    def __init__(
        self,
        root: Root,
        split: str = "train",
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
        loader: Loader = default_loader,
    ) -> None:
        loadmat = optional("scipy.io").loadmat
        super().__init__(root, transform=transform, target_transform=target_transform)
        self._split = verify_str_arg(split, "split", ("train", "test"))
        self.loader = loader
        if download:
            raise ValueError("StanfordCars: its address is gone; it cannot be downloaded.")
        base = Path(self.root, "stanford_cars")
        listed = base / "devkit" / "cars_train_annos.mat"
        if split == "test":
            listed = base / "cars_test_annos_withlabels.mat"
        if not listed.exists() or not (base / f"cars_{split}").is_dir():
            raise RuntimeError(f"StanfordCars: {listed} or the folder cars_{split} is not there.")
        rows = loadmat(listed, squeeze_me=True)["annotations"]
        self._samples = [
            (str(base / f"cars_{split}" / row["fname"]), int(row["class"]) - 1) for row in rows
        ]
        meta = loadmat(base / "devkit" / "cars_meta.mat", squeeze_me=True)
        self.classes = meta["class_names"].tolist()
        self.class_to_idx = numbered(self.classes)


class FGVCAircraft(Listed):
    """Photographs of aircraft.

    Args:
        root: the folder that has, or is to have, the folder ``fgvc-aircraft-2013b``.
        split: ``"train"``, ``"val"``, ``"trainval"`` or ``"test"``.
        annotation_level: what the classes are: ``"variant"``, ``"family"`` or ``"manufacturer"``.
        transform: of the image.
        target_transform: of the index of the class.
        download: download what is not there.
        loader: reads the image of a path.

    Example:
        >>> facula.vision.datasets.FGVCAircraft(".", annotation_level="colour")
        Traceback (most recent call last):
        ValueError: annotation_level: expected one of 'variant', 'family', 'manufacturer', got
        'colour'.
    """

    _URL = "https://www.robots.ox.ac.uk/~vgg/data/fgvc-aircraft/archives/fgvc-aircraft-2013b.tar.gz"
    _LISTS = {
        "variant": "variants.txt",
        "family": "families.txt",
        "manufacturer": "manufacturers.txt",
    }

    def __init__(
        self,
        root: Root,
        split: str = "trainval",
        annotation_level: str = "variant",
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
        loader: Loader = default_loader,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self._split = verify_str_arg(split, "split", ("train", "val", "trainval", "test"))
        verify_str_arg(annotation_level, "annotation_level", tuple(self._LISTS))
        self._annotation_level = annotation_level
        self.loader = loader
        base = Path(self.root, "fgvc-aircraft-2013b")
        provide(self, [base], download, Path(self.root), (self._URL, None))
        data = base / "data"
        names = (data / self._LISTS[annotation_level]).read_text().splitlines()
        self.classes = [name.strip() for name in names]
        self.class_to_idx = numbered(self.classes)
        rows = (data / f"images_{annotation_level}_{split}.txt").read_text().splitlines()
        parts = [row.strip().split(" ", 1) for row in rows]
        self._samples = [
            (str(data / "images" / f"{image}.jpg"), self.class_to_idx[name])
            for image, name in parts
        ]


_FLOWERS = (
    "pink primrose|hard-leaved pocket orchid|canterbury bells|sweet pea|english marigold|"
    "tiger lily|moon orchid|bird of paradise|monkshood|globe thistle|snapdragon|colt's foot|"
    "king protea|spear thistle|yellow iris|globe-flower|purple coneflower|peruvian lily|"
    "balloon flower|giant white arum lily|fire lily|pincushion flower|fritillary|red ginger|"
    "grape hyacinth|corn poppy|prince of wales feathers|stemless gentian|artichoke|"
    "sweet william|carnation|garden phlox|love in the mist|mexican aster|alpine sea holly|"
    "ruby-lipped cattleya|cape flower|great masterwort|siam tulip|lenten rose|barbeton daisy|"
    "daffodil|sword lily|poinsettia|bolero deep blue|wallflower|marigold|buttercup|oxeye daisy|"
    "common dandelion|petunia|wild pansy|primula|sunflower|pelargonium|bishop of llandaff|"
    "gaura|geranium|orange dahlia|pink-yellow dahlia?|cautleya spicata|japanese anemone|"
    "black-eyed susan|silverbush|californian poppy|osteospermum|spring crocus|bearded iris|"
    "windflower|tree poppy|gazania|azalea|water lily|rose|thorn apple|morning glory|"
    "passion flower|lotus|toad lily|anthurium|frangipani|clematis|hibiscus|columbine|"
    "desert-rose|tree mallow|magnolia|cyclamen|watercress|canna lily|hippeastrum|bee balm|"
    "ball moss|foxglove|bougainvillea|camellia|mallow|mexican petunia|bromelia|blanket flower|"
    "trumpet creeper|blackberry lily"
)


class Flowers102(Listed):
    """Photographs of 102 kinds of flowers. It needs SciPy.

    Args:
        root: the folder that has, or is to have, the folder ``flowers-102``.
        split: ``"train"``, ``"val"`` or ``"test"``.
        transform: of the image.
        target_transform: of the index of the class.
        download: download what is not there.
        loader: reads the image of a path.

    Example:
        >>> facula.vision.datasets.Flowers102.classes[:2]
        ['pink primrose', 'hard-leaved pocket orchid']
    """

    _URL = "https://www.robots.ox.ac.uk/~vgg/data/flowers/102/"
    _FILES = {
        "image": ("102flowers.tgz", "52808999861908f626f3c1f4e79d11fa"),
        "label": ("imagelabels.mat", "e0620be6f572b9609742df49c70aed4d"),
        "setid": ("setid.mat", "a5357ecc9cb78c4bef273ce3793fc85c"),
    }
    _SPLITS = {"train": "trnid", "val": "valid", "test": "tstid"}
    classes = _FLOWERS.split("|")

    def __init__(
        self,
        root: Root,
        split: str = "train",
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
        loader: Loader = default_loader,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self._split = verify_str_arg(split, "split", tuple(self._SPLITS))
        self.loader = loader
        self._base_folder = Path(self.root, "flowers-102")
        if download:
            self.download()
        if not self._check_integrity():
            raise RuntimeError(
                f"Flowers102: the dataset is not in {str(self._base_folder)!r}, or is damaged. "
                "Pass download=True to download it."
            )
        loadmat = optional("scipy.io").loadmat
        ids = loadmat(self._base_folder / "setid.mat", squeeze_me=True)[self._SPLITS[split]]
        labels = loadmat(self._base_folder / "imagelabels.mat", squeeze_me=True)["labels"]
        folder = self._base_folder / "jpg"
        self._image_files = [folder / f"image_{i:05d}.jpg" for i in ids.tolist()]
        self._labels = [int(labels[i - 1]) - 1 for i in ids.tolist()]

    def _check_integrity(self) -> bool:
        files = [self._FILES["label"], self._FILES["setid"]]
        is_there = all(check_integrity(self._base_folder / name, md5) for name, md5 in files)
        return is_there and (self._base_folder / "jpg").is_dir()

    def download(self) -> None:
        """Download and unpack the files that are not there."""
        if self._check_integrity():
            return
        name, md5 = self._FILES["image"]
        download_and_extract_archive(self._URL + name, self._base_folder, md5=md5)
        for name, md5 in (self._FILES["label"], self._FILES["setid"]):
            download_url(self._URL + name, self._base_folder, md5=md5)

    def extra_repr(self) -> str:
        return f"split={self._split}"


class SUN397(Listed):
    """Photographs of 397 kinds of scenes, in the order of their paths.

    Args:
        root: the folder that has, or is to have, the folder ``SUN397``.
        transform: of the image.
        target_transform: of the index of the class.
        download: download what is not there.
        loader: reads the image of a path.

    Example:
        >>> facula.vision.datasets.SUN397("nowhere")
        Traceback (most recent call last):
        RuntimeError: SUN397: there is no 'nowhere/SUN397'. Pass download=True to download the
        dataset.
    """

    _DATASET_URL = "http://vision.princeton.edu/projects/2010/SUN/SUN397.tar.gz"
    _DATASET_MD5 = "8ca2778205c41d23104230ba66911c7a"

    def __init__(
        self,
        root: Root,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
        loader: Loader = default_loader,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.loader = loader
        base = Path(self.root, "SUN397")
        archive = self._DATASET_URL, self._DATASET_MD5
        provide(self, [base], download, Path(self.root), archive)
        names = (base / "ClassName.txt").read_text().splitlines()
        self.classes = [name[3:].strip() for name in names]  # without "/a/", the first letter
        self.class_to_idx = numbered(self.classes)
        self._image_files = sorted(base.rglob("sun_*.jpg"))
        self._labels = [
            self.class_to_idx["/".join(path.relative_to(base).parts[1:-1])]
            for path in self._image_files
        ]


class CLEVRClassification(Listed):
    """Drawn scenes, classified by the number of their objects.

    Args:
        root: the folder that has, or is to have, the folder ``clevr``.
        split: ``"train"``, ``"val"`` or ``"test"``, whose targets are None.
        transform: of the image.
        target_transform: of the number of objects.
        download: download what is not there.
        loader: reads the image of a path.

    Example:
        >>> facula.vision.datasets.CLEVRClassification(".", split="valid")
        Traceback (most recent call last):
        ValueError: split: expected one of 'train', 'val', 'test', got 'valid'.
    """

    _URL = "https://dl.fbaipublicfiles.com/clevr/CLEVR_v1.0.zip"
    _MD5 = "b11922020e72d0cd9154779b2d3d07d2"

    def __init__(
        self,
        root: Root,
        split: str = "train",
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
        loader: Loader = default_loader,
    ) -> None:
        self._split = verify_str_arg(split, "split", ("train", "val", "test"))
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.loader = loader
        base = Path(self.root, "clevr", "CLEVR_v1.0")
        provide(self, [base], download, base.parent, (self._URL, self._MD5))
        self._image_files = sorted((base / "images" / split).glob("*"))
        self._labels = [None] * len(self._image_files)
        if split != "test":
            content = json.loads((base / "scenes" / f"CLEVR_{split}_scenes.json").read_text())
            counts = {scene["image_filename"]: len(scene["objects"]) for scene in content["scenes"]}
            self._labels = [counts[path.name] for path in self._image_files]

    def extra_repr(self) -> str:
        return f"split={self._split}"
