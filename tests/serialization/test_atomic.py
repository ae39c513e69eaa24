"""A save that fails at any point leaves the old file whole, and nothing beside it."""

import errno
import fcntl
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

import facula

pytestmark = pytest.mark.promise("P4")

ROOT = Path(facula.__file__).parent.parent


def run(code, *args, **kwargs):
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen([sys.executable, "-c", code, *map(str, args)], env=env, **kwargs)


@pytest.fixture
def old(tmp_path):
    """A good file in a folder of its own."""
    path = tmp_path / "x.pt"
    facula.save(facula.ones(3), path)
    return path


def check_old(path):
    assert facula.load(path).tolist() == [1, 1, 1]
    assert os.listdir(path.parent) == ["x.pt"]


def test_a_file_is_replaced(old):
    facula.save(facula.zeros(3), old)
    assert facula.load(old).tolist() == [0, 0, 0]
    assert os.listdir(old.parent) == ["x.pt"]


class Raises:
    def __reduce__(self):
        raise KeyError("in the object")


def test_an_exception_of_the_object_leaves_the_old_file(old):
    with pytest.raises(KeyError, match="in the object"):
        facula.save([facula.zeros(1000), Raises()], old)
    check_old(old)


@pytest.mark.parametrize("is_named", [True, False])
def test_an_error_while_writing_leaves_the_old_file(old, monkeypatch, is_named):
    if is_named:
        monkeypatch.delattr(os, "O_TMPFILE")

    def fsync(fd):
        raise OSError(errno.EIO, "broken disk")

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(OSError, match="broken disk"):
        facula.save(facula.zeros(3), old)
    check_old(old)


def test_without_unnamed_files_a_named_one_is_used(old, monkeypatch):
    monkeypatch.delattr(os, "O_TMPFILE")
    facula.save(facula.zeros(3), old)
    assert facula.load(old).tolist() == [0, 0, 0]
    assert os.listdir(old.parent) == ["x.pt"]


FULL_DISK = """
import resource, signal, sys, facula
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    facula.save(facula.zeros(1_000_000), sys.argv[1])
except OSError as error:
    print(error.strerror)
"""


def test_a_full_disk_leaves_the_old_file(old):
    output = run(FULL_DISK, old, stdout=subprocess.PIPE, text=True).communicate()[0]
    assert output.strip() == os.strerror(errno.EFBIG)
    check_old(old)


def test_a_full_file_system_leaves_the_old_file(tmp_path):
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(tmp_path)]
    if os.geteuid() or subprocess.run(mount, stderr=subprocess.DEVNULL).returncode:
        pytest.skip("no tmpfs can be mounted here")
    try:
        path = tmp_path / "x.pt"
        facula.save(facula.ones(3), path)
        with pytest.raises(OSError, match="No space left"):
            facula.save(facula.zeros(1_000_000), path)
        check_old(path)
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


READ_ONLY = """
import os, sys, facula, facula.serialization
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
try:
    facula.save(facula.zeros(3), sys.argv[1])
except PermissionError:
    print("refused")
"""


def test_a_read_only_folder_leaves_the_old_file(old):
    # A user who may not write there; the way to the folder must be open to them.
    for folder in (old.parent, *old.parent.parents):
        if folder.stat().st_uid == os.geteuid() and "pytest" in folder.name:
            folder.chmod(0o755)
    old.parent.chmod(0o555)
    try:
        output = run(READ_ONLY, old, stdout=subprocess.PIPE, text=True).communicate()[0]
    finally:
        old.parent.chmod(0o755)
    assert output.strip() == "refused"
    check_old(old)


def test_where_there_is_no_rename_the_file_is_overwritten_with_a_warning(old, monkeypatch):
    def replace(source, path):
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    monkeypatch.setattr(os, "replace", replace)
    with pytest.warns(UserWarning, match="the file system cannot rename"):
        facula.save(facula.zeros(3), old)
    assert facula.load(old).tolist() == [0, 0, 0]
    assert os.listdir(old.parent) == ["x.pt"]


@pytest.mark.parametrize("can_rename_beside", [True, False])
def test_an_interrupted_overwriting_leaves_the_whole_content(old, monkeypatch, can_rename_beside):
    def replace(source, path):
        raise OSError(errno.EBUSY, "Device or resource busy")

    def interrupt(new, old, size):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(os, "replace", replace)
        patched.setattr(shutil, "copyfileobj", interrupt)
        if not can_rename_beside:
            patched.setattr(os, "rename", replace)
        with pytest.warns(UserWarning, match="the whole content is in"):
            facula.save(facula.zeros(3), old)
    (whole,) = (path for path in old.parent.iterdir() if path != old)
    assert facula.load(whole).tolist() == [0, 0, 0]
    if can_rename_beside:
        facula.save(1, old.parent / "y.pt")
        assert facula.load(whole).tolist() == [0, 0, 0]


