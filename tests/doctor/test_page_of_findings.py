"""``docs/doctor.md`` has a section for every finding, with wrong code and right code."""

import ast
import re
import textwrap
from pathlib import Path

import pytest

from facula.doctor._checks import CHECKS

PAGE = (Path(__file__).parents[2] / "docs" / "doctor.md").read_text()
SECTIONS = re.findall(r"^### (F\d+): (.+)\n((?:(?!^##).*\n)*)", PAGE, re.MULTILINE)


def test_every_check_has_its_section_in_order():
    assert [(id, title) for id, title, _ in SECTIONS] == [(c.id, c.title) for c in CHECKS]


@pytest.mark.parametrize("id, text", [(id, text) for id, _, text in SECTIONS])
def test_a_section_says_why_and_shows_both_ways(id, text):
    why, _, code = text.partition("```python\n")
    code = code.removesuffix("\n").removesuffix("```\n").removesuffix("```")
    assert why.strip().endswith(".")
    assert "# wrong" in code and "# right" in code
    ast.parse("def f():\n" + textwrap.indent(code, "    "))  # some have a return
