"""Whatever fuzzing found, read again by the readers without atheris."""

import pytest
from fuzz import fuzz_load

pytestmark = pytest.mark.promise("P3")


def test_every_file_of_the_corpus_loads_or_is_refused():
    files = sorted(fuzz_load.CORPUS.iterdir())
    assert len(files) > 100
    for path in files:
        try:
            fuzz_load.check(path.read_bytes())
        except Exception as error:
            pytest.fail(f"{path.name}: {error!r}")


def test_a_reader_that_raises_something_else_is_found():
    def read():
        raise KeyError("not told")

    with pytest.raises(KeyError):
        fuzz_load.attempt(read)
