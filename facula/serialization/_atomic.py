"""Files that are replaced as a whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator
from typing import BinaryIO

from facula._warnings import warn_user

# What a rename answers where there is none: object stores mounted as folders, and files that are
# mount points themselves.
_NO_RENAME = {errno.ENOSYS, errno.EOPNOTSUPP, errno.EXDEV, errno.EBUSY}

# The names that files have between being whole and taking their place.
_is_temporary_name = re.compile(r"\..*\.[0-9a-f]{16}\.facula-save", re.DOTALL).fullmatch


@contextlib.contextmanager
def replacing(path: str) -> Iterator[BinaryIO]:
    """A file to write that takes the place of ``path`` when the block ends without exception.

    Until then, and for ever after an exception, the old file is there, whole; killed at any
    instant, the old or the new one is. The new file is on disk, and so is its name, when the block
    is left. What is not a regular file (a pipe, a device) is written directly. A temporary file
    that a killed process left is removed by the next save into the same folder.
    """
    path = os.path.realpath(path)  # a link stays a link: what it points to is replaced
    mode = _mode_of(path)
    if mode is not None and not stat.S_ISREG(mode):
        with open(path, "wb") as direct:
            yield direct
        return
    folder, base = os.path.split(path)
    with contextlib.ExitStack() as held:
        folder_fd = os.open(folder, os.O_RDONLY)
        held.callback(os.close, folder_fd)
        fd, name, is_named = _open_new(folder, base, folder_fd)
        # The lock ends with the last descriptor, and must outlive the rename.
        held.callback(os.close, os.dup(fd))
        try:
            with os.fdopen(fd, "wb") as file:
                yield file
                file.flush()
                if mode is not None:
                    os.fchmod(fd, stat.S_IMODE(mode))
                # Before the rename: else, after a crash, the name could be that of a file whose
                # bytes never reached the disk.
                os.fsync(fd)
                if not is_named:
                    os.link(f"/proc/self/fd/{fd}", name, dst_dir_fd=folder_fd)
            no_rename = _rename(os.path.join(folder, name), path)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder_fd)
            raise
        if no_rename is None:
            _sync_folder(folder_fd)
            _remove_abandoned(folder_fd)
        else:
            _overwrite(os.path.join(folder, name), path, no_rename)


def _mode_of(path: str) -> int | None:
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        return None


def _open_new(folder: str, base: str, folder_fd: int) -> tuple[int, str, bool]:
    """A new file in the folder, locked, the name for it, and whether it has that name yet."""
    short = os.fsdecode(os.fsencode(base)[:200])
    name = f".{short}.{secrets.token_hex(8)}.facula-save"
    # A file without a name vanishes with its process: a kill leaves no half-written file behind.
    if hasattr(os, "O_TMPFILE") and os.path.isdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            fd = os.open(folder, os.O_TMPFILE | os.O_WRONLY, 0o666)
            _lock(fd, fcntl.LOCK_EX)
            return fd, name, False
    fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666, dir_fd=folder_fd)
    _lock(fd, fcntl.LOCK_EX)
    if os.fstat(fd).st_nlink == 0:  # taken for abandoned before it was locked
        os.close(fd)
        return _open_new(folder, base, folder_fd)
    return fd, name, True


def _lock(fd: int, how: int) -> bool:
    """Whether the lock, which ends with the last process that has the file open, was had."""
    try:
        fcntl.flock(fd, how)
    except OSError:  # another has it, or the file system knows no locks
        return False
    return True


def _remove_abandoned(folder_fd: int) -> None:
    """Removes what processes killed before their rename left: the names that nobody has locked."""
    for name in filter(_is_temporary_name, os.listdir(folder_fd)):
        # Another process may rename or remove it first, or its owner be someone else.
        with contextlib.suppress(OSError):
            fd = os.open(name, os.O_RDWR | os.O_NOFOLLOW, dir_fd=folder_fd)
            try:
                if _lock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB):
                    os.unlink(name, dir_fd=folder_fd)
            finally:
                os.close(fd)


def _rename(source: str, path: str) -> OSError | None:
    """The error, if it says that there is no rename."""
    try:
        os.replace(source, path)
    except OSError as error:
        if error.errno not in _NO_RENAME:
            raise
        return error
    return None


def _overwrite(source: str, path: str, reason: OSError) -> None:
    with contextlib.suppress(OSError):  # to a name that no later save takes for abandoned
        os.rename(source, f"{source}.whole")
        source = f"{source}.whole"
    warn_user(
        f"save: the file system cannot rename ({reason.strerror}): {path!r} is overwritten in "
        f"place. Should that be interrupted, the whole content is in {source!r}.",
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
        if error.errno != errno.EINVAL:  # the answer of file systems that cannot sync a folder
            raise
