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
from facula.vision.datasets.utils import (
    download_and_extract_archive,
    read_image,
    verify_str_arg,
)
from facula.vision.datasets.vision import Root, Transform, VisionDataset

# The left and the right file; there may be no right one, or in a test set none.
Pair = tuple[str | None, str | None]


class StereoMatchingDataset(VisionDataset):
    """Pairs of images with the disparities of the left one, and of the right one if known."""

    _has_built_in_disparity_mask = False

    def __init__(self, root: Root, transforms: Transform | None) -> None:
        super().__init__(root, transforms)
        self._images: list[tuple[str, str]] = []
        self._disparities: list[Pair] = []

    def _pairs(self, folder: Path, left: str, right: str | None) -> list[Any]:
        """The files that match the one and the other pattern."""
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

    def _add(
        self, images: list[tuple[str, str]], disparities: Sequence[Pair] | None = None
    ) -> None:
        """Take more pairs, of which disparities may be unknown."""
        if disparities is None:
            disparities = [(None, None)] * len(images)
        if len(images) != len(disparities):
            raise ValueError(
                f"{type(self).__name__}: expected a disparity for each pair of images, got "
                f"{len(disparities)} and {len(images)} in {str(self.root)!r}."
            )
        self._images += images
        self._disparities += disparities

    def _read_img(self, path: str) -> Any:
        return read_image(path)

    def _read_disparity(self, path: str) -> tuple[Any, Any]:
        """The disparities, and which of them are known if the files say it."""
        raise NotImplementedError

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


class _FloatStereo(StereoMatchingDataset):
    """Disparities in portable float maps, of either sign."""

    def _read_disparity(self, path: str) -> tuple[Any, Any]:
        return abs(read_pfm(path, 1)), None


class CarlaStereo(_FloatStereo):
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

    def __init__(self, root: Root, transforms: Transform | None = None) -> None:
        super().__init__(root, transforms)
        base = Path(self.root, "carla-highres", "trainingF")
        images = self._pairs(base, "*/im0.png", "*/im1.png")
        self._add(images, self._pairs(base, "*/disp0GT.pfm", "*/disp1GT.pfm"))


class _KittiStereo(StereoMatchingDataset):
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

    def __init__(
        self, root: Root, split: str = "train", transforms: Transform | None = None
    ) -> None:
        super().__init__(root, transforms)
        verify_str_arg(split, "split", ("train", "test"))
        part = Path(self.root, "Kitti2012", f"{split}ing")
        images = self._pairs(part, "colored_0/*_10.png", "colored_1/*_10.png")
        self._add(images, self._pairs(part, "disp_noc/*.png", None) if split == "train" else None)


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

    def __init__(
        self, root: Root, split: str = "train", transforms: Transform | None = None
    ) -> None:
        super().__init__(root, transforms)
        verify_str_arg(split, "split", ("train", "test"))
        part = Path(self.root, "Kitti2015", f"{split}ing")
        images = self._pairs(part, "image_2/*.png", "image_3/*.png")
        if split == "test":
            self._add(images)
            return
        disparities = self._pairs(part, "disp_occ_0/*.png", "disp_occ_1/*.png")
        if len(images) != len(disparities):
            # The archive has a second frame of each scene, of which nothing is known.
            known = {os.path.basename(left) for left, _ in disparities}
            images = [pair for pair in images if os.path.basename(pair[0]) in known]
        self._add(images, disparities)


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
        if split == "test":
            self._add(self._pairs(base / split, "*/im0.png", "*/im1.png"))
            return
        for kind in kinds:
            images = self._pairs(base / split, f"*-{kind}/im0.png", f"*-{kind}/im1.png")
            files = self._pairs(base / split, f"*-{kind}/disp0.pfm", f"*-{kind}/disp1.pfm")
            self._add(images, files)

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

    _has_built_in_disparity_mask = True

    def __init__(self, root: Root, transforms: Transform | None = None) -> None:
        super().__init__(root, transforms)
        for name in ("shapenet", "reflective", "tree", "hole"):
            folder = Path(self.root, "CREStereo", name)
            images = self._pairs(folder, "*_left.jpg", "*_right.jpg")
            self._add(images, self._pairs(folder, "*_left.disp.png", "*_right.disp.png"))

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
    # Of the cameras, in centimetres; depths are in 100ths of one.
    _BASELINE = 6
    _DEPTH_UNITS = 100

    def __init__(
        self, root: Root, variant: str = "single", transforms: Transform | None = None
    ) -> None:
        super().__init__(root, transforms)
        for name in one_or_both(variant, "variant", ("single", "mixed")):
            folder, scenes = Path(self.root, "FallingThings", name), self._SCENES[name]
            images = self._pairs(folder, f"{scenes}/*.left.jpg", f"{scenes}/*.right.jpg")
            depths = (f"{scenes}/*.left.depth.png", f"{scenes}/*.right.depth.png")
            self._add(images, self._pairs(folder, *depths))

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


