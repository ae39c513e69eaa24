"""``docs/doctor`` has a page for every finding, with wrong code and right code."""

import ast
import re
import textwrap
from pathlib import Path

import pytest

from facula.doctor._checks import CHECKS
from tools import findings, twins

DOCS = Path(__file__).parents[2] / "docs"
INDEX = (DOCS / "doctor.md").read_text()
INDEX_IN_CHINESE = (DOCS / "doctor.zh.md").read_text()
LEARN = [page for page in (DOCS / "learn").rglob("*.md") if not page.name.endswith(".zh.md")]


def test_the_index_lists_every_check_in_order():
    listed = re.findall(r"^- \[(F\d+)\]\(doctor/\1\.md\): (.+)$", INDEX, re.MULTILINE)
    assert listed == [(check.id, check.title) for check in CHECKS]
    ids = {check.id for check in CHECKS}
    names = {page.name for page in (DOCS / "doctor").iterdir()}
    assert names == {f"{id}.md" for id in ids} | {f"{id}.zh.md" for id in ids}


def test_the_chinese_index_has_the_titles_of_the_chinese_pages():
    listed = re.findall(
        r"^- \[(F\d+)\]\(doctor/\1\.zh\.md\)\N{FULLWIDTH COLON}(.+)$",
        INDEX_IN_CHINESE,
        re.MULTILINE,
    )
    assert [id for id, _ in listed] == [check.id for check in CHECKS]
    for id, title in listed:
        text = (DOCS / "doctor" / f"{id}.zh.md").read_text()
        assert f"\n# {id}\N{FULLWIDTH COLON}{title}\n" in text


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.id)
def test_a_chinese_page_shows_what_its_source_shows(check):
    page = DOCS / "doctor" / f"{check.id}.md"
    text, twin = page.read_text(), twins.twin_of(page).read_text()
    blocks = re.compile(r"^```text\n.*?^```$", re.MULTILINE | re.DOTALL)
    assert blocks.findall(twin) == blocks.findall(text)
    assert "# 错误" in twin and "# 正确" in twin
    links = re.findall(r"\]\(([\w./-]+)\.md\)", text)
    assert re.findall(r"\]\(([\w./-]+)\.zh\.md\)", twin) == links


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
    assert without_numbers(
        findings.written(text, findings.section_of(check.id))
    ) == without_numbers(text)
