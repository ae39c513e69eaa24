"""docs/api is what tools/api.py makes of the docstrings, and its links lead somewhere."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def api():
    spec = importlib.util.spec_from_file_location("api", ROOT / "tools" / "api.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def pages():
    # In a process of its own: pytest imports some files a second time, for their examples.
    program = "import api, json, sys; json.dump(api.make_pages(), sys.stdout)"
    path = os.pathsep.join([str(ROOT / "tools"), *sys.path])
    env = {**os.environ, "PYTHONPATH": path}
    command = [sys.executable, "-c", program]
    return json.loads(subprocess.check_output(command, env=env, text=True))


def test_the_pages_are_those_that_make_docs_writes(pages):
    committed = {path.name: path.read_text() for path in (ROOT / "docs" / "api").glob("*.md")}
    assert sorted(committed) == sorted(pages), "run `make docs`"
    changed = [name for name in pages if committed[name] != pages[name]]
    assert not changed, f"run `make docs`: {changed} are not what the docstrings say"


def anchors(api, text):
    taken = {}
    plain = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    return {api.slug(heading, taken) for heading in re.findall(r"^#+ (.+)$", plain, re.MULTILINE)}


def test_links_lead_to_headings_and_files(api, pages):
    known = {name: anchors(api, text) for name, text in pages.items()}
    broken = []
    for name, text in pages.items():
        plain = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
        for target in re.findall(r"\]\(([^)\s]+)\)", plain):
            file, _, anchor = target.partition("#")
            if file.startswith("../../"):
                is_there = (ROOT / file.removeprefix("../../")).is_file()
            else:
                is_there = not anchor or anchor in known.get(file or name, ())
            if not is_there and not target.startswith("http"):
                broken.append(f"{name}: {target}")
    assert not broken, broken[:20]


def test_a_docstring_becomes_sections(api):
    text = """Adds ``a`` to :func:`facula.add`.

    Args:
        a: the first, which is
            long.
        b, c: others.

    Shape:
        input ``(N,)``; result
        ``()``.

    Example:
        >>> 1 + 1
        2
    """
    writer = api.Writer({"facula.add": ("facula", "add")}, "facula.nn")
    assert writer.sections(api.inspect.cleandoc(text)) == [
        "Adds `a` to [`facula.add`](facula.md#add).",
        "Args:",
        "- `a`: the first, which is long.\n- `b`, `c`: others.",
        "Shape: input `(N,)`; result `()`.",
        "```python\n>>> 1 + 1\n2\n```",
    ]


def test_an_argument_of_two_lines_is_one_item(api):
    text = "Text.\n\nArgs:\n    a: the first, which is\n        long."
    assert api.Writer({}, "").sections(text) == [
        "Text.",
        "Args:",
        "- `a`: the first, which is long.",
    ]


def test_an_indented_paragraph_is_a_program(api):
    text = "Read it so::\n\n    x = read()\n    x.sum()"
    assert api.Writer({}, "").sections(text) == [
        "Read it so:",
        "```python\nx = read()\nx.sum()\n```",
    ]


def test_signatures_show_types_and_defaults(api):
    import facula

    assert api.signatures("exp", facula.exp) == [
        "exp(input: Tensor, *, out: Tensor | None = None) -> Tensor"
    ]
    assert api.signatures("relu", facula.nn.functional.relu) == [
        "relu(input: Tensor, inplace: bool = False) -> Tensor"
    ]
