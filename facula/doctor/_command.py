"""``facula doctor``: runs a program under a watch, and says at the end what was found."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import NoReturn

from facula.compat import _launch
from facula.doctor._finding import Finding
from facula.doctor._page import page
from facula.doctor._watch import Watch

USAGE = """usage: facula doctor [options] (SCRIPT | -m MODULE | -c CODE | -) ...

Runs a program as facula run does, and tells of mistakes that spoil a training without an error,
each as soon as it is seen. What follows the program is for the program.

  --ignore ID    do not tell of these findings: F101, or F101:train.py:12 for one line
  --strict       end with exit status 1 if anything was found
  --json FILE    write the findings as JSON, - for standard output
  --page FILE    write them as a page of HTML, with the lines concerned
  --era, --report    as for facula run
"""


class _Options:
    """What the command line says to the doctor, and what it says to ``facula run``."""

    def __init__(self, argv: list[str]) -> None:
        self.values: dict[str, list[str]] = {"--ignore": [], "--json": [], "--page": []}
        self.is_strict = False
        run: list[str] = []
        rest = list(argv)
        while rest and rest[0].startswith("--"):
            name, equals, value = rest.pop(0).partition("=")
            if name == "--help":
                print(USAGE, end="")
                sys.exit()
            elif name == "--strict" and not equals:
                self.is_strict = True
            elif name == "--report" and not equals:
                run.append(name)
            elif name not in self.values and name != "--era":
                _stop(f"there is no option {name}.")
            elif not equals and not rest:
                _stop(f"{name} needs a value.")
            elif name == "--era":
                run.append(f"--era={value if equals else rest.pop(0)}")
            else:
                self.values[name].append(value if equals else rest.pop(0))
        if not rest and sys.stdin is not None and sys.stdin.isatty():
            _stop("name a program.")
        if rest and not rest[0].startswith("-") and not Path(rest[0]).exists():
            _stop(f"there is no file {rest[0]}.")
        self.rest = run + rest

    @property
    def ignored(self) -> list[str]:
        """The ids and places that are not to be told."""
        return [id for ids in self.values["--ignore"] for id in ids.split(",")]


def _stop(message: str) -> NoReturn:
    print(f"facula doctor: {message}\n\n{USAGE}", end="", file=sys.stderr)
    sys.exit(2)


def main(argv: list[str]) -> None:
    """Run a program under a watch, and end as it ends.

    Args:
        argv: what follows ``facula doctor`` on the command line.
    """
    options = _Options(argv)
    # The program may go to another folder.
    files = {
        (name, file): None if file == "-" else Path(file).absolute()
        for name in ("--json", "--page")
        for file in options.values[name]
    }
    watch = Watch(options.ignored)
    watch.start()
    try:
        _launch.main(options.rest)
    except SystemExit as end:
        if end.code not in (None, 0):
            raise
    finally:
        watch.stop()
        findings = watch.findings
        print(f"facula doctor: {_summary(findings)}.", file=sys.stderr)
        for (name, _), path in files.items():
            text = _as_json(findings) if name == "--json" else page(findings, sys.argv[0])
            if path is None:
                sys.stdout.write(text)
            else:
                path.write_text(text, encoding="utf-8")
    if options.is_strict and findings:
        sys.exit(1)


def _summary(findings: list[Finding]) -> str:
    if not findings:
        return "no findings"
    ids = ", ".join(sorted({finding.id for finding in findings}))
    return f"{len(findings)} finding{'s' if len(findings) > 1 else ''} ({ids})"


def _as_json(findings: list[Finding]) -> str:
    return json.dumps([finding.as_dict() for finding in findings], indent=1) + "\n"
