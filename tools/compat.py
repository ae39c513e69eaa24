"""Writes the tables of docs/compat.md: what PyTorch has and Facula has not, with a way out."""

import re
from pathlib import Path

from facula.compat._refusals import REFUSALS

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "compat.md"

# What a line of the page begins with, from which on it is made here.
_HEAD = "| names | why | instead |\n"
_CALLED = """
These can be imported, since programs import more than they use. They say what is missing when they
are called.

| module | names |
| --- | --- |
"""


def refusing_names(package: Path = ROOT / "facula") -> dict[str, list[str]]:
    """The public names that refuse to be called, by module, as the sources declare them.

    Args:
        package: the folder of the package.
    """
    declared = re.compile(r'\brefusing(?:_class)?\(\s*"(torch[\w.]*)"')
    names = {name for file in package.rglob("*.py") for name in declared.findall(file.read_text())}
    modules: dict[str, list[str]] = {}
    for name in sorted(names):
        module, _, own = name.rpartition(".")
        if "._" not in name:
            modules.setdefault(module, []).append(own)
    return modules


def render() -> str:
    """The page, whose text above the tables is written by hand."""
    text = PAGE.read_text().partition(_HEAD)[0] + _HEAD + "| --- | --- | --- |\n"
    for row in REFUSALS:
        text += f"| {_code(row.names)} | {row.reason} | {row.way_out} |\n"
    text += _CALLED
    for module, names in refusing_names().items():
        text += f"| `{module}` | {_code(names)} |\n"
    return text


def _code(names: tuple[str, ...] | list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


if __name__ == "__main__":
    PAGE.write_text(render())
