"""Write a program and what the doctor says of it into every page of docs/doctor, in both languages.

The programs are those of tests/doctor/faulty, the shortest for each finding; the words are those of
a run. The tests compare the pages with another run, in all but numbers.

    python -m tools.findings
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import runpy
import shutil
import sys
import tempfile
import textwrap
import warnings
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

from facula import doctor
from facula.doctor._checks import CHECKS
from facula.doctor._checks.data import SlowLoading
from tools import twins

ROOT = Path(__file__).parent.parent
PAGES = ROOT / "docs" / "doctor"
_MARK = re.compile(r"  # finds ([F\d, ]+)$", re.MULTILINE)
_TITLES = "## A program, and what the doctor says", "## 一个程序与诊断工具的报告"
# What stands between the words of a page and its last line, which leads elsewhere.
_SECTION = re.compile(
    rf"\n(?:{'|'.join(map(re.escape, _TITLES))})\n.*?(?=\n[^\n]*\]\(\.\./doctor(?:\.zh)?\.md\)\n)",
    re.DOTALL,
)


def program_of(id: str) -> Path:
    """The shortest program in which only this mistake is found.

    Args:
        id: the finding.
    """
    programs = (ROOT / "tests" / "doctor" / "faulty").glob("*.py")
    fitting = [p for p in programs if set(_MARK.findall(p.read_text())) == {id}]
    return min(fitting, key=lambda path: (len(path.read_text()), path.name))


def said_of(program: Path) -> str:
    """What the doctor says of a program, in lines that a page has room for.

    Args:
        program: the program.
    """
    with _elsewhere():
        shutil.copy(program, program.name)
        with (
            contextlib.redirect_stdout(io.StringIO()),
            mock.patch.object(SlowLoading, "least_s", 0.1),  # or the program would take minutes
            warnings.catch_warnings(),
            doctor.watch(tell=lambda finding: None) as watch,
        ):
            warnings.simplefilter("ignore")  # some mistakes have a warning as well
            runpy.run_path(program.name, run_name="__main__")
        lines = [line for finding in watch.findings for line in str(finding).splitlines()]
    return "\n".join(textwrap.fill(line, 100, subsequent_indent=" " * 8) for line in lines)


@contextlib.contextmanager
def _elsewhere() -> Iterator[None]:
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


def section_of(id: str) -> str:
    """A program and what the doctor says of it, as all languages show it.

    Args:
        id: the finding.
    """
    program = program_of(id)
    source = _MARK.sub("", program.read_text())
    return f"```python\n{source}```\n\n```text\n{said_of(program)}\n```\n"


def written(text: str, section: str, title: str = _TITLES[0]) -> str:
    """A page with its program and what the doctor says of it.

    Args:
        text: the page.
        section: the program and the words.
        title: the title above them.
    """
    words, _, footer = _SECTION.sub("", text).rstrip("\n").rpartition("\n")
    return f"{words.rstrip()}\n\n{title}\n\n{section}\n{footer}\n"


def main() -> int:
    """Write the pages, and mark those twins as up to date whose words were."""
    for check in CHECKS:
        page = PAGES / f"{check.id}.md"
        twin = twins.twin_of(page)
        is_up_to_date = twin.read_text().startswith(twins.first_line(page))
        section = section_of(check.id)
        for path, title in zip((page, twin), _TITLES, strict=True):
            path.write_text(written(path.read_text(), section, title))
        if is_up_to_date:
            twins.write_hash(twin)
    return 0


if __name__ == "__main__":
    sys.exit(main())
