import hashlib
import os
import subprocess
import sys
from urllib.error import HTTPError, URLError

import pytest
from http_server import serving

from facula import _download
from facula._download import fetch

pytestmark = pytest.mark.promise("D4")

DATA = bytes(range(256)) * 5000
MD5 = ("md5", hashlib.md5(DATA).hexdigest())


@pytest.fixture(autouse=True)
def _quick_and_direct(monkeypatch):
    monkeypatch.setattr(_download, "_TIMEOUT_S", 10)
    monkeypatch.setenv("no_proxy", "*")


def test_file_is_fetched_into_a_new_folder(tmp_path, capfd):
    with serving({"a.bin": DATA}) as server:
        fetch(server.url("a.bin"), tmp_path / "new" / "a.bin", MD5)
    assert (tmp_path / "new" / "a.bin").read_bytes() == DATA
    assert os.listdir(tmp_path / "new") == ["a.bin"]
    assert f"Downloading {server.url('a.bin')} to " in capfd.readouterr().err


def test_without_progress_nothing_is_printed(tmp_path, capfd):
    with serving({"a.bin": DATA}) as server:
        fetch(server.url("a.bin"), tmp_path / "a.bin", progress=False)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("checksum", [None, MD5])
def test_broken_connection_is_taken_up_where_it_broke(tmp_path, checksum):
    with serving({"a.bin": DATA}, break_after=[1000, 500_000]) as server:
        fetch(server.url("a.bin"), tmp_path / "a.bin", checksum, progress=False)
    assert (tmp_path / "a.bin").read_bytes() == DATA
    assert [asked for _, asked in server.requests] == [None, "bytes=1000-", "bytes=501000-"]


def test_server_without_ranges_is_asked_for_everything_again(tmp_path):
    with serving({"a.bin": DATA}, break_after=[1000], ranges=False) as server:
        fetch(server.url("a.bin"), tmp_path / "a.bin", progress=False)
    assert (tmp_path / "a.bin").read_bytes() == DATA


def test_connections_that_get_no_further_end_the_download(tmp_path):
    text = "the connection ended at byte 1000 of 1280000"
    with (
        serving({"a.bin": DATA}, break_after=[1000, 0, None]) as server,
        pytest.raises(URLError, match=text),
    ):
        fetch(server.url("a.bin"), tmp_path / "a.bin", progress=False)
    assert os.listdir(tmp_path) == []


def test_file_that_changes_in_the_middle_is_not_mixed(tmp_path):
    with serving({"a.bin": DATA}, break_after=[1000]) as server:
        answer = server._answer

        def change_after_the_first(handler):
            answer(handler)
            server.files["a.bin"] = DATA[::-1]

        server._answer = change_after_the_first
        fetch(server.url("a.bin"), tmp_path / "a.bin", progress=False)
    assert (tmp_path / "a.bin").read_bytes() == DATA[::-1]


def test_interrupted_download_is_resumed_by_the_next_call(tmp_path):
    path = tmp_path / "a.bin"
    with serving({"a.bin": DATA}, break_after=[1000, 0]) as server:
        with pytest.raises(URLError):
            fetch(server.url("a.bin"), path, MD5, progress=False)
        assert os.path.getsize(f"{path}.partial") == 1000
        fetch(server.url("a.bin"), path, MD5, progress=False)
        assert server.requests[-1] == ("a.bin", "bytes=1000-")
    assert path.read_bytes() == DATA
    assert os.listdir(tmp_path) == ["a.bin"]


def test_partial_file_that_is_complete_needs_no_network(tmp_path):
    (tmp_path / "a.bin.partial").write_bytes(DATA)
    fetch("http://127.0.0.1:1/a.bin", tmp_path / "a.bin", MD5, progress=False)
    assert (tmp_path / "a.bin").read_bytes() == DATA


@pytest.mark.parametrize("leftover", [DATA + b"more", b"other" * 1000])
def test_partial_file_of_something_else_is_replaced(tmp_path, leftover):
    (tmp_path / "a.bin.partial").write_bytes(leftover)
    with serving({"a.bin": DATA}) as server:
        fetch(server.url("a.bin"), tmp_path / "a.bin", MD5, progress=False)
    assert (tmp_path / "a.bin").read_bytes() == DATA


def test_without_a_terminal_there_is_no_bar(tmp_path, capfd):
    with serving({"a.bin": DATA}) as server:
        fetch(server.url("a.bin"), tmp_path / "a.bin")
    error = capfd.readouterr().err
    assert error.count("\n") == 1 and "\r" not in error


