"""What the most common mistakes are told as: type, text, lines and the module, to the letter.

``golden/mistakes.txt`` was written by this file run as a program, and read by people.
"""

import re
import sys
import warnings
from pathlib import Path

import pytest
from common_mistakes import MISTAKES

import facula

GOLDEN = Path(__file__).parent / "golden" / "mistakes.txt"


def told(function):
    """The error as a user reads it, with the names of our test's lines in the place of numbers."""
    source = Path(function.__code__.co_filename)
    lines = source.read_text().splitlines()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            function()
        except Exception as error:
            notes = getattr(error, "__notes__", [])
            text = "\n".join([f"{type(error).__name__}: {error}", *notes])
        else:
            text = "no error"
    place = re.compile(re.escape(str(source)) + r":(\d+)")
    return place.sub(lambda match: f"«{lines[int(match[1]) - 1].strip()}»", text)


def expected():
    entries = GOLDEN.read_text().split("\n== ")[1:]
    return dict(entry.rstrip("\n").split("\n", 1) for entry in entries)


@pytest.mark.promise("U3")
@pytest.mark.parametrize("name", MISTAKES)
@pytest.mark.skipif(sys.version_info < (3, 11), reason="notes of errors need Python 3.11")
def test_the_error_says_what_is_wrong_and_what_to_do(name):
    if name == "no_gpu" and facula.cuda.is_available():
        pytest.skip("there is a GPU")
    assert told(MISTAKES[name]) == expected()[name]


if __name__ == "__main__":
    texts = [f"\n== {name}\n{told(function)}\n" for name, function in MISTAKES.items()]
    GOLDEN.write_text("Mistakes and what they are told as." + "".join(texts))
