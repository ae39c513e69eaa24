"""Source texts that today's Python does not read: ``async=`` became a keyword in 3.7."""

from __future__ import annotations

import io
import itertools
import re
import tokenize
from types import CodeType
from typing import Any

from facula._notes import note

_PRINT = re.compile(r"print\s*['\"\w]|print\s*$")


def compiled(source: bytes | str, filename: Any) -> CodeType:
    """The code of a program, with ``async=`` read as ``non_blocking=``.

    Args:
        source: the text.
        filename: where it is from, for messages.

    Raises:
        SyntaxError: if it is not Python 3 for another reason, which is said of print statements.
    """
    try:
        return _compile(source, filename)
    except SyntaxError as error:
        text = _text(source)
        if _PRINT.match((error.text or "").strip()):
            error.msg = (
                "this is a program for Python 2, whose print is no function. Convert it first, "
                "with the tool 2to3 for example"
            )
            raise
        if "async" not in text:
            raise
        renamed, row = _with_non_blocking(text)
        if not row:
            raise
    code = _compile(renamed, filename)
    note("async= is an older form of non_blocking=.", place=(str(filename), row))
    return code


def _compile(source: bytes | str, filename: Any) -> CodeType:
    code: CodeType = compile(source, filename, "exec", dont_inherit=True)
    return code


def _text(source: bytes | str) -> str:
    if isinstance(source, str):
        return source
    encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
    return io.TextIOWrapper(io.BytesIO(source), encoding).read()


def _with_non_blocking(text: str) -> tuple[str, int]:
    """The text with every name ``async`` before a single ``=`` replaced, and the first's row."""
    row = 0
    lines = text.splitlines(keepends=True)
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    for token, after in reversed(list(itertools.pairwise(tokens))):
        if token.string == "async" and after.string == "=":
            row, column = token.start
            line = lines[row - 1]
            lines[row - 1] = line[:column] + "non_blocking" + line[column + len("async") :]
    return "".join(lines), row
