"""Datasets of stereo pairs: two views of a scene, and how far each pixel lies apart in them."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from facula.vision._imports import optional
from facula.vision.datasets._flow_files import read_gray, read_pfm
from facula.vision.datasets._optical_flow import files_in, one_or_both
from facula.vision.datasets.utils import download_and_extract_archive, read_image, verify_str_arg
from facula.vision.datasets.vision import Root, Transform, VisionDataset

# The left and the right file, or the patterns of both; there may be no right one, or none at all.
Pair = tuple[str | None, str | None]


class StereoMatchingDataset(VisionDataset):
    """Pairs of images with the disparities of the left one, and of the right one if known.

    A subclass is a table: the folders below the root, and the patterns in them of images and of
    disparities. ``{}`` in a pattern stands for what its constructor chooses by its arguments.
    """

    _FOLDERS: Sequence[str] = ()
    _IMAGES: Pair
    _DISPARITIES: Pair
    _has_built_in_disparity_mask = False

    def __init__(self, root: Root, transforms: Transform | None = None) -> None:
        super().__init__(root, transforms)
        self._images: list[tuple[str, str]] = []
        self._disparities: list[Pair] = []
        for folder in self._FOLDERS:
            self._add(folder, folder)

    def _add(self, folder: str, truth: str | None, chosen: str = "") -> None:
        """Take the pairs of a folder, with disparities of the folder ``truth`` if there is one."""
        images = self._pairs(folder, self._IMAGES, chosen)
        disparities: list[Pair] = [(None, None)] * len(images)
        if truth is not None:
            disparities = self._pairs(truth, self._DISPARITIES, chosen)
        images = self._measured(images, disparities)
        if len(images) != len(disparities):
            raise ValueError(
                f"{type(self).__name__}: expected a disparity for each pair of images, got "
                f"{len(disparities)} and {len(images)} in {str(self.root)!r}."
            )
        self._images += images
        self._disparities += disparities

    def _pairs(self, name: str, patterns: Pair, chosen: str) -> list[Any]:
        folder = Path(self.root, name)
        left, right = (pattern and pattern.format(chosen) for pattern in patterns)
        paths: list[Sequence[str | None]] = []
        for pattern in (left, right):
            found: Sequence[str | None] = (
                [None] * len(paths[0]) if pattern is None else files_in(folder, pattern)
            )
            if not found:
                raise FileNotFoundError(
                    f"{type(self).__name__}: there are no files {pattern} in {str(folder)!r}."
                )
            paths.append(found)
        if len(paths[0]) != len(paths[1]):
            raise ValueError(
                f"{type(self).__name__}: expected as many files {left} as {right} in "
                f"{str(folder)!r}, got {len(paths[0])} and {len(paths[1])}."
            )
        return list(zip(*paths, strict=True))

    def _measured(self, images: list[Any], disparities: list[Pair]) -> list[Any]:
        """The pairs of images that have disparities, where not all of them do."""
        return images

    def _read_img(self, path: str) -> Any:
        return read_image(path)

    def _read_disparity(self, path: str) -> tuple[Any, Any]:
        """The disparities, and which of them are known if the files say it."""
        return abs(read_pfm(path, 1)), None

    def __getitem__(self, index: int) -> tuple[Any, ...]:
        left, right = self._images[index]
        images: Any = self._read_img(left), self._read_img(right)
        read = [
            (None, None) if path is None else self._read_disparity(path)
            for path in self._disparities[index]
        ]
        maps: Any
        masks: Any
        maps, masks = zip(*read, strict=True)
        if self.transforms is not None:
            images, maps, masks = self.transforms(images, maps, masks)
        if self._has_built_in_disparity_mask or masks[0] is not None:
            return images[0], images[1], maps[0], masks[0]
        return images[0], images[1], maps[0]

    def __len__(self) -> int:
        return len(self._images)


class _SplitStereo(StereoMatchingDataset):
    """Pairs to train with and pairs to test."""

    # By split: the folder of images, and that of disparities if there are any.
    _SPLITS: dict[str, tuple[str, str | None]]

    def __init__(
        self, root: Root, split: str = "train", transforms: Transform | None = None
    ) -> None:
        super().__init__(root, transforms)
        self._add(*self._SPLITS[verify_str_arg(split, "split", tuple(self._SPLITS))])


class CarlaStereo(StereoMatchingDataset):
    """Views of the simulator Carla.

    A sample is two images and the disparities of the left one, an array ``(1, H, W)``, float32. If
    ``transforms`` makes a mask, it is the fourth part.

    Args:
        root: the folder that has the folder ``carla-highres``, with
            ``trainingF/*/{im0.png,im1.png,disp0GT.pfm,disp1GT.pfm}``.
        transforms: a function of three pairs, of images, disparities and masks of known pixels
            (here None), that returns all three. A pair is of the left and the right view.

    Example:
        >>> facula.vision.datasets.CarlaStereo(".")
        Traceback (most recent call last):
        FileNotFoundError: CarlaStereo: there are no files */im0.png in 'carla-highres/trainingF'.
    """

    _FOLDERS = ("carla-highres/trainingF",)
    _IMAGES = ("*/im0.png", "*/im1.png")
    _DISPARITIES = ("*/disp0GT.pfm", "*/disp1GT.pfm")


class _KittiStereo(_SplitStereo):
    """Disparities in 256ths of a pixel."""

    # It is always None, but samples have it in torchvision too.
    _has_built_in_disparity_mask = True

    def _read_disparity(self, path: str) -> tuple[Any, Any]:
        return read_gray(path)[None] / 256.0, None


class Kitti2012Stereo(_KittiStereo):
    """Photographs of streets, the benchmark of 2012.

    A sample is two images, the disparities of the left one, an array ``(1, H, W)``, float64, with 0
    where they are not known, and a mask, which is None unless ``transforms`` makes one. In the test
    set there are no disparities: None.

    Args:
        root: the folder that has the folder ``Kitti2012``, with
            ``training/{colored_0,colored_1,disp_noc}`` and ``testing/{colored_0,colored_1}``.
        split: ``"train"`` or ``"test"``.
        transforms: a function of three pairs, of images, disparities and masks of known pixels
            (here None), that returns all three. There are no disparities of the right view.

    Example:
        >>> facula.vision.datasets.Kitti2012Stereo(".", split="val")
        Traceback (most recent call last):
        ValueError: split: expected one of 'train', 'test', got 'val'.
    """

    _SPLITS = {
        "train": ("Kitti2012/training", "Kitti2012/training"),
        "test": ("Kitti2012/testing", None),
    }
    _IMAGES = ("colored_0/*_10.png", "colored_1/*_10.png")
    _DISPARITIES = ("disp_noc/*.png", None)


class Kitti2015Stereo(_KittiStereo):
    """Photographs of streets, the benchmark of 2015.

    A sample is two images, the disparities of the left one, an array ``(1, H, W)``, float64, with 0
    where they are not known, and a mask, which is None unless ``transforms`` makes one. In the test
    set there are no disparities: None.

    Args:
        root: the folder that has the folder ``Kitti2015``, with
            ``training/{image_2,image_3,disp_occ_0,disp_occ_1}`` and ``testing/{image_2,image_3}``.
        split: ``"train"`` or ``"test"``.
        transforms: a function of three pairs, of images, disparities and masks of known pixels
            (here None), that returns all three. A pair is of the left and the right view.

    Example:
        >>> facula.vision.datasets.Kitti2015Stereo(".", split="val")
        Traceback (most recent call last):
        ValueError: split: expected one of 'train', 'test', got 'val'.
    """

    _SPLITS = {
        "train": ("Kitti2015/training", "Kitti2015/training"),
        "test": ("Kitti2015/testing", None),
    }
    _IMAGES = ("image_2/*.png", "image_3/*.png")
    _DISPARITIES = ("disp_occ_0/*.png", "disp_occ_1/*.png")

    def _measured(self, images: list[Any], disparities: list[Pair]) -> list[Any]:
        if len(images) == len(disparities):
            return images
        # The archive has a second frame of each scene, of which nothing is known.
        known = {os.path.basename(left) for left, _ in disparities if left is not None}
        return [pair for pair in images if os.path.basename(pair[0]) in known]


class Middlebury2014Stereo(StereoMatchingDataset):
    """Photographs of things on tables and floors, measured with structured light.

    A sample is two images, the disparities of the left one, an array ``(1, H, W)``, float32, and a
    mask ``(H, W)`` of the pixels where they are known. The last two are None in the test set.

    Args:
        root: the folder that has, or is to have, the folder ``Middlebury2014``, with
            ``{train,additional}/*-{perfect,imperfect}/{im0.png,im1.png,disp0.pfm,disp1.pfm}`` and
            ``test/*/{im0.png,im1.png}``.
        split: ``"train"``, ``"additional"`` or ``"test"``.
        calibration: how well the cameras are aligned: ``"perfect"``, ``"imperfect"`` or ``"both"``.
            None for the test set, and only for it.
        use_ambient_views: draw the right image, with Python's random numbers, from those of other
            exposures and lights too: ``im1E.png`` and ``im1L.png``, where they are there.
        transforms: a function of three pairs, of images, disparities and masks of known pixels,
            that returns all three. A pair is of the left and the right view.
        download: download what is not there.

    Example:
        >>> facula.vision.datasets.Middlebury2014Stereo.splits["train"][0]
        'Adirondack'
    """

    splits = {
        "train": [
            *("Adirondack", "Jadeplant", "Motorcycle", "Piano", "Pipes", "Playroom"),
            *("Playtable", "Recycle", "Shelves", "Vintage"),
        ],
        "additional": [
            *("Backpack", "Bicycle1", "Cable", "Classroom1", "Couch", "Flowers", "Mask"),
            *("Shopvac", "Sticks", "Storage", "Sword1", "Sword2", "Umbrella"),
        ],
        "test": [
            *("Plants", "Classroom2E", "Classroom2", "Australia", "DjembeL", "CrusadeP"),
            *("Crusade", "Hoops", "Bicycle2", "Staircase", "Newkuba", "AustraliaP", "Djembe"),
            *("Livingroom", "Computer"),
        ],
    }
    _IMAGES = ("{}/im0.png", "{}/im1.png")
    _DISPARITIES = ("{}/disp0.pfm", "{}/disp1.pfm")
    _has_built_in_disparity_mask = True
    _URL = "https://vision.middlebury.edu/stereo/"

    def __init__(
        self,
        root: Root,
        split: str = "train",
        calibration: str | None = "perfect",
        use_ambient_views: bool = False,
        transforms: Transform | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transforms)
        self.split = verify_str_arg(split, "split", ("train", "test", "additional"))
        self.use_ambient_views = use_ambient_views
        kinds: tuple[str, ...] = ("perfect", "imperfect")
        if calibration is not None:
            kinds = one_or_both(calibration, "calibration", kinds)
        if (split == "test") != (calibration is None):
            expected = "None" if split == "test" else "'perfect', 'imperfect' or 'both'"
            raise ValueError(
                f"Middlebury2014Stereo: expected calibration to be {expected} with "
                f"split={split!r}, got {calibration!r}."
            )
        base = Path(self.root, "Middlebury2014")
        if download:
            self._download_dataset(base)
        if not (base / split).is_dir():
            raise FileNotFoundError(
                f"Middlebury2014Stereo: there is no {str(base / split)!r}. Pass download=True to "
                "download the dataset."
            )
        part = f"Middlebury2014/{split}"
        if split == "test":
            self._add(part, None, "*")
            return
        for kind in kinds:
            self._add(part, part, f"*-{kind}")

    def _download_dataset(self, base: Path) -> None:
        part = base / self.split
        if self.split == "test":
            if not part.is_dir():
                download_and_extract_archive(
                    f"{self._URL}submit3/zip/MiddEval3-data-F.zip", base, remove_finished=True
                )
                os.replace(base / "MiddEval3" / "testF", part)
                shutil.rmtree(base / "MiddEval3")
            return
        for scene in self.splits[self.split]:
            for name in (f"{scene}-perfect", f"{scene}-imperfect"):
                if not (part / name).is_dir():
                    url = f"{self._URL}data/scenes2014/zip/{name}.zip"
                    download_and_extract_archive(url, part, remove_finished=True)

    def _read_img(self, path: str) -> Any:
        folder, name = os.path.split(path)
        if self.use_ambient_views and name == "im1.png":
            others = (os.path.join(folder, other) for other in ("im1E.png", "im1L.png"))
            path = random.choice([*filter(os.path.exists, others), path])
        return super()._read_img(path)

    def _read_disparity(self, path: str) -> tuple[Any, Any]:
        disparity = abs(read_pfm(path, 1))
        disparity[disparity == float("inf")] = 0
        return disparity, disparity[0] > 0


class CREStereo(StereoMatchingDataset):
    """Rendered trees, furniture, mirrors and holes.

    A sample is two images, the disparities of the left one, an array ``(1, H, W)``, float32, and a
    mask, which is None unless ``transforms`` makes one.

    Args:
        root: the folder that has the folder ``CREStereo``, with
            ``{shapenet,reflective,tree,hole}/*_{left,right}{.jpg,.disp.png}``.
        transforms: a function of three pairs, of images, disparities and masks of known pixels
            (here None), that returns all three. A pair is of the left and the right view.

    Example:
        >>> facula.vision.datasets.CREStereo(".")
        Traceback (most recent call last):
        FileNotFoundError: CREStereo: there are no files *_left.jpg in 'CREStereo/shapenet'.
    """

    _FOLDERS = [f"CREStereo/{name}" for name in ("shapenet", "reflective", "tree", "hole")]
    _IMAGES = ("*_left.jpg", "*_right.jpg")
    _DISPARITIES = ("*_left.disp.png", "*_right.disp.png")
    _has_built_in_disparity_mask = True

    def _read_disparity(self, path: str) -> tuple[Any, Any]:
        return read_gray(path)[None].astype("float32") / 32, None


class FallingThingsStereo(StereoMatchingDataset):
    """Rendered objects of a household that fall.

    A sample is two images and the disparities of the left one, an array ``(1, H, W)``, float32,
    infinite where the depth is 0. If ``transforms`` makes a mask, it is the fourth part.

    Args:
        root: the folder that has the folder ``FallingThings``, with the folders ``single/*/*`` and
            ``mixed/*``, and in them ``_camera_settings.json`` and
            ``*.{left,right}{.jpg,.depth.png}``.
        variant: one object or several: ``"single"``, ``"mixed"`` or ``"both"``.
        transforms: a function of three pairs, of images, disparities and masks of known pixels
            (here None), that returns all three. A pair is of the left and the right view.

    Example:
        >>> facula.vision.datasets.FallingThingsStereo(".", variant="many")
        Traceback (most recent call last):
        ValueError: variant: expected one of 'single', 'mixed', 'both', got 'many'.
    """

    _SCENES = {"single": "*/*", "mixed": "*"}
    _IMAGES = ("{}/*.left.jpg", "{}/*.right.jpg")
    _DISPARITIES = ("{}/*.left.depth.png", "{}/*.right.depth.png")
    # The distance of the cameras in centimetres; depths are in 100ths of one.
    _BASELINE = 6
    _DEPTH_UNITS = 100

    def __init__(
        self, root: Root, variant: str = "single", transforms: Transform | None = None
    ) -> None:
        super().__init__(root, transforms)
        for name in one_or_both(variant, "variant", ("single", "mixed")):
            folder = f"FallingThings/{name}"
            self._add(folder, folder, self._SCENES[name])

    def _read_disparity(self, path: str) -> tuple[Any, Any]:
        depth = read_gray(path)[None].astype("float32")
        scale = self._BASELINE * self._focal_length(os.path.dirname(path)) * self._DEPTH_UNITS
        with optional("numpy").errstate(divide="ignore"):
            return scale / depth, None

    @staticmethod
    def _focal_length(folder: str) -> float:
        path = os.path.join(folder, "_camera_settings.json")
        with open(path) as file:
            try:
                return float(json.load(file)["camera_settings"][0]["intrinsic_settings"]["fx"])
            except (ValueError, LookupError, TypeError) as error:
                raise ValueError(
                    f"FallingThingsStereo: {path!r} is damaged: it has no focal length fx."
                ) from error


