"""The page on vision: its code runs, its links lead somewhere, its names exist."""

import re
from importlib import import_module
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "vision.md"
TEXT = PAGE.read_text()

pytestmark = pytest.mark.promise("D3")


@pytest.mark.parametrize("code", re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL))
def test_the_examples_of_the_page_run(code, capsys):
    exec(compile(code, str(PAGE), "exec"), {"__name__": "page"})
    assert capsys.readouterr().out


def test_every_link_of_the_page_leads_to_a_file():
    for link in re.findall(r"\]\((?!https?:)([^)#]+)\)", TEXT):
        assert (PAGE.parent / link).exists(), link


def test_every_module_of_the_table_exists():
    for row in re.findall(r"^\| (`.*?`) \|", TEXT, re.MULTILINE):
        for name in re.findall(r"`([\w.]+)`", row):
            import_module(f"facula.vision.{name}")
