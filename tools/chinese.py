"""Give the pages that programs write their Chinese, from the catalogue docs/chinese.po.

The API is made of docstrings, the pages of results of measurements and tests. Their twins are not
in the repository: `make site` puts them together from the catalogue, which has each sentence once,
with the first page that says it. `make lint` fails where a sentence has no Chinese or is in no
page, and where the code or the links of the two differ. After a change of the pages,

    python -m tools.chinese --update

adds what is new, without Chinese, and drops what is gone. A sentence that has only changed keeps
its old Chinese with the mark "fuzzy", which is for the translator to take away.
"""

from __future__ import annotations

import difflib
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import polib

from tools import twins

ROOT = Path(__file__).parent.parent
_PROGRAM = re.compile(r"^(```.*?^```)$", re.MULTILINE | re.DOTALL)
# What is between paragraphs, items of lists and rows of tables.
_BORDER = re.compile(r"(\A\n+|\n\s*\n|\n\Z|\n(?=- |\d+\. |\|))")
_CODE = r"`[^`]*`"
_LINK = r"\[[^]]*\]\([^)]*\)"
_QUANTITY = r"\b\d[\d.]* ?(?:ns|us|ms|s|x|MB|TB/s|TFLOP/s)(?!\w)"
_NOT_PROSE = re.compile(f"{_LINK}|{_CODE}|{_QUANTITY}")
# Headings of lower levels, and those that are the name of a module, are not prose.
_HEADING = re.compile(r"(#+ )(.*)")
_NAME = re.compile(r"[a-z_][\w.]*")
_ITEM = re.compile(rf"(- {_CODE}(?:, {_CODE})*(?=: )|- |\d+\. |)((?:: )?)(.*)", re.DOTALL)
_CHAPTER = re.compile(rf"(\*\*)([^*]+)(\*\*)(: )({_LINK}.*)", re.DOTALL)
# Sentences that differ only in their link are one in the catalogue.
_FRAME = re.compile(rf"(Defined in |)({_LINK})(\.| of this tensor\.| of this tensor in place\.)")
_METADATA = {"Language": "zh_CN", "Content-Type": "text/plain; charset=UTF-8"}
_N_SHOWN = 20


class Piece(NamedTuple):
    """A part of a page.

    Args:
        text: as it is in the page.
        message: its name in the catalogue; empty if it is the same in Chinese.
        link: what stands in place of the ``{}`` of the message.
        heading: the words of a heading, from which its anchor is made.
    """

    text: str
    message: str = ""
    link: str = ""
    heading: str = ""


def pages(root: Path) -> list[Path]:
    """The pages that programs write."""
    docs = root / "docs"
    results = [docs / name for name in twins.MADE]
    return [*sorted(docs.glob("api/*.md")), *(page for page in results if page.exists())]


def cut(page: str) -> Iterator[Piece]:
    """The pieces of a page; joined, they are the page."""
    for i, part in enumerate(_PROGRAM.split(page)):
        if i % 2:
            yield Piece(part)
            continue
        for j, block in enumerate(_BORDER.split(part)):
            yield from [Piece(block)] if j % 2 else _cut_block(block)


def _cut_block(block: str) -> Iterator[Piece]:
    """The pieces of a paragraph, an item, a row or a heading."""
    if block.startswith("|"):
        yield from map(_prose, re.split(r"(?<!\\)(\s*\|\s*)", block))
    elif heading := _HEADING.fullmatch(block):
        marks, words = heading.groups()
        is_name = len(marks) > 3 or _NAME.fullmatch(words)
        yield Piece(marks)
        yield (Piece(words) if is_name else _prose(words))._replace(heading=words)
    elif chapter := _CHAPTER.fullmatch(block):
        stars, title, _, colon, names = chapter.groups()
        yield from (Piece(stars), _prose(title), Piece(stars), Piece(colon, colon), Piece(names))
    elif item := _ITEM.fullmatch(block):
        names, colon, text = item.groups()
        yield from (Piece(names), Piece(colon, colon), _prose(text))


def _prose(text: str) -> Piece:
    """A piece that is a message, unless it has nothing but code, links and numbers."""
    if not re.search(r"[a-z]{2}", _NOT_PROSE.sub("", text)):
        return Piece(text)
    if frame := _FRAME.fullmatch(text):
        return Piece(text, f"{frame[1]}{{}}{frame[3]}", frame[2])
    return Piece(text, " ".join(text.split()))