class SceneFlowStereo(StereoMatchingDataset):
    """Three rendered films.

    A sample is two images and the disparities of the left one, an array ``(1, H, W)``, float32. If
    ``transforms`` makes a mask, it is the fourth part.

    Args:
        root: the folder that has the folder ``SceneFlow``, with
            ``{FlyingThings3D,Monkaa,Driving}/{frames_cleanpass,frames_finalpass,disparity}``.
        variant: ``"FlyingThings3D"``, ``"Driving"`` or ``"Monkaa"``.
        pass_name: how frames are rendered: ``"clean"``, ``"final"`` (with blur) or ``"both"``.
        transforms: a function of three pairs, of images, disparities and masks of known pixels
            (here None), that returns all three. A pair is of the left and the right view.

    Example:
        >>> facula.vision.datasets.SceneFlowStereo(".", "Flying")
        Traceback (most recent call last):
        ValueError: variant: expected one of 'FlyingThings3D', 'Driving', 'Monkaa', got 'Flying'.
    """

    _SCENES = {"FlyingThings3D": "*/*/*", "Driving": "*/*/*", "Monkaa": "*"}
    _IMAGES = ("{}/left/*.png", "{}/right/*.png")
    _DISPARITIES = ("{}/left/*.pfm", "{}/right/*.pfm")

    def __init__(
        self,
        root: Root,
        variant: str = "FlyingThings3D",
        pass_name: str = "clean",
        transforms: Transform | None = None,
    ) -> None:
        super().__init__(root, transforms)
        scenes = self._SCENES[verify_str_arg(variant, "variant", tuple(self._SCENES))]
        base = f"SceneFlow/{variant}"
        for name in one_or_both(pass_name, "pass_name", ("clean", "final")):
            self._add(f"{base}/frames_{name}pass", f"{base}/disparity", scenes)


