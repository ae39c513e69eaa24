"""No extra of pyproject.toml brings a package that nothing here uses."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
PYPROJECT = (ROOT / "pyproject.toml").read_text()
# What stands for a package in a line that loads it, where that is not its name.
LOADED_AS = {
    "array-api-strict": "array_api_strict",
    "pillow": "PIL",
    "nvidia-cublas": "libcublasLt",
    "nvidia-cuda-nvrtc": "libnvrtc",
    "nvidia-cufft": "libcufft",
    "nvidia-cusolver": "libcusolver",
    "nvidia-cudnn-cu13": "libcudnn",
}


def extras():
    """By name of the extra, the packages that it brings itself."""
    (table,) = re.findall(r"\[project.optional-dependencies\]\n(.*?)\n\n", PYPROJECT, re.DOTALL)
    for line in table.splitlines():
        name, _, packages = line.partition(" = ")
        yield name, re.findall(r'"([\w-]+)[>=]', packages)


def test_every_package_of_an_extra_is_loaded_by_some_line():
    folders = [ROOT / name for name in ("facula", "tests", "benchmarks", "tools", "examples")]
    sources = [path.read_text() for folder in folders for path in folder.rglob("*.py")]
    opened = [path.read_text() for path in (ROOT / "core").rglob("*.cpp")]
    imports = "\n".join(re.findall(r"^\s*(?:import|from) .*", "\n".join(sources), re.MULTILINE))
    libraries = "\n".join(re.findall(r'(?:open_nvidia|library)\("\w+"', "\n".join(opened)))
    for extra, packages in extras():
        if extra != "lint":  # programs, which the Makefile runs
            names = [LOADED_AS.get(package, package) for package in packages]
            unused = [n for n in names if not re.search(rf"\b{n}\b", imports + libraries)]
            assert not unused, f"{extra}: {unused}"


def test_the_makefile_runs_every_package_of_the_extra_lint():
    makefile = (ROOT / "Makefile").read_text()
    assert [p for p in dict(extras())["lint"] if f".venv/bin/{p}" not in makefile] == []
