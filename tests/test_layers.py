"""The folders of ``core/`` are layers: each includes only itself and those before it."""

import re
from pathlib import Path

CORE = Path(__file__).parent.parent / "core"
LAYERS = (
    "base",
    "random",
    "tensor",
    "autograd",
    "math",
    "tables",
    "walk",
    "cpu",
    "products",
    "cuda",
    "bind",
    "ops",
    "python",
)
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def includes():
    for path in CORE.rglob("*"):
        if path.suffix in (".h", ".cpp", ".cc", ".def"):
            for included in INCLUDE.findall(path.read_text()):
                yield path.relative_to(CORE), included


def test_every_folder_of_the_core_is_a_layer():
    assert {path.name for path in CORE.iterdir()} == set(LAYERS)


def test_no_include_leads_to_a_later_layer():
    backward = [
        f"{path} includes {included}"
        for path, included in includes()
        if LAYERS.index(included.split("/")[0]) > LAYERS.index(path.parts[0])
    ]
    assert backward == []


def test_includes_are_written_from_the_root_of_the_core():
    assert [f"{p}: {name}" for p, name in includes() if not (CORE / name).is_file()] == []