class SintelStereo(StereoMatchingDataset):
    """Frames of an animated film, of two cameras.

    A sample is two images, the disparities of the left one, an array ``(1, H, W)``, float32, and a
    mask ``(H, W)`` of the pixels that the right camera sees too.

    Args:
        root: the folder that has the folder ``Sintel``, with
            ``training/{clean_left,clean_right,final_left,final_right}/*/*.png`` and
            ``training/{disparities,occlusions,outofframe}/*/*.png``.
        pass_name: how frames are rendered: ``"final"`` (with fog and blur), ``"clean"`` or
            ``"both"``.
        transforms: a function of three pairs, of images, disparities and masks, that returns all
            three. There are no disparities of the right view.

    Example:
        >>> facula.vision.datasets.SintelStereo(".", pass_name="albedo")
        Traceback (most recent call last):
        ValueError: pass_name: expected one of 'final', 'clean', 'both', got 'albedo'.
    """

    _IMAGES = ("{}_left/*/*.png", "{}_right/*/*.png")
    _DISPARITIES = ("disparities/*/*.png", None)
    _has_built_in_disparity_mask = True

    def __init__(
        self, root: Root, pass_name: str = "final", transforms: Transform | None = None
    ) -> None:
        super().__init__(root, transforms)
        for name in one_or_both(pass_name, "pass_name", ("final", "clean")):
            self._add("Sintel/training", "Sintel/training", name)

    def _read_disparity(self, path: str) -> tuple[Any, Any]:
        numpy = optional("numpy")
        image = read_image(path, mode=None)
        if image.mode != "RGB":
            raise ValueError(f"{path!r}: expected an image of mode 'RGB', got {image.mode!r}.")
        # Whole numbers times 4, their 64ths and their 2**14ths: exact in float32.
        weights = numpy.array([4, 2**-6, 2**-14], "float32")
        disparity = (numpy.asarray(image, "float32") * weights).sum(axis=2)
        hidden = [read_gray(self._beside(path, name)) for name in ("occlusions", "outofframe")]
        return disparity[None], (hidden[0] == 0) & (hidden[1] == 0)

    @staticmethod
    def _beside(path: str, name: str) -> str:
        """The file of the same frame in another folder."""
        disparities, scene, frame = path.rsplit(os.sep, 2)
        return os.path.join(os.path.dirname(disparities), name, scene, frame)


