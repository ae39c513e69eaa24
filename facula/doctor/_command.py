"""``facula doctor``: runs a program under a watch, and says at the end what was found."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from facula.compat import _launch
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


def main(argv: list[str]) -> None:
    """Run a program under a watch, and end as it ends.

    Args:
        argv: what follows ``facula doctor`` on the command line.
    """
    values: dict[str, list[str]] = {"--ignore": [], "--json": [], "--page": []}
    is_strict = False
    rest = list(argv)
    while rest and rest[0].startswith("--"):
        name, equals, value = rest[0].partition("=")
        if name == "--help":
            print(USAGE, end="")
            return
        if name == "--strict" and not equals:
            is_strict = True
        elif name in values and (equals or len(rest) > 1):
            values[name] += [value if equals else rest.pop(1)]
        else:
            break  # an option of facula run, which complains of those that nobody knows
        rest.pop(0)
    watch = Watch([id for ids in values["--ignore"] for id in ids.split(",")])
    watch.start()
    try:
        _launch.main(rest)
    finally:
        watch.stop()
        findings = watch.findings
        ids = ", ".join(sorted({finding.id for finding in findings}))
        count = "1 finding" if len(findings) == 1 else f"{len(findings)} findings"
        summary = f"{count} ({ids})" if findings else "no findings"
        print(f"facula doctor: {summary}.", file=sys.stderr)
        for file in values["--json"]:
            text = json.dumps([finding.as_dict() for finding in findings], indent=1) + "\n"
            if file == "-":
                sys.stdout.write(text)
            else:
                Path(file).write_text(text)
        for file in values["--page"]:
            Path(file).write_text(page(findings, sys.argv[0]))
    if is_strict and findings:
        sys.exit(1)
