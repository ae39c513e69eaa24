"""SUN397: photographs of kinds of scenes."""

from __future__ import annotations

from pathlib import Path

from facula.vision.datasets._base import Files, Listed, Samples, numbered

__all__ = ["SUN397"]


class SUN397(Listed):
    """Photographs of 397 kinds of scenes, in the order of their paths.

    Args:
        root: the folder that has, or is to have, the folder ``SUN397``.
        transform: applied to the image.
        target_transform: applied to the index of the class.
        download: download what is not there.
        loader: reads the image of a path.

    Example:
        >>> facula.vision.datasets.SUN397("nowhere")
        Traceback (most recent call last):
        RuntimeError: SUN397: there is no 'nowhere/SUN397'. Pass download=True to download the
        dataset.
    """

    _URL = "http://vision.princeton.edu/projects/2010/SUN/SUN397.tar.gz"
    _FILES = Files(["SUN397"], [(_URL, "8ca2778205c41d23104230ba66911c7a")])

    def _list(self, root: Path) -> Samples:
        base = root / "SUN397"
        names = (base / "ClassName.txt").read_text().splitlines()
        self.classes = [name[3:].strip() for name in names]  # without "/a/", the first letter
        self.class_to_idx = numbered(self.classes)
        for path in sorted(base.rglob("sun_*.jpg")):
            yield path, self.class_to_idx["/".join(path.relative_to(base).parts[1:-1])]
