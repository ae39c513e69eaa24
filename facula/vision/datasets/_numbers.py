"""Datasets whose images lie in one file of numbers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import facula
from facula import Tensor
from facula.vision._imports import optional
from facula.vision.datasets.utils import (
    check_integrity,
    download_file_from_google_drive,
    download_url,
    extract_archive,
    verify_str_arg,
)
from facula.vision.datasets.vision import Root, Transform, VisionDataset


class SEMEION(VisionDataset):
    """Handwritten digits, 16 x 16 in black and white.

    Args:
        root: the folder that has, or is to have, the file ``semeion.data``.
        transform: of the image, a PIL image in grey.
        target_transform: of the digit.
        download: download what is not there.

    Attributes:
        data: the images, a NumPy array of uint8 ``(N, 16, 16)``.
        labels: the digits, a NumPy array.

    Example:
        >>> facula.vision.datasets.SEMEION.filename
        'semeion.data'
    """

    url = "http://archive.ics.uci.edu/ml/machine-learning-databases/semeion/semeion.data"
    filename = "semeion.data"
    md5_checksum = "cb545d371d2ce14ec121470795a77432"

    def __init__(
        self,
        root: Root,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = True,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        import numpy

        if download:
            self.download()
        path = os.path.join(self.root, self.filename)
        if not check_integrity(path, self.md5_checksum):
            raise RuntimeError(
                f"SEMEION: {path!r} is not there or is damaged. Pass download=True to download it."
            )
        rows = numpy.loadtxt(path, ndmin=2)  # 256 pixels, and ten numbers that mark the digit
        self.data = (rows[:, :256] * 255).astype("uint8").reshape(-1, 16, 16)
        self.labels = numpy.nonzero(rows[:, 256:])[1]

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        image = optional("PIL.Image").fromarray(self.data[index])
        return self._transformed(image, int(self.labels[index]))

    def __len__(self) -> int:
        return len(self.data)

    def download(self) -> None:
        """Download the file, if it is not there."""
        download_url(self.url, self.root, self.filename, self.md5_checksum)


class MovingMNIST(VisionDataset):
    """10,000 films of two digits that move: 20 frames of 64 x 64 each.

    Args:
        root: the folder that has, or is to have, the folder ``MovingMNIST``.
        split: ``"train"`` for the first frames of all films, ``"test"`` for the others, or None for
            all frames.
        split_ratio: the number of first frames, 1 to 19.
        download: download what is not there.
        transform: of a film, a uint8 tensor ``(frames, 1, 64, 64)``.

    Attributes:
        data: the films, uint8 ``(N, frames, 1, 64, 64)``.

    Example:
        >>> facula.vision.datasets.MovingMNIST(".", split="train", split_ratio=20)
        Traceback (most recent call last):
        ValueError: MovingMNIST: expected a split_ratio from 1 to 19, got 20.
    """

    _URL = "http://www.cs.toronto.edu/~nitish/unsupervised_video/mnist_test_seq.npy"
    _MD5 = "be083ec986bfe91a449d63653c411eb2"

    def __init__(
        self,
        root: Root,
        split: str | None = None,
        split_ratio: int = 10,
        download: bool = False,
        transform: Transform | None = None,
    ) -> None:
        super().__init__(root, transform=transform)
        import numpy

        if split is not None:
            verify_str_arg(split, "split", ("train", "test"))
        if not isinstance(split_ratio, int):
            raise TypeError(f"MovingMNIST: expected an integer split_ratio, got {split_ratio!r}.")
        if not 1 <= split_ratio <= 19:
            raise ValueError(
                f"MovingMNIST: expected a split_ratio from 1 to 19, got {split_ratio}."
            )
        self.split = split
        self.split_ratio = split_ratio
        self._folder = os.path.join(self.root, "MovingMNIST")
        if download:
            self.download()
        path = os.path.join(self._folder, os.path.basename(self._URL))
        if not check_integrity(path):
            raise RuntimeError(
                f"MovingMNIST: there is no {path!r}. Pass download=True to download it."
            )
        frames = facula.from_numpy(numpy.load(path))
        chosen = {"train": slice(0, split_ratio), "test": slice(split_ratio, None)}
        frames = frames[chosen[split]] if split is not None else frames
        self.data = frames.transpose(0, 1).unsqueeze(2).contiguous()

    def __getitem__(self, index: int) -> Any:
        film = self.data[index]
        return film if self.transform is None else self.transform(film)

    def __len__(self) -> int:
        return len(self.data)

    def download(self) -> None:
        """Download the file, if it is not there."""
        name = os.path.basename(self._URL)
        if not check_integrity(os.path.join(self._folder, name)):
            download_url(self._URL, self._folder, name, self._MD5)


class PhotoTour(VisionDataset):
    """Patches of 64 x 64 around points of photographs, and pairs of them.

    Args:
        root: the folder that has, or is to have, a folder named after the set.
        name: ``"notredame"``, ``"yosemite"``, ``"liberty"``, or one of these with ``_harris``.
        train: single patches, or pairs with 1 for the same point and 0 for different ones.
        transform: of a patch, a uint8 tensor ``(64, 64)``.
        download: download what is not there.

    Attributes:
        data: the patches, uint8 ``(N, 64, 64)``.
        labels: the point of each.
        matches: indices of two patches and whether they are of the same point, ``(M, 3)``.

    Example:
        >>> facula.vision.datasets.PhotoTour.means["liberty"]
        0.4437
    """

    _BROWN = "http://matthewalunbrown.com/patchdata/"
    _ICVL = "http://icvl.ee.ic.ac.uk/vbalnt/"
    urls = {
        name: [f"{start}{name}.zip", f"{name}.zip", md5]
        for start, name, md5 in (
            (_BROWN, "notredame_harris", "69f8c90f78e171349abdf0307afefe4d"),
            (_BROWN, "yosemite_harris", "a73253d1c6fbd3ba2613c45065c00d46"),
            (_BROWN, "liberty_harris", "c731fcfb3abb4091110d0ae8c7ba182c"),
            (_ICVL, "notredame", "509eda8535847b8c0a90bbb210c83484"),
            (_ICVL, "yosemite", "533b2e8eb7ede31be40abc317b2fd4f0"),
            (_ICVL, "liberty", "fdd9152f138ea5ef2091746689176414"),
        )
    }
    means = {
        "notredame": 0.4854,
        "yosemite": 0.4844,
        "liberty": 0.4437,
        "notredame_harris": 0.4854,
        "yosemite_harris": 0.4844,
        "liberty_harris": 0.4437,
    }
    stds = {
        "notredame": 0.1864,
        "yosemite": 0.1818,
        "liberty": 0.2019,
        "notredame_harris": 0.1864,
        "yosemite_harris": 0.1818,
        "liberty_harris": 0.2019,
    }
    lens = {
        "notredame": 468159,
        "yosemite": 633587,
        "liberty": 450092,
        "liberty_harris": 379587,
        "yosemite_harris": 450912,
        "notredame_harris": 325295,
    }
    image_ext = "bmp"
    info_file = "info.txt"
    matches_files = "m50_100000_100000_0.txt"

    def __init__(
        self,
        root: Root,
        name: str,
        train: bool = True,
        transform: Transform | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform=transform)
        self.name = name
        self.data_dir = os.path.join(self.root, name)
        self.data_down = os.path.join(self.root, f"{name}.zip")
        self.data_file = os.path.join(self.root, f"{name}.pt")
        self.train = train
        self.mean = self.means[name]
        self.std = self.stds[name]
        if download:
            self.download()
        if not os.path.exists(self.data_file):
            self.cache()
        self.data, self.labels, self.matches = facula.load(self.data_file)

    def __getitem__(self, index: int) -> Any:
        if self.train:
            return self._patch(index)
        first, second, is_same = self.matches[index]
        return self._patch(first), self._patch(second), is_same

    def _patch(self, index: Any) -> Any:
        patch = self.data[index]
        return patch if self.transform is None else self.transform(patch)

    def __len__(self) -> int:
        return len(self.data) if self.train else len(self.matches)

    def download(self) -> None:
        """Download and unpack the archive, if there is no cache of it."""
        if os.path.exists(self.data_file):
            return
        url, name, md5 = self.urls[self.name]
        download_url(url, self.root, name, md5)
        extract_archive(self.data_down, self.data_dir)
        os.unlink(self.data_down)

    def cache(self) -> None:
        """Read the patches and write them to one file, which is read faster."""
        facula.save((self._patches(), *self._points()), self.data_file)

    def _patches(self) -> Tensor:
        import numpy

        sheets = sorted(Path(self.data_dir).glob(f"*{self.image_ext}"))
        if not sheets:
            raise FileNotFoundError(
                f"PhotoTour: there are no {self.image_ext} files in {self.data_dir!r}. Pass "
                "download=True to download them."
            )
        found = []
        for path in sheets:
            with optional("PIL.Image").open(path) as sheet:
                grey = numpy.asarray(sheet.convert("L"))
            rows, columns = grey.shape[0] // 64, grey.shape[1] // 64
            patches = grey.reshape(rows, 64, columns, 64).transpose(0, 2, 1, 3)
            found.append(patches.reshape(-1, 64, 64))
        return facula.from_numpy(numpy.concatenate(found)[: self.lens[self.name]])

    def _points(self) -> tuple[Tensor, Tensor]:
        folder = Path(self.data_dir)
        lines = (folder / self.info_file).read_text().splitlines()
        points = [int(line.split()[0]) for line in lines]
        rows = [line.split() for line in (folder / self.matches_files).read_text().splitlines()]
        pairs = [[int(row[0]), int(row[3]), int(row[1] == row[4])] for row in rows]
        return facula.tensor(points), facula.tensor(pairs)

    def extra_repr(self) -> str:
        return f"Split: {'Train' if self.train else 'Test'}"


class PCAM(VisionDataset):
    """Images of tissue, 96 x 96, with or without a tumour. It needs h5py.

    Args:
        root: the folder that has, or is to have, the folder ``pcam``.
        split: ``"train"``, ``"val"`` or ``"test"``.
        transform: of the image, a PIL image in RGB.
        target_transform: of 1 with a tumour, 0 without.
        download: download what is not there.

    Example:
        >>> sorted(facula.vision.datasets.PCAM._FILES)
        ['test', 'train', 'val']
    """

    # By split: the name, the id at Google Drive and the MD5 hash of images and of targets.
    _FILES = {
        split: {
            part: (f"camelyonpatch_level_2_split_{name}_{letter}.h5", file_id, md5)
            for part, letter, file_id, md5 in (
                ("images", "x", *images),
                ("targets", "y", *targets),
            )
        }
        for split, name, images, targets in (
            (
                "train",
                "train",
                ("1Ka0XfEMiwgCYPdTI-vv6eUElOBnKFKQ2", "1571f514728f59376b705fc836ff4b63"),
                ("1269yhu3pZDP8UYFQs-NYs3FPwuK-nGSG", "35c2d7259d906cfc8143347bb8e05be7"),
            ),
            (
                "test",
                "test",
                ("1qV65ZqZvWzuIVthK8eVDhIwrbnsJdbg_", "d8c2d60d490dbd479f8199bdfa0cf6ec"),
                ("17BHrSrwWKjYsOgTMmoqrIjDy6Fa2o_gP", "60a7035772fbdb7f34eb86d4420cf66a"),
            ),
            (
                "val",
                "valid",
                ("1hgshYGWK8V-eGRy8LToWJJgDU_rXWVJ3", "d5b63470df7cfa627aeec8b9dc0c066e"),
                ("1bH8ZRbhSVAhScTS0p9-ZzGnX91cHT3uO", "2b85f58b927af9964a4c15b8f7e8f179"),
            ),
        )
    }

    def __init__(
        self,
        root: Root,
        split: str = "train",
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
    ) -> None:
        try:
            self.h5py = optional("h5py")
        except ImportError as error:
            raise RuntimeError(str(error)) from None
        self._split = verify_str_arg(split, "split", ("train", "test", "val"))
        super().__init__(root, transform=transform, target_transform=target_transform)
        self._folder = os.path.join(self.root, "pcam")
        if download:
            self._download()
        for part in ("images", "targets"):
            if not os.path.exists(self._path(part)):
                raise RuntimeError(
                    f"PCAM: there is no {self._path(part)!r}. Pass download=True to download it."
                )

    def _path(self, part: str) -> str:
        """The file, without the suffix of its compression."""
        return os.path.join(self._folder, self._FILES[self._split][part][0])

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        with self.h5py.File(self._path("images")) as file:
            image = optional("PIL.Image").fromarray(file["x"][index])
        with self.h5py.File(self._path("targets")) as file:
            target = int(file["y"][index, 0, 0, 0])
        return self._transformed(image, target)

    def __len__(self) -> int:
        with self.h5py.File(self._path("images")) as file:
            return int(file["x"].shape[0])

    def _download(self) -> None:
        for part, (name, file_id, md5) in self._FILES[self._split].items():
            if not os.path.exists(self._path(part)):
                download_file_from_google_drive(file_id, self._folder, f"{name}.gz", md5)
                extract_archive(os.path.join(self._folder, f"{name}.gz"))
