"""Downloads, hashes and archives, for datasets."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import lzma
import os
import re
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from facula._progress import bar
from facula.vision._imports import optional

__all__ = [
    "calculate_md5",
    "check_integrity",
    "check_md5",
    "download_and_extract_archive",
    "download_file_from_google_drive",
    "download_url",
    "extract_archive",
    "iterable_to_str",
    "list_dir",
    "list_files",
    "verify_str_arg",
]

T = TypeVar("T", str, bytes)
PathLike = str | os.PathLike[str]

_OPENERS: dict[str, Callable[..., Any]] = {".bz2": bz2.open, ".gz": gzip.open, ".xz": lzma.open}
_ALIASES = {".tbz": (".tar", ".bz2"), ".tbz2": (".tar", ".bz2"), ".tgz": (".tar", ".gz")}

# What reading a damaged archive raises.
_DAMAGE = (
    EOFError,
    gzip.BadGzipFile,
    lzma.LZMAError,
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
)

_DRIVE = "https://drive.usercontent.google.com/download?export=download&confirm=t&id="
_DRIVE_LINK = re.compile(r"https://(?:drive|docs)[.]google[.]com/file/d/(?P<id>[^/]*)")


def calculate_md5(fpath: PathLike, chunk_size: int = 1024 * 1024) -> str:
    """The MD5 hash of a file, in hexadecimal.

    Args:
        fpath: the file.
        chunk_size: the bytes that are read at a time.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "empty"
        >>> path.touch()
        >>> facula.vision.datasets.utils.calculate_md5(path)
        'd41d8cd98f00b204e9800998ecf8427e'
    """
    from facula import _download

    return _download.hash_of(fpath, "md5", chunk_size)


def check_md5(fpath: PathLike, md5: str, **kwargs: Any) -> bool:
    """Whether a file has an MD5 hash. ``kwargs`` are those of :func:`calculate_md5`."""
    return md5 == calculate_md5(fpath, **kwargs)


def check_integrity(fpath: PathLike, md5: str | None = None) -> bool:
    """Whether there is a file, and with that MD5 hash if one is given."""
    return os.path.isfile(fpath) and (md5 is None or check_md5(fpath, md5))


def download_url(
    url: str,
    root: PathLike,
    filename: PathLike | None = None,
    md5: str | None = None,
    max_redirect_hops: int = 3,
) -> None:
    """Download a file into a folder, unless it is there already.

    A broken connection is taken up where it broke, also by a later call if there is a hash. Nothing
    is left of a file with the wrong hash. An error says where to put the file by hand.

    Args:
        url: where the file is.
        root: the folder; it is made.
        filename: the name of the file there; by default the last part of ``url``.
        md5: the MD5 hash that the file must have.
        max_redirect_hops: how often the server may send elsewhere.
    """
    download_first([url], root, filename or os.path.basename(url), md5, max_redirect_hops)


def download_first(
    urls: Sequence[str],
    root: PathLike,
    filename: PathLike,
    md5: str | None = None,
    max_redirect_hops: int = 3,
) -> None:
    """Download a file as :func:`download_url` does, from the first mirror that has it."""
    path = os.path.join(os.path.expanduser(root), filename)
    if check_integrity(path, md5):
        return
    from facula import _download  # with the modules of the network

    links = (_DRIVE_LINK.match(url) for url in urls)
    urls = [_DRIVE + m["id"] if m else url for m, url in zip(links, urls, strict=True)]
    checksum = None if md5 is None else ("md5", md5)
    _download.fetch(urls, path, checksum, max_redirects=max_redirect_hops)


def download_file_from_google_drive(
    file_id: str, root: PathLike, filename: PathLike | None = None, md5: str | None = None
) -> None:
    """Download a file of Google Drive.

    Args:
        file_id: the id in the link of the file.
        root: the folder; it is made.
        filename: the name of the file there; by default the id.
        md5: the MD5 hash that the file must have. Without one, a page that says why Google refuses
            the file is taken for the file.
    """
    download_url(_DRIVE + file_id, root, filename or file_id, md5)


def list_dir(root: PathLike, prefix: bool = False) -> list[str]:
    """The names of the folders in a folder, or their paths if ``prefix``."""
    return _listed(root, prefix, os.path.isdir)


def list_files(root: PathLike, suffix: str | tuple[str, ...], prefix: bool = False) -> list[str]:
    """The names of the files in a folder that end in ``suffix``, or their paths if ``prefix``."""
    return _listed(root, prefix, lambda path: os.path.isfile(path) and path.endswith(suffix))


def _listed(root: PathLike, prefix: bool, wanted: Callable[[str], bool]) -> list[str]:
    root = os.path.expanduser(root)
    paths = {name: os.path.join(root, name) for name in os.listdir(root)}
    return [path if prefix else name for name, path in paths.items() if wanted(path)]


def extract_archive(
    from_path: PathLike, to_path: PathLike | None = None, remove_finished: bool = False
) -> PathLike:
    """Unpack a tar or zip archive, or one file compressed with gzip, bzip2 or xz.

    No file is written outside ``to_path``, whatever names the archive has.

    Args:
        from_path: the archive; its suffixes say what it is.
        to_path: the folder for the files of the archive; by default its own.
        remove_finished: delete the archive at the end.

    Returns:
        The folder, or the file that was compressed.
    """
    kind, compression = _kind(Path(from_path))
    target: PathLike = os.path.dirname(from_path) if to_path is None else to_path
    try:
        if kind == ".tar":
            _unpack_tar(from_path, (compression or "")[1:], Path(target))
        elif kind == ".zip":
            _unpack_zip(from_path, Path(target))
        else:
            assert compression is not None
            target = os.path.join(target, Path(from_path).stem)
            _decompress(_OPENERS[compression], from_path, Path(target))
    except _DAMAGE as error:
        text = f"extract_archive: {os.fspath(from_path)} cannot be unpacked: {error}"
        # Those of names that lead elsewhere want more arguments than a text.
        is_tar = isinstance(error, tarfile.TarError)
        raise (tarfile.ReadError if is_tar else type(error))(text) from error
    if remove_finished:
        os.remove(from_path)
    return Path(target) if isinstance(from_path, Path) else target


def _unpack_tar(path: PathLike, compression: str, target: Path) -> None:
    mode: Any = f"r:{compression}"
    with (
        open(path, "rb") as file,
        tarfile.open(fileobj=file, mode=mode) as tar,
        _appearing(target) as folder,
        _bar_of(path) as advance,
    ):
        done = 0

        def note(member: tarfile.TarInfo, folder: str) -> tarfile.TarInfo | None:
            nonlocal done
            advance(file.tell() - done)
            done = file.tell()
            return tarfile.data_filter(member, folder)

        tar.extractall(folder, filter=note)


def _unpack_zip(path: PathLike, target: Path) -> None:
    with (
        zipfile.ZipFile(path) as archive,
        _appearing(target) as folder,
        _bar_of(path) as advance,
    ):
        for member in archive.infolist():
            archive.extract(member, folder)
            advance(member.compress_size)


def _bar_of(path: PathLike) -> contextlib.AbstractContextManager[Callable[[int], None]]:
    return bar(f"unpacking {os.path.basename(path)}", os.path.getsize(path))


@contextlib.contextmanager
def _appearing(target: Path) -> Iterator[str]:
    """A folder whose content moves to ``target`` at the end.

    Half an archive must not be taken for a dataset by the next run: that a folder is there is all
    that most datasets look for.
    """
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".unpacking-", dir=target) as folder:
        yield folder
        _merge(Path(folder), target)


def _merge(source: Path, target: Path) -> None:
    for entry in source.iterdir():
        to = target / entry.name
        try:
            os.replace(entry, to)
        except OSError:
            # A folder that is there already: of another archive, or of another process.
            if not (entry.is_dir() and to.is_dir()):
                raise
            _merge(entry, to)


def _decompress(opener: Callable[..., Any], source: PathLike, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f"{target.name}.partial")
    try:
        with (
            open(source, "rb") as packed,
            opener(packed) as file,
            open(partial, "wb") as out,
            _bar_of(source) as advance,
        ):
            done = 0
            while chunk := file.read(1 << 20):
                out.write(chunk)
                advance(packed.tell() - done)
                done = packed.tell()
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)


def _kind(path: Path) -> tuple[str | None, str | None]:
    """The suffix of the archive and that of its compression."""
    suffixes = path.suffixes
    if not suffixes:
        raise RuntimeError(f"extract_archive: {path} has no suffix that says what archive it is.")
    last = suffixes[-1]
    if last in _ALIASES:
        return _ALIASES[last]
    if last in (".tar", ".zip"):
        return last, None
    if last in _OPENERS:
        inner = suffixes[-2] if len(suffixes) > 1 else None
        return (inner if inner in (".tar", ".zip") else None), last
    known = iterable_to_str(sorted([".tar", ".zip", *_ALIASES, *_OPENERS]))
    raise RuntimeError(f"extract_archive: {path} is no archive: expected one of {known}.")


def download_and_extract_archive(
    url: str,
    download_root: PathLike,
    extract_root: PathLike | None = None,
    filename: PathLike | None = None,
    md5: str | None = None,
    remove_finished: bool = False,
) -> None:
    """:func:`download_url` and :func:`extract_archive`.

    Args:
        url: where the archive is.
        download_root: the folder for the archive.
        extract_root: the folder for the files of the archive; by default ``download_root``.
        filename: the name of the archive on disk; by default the last part of ``url``.
        md5: the MD5 hash that the archive must have.
        remove_finished: delete the archive when it is unpacked.
    """
    download_root = os.path.expanduser(download_root)
    filename = filename or os.path.basename(url)
    download_url(url, download_root, filename, md5)
    archive = os.path.join(download_root, filename)
    extract_archive(archive, extract_root or download_root, remove_finished)


def iterable_to_str(iterable: Iterable[Any]) -> str:
    """The items in quotes, with commas.

    Example:
        >>> facula.vision.datasets.utils.iterable_to_str(["train", "test"])
        "'train', 'test'"
    """
    return "'" + "', '".join(str(item) for item in iterable) + "'"


def verify_str_arg(
    value: T,
    arg: str | None = None,
    valid_values: Iterable[T] | None = None,
    custom_msg: str | None = None,
) -> T:
    """Return ``value`` if it is a string and one of ``valid_values``.

    Args:
        value: what the user gave.
        arg: the name of the argument, for messages.
        valid_values: what it may be; None for any string.
        custom_msg: the message for other values.

    Example:
        >>> facula.vision.datasets.utils.verify_str_arg("tset", "split", ("train", "test"))
        Traceback (most recent call last):
        ValueError: split: expected one of 'train', 'test', got 'tset'.
    """
    start = "" if arg is None else f"{arg}: "
    if not isinstance(value, str):
        raise ValueError(f"{start}expected a string, got {value!r}.")
    if valid_values is not None and value not in valid_values:
        expected = iterable_to_str(valid_values)
        raise ValueError(custom_msg or f"{start}expected one of {expected}, got {value!r}.")
    return value


def read_image(path: PathLike, mode: str | None = "RGB") -> Any:
    """The image of a file as a PIL image that is loaded and converted to ``mode``, if one is given.

    Pillow's errors about what is in a file do not say which file: here they do.
    """
    image_module = optional("PIL.Image")
    with open(path, "rb") as file:
        try:
            image = image_module.open(file)
            check_length(file, image)
            if mode is not None:
                return image.convert(mode)
            image.load()
            return image
        except (OSError, SyntaxError, ValueError, image_module.DecompressionBombError) as error:
            text = f"cannot read the image {os.fspath(path)!r}: {error}"
            raise type(error)(text) from error


def check_length(file: BinaryIO, image: Any) -> None:
    """Refuse a PNG file that is too short for its pixels, before they get memory."""
    # Deflate makes at most 1032 bytes of one, and a byte is at most eight pixels.
    most = 8 * 1032 * os.fstat(file.fileno()).st_size
    if image.format == "PNG" and image.width * image.height > most:
        raise OSError(f"it is too short for {image.width} x {image.height} pixels")
