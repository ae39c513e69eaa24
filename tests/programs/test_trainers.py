"""Programs of today under ``facula run``: they print what they print under PyTorch 2.13.

``trainers/`` has the programs, ``trainers/expected/`` what PyTorch prints for the same seeds.
"""

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.promise("U2")

FOLDER = Path(__file__).parent / "trainers"
NUMBER = re.compile(r"-?\d+(?:\.\d*)?(?:e[-+]?\d+)?")


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.py")))
def test_a_program_prints_what_it_prints_under_pytorch(programs, name):
    done = programs.start(FOLDER / f"{name}.py")
    assert done.returncode == 0, done.stderr
    expected = (FOLDER / "expected" / f"{name}.txt").read_text()
    # Numbers of one digit more or less have another width in printed tensors.
    assert NUMBER.sub("#", done.stdout).split() == NUMBER.sub("#", expected).split()
    numbers = [[float(n) for n in NUMBER.findall(text)] for text in (done.stdout, expected)]
    assert numbers[0] == pytest.approx(numbers[1], rel=2e-3, abs=2e-4)
