"""Print what the package and some of its extras need: ``python tools/extras.py demo test``.

pip itself would tell only after it has built the package, which takes minutes.
"""

import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    from pip._vendor import tomli as tomllib

PROJECT = tomllib.loads(Path("pyproject.toml").read_text())["project"]


def needed(extras: list[str]) -> list[str]:
    found: list[str] = []
    for extra in extras:
        for package in PROJECT["optional-dependencies"][extra]:
            ours, _, names = package.rstrip("]").partition("[")
            found += needed(names.split(",")) if ours == PROJECT["name"] else [package]
    return found


if __name__ == "__main__":
    print("\n".join(dict.fromkeys(PROJECT["dependencies"] + needed(sys.argv[1:]))))
