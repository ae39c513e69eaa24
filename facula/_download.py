"""Files from the network: whole and with the right hash at their place, or not there at all."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import ssl
import sys
from collections.abc import Iterator, Sequence
from http.client import HTTPException
from typing import BinaryIO, NoReturn
from urllib.error import HTTPError, URLError
from urllib.request import HTTPRedirectHandler, Request, build_opener

from facula._progress import bar

_CHUNK = 1 << 18
_TIMEOUT_S = 60  # how long a connection may deliver nothing

# The name of a hash function, and how the hexadecimal hash begins.
Checksum = tuple[str, str]


# What goes wrong between here and the server, as opposed to the disk.
_NETWORK = (URLError, ConnectionError, TimeoutError, HTTPException, ssl.SSLError)


class DownloadError(URLError, RuntimeError):
    """A file could not be fetched: from any of its mirrors, or not with the right hash."""

    def __str__(self) -> str:
        return str(self.reason)


def fetch(
    urls: str | Sequence[str],
    path: str | os.PathLike[str],
    checksum: Checksum | None = None,
    *,
    progress: bool = True,
    max_redirects: int = 10,
) -> None:
    """Download a file to ``path``.

    Bytes go to ``path + ".partial"``, which is renamed at the end. A connection that breaks is
    taken up where it broke, as long as each one gets further than those before; with a checksum
    also in a later call. Processes that want the same file wait for the one that fetches it.

    Args:
        urls: where the file is; where there are several, the first that answers is used.
        path: where to put the file. Its folder is made.
        checksum: name of a hash function, and how the content's hash begins.
        progress: say on stderr what is fetched, with a bar if a person is watching.
        max_redirects: how often a server may send elsewhere.
    """
    urls = [urls] if isinstance(urls, str) else list(urls)
    path = os.path.abspath(path)
    if os.path.isdir(path):
        raise IsADirectoryError(f"download: {path!r} is a folder: give the name of a file.")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with _partial(path) as file:
        if file is None:
            return
        if checksum is None:
            _empty(file)  # it may be of another version of the file, with no hash to tell
        failures: list[tuple[str, Exception]] = []
        for url in urls:
            try:
                _Transfer(file, url, path, progress, max_redirects).run(checksum)
                break
            except _NETWORK as error:
                failures.append((url, error))
        else:
            if checksum is None:
                _empty(file)
            _raise(failures, path)
        file.flush()
        os.fsync(file.fileno())
        os.replace(f"{path}.partial", path)


def hash_of(path: str | os.PathLike[str], name: str, chunk_size: int = 1 << 20) -> str:
    """The hash of a file, in hexadecimal."""
    with open(path, "rb") as file:
        return _hash(file, name, chunk_size)


def _hash(file: BinaryIO, name: str, chunk_size: int = 1 << 20) -> str:
    digest = hashlib.new(name, usedforsecurity=False)
    while chunk := file.read(chunk_size):
        digest.update(chunk)
    return digest.hexdigest()


@contextlib.contextmanager
def _partial(path: str) -> Iterator[BinaryIO | None]:
    """The open partial file, ours alone; None if another process has just finished it."""
    name = f"{path}.partial"
    while True:
        with open(os.open(name, os.O_RDWR | os.O_CREAT, 0o666), "r+b") as file:
            with contextlib.suppress(ImportError):  # Windows
                import fcntl

                fcntl.flock(file, fcntl.LOCK_EX)
            if _is_same(file, path):
                yield None
                return
            if not _is_same(file, name):
                continue  # the other process has removed it
            try:
                yield file
            finally:
                with contextlib.suppress(FileNotFoundError):
                    if os.path.getsize(name) == 0:
                        os.unlink(name)
            return


def _is_same(file: BinaryIO, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.stat(path))
    except FileNotFoundError:
        return False


def _empty(file: BinaryIO) -> None:
    file.seek(0)
    file.truncate()


class _Transfer:
    """One file of one server, over as many connections as it takes."""

    def __init__(
        self, file: BinaryIO, url: str, path: str, progress: bool, max_redirects: int
    ) -> None:
        self._file = file
        self._url = url
        self._path = path
        self._progress = progress
        handler = type("Redirects", (HTTPRedirectHandler,), {"max_redirections": max_redirects})
        self._opener = build_opener(handler)
        self._version = ""  # what the server calls the version of the first bytes

    def run(self, checksum: Checksum | None) -> None:
        """Bring the file to its full length and compare its hash."""
        name, expected = checksum or ("", "")
        file = self._file
        n_before = furthest = file.seek(0, os.SEEK_END)
        if n_before and name and self._hash(name).startswith(expected):
            return  # complete but for its name
        if self._progress:
            print(f"Downloading {self._url} to {self._path}", file=sys.stderr)
        while True:
            try:
                self._connect()
                break
            except HTTPError as error:
                error.close()
                if error.code != 416 or not file.tell():
                    raise
                _empty(file)  # longer than what the server has
            except _NETWORK:
                if file.tell() <= furthest:
                    raise
                furthest = file.tell()
        if name and not (got := self._hash(name)).startswith(expected):
            _empty(file)
            if n_before:
                return self.run(checksum)  # the bytes of an earlier call may be to blame
            raise DownloadError(
                f"download: {self._url} has the {name} hash {got}, expected one that begins with "
                f"{expected}. The file there is damaged or another one; it was not kept."
            )

    def _hash(self, name: str) -> str:
        self._file.seek(0)
        return _hash(self._file, name)

    def _connect(self) -> None:
        """Append what one connection gives."""
        file = self._file
        start = file.seek(0, os.SEEK_END)
        headers = {"User-Agent": "facula"}
        if start:
            headers["Range"] = f"bytes={start}-"
            if self._version:
                headers["If-Range"] = self._version
        request = Request(self._url, headers=headers)
        with self._opener.open(request, timeout=_TIMEOUT_S) as response:
            answer = response.headers
            if start and not answer.get("Content-Range", "").startswith(f"bytes {start}-"):
                _empty(file)
                start = 0
            self._version = answer.get("ETag") or answer.get("Last-Modified") or ""
            length = answer.get("Content-Length")
            total = None if length is None else start + int(length)
            name = os.path.basename(self._path)
            with bar(name, total, start=start, is_shown=self._progress) as advance:
                while chunk := response.read(_CHUNK):
                    file.write(chunk)
                    advance(len(chunk))
        if total is not None and file.tell() < total:
            raise ConnectionError(f"the connection ended at byte {file.tell()} of {total}")


def _raise(failures: Sequence[tuple[str, Exception]], path: str) -> NoReturn:
    """The failure of the only mirror as its own type, that of several as one error."""
    advice = f"Without a network, put the file at {path!r}."
    if len(failures) == 1:
        url, error = failures[0]
        if isinstance(error, DownloadError):
            raise error
        if isinstance(error, HTTPError):
            if 300 <= error.code < 400:
                raise RecursionError(f"download: {url} sends to too many other places.") from None
            text = f"{error.reason}, for {url}. {advice}"
            raise HTTPError(url, error.code, text, error.headers, io.BytesIO()) from None
    lines = [f"{url}: {getattr(error, 'reason', None) or error}" for url, error in failures]
    raise DownloadError(
        f"download: cannot fetch {os.path.basename(path)}. {advice}\n  " + "\n  ".join(lines)
    ) from failures[-1][1]
