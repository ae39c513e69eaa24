"""Files that are replaced as a whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import stat
import warnings
from collections.abc import Iterator
from typing import BinaryIO

# What a rename answers where there is none: object stores mounted as folders, and files that are
# mount points themselves.
_NO_RENAME = {errno.ENOSYS, errno.EOPNOTSUPP, errno.EXDEV, errno.EBUSY}


@contextlib.contextmanager
def replacing(path: str) -> Iterator[BinaryIO]:
    """A file to write that takes the place of ``path`` when the block ends without exception.

    Until then, and for ever after an exception, the old file is there, whole; killed at any
    instant, the old or the new one is. The new file is on disk, and so is its name, when the block
    is left. What is not a regular file (a pipe, a device) is written directly.
    """
    path = os.path.realpath(path)  # a link stays a link: what it points to is replaced
    mode = _mode_of(path)
    if mode is not None and not stat.S_ISREG(mode):
        with open(path, "wb") as direct:
            yield direct
        return
    folder, base = os.path.split(path)
    folder_fd = os.open(folder, os.O_RDONLY)
    name = f".{base[:200]}.{secrets.token_hex(8)}.tmp"
    try:
        fd, is_named = _open_new(folder, name, folder_fd)
        try:
            with os.fdopen(fd, "wb") as file:
                yield file
                file.flush()
                if mode is not None:
                    os.fchmod(fd, stat.S_IMODE(mode))
                os.fsync(fd)
                if not is_named:
                    os.link(f"/proc/self/fd/{fd}", name, dst_dir_fd=folder_fd)
            _rename(os.path.join(folder, name), path)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder_fd)
            raise
        _sync_folder(folder_fd)
    finally:
        os.close(folder_fd)


def _mode_of(path: str) -> int | None:
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        return None


def _open_new(folder: str, name: str, folder_fd: int) -> tuple[int, bool]:
    """A new file in the folder, and whether it has the name yet."""
    # A file without a name vanishes with its process: a kill leaves no half-written file behind.
    if hasattr(os, "O_TMPFILE") and os.path.isdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            return os.open(folder, os.O_TMPFILE | os.O_WRONLY, 0o666), False
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    return os.open(name, flags, 0o666, dir_fd=folder_fd), True


def _rename(source: str, path: str) -> None:
    try:
        os.replace(source, path)
    except OSError as error:
        if error.errno not in _NO_RENAME:
            raise
        warnings.warn(
            f"save: the file system cannot rename ({error.strerror}): {path!r} is overwritten in "
            f"place. Should that be interrupted, the whole content is in {source!r}.",
            stacklevel=5,
        )
        with open(source, "rb") as new, open(path, "wb") as old:
            shutil.copyfileobj(new, old, 1 << 20)
            old.flush()
            os.fsync(old.fileno())
        os.unlink(source)


def _sync_folder(folder_fd: int) -> None:
    try:
        os.fsync(folder_fd)
    except OSError as error:
        if error.errno != errno.EINVAL:  # of file systems that cannot sync a folder
            raise
