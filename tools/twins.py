"""Compare the pages that people read with their twins in Chinese, ``NAME.zh.md``.

Pages that programs write have none: tools/chinese.py makes their Chinese for the site.

The first line of a twin says which text of its source it was made from, by a hash. `make lint`
fails where a page has no twin, where the source has changed since, and where the programs differ in
more than comments. When a twin has been brought up to date, this writes the new hash into it:

    python tools/twins.py --written docs/learn/views.zh.md
"""

from __future__ import annotations

import hashlib
import io
import re
import sys
import tokenize
from pathlib import Path

ROOT = Path(__file__).parent.parent
# Pages of results; those of the API, in a folder of their own, are made as well.
MADE = ("benchmarks.md", "missing.md", "programs.md", "promises.md", "sweep.md")
_FIRST_LINE = re.compile(r"<!-- made from (\S+), ([0-9a-f]+) -->\n")
_PROGRAM = re.compile(r"^```(python[^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def sources(root: Path) -> list[Path]:
    """The pages that must have a twin."""
    docs = root / "docs"
    pages = sorted(root.glob("*.md"))
    pages += sorted(page for page in docs.glob("*.md") if page.name not in MADE)
    for folder in ("learn", "doctor"):
        pages += sorted((docs / folder).rglob("*.md"))
    return [page for page in pages if not page.name.endswith(".zh.md")]


def twin_of(source: Path) -> Path:
    """Where the twin of a page is."""
    return source.with_name(f"{source.stem}.zh.md")


def first_line(source: Path) -> str:
    """What a twin that was made from the page as it is begins with."""
    digest = hashlib.sha256(source.read_bytes()).hexdigest()[:16]
    return f"<!-- made from {source.name}, {digest} -->\n"


def problems(root: Path) -> list[str]:
    """Say what is wrong with the twins, a line for each."""
    found = []
    for source in sources(root):
        name, twin = source.relative_to(root), twin_of(source)
        if not twin.exists():
            found.append(f"{name} has no twin {twin.name}.")
            continue
        text = twin.read_text()
        if not text.startswith(first_line(source)):
            found.append(
                f"{name} has changed since {twin.name} was made from it. Bring the twin up to date,"
                f" then run tools/twins.py --written {twin.relative_to(root)}"
            )
        if _programs(source.read_text()) != _programs(text):
            found.append(f"{name} and {twin.name} have programs that differ in more than comments.")
    wanted = {twin_of(source) for source in sources(root)}
    for twin in sorted({*root.glob("*.zh.md"), *(root / "docs").rglob("*.zh.md")} - wanted):
        found.append(f"{twin.relative_to(root)} is the twin of a page that is not there.")
    return found


def _programs(text: str) -> list[tuple[str, list[str]]]:
    """The marks of the programs in a page, and their tokens without comments."""
    return [(mark, _tokens(program)) for mark, program in _PROGRAM.findall(text)]


def _tokens(program: str) -> list[str]:
    tokens = tokenize.generate_tokens(io.StringIO(program).readline)
    return [t.string for t in tokens if t.type not in (tokenize.COMMENT, tokenize.NL)]


def write_hash(twin: Path) -> None:
    """Mark a twin as made from its source as it is now."""
    source = twin.with_name(twin.name.removesuffix(".zh.md") + ".md")
    text = _FIRST_LINE.sub("", twin.read_text(), count=1).lstrip()
    # Without the empty line between them, the site takes a title for a part of the comment.
    twin.write_text(f"{first_line(source)}\n{text}")


def main(arguments: list[str]) -> int:
    """Compare all pages; with ``--written``, mark the twins that are named first."""
    for name in arguments[1:] if arguments[:1] == ["--written"] else []:
        write_hash(Path(name))
    found = problems(ROOT)
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
