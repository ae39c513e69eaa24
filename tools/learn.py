"""Run the programs in the pages of docs/learn, and compare what they print with the pages.

The blocks of a page that begin with ```` ```python ```` are one program, run in order. A block of
```` ```text ```` right below one of them is what it prints. ```` ```python raises=RuntimeError ````
marks a block that must end with that exception, whose type and message end what is shown below it.

    python tools/learn.py --write    # writes what the programs print into the pages
"""

from __future__ import annotations

import contextlib
import difflib
import io
import linecache
import os
import re
import sys
import tempfile
import textwrap
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent
_BLOCK = re.compile(
    r"^```python(?: raises=(?P<raises>\w+))?\n(?P<source>.*?)^```\n"
    r"(?:\n```text\n(?P<shown>.*?)^```\n)?",
    re.MULTILINE | re.DOTALL,
)


class Result(NamedTuple):
    """What a block did.

    Args:
        block: the block in the text of its page.
        printed: what it printed, and the exception that it ended with.
    """

    block: re.Match[str]
    printed: str


def pages() -> list[Path]:
    """The pages whose programs are run, in both languages."""
    return sorted((ROOT / "docs" / "learn").rglob("*.md"))


def run(text: str) -> Iterator[Result]:
    """Run the blocks of a page in one namespace, in an empty folder."""
    program = types.ModuleType("__main__")
    with tempfile.TemporaryDirectory() as folder, _as_main(program, folder):
        for number, block in enumerate(_BLOCK.finditer(text), 1):
            file = f"program{number}.py"
            # Messages quote lines of the program, which are looked up here.
            lines = block["source"].splitlines(keepends=True)
            linecache.cache[file] = (len(block["source"]), None, lines, file)
            yield Result(
                block, _printed_by(block, compile(block["source"], file, "exec"), vars(program))
            )


@contextlib.contextmanager
def _as_main(program: types.ModuleType, folder: str) -> Iterator[None]:
    before = os.getcwd(), sys.modules["__main__"]
    os.chdir(folder)
    sys.modules["__main__"] = program  # where pickle looks for the classes of the page
    try:
        yield
    finally:
        os.chdir(before[0])
        sys.modules["__main__"] = before[1]


def _printed_by(block: re.Match[str], code: Any, namespace: dict[str, Any]) -> str:
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        try:
            exec(code, namespace)
        except Exception as error:
            if type(error).__name__ != block["raises"]:
                raise
            print(_told(error))
        else:
            if block["raises"]:
                raise AssertionError(f"{code.co_filename} raised no {block['raises']}.")
    return "".join(line.rstrip() + "\n" for line in output.getvalue().splitlines())


def _told(error: Exception) -> str:
    """The end of a traceback, in lines that a page has room for."""
    said = [f"{type(error).__name__}: {error}", *getattr(error, "__notes__", [])]
    lines = "\n".join(said).splitlines()
    return "\n".join(textwrap.fill(line, 100, break_on_hyphens=False) for line in lines)


def differences(text: str, name: str) -> list[str]:
    """Say where a page shows something else than its programs print.

    Args:
        text: the page.
        name: what the report calls it.
    """
    found = []
    for block, printed in run(text):
        shown = "".join(line.rstrip() + "\n" for line in (block["shown"] or "").splitlines())
        if shown != printed:
            line = text[: block.start()].count("\n") + 1
            diff = difflib.unified_diff(
                shown.splitlines(), printed.splitlines(), "shown", "printed", lineterm=""
            )
            found.append(f"{name}, the block at line {line}:\n" + "\n".join(diff))
    return found


def written(text: str) -> str:
    """The page with what its programs print."""
    parts, end = [], 0
    for block, printed in run(text):
        tail = f"\n```text\n{printed}```\n" if printed else ""
        fence = block[0][: block.end("source") - block.start()] + "```\n"
        parts += [text[end : block.start()], fence, tail]
        end = block.end()
    return "".join([*parts, text[end:]])


def main(arguments: list[str]) -> int:
    """Compare the pages, or write them with ``--write``; more arguments name pages."""
    chosen = [Path(a).resolve() for a in arguments if a != "--write"] or pages()
    found = []
    for path in chosen:
        text = path.read_text()
        if "--write" in arguments:
            path.write_text(written(text))
        else:
            found += differences(text, path.name)
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
