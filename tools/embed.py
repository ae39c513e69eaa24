"""Writes files as string constants of a C++ source: embed.py ROOT OUTPUT FILE..."""

import sys
from pathlib import Path

# Compilers need take no longer literals than this.
MAX_LITERAL = 8000


def literal(text: str) -> str:
    """Raw string literals that the compiler joins to the text."""
    pieces = [text[i : i + MAX_LITERAL] for i in range(0, len(text), MAX_LITERAL)]
    return "\n".join(f'R"~~~({piece})~~~"' for piece in pieces)


def main() -> None:
    """The command."""
    root, output, *paths = (Path(argument) for argument in sys.argv[1:])
    entries = [
        f'{{"{path.relative_to(root).as_posix()}",\n{literal(path.read_text())}}},\n'
        for path in paths
    ]
    output.write_text(
        '#include "cuda/program.h"\n\n'
        "namespace facula::cuda {\n\n"
        f"const KernelSource kKernelSources[] = {{\n{''.join(entries)}}};\n"
        f"const int kNumKernelSources = {len(entries)};\n\n"
        "}  // namespace facula::cuda\n"
    )


if __name__ == "__main__":
    main()