def test_on_a_terminal_a_bar_shows_how_much_is_there(tmp_path, capfd, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with serving({"a.bin": DATA}) as server:
        fetch(server.url("a.bin"), tmp_path / "a.bin")
    assert "a.bin [##############################] 100% of 1.3 MB" in capfd.readouterr().err


def test_wrong_hash_leaves_nothing_and_says_both(tmp_path):
    with (
        serving({"a.bin": DATA}) as server,
        pytest.raises(
            RuntimeError,
            match=rf"has the md5 hash {MD5[1]}, expected one that begins with 0123. The file there "
            "is damaged or another one; it was not kept.",
        ),
    ):
        fetch(server.url("a.bin"), tmp_path / "a.bin", ("md5", "0123"), progress=False)
    assert os.listdir(tmp_path) == []


def test_old_file_survives_a_failure(tmp_path):
    (tmp_path / "a.bin").write_bytes(b"old")
    with serving({}) as server, pytest.raises(HTTPError):
        fetch(server.url("a.bin"), tmp_path / "a.bin", progress=False)
    assert (tmp_path / "a.bin").read_bytes() == b"old"


def test_missing_file_says_where_to_put_it(tmp_path):
    with serving({}) as server, pytest.raises(HTTPError) as error:
        fetch(server.url("a.bin"), tmp_path / "a.bin", progress=False)
    assert error.value.code == 404
    assert str(error.value) == (
        f"HTTP Error 404: Not Found, for {server.url('a.bin')}. Without a network, put the file at "
        f"'{tmp_path / 'a.bin'}'."
    )


def test_no_network_says_where_to_put_the_file(tmp_path):
    with pytest.raises(URLError, match="Connection refused") as error:
        fetch("http://127.0.0.1:1/a.bin", tmp_path / "a.bin", progress=False)
    assert f"put the file at '{tmp_path / 'a.bin'}'" in str(error.value)
    assert os.listdir(tmp_path) == []


def test_mirrors_are_tried_in_turn(tmp_path):
    with serving({"bad": b"x", "good": DATA}) as server:
        urls = ["http://127.0.0.1:1/a", server.url("none"), server.url("bad"), server.url("good")]
        fetch(urls, tmp_path / "a.bin", MD5, progress=False)
        assert (tmp_path / "a.bin").read_bytes() == DATA
        with pytest.raises(RuntimeError) as error:
            fetch(urls[:3], tmp_path / "b.bin", MD5, progress=False)
    for text in ("Connection refused", "Not Found", "has the md5 hash", "b.bin"):
        assert text in str(error.value)


def test_redirects_are_followed_to_a_limit(tmp_path):
    with serving({"c": DATA}, redirects={"a": "/b", "b": "/c"}) as server:
        fetch(server.url("a"), tmp_path / "a.bin", MD5, progress=False, max_redirects=2)
        with pytest.raises(RecursionError):
            fetch(server.url("a"), tmp_path / "b.bin", MD5, progress=False, max_redirects=1)


def test_full_disk_is_told_as_such(tmp_path, monkeypatch):
    with serving({"a.bin": DATA}) as server:
        monkeypatch.setattr(_download, "bar", lambda *args, **kwargs: _full_disk())
        with pytest.raises(OSError, match="No space left") as error:
            fetch([server.url("a.bin")] * 2, tmp_path / "a.bin", progress=False)
    assert type(error.value) is OSError
    assert len(server.requests) == 1


class _full_disk:
    def __enter__(self):
        def advance(n):
            raise OSError(28, "No space left on device")

        return advance

    def __exit__(self, *args):
        pass


def test_processes_that_want_one_file_fetch_it_once(tmp_path):
    code = (
        "import sys; from facula._download import fetch;"
        "fetch(sys.argv[1], sys.argv[2], progress=False)"
    )
    with serving({"a.bin": DATA * 20}) as server:
        command = [sys.executable, "-c", code, server.url("a.bin"), str(tmp_path / "a.bin")]
        processes = [subprocess.Popen(command) for _ in range(3)]
        assert [process.wait(60) for process in processes] == [0, 0, 0]
    assert (tmp_path / "a.bin").read_bytes() == DATA * 20
    assert os.listdir(tmp_path) == ["a.bin"]


def test_a_folder_in_place_of_the_file_is_refused(tmp_path):
    folder = tmp_path / "weights"
    folder.mkdir()
    with pytest.raises(IsADirectoryError, match="is a folder: give the name of a file"):
        fetch("file:///nowhere", folder)
    assert os.listdir(tmp_path) == ["weights"]
