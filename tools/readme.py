"""Bring the measured table of both READMEs up to date with docs/benchmarks.md.

`make bench` runs this at its end, and the tests compare.

    python -m tools.readme
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from tools import twins

ROOT = Path(__file__).parent.parent
# The rows, by the section of the page; some are slower than PyTorch, and stay.
_ROWS = {
    "": [
        "add, 8 elements",
        "MLP step, 64x1000-100-10",
        "CNN step, 64x28x28",
        "LSTM language model step",
        "ResNet-18 step, 8x224x224",
        "GPT step, 4x256 tokens, 65 characters",
        "AdamW step, 6 small parameters",
        "matmul, 1024x1024, bfloat16",
        "loader: JPEG images, 2 processes",
        "import",
        "installed size",
    ],
    "AVX2": ["CNN step, 64x28x28", "ResNet-18 step, 8x224x224"],
    "CUDA": ["cuda: ResNet-50 step, 128", "cuda: GPT-2 124M step, 16x1024"],
}
_TABLE = re.compile(r"^\| [^\n]*\| Facula \|.*?\n\n", re.MULTILINE | re.DOTALL)


def table(benchmarks: str, heading: str) -> str:
    """The rows of a README.

    Args:
        benchmarks: the page of all measurements.
        heading: what the first column is called.
    """
    lines = [f"| {heading} | Facula | PyTorch | |", "| --- | ---: | ---: | ---: |"]
    for section, names in _ROWS.items():
        _, _, part = benchmarks.partition(f"\n## {section}\n") if section else ("", "", benchmarks)
        part = part.partition("\n## ")[0]
        for name in names:
            row = re.search(rf"^\| {re.escape(name)} +\|([^|]*)\|([^|]*)\|([^|]*)\|", part, re.M)
            if row is None:
                raise ValueError(f"docs/benchmarks.md has no row {name!r} in section {section!r}.")
            label = f"AVX2: {name}" if section == "AVX2" else name
            lines.append(f"| {label} | {' | '.join(cell.strip() for cell in row.groups())} |")
    return "\n".join(lines) + "\n\n"


def written(text: str, benchmarks: str) -> str:
    """A README with the rows of the measurements.

    Args:
        text: the README.
        benchmarks: the page of all measurements.
    """
    old = _TABLE.search(text)
    if old is None:
        raise ValueError("The README has no table with a column Facula.")
    heading = old[0].split("|")[1].strip()
    return text[: old.start()] + table(benchmarks, heading) + text[old.end() :]


def main() -> int:
    """Write both READMEs; the twin stays a twin if it was one."""
    benchmarks = (ROOT / "docs" / "benchmarks.md").read_text()
    source = ROOT / "README.md"
    twin = twins.twin_of(source)
    was_up_to_date = twin.read_text().startswith(twins.first_line(source))
    for path in (source, twin):
        path.write_text(written(path.read_text(), benchmarks))
    if was_up_to_date:
        twins.write_hash(twin)
    return 0


if __name__ == "__main__":
    sys.exit(main())
