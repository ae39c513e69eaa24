import re
import subprocess
import sys
from pathlib import Path

import pytest

import facula
import facula._core


@pytest.mark.promise("U6")
def test_import_loads_nothing_heavy():
    code = "import sys, facula; print(sorted({'numpy', 'PIL', 'scipy', 'tqdm'} & set(sys.modules)))"
    output = subprocess.check_output([sys.executable, "-c", code], text=True)
    assert output.strip() == "[]"


@pytest.mark.promise("U6")
def test_installed_package_is_under_60_mb():
    folders = {Path(module.__file__).parent for module in (facula, facula._core)}
    files = [f for folder in folders for f in folder.rglob("*") if f.is_file()]
    assert sum(f.stat().st_size for f in files) < 60e6


def test_version_is_the_packages():
    pyproject = (Path(__file__).parent.parent / "pyproject.toml").read_text()
    (version,) = re.findall(r'^version = "(.*)"$', pyproject, re.MULTILINE)
    assert facula.__version__ == version
