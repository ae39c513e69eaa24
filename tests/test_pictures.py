"""The pictures are what their programs draw today, and every chapter shows its own."""

import re
from xml.etree import ElementTree

import pytest

from tools import pictures
from tools.svg import Drawing

LEARN = pictures.ROOT / "docs" / "learn"


@pytest.mark.promise("U8")
def test_every_picture_is_up_to_date():
    drawn = dict(pictures.pictures())
    assert sorted(pictures.FOLDER.iterdir()) == sorted(drawn)
    old = [path.name for path, text in drawn.items() if path.read_text(encoding="utf-8") != text]
    assert not old, "python -m tools.pictures draws them anew"


def test_every_chapter_shows_its_picture_in_its_language():
    index = (LEARN / "index.md").read_text()
    chapters = set(re.findall(r"^\| \[.*?\]\(([\w-]+)\.md\)", index, re.MULTILINE))
    assert chapters == set(pictures.CHAPTERS)
    for name in chapters:
        for language in ("", ".zh"):
            text = (LEARN / f"{name}{language}.md").read_text()
            assert f"](../images/learn/{name}{language}.svg)" in text, f"{name}{language}.md"


def test_a_drawing_is_xml_also_with_odd_words():
    drawing = Drawing(100, 50, "a < b & c")
    drawing.cell(0, 0, "<x>")
    drawing.chart(0, 0, 50, 30, [("&", "good", [(0, 1), (1, 2)])], ("x", "y"))
    root = ElementTree.fromstring(drawing.text)
    words = [text for element in root.iter() if (text := (element.text or "").strip())]
    assert {"a < b & c", "<x>", "&"} <= set(words)


def test_names_of_curves_that_end_together_do_not_overlap():
    drawing = Drawing(100, 50, "")
    curves = [(name, "", [(0, 0), (1, value)]) for name, value in (("a", 1.0), ("b", 1.001))]
    drawing.chart(0, 0, 50, 30, curves, ("", ""))
    places = re.findall(r'y="(-?\d+)"[^>]*>[ab]<', drawing.text)
    assert abs(int(places[0]) - int(places[1])) >= 15
