"""The suite needs PyTorch beside Facula; without it there is nothing to collect.

``open_differences.txt`` lists the tests that still find a difference. They run, and are expected to
fail: one that passes fails the suite until its line is removed. Lines that begin with ``?`` are
tests over random programs or uninitialised memory, which may pass by chance.
"""

from importlib.util import find_spec
from pathlib import Path

import pytest

collect_ignore_glob = [] if find_spec("torch") else ["*.py"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    lines = Path(__file__).with_name("open_differences.txt").read_text().splitlines()
    is_strict = {line.lstrip("?"): not line.startswith("?") for line in lines}
    for item in items:
        name = item.nodeid.split("tests/parity/")[-1]
        if name in is_strict:
            mark = pytest.mark.xfail(strict=is_strict[name], reason="differs from PyTorch so far")
            item.add_marker(mark)
