import re
from pathlib import Path

import pytest

from facula import cli
from tools import readme as table

ROOT = Path(__file__).parent.parent


@pytest.fixture(params=["README.md", "README.zh.md"])
def readme(request):
    """The text of the README in each language."""
    return (ROOT / request.param).read_text()


@pytest.mark.promise("U1")
def test_every_make_command_of_the_readme_is_a_target(readme):
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    commands = set(re.findall(r"(?:`|    )make (\w+)", readme))
    assert {"demo", "test"} <= commands <= targets


def test_every_facula_command_of_the_readme_runs(readme, capsys):
    commands = set(re.findall(r"`facula (\w+)`", readme))
    assert commands
    for command in commands:
        cli.main([command])
        assert capsys.readouterr().out


def test_every_link_of_the_readme_leads_to_a_file(readme):
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", readme)
    assert links
    for link in links:
        assert (ROOT / link).exists(), link


def test_the_example_of_the_readme_runs(readme, capsys):
    (example,) = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    exec(compile(example, "README.md", "exec"), {})
    assert capsys.readouterr().out


def test_the_measured_table_is_that_of_the_benchmarks(readme):
    benchmarks = (ROOT / "docs" / "benchmarks.md").read_text()
    assert table.written(readme, benchmarks) == readme, "python -m tools.readme"
    assert len(re.findall(r"^\|.* \d+\.\d\dx \|$", readme, re.MULTILINE)) > 10


def test_a_row_that_is_no_longer_measured_is_told():
    with pytest.raises(ValueError, match="has no row 'add, 8 elements' in section ''"):
        table.table("# Benchmarks\n", "")