def messages(page: str) -> list[str]:
    """What a page says, as the catalogue names it."""
    return [piece.message for piece in cut(page) if piece.message]


def translated(page: str, catalogue: dict[str, str]) -> str:
    """A page in Chinese, for the site. What the catalogue does not have stays English.

    Args:
        page: the text of the page.
        catalogue: the Chinese of the messages.
    """
    parts, n_headings = [], Counter[str]()
    for piece in cut(page):
        chinese = catalogue.get(piece.message, piece.text)
        parts.append(chinese.replace("{}", piece.link) if piece.link else chinese)
        if piece.heading:
            # Links have the anchor of the English heading, of which a second has a number.
            anchor = re.sub(r"[^\w\- ]", "", piece.heading.lower()).replace(" ", "-")
            number = f"_{n_headings[anchor]}" if n_headings[anchor] else ""
            n_headings[anchor] += 1
            parts.append(f" {{#{anchor}{number}}}" if chinese != piece.text else "")
    return "".join(parts)


# The catalogue.


def path_of(root: Path) -> Path:
    """Where the catalogue is."""
    return root / "docs" / "chinese.po"


def _entries(root: Path) -> dict[str, Any]:
    return {entry.msgid: entry for entry in polib.pofile(str(path_of(root)))}


def read(root: Path) -> dict[str, str]:
    """The Chinese of the messages that have it."""
    return {message: entry.msgstr for message, entry in _entries(root).items() if _is_done(entry)}


def _is_done(entry: Any) -> bool:
    return bool(entry.msgstr) and not entry.fuzzy


def wanted(root: Path) -> dict[str, str]:
    """The messages of all pages, each with the first page that has it."""
    found: dict[str, str] = {}
    for page in pages(root):
        for message in messages(page.read_text()):
            found.setdefault(message, page.relative_to(root / "docs").as_posix())
    return found


def update(root: Path) -> None:
    """Let the catalogue have the messages of the pages, in their order, and no others."""
    wants = wanted(root)
    old = _entries(root)
    gone = {message: entry for message, entry in old.items() if message not in wants}
    file = polib.POFile(wrapwidth=0)
    file.header = "Chinese of the pages that programs write, in the order of tools/chinese.py."
    file.metadata = _METADATA
    for message, page in wants.items():
        entry = old.get(message) or _new_entry(message, page, gone)
        entry.occurrences = [(page, "")]
        file.append(entry)
    file.save(str(path_of(root)))


def _new_entry(message: str, page: str, gone: dict[str, Any]) -> Any:
    """An entry with the Chinese of a message of the page that is gone and was much like it."""
    near = [old for old, entry in gone.items() if entry.occurrences == [(page, "")]]
    for old in difflib.get_close_matches(message, near, n=1, cutoff=0.7):
        chinese = gone.pop(old).msgstr
        return polib.POEntry(msgid=message, msgstr=chinese, previous_msgid=old, flags=["fuzzy"])
    return polib.POEntry(msgid=message)


def problems(root: Path) -> list[str]:
    """Say what is wrong with the catalogue, a line for each."""
    wants, entries = wanted(root), _entries(root)
    found = [f"No page says {message!r}." for message in entries if message not in wants]
    for message, page in wants.items():
        entry = entries.get(message)
        if entry is None or not _is_done(entry):
            found.append(f"{page}: {message!r} has no Chinese.")
        elif _kept(message) != _kept(entry.msgstr):
            found.append(f"{page}: {message!r} has other code or links than {entry.msgstr!r}.")
    return found


def _kept(text: str) -> list[str]:
    """What is the same in both languages, in any order."""
    return sorted(re.findall(rf"{_CODE}|(?<=\])\([^)]*\)|\{{\}}", text))


def main(arguments: list[str]) -> int:
    """Compare the pages with the catalogue; with ``--update``, bring it up to date first."""
    if arguments == ["--update"]:
        update(ROOT)
    found = problems(ROOT)
    for line in found[:_N_SHOWN]:
        print(line)
    if found:
        print(
            f"{len(found)} in all. `python -m tools.chinese --update` brings the catalogue up to "
            f"date; then write the Chinese into {path_of(ROOT).relative_to(ROOT)}, and remove the "
            "marks `fuzzy` where it is right."
        )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
