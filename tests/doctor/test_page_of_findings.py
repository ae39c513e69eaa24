"""``docs/doctor`` has a page for every finding, with wrong code and right code."""

import ast
import re
import textwrap
from pathlib import Path

import pytest

from facula.doctor._checks import CHECKS
from tools import findings

DOCS = Path(__file__).parents[2] / "docs"
INDEX = (DOCS / "doctor.md").read_text()
LEARN = [page for page in (DOCS / "learn").rglob("*.md") if not page.name.endswith(".zh.md")]


def test_the_index_lists_every_check_in_order():
    listed = re.findall(r"^- \[(F\d+)\]\(doctor/\1\.md\): (.+)$", INDEX, re.MULTILINE)
    assert listed == [(check.id, check.title) for check in CHECKS]
    assert {page.stem for page in (DOCS / "doctor").iterdir()} == {check.id for check in CHECKS}


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.id)
def test_a_page_says_why_and_shows_both_ways(check):
    text = (DOCS / "doctor" / f"{check.id}.md").read_text()
    title, why, code = re.match(
        r"# ([^\n]*)\n\n(.*?)```python\n(.*?)```\n\n", text, re.DOTALL
    ).groups()
    assert title == f"{check.id}: {check.title}"
    assert why.strip().endswith(".")
    assert "# wrong" in code and "# right" in code
    ast.parse("def f():\n" + textwrap.indent(code, "    "))  # some have a return


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.id)
def test_a_page_leads_to_what_explains_it_and_back(check):
    text = (DOCS / "doctor" / f"{check.id}.md").read_text()
    links = set(re.findall(r"\]\(\.\./([\w/-]+\.md)\)", text))
    explains = {page for page in LEARN if re.search(rf"\b{check.id}\b", page.read_text())}
    assert links == {"doctor.md", *(page.relative_to(DOCS).as_posix() for page in explains)}


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.id)
def test_a_page_shows_a_program_and_what_the_doctor_says_of_it(check):
    text = (DOCS / "doctor" / f"{check.id}.md").read_text()

    def without_numbers(page):  # those of memory, time and rounding are others elsewhere
        return re.sub(r"\d+", "0", page)

    assert f": {check.id} " in text
    assert without_numbers(findings.written(text, check.id)) == without_numbers(text)