def test_permissions_and_links_stay(old):
    old.chmod(0o640)
    link = old.parent / "latest.pt"
    link.symlink_to("x.pt")
    facula.save(facula.zeros(3), link)
    assert link.is_symlink()
    assert facula.load(old).tolist() == [0, 0, 0]
    assert stat.S_IMODE(old.stat().st_mode) == 0o640


def test_a_new_file_has_the_permissions_of_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        facula.save(1, tmp_path / "x.pt")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "x.pt").stat().st_mode) == 0o640


def test_a_device_is_written_directly():
    facula.save(facula.zeros(3), "/dev/null")


def test_long_names_leave_room_for_the_name_meanwhile(tmp_path):
    for name in ("x" * 250 + ".pt", "\u6a21" * 80):
        facula.save(1, tmp_path / name)
        assert facula.load(tmp_path / name) == 1


# For each line of input a process that saves without end, each content as long as the other; its
# number is told at its start, and its death.
SAVERS = """
import os, sys, facula
path = sys.argv[1]
facula.save(0, "/dev/null")  # imports what every child needs
for line in sys.stdin:
    start = int(line)
    child = os.fork()
    if child == 0:
        for n in range(start, start + 100_000):
            facula.save({"n": n, "w": facula.full((50_000,), n % 1000)}, path)
    print(child, flush=True)
    os.waitpid(child, 0)
    print("dead", flush=True)
"""


def test_200_kills_leave_a_whole_file_each_time(tmp_path):
    path = tmp_path / "x.pt"
    start_s = time.perf_counter()
    for _ in range(5):
        facula.save({"n": 0, "w": facula.full((50_000,), 0)}, path)
    save_s = (time.perf_counter() - start_s) / 5
    savers = run(SAVERS, path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    seen = set()
    for i in range(200):
        print(100_000 * i, file=savers.stdin, flush=True)
        victim = int(savers.stdout.readline())
        # Any instant of the first saves, early and late, however busy the disk is.
        time.sleep(0.004 + save_s * (i % 61) / 15)
        os.kill(victim, signal.SIGKILL)
        assert savers.stdout.readline() == "dead\n"
        loaded = facula.load(path)
        assert loaded["w"].unique().tolist() == [loaded["n"] % 1000]
        seen.add(loaded["n"])
    savers.communicate()
    assert len(seen) > 20
    # Killed between getting its name and the rename, a file stays: until the next save.
    facula.save(0, path)
    assert os.listdir(tmp_path) == ["x.pt"]


def test_a_save_removes_what_killed_processes_left_and_nothing_else(old):
    left, of_another, in_use = (
        old.parent / f".{name}.{digit * 16}.facula-save"
        for name, digit in [("x.pt", "0"), ("y.pt", "0"), ("x.pt", "7")]
    )
    others = [".x.pt.mine.facula-save", ".x.pt.0000000000000000.tmp", "x.pt.facula-save"]
    for path in [left, of_another, in_use, *(old.parent / name for name in others)]:
        path.write_bytes(b"half of a file")
    with in_use.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        facula.save(facula.zeros(3), old)
        assert sorted(os.listdir(old.parent)) == sorted(["x.pt", in_use.name, *others])
    facula.save(facula.zeros(3), old)
    assert sorted(os.listdir(old.parent)) == sorted(["x.pt", *others])


def test_a_file_taken_for_abandoned_before_it_is_locked_gets_another_name(old, monkeypatch):
    monkeypatch.delattr(os, "O_TMPFILE")
    flock = fcntl.flock

    def sweep_first(fd, how):
        monkeypatch.setattr(fcntl, "flock", flock)
        (temporary,) = old.parent.glob(".x.pt.*.facula-save")
        temporary.unlink()
        flock(fd, how)

    monkeypatch.setattr(fcntl, "flock", sweep_first)
    facula.save(facula.zeros(3), old)
    assert facula.load(old).tolist() == [0, 0, 0]
    assert os.listdir(old.parent) == ["x.pt"]


def test_two_processes_save_the_same_path_at_once(tmp_path):
    path = tmp_path / "x.pt"
    savers = run(SAVERS, path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    print(0, file=savers.stdin, flush=True)
    other = int(savers.stdout.readline())
    for n in range(100_000, 100_100):
        facula.save({"n": n, "w": facula.full((50_000,), n % 1000)}, path)
        loaded = facula.load(path)
        assert loaded["w"].unique().tolist() == [loaded["n"] % 1000]
    os.kill(other, signal.SIGKILL)
    savers.communicate()
