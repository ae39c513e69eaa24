import gzip
import io
import os
import tarfile
import zipfile
from pathlib import Path

import file_formats
import pytest
from http_server import serving

from facula import _download
from facula.vision.datasets import utils

pytestmark = pytest.mark.promise("D3")


@pytest.fixture(autouse=True)
def _direct(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")


def test_hashes_are_compared(tmp_path):
    path = tmp_path / "hello"
    assert not utils.check_integrity(path)
    path.write_bytes(b"hello")
    md5 = "5d41402abc4b2a76b9719d911017c592"
    assert utils.calculate_md5(path, chunk_size=2) == md5
    assert utils.check_md5(path, md5, chunk_size=3)
    assert utils.check_integrity(path) and utils.check_integrity(str(path), md5)
    assert not utils.check_integrity(path, "0" * 32)
    assert not utils.check_integrity(tmp_path)


def test_download_names_the_file_after_the_address(tmp_path):
    with serving({"a.txt": b"hello"}) as server:
        for _ in range(2):
            utils.download_url(server.url("a.txt"), tmp_path)
        assert len(server.requests) == 1
    assert (tmp_path / "a.txt").read_bytes() == b"hello"


def test_damaged_file_is_downloaded_again(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"damaged")
    with serving({"a.txt": b"hello"}) as server:
        utils.download_url(server.url("a.txt"), tmp_path, md5="5d41402abc4b2a76b9719d911017c592")
    assert (tmp_path / "a.txt").read_bytes() == b"hello"


def test_wrong_hash_is_an_error_and_keeps_nothing(tmp_path):
    with serving({"a.txt": b"hello"}) as server, pytest.raises(RuntimeError, match="md5 hash"):
        utils.download_url(server.url("a.txt"), tmp_path, md5="0" * 32)
    assert os.listdir(tmp_path) == []


def test_redirects_beyond_the_limit_are_refused(tmp_path):
    with serving({"c": b"x"}, redirects={"a": "/b", "b": "/c"}) as server:
        with pytest.raises(RecursionError):
            utils.download_url(server.url("a"), tmp_path, max_redirect_hops=1)
        utils.download_url(server.url("a"), tmp_path)
    assert os.listdir(tmp_path) == ["a"]


def test_files_of_google_drive_have_their_own_address(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(_download, "fetch", lambda *args, **kwargs: asked.append(args))
    utils.download_file_from_google_drive("abc", tmp_path, "file", "0" * 32)
    utils.download_url("https://drive.google.com/file/d/abc/view", tmp_path, "file", "0" * 32)
    assert asked[0] == asked[1]
    assert asked[0][0][0].startswith("https://drive.usercontent.google.com/download?")
    assert asked[0][0][0].endswith("&id=abc")


ARCHIVES = ["a.tar", "a.tar.gz", "a.tgz", "a.tar.xz", "a.tar.bz2", "a.tbz", "a.tbz2", "a.zip"]


def make_archive(path, members):
    modes = {".gz": "w:gz", ".tgz": "w:gz", ".xz": "w:xz", ".zip": None, ".tar": "w"}
    mode = modes.get(path.suffix, "w:bz2")
    if mode is None:
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in members.items():
                archive.writestr(name, data)
    else:
        path.write_bytes(file_formats.tar(members, mode))


@pytest.mark.parametrize("name", ARCHIVES)
def test_archives_are_unpacked(name, tmp_path):
    make_archive(tmp_path / name, {"in/a.txt": b"hello", "b.txt": b""})
    assert utils.extract_archive(tmp_path / name, tmp_path / "out") == tmp_path / "out"
    assert (tmp_path / "out" / "in" / "a.txt").read_bytes() == b"hello"
    assert utils.extract_archive(str(tmp_path / name), remove_finished=True) == str(tmp_path)
    assert (tmp_path / "b.txt").exists() and not (tmp_path / name).exists()


def test_archives_of_one_folder_are_merged(tmp_path):
    make_archive(tmp_path / "a.zip", {"data/in/a.txt": b"a", "data/both.txt": b"old"})
    make_archive(tmp_path / "b.tar", {"data/in/b.txt": b"b", "data/both.txt": b"new"})
    utils.extract_archive(tmp_path / "a.zip")
    utils.extract_archive(tmp_path / "b.tar")
    assert sorted(os.listdir(tmp_path / "data" / "in")) == ["a.txt", "b.txt"]
    assert (tmp_path / "data" / "both.txt").read_bytes() == b"new"
    assert sorted(os.listdir(tmp_path)) == ["a.zip", "b.tar", "data"]


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz"])
def test_single_files_are_decompressed(suffix, tmp_path):
    with utils._OPENERS[suffix](tmp_path / f"a.txt{suffix}", "wb") as file:
        file.write(b"hello")
    assert utils.extract_archive(tmp_path / f"a.txt{suffix}") == tmp_path / "a.txt"
    assert (tmp_path / "a.txt").read_bytes() == b"hello"
    assert sorted(os.listdir(tmp_path)) == ["a.txt", f"a.txt{suffix}"]
    utils.extract_archive(tmp_path / f"a.txt{suffix}", tmp_path / "new" / "folder")
    assert (tmp_path / "new" / "folder" / "a.txt").read_bytes() == b"hello"


def test_unknown_archives_are_refused(tmp_path):
    with pytest.raises(RuntimeError, match="has no suffix"):
        utils.extract_archive(tmp_path / "archive")
    with pytest.raises(RuntimeError, match=r"a.rar is no archive: expected one of '.bz2'"):
        utils.extract_archive(tmp_path / "a.rar")


@pytest.mark.parametrize("name", [*ARCHIVES, "a.gz", "a.xz"])
def test_damaged_archives_are_named_and_leave_no_half_file(name, tmp_path):
    path = tmp_path / name
    if name in ("a.gz", "a.xz"):
        with utils._OPENERS[path.suffix](path, "wb") as file:
            file.write(os.urandom(1000))
    else:
        make_archive(path, {"a/whole.bin": b"whole", "a/x.bin": os.urandom(100_000)})
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(utils._DAMAGE, match=rf"{name} cannot be unpacked"):
        utils.extract_archive(path)
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("name", ["../out.txt", "/tmp/facula_out.txt", "a/../../out.txt"])
@pytest.mark.parametrize("kind", ["a.tar", "a.zip"])
def test_nothing_is_written_outside_the_folder(kind, name, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    make_archive(tmp_path / kind, {name: b"evil"})
    if kind == "a.tar" and not name.startswith("/"):
        with pytest.raises(tarfile.TarError, match="cannot be unpacked"):
            utils.extract_archive(tmp_path / kind, folder)
    else:
        utils.extract_archive(tmp_path / kind, folder)
    inside = {path for path in tmp_path.rglob("*.txt") if folder in path.parents}
    assert set(tmp_path.rglob("*.txt")) == inside
    assert not Path("/tmp/facula_out.txt").exists()


def test_links_that_leave_the_folder_are_refused(tmp_path):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc"
        archive.addfile(link)
    (tmp_path / "a.tar").write_bytes(out.getvalue())
    with pytest.raises(tarfile.TarError, match="cannot be unpacked"):
        utils.extract_archive(tmp_path / "a.tar")
    assert not (tmp_path / "link").exists()


def test_download_and_extract(tmp_path):
    with serving({"a.txt.gz": gzip.compress(b"hello")}) as server:
        utils.download_and_extract_archive(
            server.url("a.txt.gz"), tmp_path / "new", filename="b.txt.gz", remove_finished=True
        )
    assert os.listdir(tmp_path / "new") == ["b.txt"]


def test_folders_and_files_are_listed(tmp_path):
    (tmp_path / "folder.txt").mkdir()
    (tmp_path / "a.txt").touch()
    (tmp_path / "b.png").touch()
    assert utils.list_dir(tmp_path) == ["folder.txt"]
    assert utils.list_dir(tmp_path, prefix=True) == [str(tmp_path / "folder.txt")]
    assert utils.list_files(tmp_path, ".txt") == ["a.txt"]
    assert sorted(utils.list_files(str(tmp_path), (".txt", ".png"))) == ["a.txt", "b.png"]
    assert utils.list_files(tmp_path, ".png", prefix=True) == [str(tmp_path / "b.png")]


def test_string_arguments_are_checked():
    assert utils.verify_str_arg("a") == "a"
    with pytest.raises(ValueError, match="split: expected a string, got 3"):
        utils.verify_str_arg(3, "split")
    with pytest.raises(ValueError, match=r"^expected one of 'b', got 'a'.$"):
        utils.verify_str_arg("a", valid_values=["b"])
    with pytest.raises(ValueError, match=r"^mine$"):
        utils.verify_str_arg("a", "split", ["b"], "mine")