class SceneFlowStereo(_FloatStereo):
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

    def __init__(
        self,
        root: Root,
        variant: str = "FlyingThings3D",
        pass_name: str = "clean",
        transforms: Transform | None = None,
    ) -> None:
        super().__init__(root, transforms)
        scenes = self._SCENES[verify_str_arg(variant, "variant", tuple(self._SCENES))]
        base = Path(self.root, "SceneFlow", variant)
        for name in one_or_both(pass_name, "pass_name", ("clean", "final")):
            folder = base / f"frames_{name}pass"
            images = self._pairs(folder, f"{scenes}/left/*.png", f"{scenes}/right/*.png")
            files = (f"{scenes}/left/*.pfm", f"{scenes}/right/*.pfm")
            self._add(images, self._pairs(base / "disparity", *files))


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

    _has_built_in_disparity_mask = True

    def __init__(
        self, root: Root, pass_name: str = "final", transforms: Transform | None = None
    ) -> None:
        super().__init__(root, transforms)
        base = Path(self.root, "Sintel", "training")
        for name in one_or_both(pass_name, "pass_name", ("final", "clean")):
            images = self._pairs(base, f"{name}_left/*/*.png", f"{name}_right/*/*.png")
            self._add(images, self._pairs(base, "disparities/*/*.png", None))

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


class InStereo2k(StereoMatchingDataset):
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

    def __init__(
        self, root: Root, split: str = "train", transforms: Transform | None = None
    ) -> None:
        super().__init__(root, transforms)
        verify_str_arg(split, "split", ("train", "test"))
        base = Path(self.root, "InStereo2k", split)
        images = self._pairs(base, "*/left.png", "*/right.png")
        self._add(images, self._pairs(base, "*/left_disp.png", "*/right_disp.png"))

    def _read_disparity(self, path: str) -> tuple[Any, Any]:
        return read_gray(path)[None].astype("float32") / 1024, None


class ETH3DStereo(StereoMatchingDataset):
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

    _has_built_in_disparity_mask = True

    def __init__(
        self, root: Root, split: str = "train", transforms: Transform | None = None
    ) -> None:
        super().__init__(root, transforms)
        verify_str_arg(split, "split", ("train", "test"))
        base = Path(self.root, "ETH3D")
        part = base / ("two_view_training" if split == "train" else "two_view_test")
        images = self._pairs(part, "*/im0.png", "*/im1.png")
        truth = base / "two_view_training_gt"
        self._add(images, self._pairs(truth, "*/disp0GT.pfm", None) if split == "train" else None)

    def _read_disparity(self, path: str) -> tuple[Any, Any]:
        mask = read_gray(os.path.join(os.path.dirname(path), "mask0nocc.png"))
        return abs(read_pfm(path, 1)), mask.astype(bool)
