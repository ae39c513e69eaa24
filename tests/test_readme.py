import re
from pathlib import Path

import pytest

from facula import cli

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


@pytest.mark.promise("U1")
def test_every_make_command_of_the_readme_is_a_target():
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    commands = set(re.findall(r"(?:`|    )make (\w+)", README))
    assert {"demo", "test"} <= commands <= targets


def test_every_facula_command_of_the_readme_runs(capsys):
    commands = set(re.findall(r"`facula (\w+)`", README))
    assert commands
    for command in commands:
        cli.main([command])
        assert capsys.readouterr().out


def test_every_link_of_the_readme_leads_to_a_file():
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", README)
    assert links
    for link in links:
        assert (ROOT / link).exists(), link


def test_the_example_of_the_readme_runs(capsys):
    (example,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    exec(compile(example, "README.md", "exec"), {})
    assert capsys.readouterr().out
