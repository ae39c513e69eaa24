import io
import sys
import tarfile
import zipfile

import pytest

from facula import _progress
from facula._progress import bar
from facula.vision.datasets.utils import extract_archive

pytestmark = pytest.mark.promise("U5")


@pytest.fixture
def terminal(monkeypatch, capsys):
    """Reads what a person sees on stderr, of a bar that is drawn at every advance."""
    monkeypatch.setattr(_progress, "_is_watched", lambda: True)
    monkeypatch.setattr(_progress, "_INTERVAL_S", 0.0)
    monkeypatch.setenv("COLUMNS", "100")
    return lambda: capsys.readouterr().err


def lines(text):
    return [line.rstrip() for line in text.split("\r")[1:]]


def test_nothing_is_shown_where_nobody_watches(capfd):
    with bar("reading", 10) as advance:
        advance(10)
    assert capfd.readouterr() == ("", "")


def test_nothing_is_shown_without_a_stream(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    with bar("reading", 10) as advance:
        advance(10)


def test_nothing_is_shown_if_not_wanted(terminal):
    with bar("reading", 10, is_shown=False) as advance:
        advance(10)
    assert terminal() == ""


def test_a_bar_fills_and_ends_its_line(terminal):
    with bar("reading", 10_000, start=2_000) as advance:
        advance(3_000)
        advance(5_000)
    text = terminal()
    shown = lines(text)
    assert shown[0].startswith("reading [###############...............]  50% of 10.0 kB, ")
    assert shown[-1].startswith("reading [##############################] 100% of 10.0 kB, ")
    assert text.endswith("\n")


def test_a_bar_is_drawn_a_few_times_a_second(terminal, monkeypatch):
    monkeypatch.setattr(_progress, "_INTERVAL_S", 3600)
    with bar("reading", 1000) as advance:
        for _ in range(1000):
            advance(1)
    assert len(lines(terminal())) == 1


def test_without_a_total_the_amount_is_told(terminal):
    with bar("reading", None) as advance:
        advance(2_500_000)
    assert lines(terminal())[-1].startswith("reading 2.5 MB, ")


def test_a_narrow_terminal_gets_no_second_line(terminal, monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    with bar("a file with quite a long name.tar.gz", 10) as advance:
        advance(10)
    assert {len(line) for line in terminal().rstrip("\n").split("\r")[1:]} == {29}


def test_an_error_ends_the_line_too(terminal):
    with pytest.raises(ValueError), bar("reading", 10):
        raise ValueError
    assert terminal().endswith("\n")


def test_archives_are_unpacked_with_a_bar(terminal, tmp_path):
    data = bytes(100_000)
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as tar:
        for name in "xy":
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as archive:
        archive.writestr("z", data)
    for name in ("a.tar.gz", "b.zip"):
        extract_archive(tmp_path / name, tmp_path / "out")
        assert f"unpacking {name} [#####" in terminal()
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["x", "y", "z"]
