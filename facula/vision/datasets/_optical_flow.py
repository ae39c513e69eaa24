"""Datasets of optical flow: pairs of images, and how far each pixel moves from one to the other."""

from __future__ import annotations

import glob
import itertools
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from facula.utils.data import ConcatDataset
from facula.vision.datasets._flow_files import read_flo, read_pfm, read_rgb16
from facula.vision.datasets.folder import Loader, default_loader
from facula.vision.datasets.utils import verify_str_arg
from facula.vision.datasets.vision import Root, Transform, VisionDataset


def files_in(folder: Path, pattern: str) -> list[str]:
    """The paths in a folder that match a pattern, sorted."""
    return [os.path.join(folder, name) for name in sorted(glob.glob(pattern, root_dir=folder))]


def one_or_both(value: str, arg: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """The names that an argument asks for: one of them, or ``"both"``."""
    verify_str_arg(value, arg, (*names, "both"))
    return names if value == "both" else (value,)


class FlowDataset(VisionDataset):
    """Pairs of images with the flow from the first to the second."""

    _has_builtin_flow_mask = False
    _image_list: list[list[str]]
    _flow_list: list[str]

    def __init__(
        self, root: Root, transforms: Transform | None, loader: Loader = default_loader
    ) -> None:
        super().__init__(root, transforms)
        self._loader = loader

    def _list(
        self, pairs: Sequence[Sequence[str]], flows: list[str], needs_flows: bool = False
    ) -> None:
        """Take pairs of images with the flow of each, or no flow at all."""
        if not pairs or (needs_flows and not flows):
            raise FileNotFoundError(
                f"{type(self).__name__}: there are no {'flows' if pairs else 'images'} of it in "
                f"{str(self.root)!r}. Its documentation says which folders it needs."
            )
        if flows and len(flows) != len(pairs):
            raise ValueError(
                f"{type(self).__name__}: expected a flow for each pair of images, got "
                f"{len(flows)} flows and {len(pairs)} pairs in {str(self.root)!r}."
            )
        self._image_list = [list(pair) for pair in pairs]
        self._flow_list = flows

    def _halves(self, folder: Path, first: str, second: str) -> list[tuple[str, str]]:
        """Pairs of the files that match the one and the other pattern."""
        paths = files_in(folder, first), files_in(folder, second)
        if len(paths[0]) != len(paths[1]):
            raise ValueError(
                f"{type(self).__name__}: expected as many images {first} as {second} in "
                f"{str(folder)!r}, got {len(paths[0])} and {len(paths[1])}."
            )
        return list(zip(*paths, strict=True))

    def _read_flow(self, path: str) -> tuple[Any, Any]:
        """The flow, and which of its pixels are known if the file says it."""
        return read_flo(path), None

    def __getitem__(self, index: int) -> tuple[Any, ...]:
        first, second = (self._loader(path) for path in self._image_list[index])
        flow, valid = self._read_flow(self._flow_list[index]) if self._flow_list else (None, None)
        if self.transforms is not None:
            first, second, flow, valid = self.transforms(first, second, flow, valid)
        if self._has_builtin_flow_mask or valid is not None:
            return first, second, flow, valid
        return first, second, flow

    def __len__(self) -> int:
        return len(self._image_list)

    def __rmul__(self, n_times: int) -> ConcatDataset[Any]:
        return ConcatDataset([self] * n_times)


class _SparseFlow(FlowDataset):
    """Flows of KITTI's format: two channels in 64ths of a pixel, and which pixels are known."""

    _has_builtin_flow_mask = True

    def __init__(
        self,
        root: Root,
        split: str = "train",
        transforms: Transform | None = None,
        loader: Loader = default_loader,
    ) -> None:
        super().__init__(root, transforms, loader)
        self._list_split(verify_str_arg(split, "split", ("train", "test")))

    def _list_split(self, split: str) -> None:
        raise NotImplementedError

    def _read_flow(self, path: str) -> tuple[Any, Any]:
        pixels = read_rgb16(path).transpose(2, 0, 1)
        return (pixels[:2].astype("float32") - 2**15) / 64, pixels[2].astype(bool)


class Sintel(FlowDataset):
    """Frames of an animated film, with flows that are known everywhere.

    A sample is two images and the flow, an array ``(2, H, W)``, float32, or None where there are no
    files of flows, as in the test set. If ``transforms`` makes a mask, it is the fourth part.

    Args:
        root: the folder that has the folder ``Sintel``, with ``training/{clean,final,flow}`` and
            ``test/{clean,final}``.
        split: ``"train"`` or ``"test"``.
        pass_name: how frames are rendered: ``"clean"``, ``"final"`` (with fog and blur) or
            ``"both"``.
        transforms: a function of the images, the flow and a mask of known pixels (here None) that
            returns all four.
        loader: reads the image of a path.

    Example:
        >>> facula.vision.datasets.Sintel(".", split="val")
        Traceback (most recent call last):
        ValueError: split: expected one of 'train', 'test', got 'val'.
    """

    def __init__(
        self,
        root: Root,
        split: str = "train",
        pass_name: str = "clean",
        transforms: Transform | None = None,
        loader: Loader = default_loader,
    ) -> None:
        super().__init__(root, transforms, loader)
        verify_str_arg(split, "split", ("train", "test"))
        part = Path(self.root, "Sintel", "training" if split == "train" else "test")
        pairs: list[Any] = []
        flows: list[str] = []
        for name in one_or_both(pass_name, "pass_name", ("clean", "final")):
            for scene in files_in(part / name, "*"):
                pairs += itertools.pairwise(files_in(Path(scene), "*.png"))
                if split == "train":
                    flows += files_in(part / "flow" / os.path.basename(scene), "*.flo")
        self._list(pairs, flows)


class KittiFlow(_SparseFlow):
    """Photographs of streets, with flows of the pixels that a laser scanner has measured.

    A sample is two images, the flow, an array ``(2, H, W)``, float32, and a mask ``(H, W)`` of the
    pixels where it is known. The last two are None where there are no files of flows, as in the
    test set.

    Args:
        root: the folder that has the folder ``KittiFlow``, with ``training/{image_2,flow_occ}`` and
            ``testing/image_2``.
        split: ``"train"`` or ``"test"``.
        transforms: a function of the four parts of a sample that returns all four.
        loader: reads the image of a path.

    Example:
        >>> facula.vision.datasets.KittiFlow(".", split="val")
        Traceback (most recent call last):
        ValueError: split: expected one of 'train', 'test', got 'val'.
    """

    def _list_split(self, split: str) -> None:
        part = Path(self.root, "KittiFlow", f"{split}ing")
        flows = files_in(part / "flow_occ", "*_10.png") if split == "train" else []
        self._list(self._halves(part / "image_2", "*_10.png", "*_11.png"), flows)


class HD1K(_SparseFlow):
    """Photographs of one street in many weathers, with flows of the pixels that are known.

    A sample is two images, the flow, an array ``(2, H, W)``, float32, and a mask ``(H, W)`` of the
    pixels where it is known. The last two are None in the test set.

    Args:
        root: the folder that has the folder ``hd1k``, with ``hd1k_input/image_2``,
            ``hd1k_flow_gt/flow_occ`` and ``hd1k_challenge/image_2``.
        split: ``"train"`` or ``"test"``.
        transforms: a function of the four parts of a sample that returns all four.
        loader: reads the image of a path.

    Example:
        >>> facula.vision.datasets.HD1K(".", split="val")
        Traceback (most recent call last):
        ValueError: split: expected one of 'train', 'test', got 'val'.
    """

    _N_SEQUENCES = 36

    def _list_split(self, split: str) -> None:
        base = Path(self.root, "hd1k")
        if split == "test":
            self._list(self._halves(base / "hd1k_challenge/image_2", "*10.png", "*11.png"), [])
            return
        pairs: list[Any] = []
        flows: list[str] = []
        for sequence in range(self._N_SEQUENCES):
            name = f"{sequence:06d}_*.png"
            pairs += itertools.pairwise(files_in(base / "hd1k_input/image_2", name))
            # That of the last frame leads to one that is not there.
            flows += files_in(base / "hd1k_flow_gt/flow_occ", name)[:-1]
        self._list(pairs, flows, needs_flows=True)


class FlyingChairs(FlowDataset):
    """Rendered chairs that fly over photographs.

    A sample is two images and the flow, an array ``(2, H, W)``, float32. If ``transforms`` makes a
    mask, it is the fourth part.

    Args:
        root: the folder that has the folder ``FlyingChairs``, with the folder ``data`` and the list
            ``FlyingChairs_train_val.txt``, which the web site of the dataset offers beside it.
        split: ``"train"`` or ``"val"``.
        transforms: a function of the images, the flow and a mask of known pixels (here None) that
            returns all four.

    Example:
        >>> facula.vision.datasets.FlyingChairs(".", split="test")
        Traceback (most recent call last):
        ValueError: split: expected one of 'train', 'val', got 'test'.
    """

    def __init__(
        self, root: Root, split: str = "train", transforms: Transform | None = None
    ) -> None:
        super().__init__(root, transforms)
        verify_str_arg(split, "split", ("train", "val"))
        base = Path(self.root, "FlyingChairs")
        listed = base / "FlyingChairs_train_val.txt"
        if not listed.is_file():
            raise FileNotFoundError(
                f"FlyingChairs: there is no {str(listed)!r}. Download it from the web site of the "
                "dataset."
            )
        marks = listed.read_text().split()
        pairs = self._halves(base / "data", "*_img1.ppm", "*_img2.ppm")
        flows = files_in(base / "data", "*.flo")
        self._list(pairs, flows, needs_flows=True)
        if len(marks) < len(flows) or not {"1", "2"}.issuperset(marks):
            raise ValueError(
                f"FlyingChairs: {str(listed)!r} is damaged: expected 1 or 2 for each of "
                f"{len(flows)} flows, got {len(marks)} lines."
            )
        wanted = "1" if split == "train" else "2"
        chosen = [i for i in range(len(flows)) if marks[i] == wanted]
        self._image_list = [self._image_list[i] for i in chosen]
        self._flow_list = [flows[i] for i in chosen]


class FlyingThings3D(FlowDataset):
    """Rendered things that fly about, seen by two cameras.

    A sample is two images and the flow, an array ``(2, H, W)``, float32. If ``transforms`` makes a
    mask, it is the fourth part. Each frame is there twice: with the next and with the former one.

    Args:
        root: the folder that has the folder ``FlyingThings3D``, with ``frames_cleanpass``,
            ``frames_finalpass`` and ``optical_flow``.
        split: ``"train"`` or ``"test"``.
        pass_name: how frames are rendered: ``"clean"``, ``"final"`` (with blur) or ``"both"``.
        camera: ``"left"``, ``"right"`` or ``"both"``.
        transforms: a function of the images, the flow and a mask of known pixels (here None) that
            returns all four.
        loader: reads the image of a path.

    Example:
        >>> facula.vision.datasets.FlyingThings3D(".", camera="middle")
        Traceback (most recent call last):
        ValueError: camera: expected one of 'left', 'right', 'both', got 'middle'.
    """

    def __init__(
        self,
        root: Root,
        split: str = "train",
        pass_name: str = "clean",
        camera: str = "left",
        transforms: Transform | None = None,
        loader: Loader = default_loader,
    ) -> None:
        super().__init__(root, transforms, loader)
        part = verify_str_arg(split, "split", ("train", "test")).upper()
        passes = one_or_both(pass_name, "pass_name", ("clean", "final"))
        cameras = one_or_both(camera, "camera", ("left", "right"))
        base = Path(self.root, "FlyingThings3D")
        pairs: list[Any] = []
        flows: list[str] = []
        for name, side, way in itertools.product(passes, cameras, ("future", "past")):
            for scene in files_in(base / f"frames_{name}pass" / part, "*/*"):
                frames = files_in(Path(scene, side), "*.png")
                pairs += itertools.pairwise(frames) if way == "future" else _backwards(frames)
            for scene in files_in(base / "optical_flow" / part, "*/*"):
                # The last leads to no frame, or the first if it leads to the past.
                found = files_in(Path(scene, f"into_{way}", side), "*.pfm")
                flows += found[:-1] if way == "future" else found[1:]
        self._list(pairs, flows, needs_flows=True)

    def _read_flow(self, path: str) -> tuple[Any, Any]:
        return read_pfm(path, 2), None


def _backwards(frames: list[str]) -> list[tuple[str, str]]:
    return [(second, first) for first, second in itertools.pairwise(frames)]
