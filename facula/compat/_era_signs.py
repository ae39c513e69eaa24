"""Which programs are of the years of PyTorch 0.1 to 0.4, told by their source."""

from __future__ import annotations

import os
import re

# What no later program says: it was removed, or is a syntax error by now.
_SURE = re.compile(
    r"\bvolatile\s*=|\bretain_variables\b|\basync\s*=\s*(?:True|False)\b|\btorch\.legacy\b"
    r"|\btorch\.utils\.trainer\b|\btorch\.(?:gesv|potr[fis]|pstrf|btrifact|trtrs|gels)\b"
)
# What can still be said, but hardly is.
_LIKELY = re.compile(
    r"\bVariable\s*\(|\.data\s*\[\s*0\s*\]|\.creator\b|\bprevious_functions\b|\bdata_tensor\b"
)
# What came with 0.4, as Variable went: where it stands beside Variable, the latter is a habit.
_LATER = re.compile(
    r"\.item\s*\(|\bno_grad\b|\btorch\.device\b|\btorch\.tensor\b|\.to\s*\(|\binference_mode\b"
)
_IMPORTS = re.compile(r"^[ \t]*(?:from|import)[ \t]+([A-Za-z_][\w.]*)", re.MULTILINE)
_TORCH = re.compile(r"^[ \t]*(?:from|import)[ \t]+torch\b", re.MULTILINE)
_MAX_FILES = 50


def era_of(source: str, folder: str | None = None) -> str | None:
    """The version whose rules a program was written for; None for those of today.

    Args:
        source: the text of the program.
        folder: where the program's own modules are, which are looked at too.
    """
    texts = [text for text in _texts(source, folder) if _TORCH.search(text)]
    if any(map(_SURE.search, texts)):
        return "0.3"
    is_later = any(map(_LATER.search, texts))
    return "0.3" if any(map(_LIKELY.search, texts)) and not is_later else None


def _texts(source: str, folder: str | None) -> list[str]:
    """The program and those of its own modules that it imports, each once."""
    texts, seen, position = [source], {""}, 0
    while folder is not None and position < len(texts) < _MAX_FILES:
        for name in _IMPORTS.findall(texts[position]):
            path = os.path.join(folder, *name.split("."))
            for file in (path + ".py", os.path.join(path, "__init__.py")):
                if file not in seen and os.path.isfile(file):
                    seen.add(file)
                    with open(file, encoding="utf-8", errors="replace") as stream:
                        texts.append(stream.read())
        position += 1
    return texts
