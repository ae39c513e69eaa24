"""Patches of tourists' photographs, to learn which show the same point."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import facula
from facula import Tensor
from facula.vision._imports import optional
from facula.vision.datasets.utils import download_url, extract_archive
from facula.vision.datasets.vision import Root, Transform, VisionDataset

__all__ = ["PhotoTour"]


class PhotoTour(VisionDataset):
    """Patches of 64 x 64 around points of photographs, and pairs of them.

    Args:
        root: the folder that has, or is to have, a folder named after the set.
        name: ``"notredame"``, ``"yosemite"``, ``"liberty"``, or one of these with ``_harris``.
        train: whether samples are single patches, or pairs with 1 for the same point and 0 for
            different ones.
        transform: applied to a patch, a uint8 tensor ``(64, 64)``.
        download: download what is not there.

    Attributes:
        data: the patches, uint8 ``(N, 64, 64)``.
        labels: the point that each patch shows.
        matches: indices of two patches and whether they are of the same point, ``(M, 3)``.

    Example:
        >>> facula.vision.datasets.PhotoTour.means["liberty"]
        0.4437
    """

    _BROWN = "http://matthewalunbrown.com/patchdata/"
    _ICVL = "http://icvl.ee.ic.ac.uk/vbalnt/"
    # The site, the name, the MD5 hash, mean, standard deviation and number of the patches.
    _SETS: Any = (
        (_BROWN, "notredame_harris", "69f8c90f78e171349abdf0307afefe4d", 0.4854, 0.1864, 325295),
        (_BROWN, "yosemite_harris", "a73253d1c6fbd3ba2613c45065c00d46", 0.4844, 0.1818, 450912),
        (_BROWN, "liberty_harris", "c731fcfb3abb4091110d0ae8c7ba182c", 0.4437, 0.2019, 379587),
        (_ICVL, "notredame", "509eda8535847b8c0a90bbb210c83484", 0.4854, 0.1864, 468159),
        (_ICVL, "yosemite", "533b2e8eb7ede31be40abc317b2fd4f0", 0.4844, 0.1818, 633587),
        (_ICVL, "liberty", "fdd9152f138ea5ef2091746689176414", 0.4437, 0.2019, 450092),
    )
    urls = {name: [f"{site}{name}.zip", f"{name}.zip", md5] for site, name, md5, *_ in _SETS}
    means = {name: mean for _, name, _, mean, _, _ in _SETS}
    stds = {name: std for _, name, _, _, std, _ in _SETS}
    lens = {name: n for _, name, _, _, _, n in _SETS}
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