class InStereo2k(_SplitStereo):
    """Photographs of rooms.

    A sample is two images and the disparities of the left one, an array ``(1, H, W)``, float32. If
    ``transforms`` makes a mask, it is the fourth part.

    Args:
        root: the folder that has the folder ``InStereo2k``, with
            ``{train,test}/*/{left.png,right.png,left_disp.png,right_disp.png}``.
        split: ``"train"`` or ``"test"``.
        transforms: a function of three pairs, of images, disparities and masks of known pixels
            (here None), that returns all three. A pair is of the left and the right view.

    Example:
        >>> facula.vision.datasets.InStereo2k(".", split="val")
        Traceback (most recent call last):
        ValueError: split: expected one of 'train', 'test', got 'val'.
    """

    _SPLITS = {
        "train": ("InStereo2k/train", "InStereo2k/train"),
        "test": ("InStereo2k/test", "InStereo2k/test"),
    }
    _IMAGES = ("*/left.png", "*/right.png")
    _DISPARITIES = ("*/left_disp.png", "*/right_disp.png")

    def _read_disparity(self, path: str) -> tuple[Any, Any]:
        return read_gray(path)[None].astype("float32") / 1024, None


class ETH3DStereo(_SplitStereo):
    """Grey photographs of buildings and woods, in low resolution.

    A sample is two images, the disparities of the left one, an array ``(1, H, W)``, float32, and a
    mask ``(H, W)`` of the pixels that both cameras see. The last two are None in the test set.

    Args:
        root: the folder that has the folder ``ETH3D``, with
            ``{two_view_training,two_view_test}/*/{im0.png,im1.png}`` and
            ``two_view_training_gt/*/{disp0GT.pfm,mask0nocc.png}``.
        split: ``"train"`` or ``"test"``.
        transforms: a function of three pairs, of images, disparities and masks, that returns all
            three. There are no disparities of the right view.

    Example:
        >>> facula.vision.datasets.ETH3DStereo(".", split="val")
        Traceback (most recent call last):
        ValueError: split: expected one of 'train', 'test', got 'val'.
    """

    _SPLITS = {
        "train": ("ETH3D/two_view_training", "ETH3D/two_view_training_gt"),
        "test": ("ETH3D/two_view_test", None),
    }
    _IMAGES = ("*/im0.png", "*/im1.png")
    _DISPARITIES = ("*/disp0GT.pfm", None)
    _has_built_in_disparity_mask = True

    def _read_disparity(self, path: str) -> tuple[Any, Any]:
        mask = read_gray(os.path.join(os.path.dirname(path), "mask0nocc.png"))
        return abs(read_pfm(path, 1)), mask.astype(bool)
