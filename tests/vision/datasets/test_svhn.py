import importlib.util

import pytest
import vision_files as files

from facula.vision import datasets

pytestmark = pytest.mark.promise("D3")


def test_missing_packages_are_told_with_the_command(tmp_path, any_hash, monkeypatch):
    files.svhn(tmp_path)
    monkeypatch.setitem(importlib.import_module("sys").modules, "scipy.io", None)
    with pytest.raises(ImportError, match=r"SciPy is needed here .* pip install scipy\."):
        datasets.SVHN(tmp_path)
