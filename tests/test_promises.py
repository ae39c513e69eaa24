from tools import promises


def test_promises_page_is_what_make_docs_would_write():
    assert promises.PROMISES.read_text() == promises.render(), "run make docs"


def test_every_mark_names_a_promise_of_the_mission():
    assert set(promises.read_marks()) <= set(promises.read_promises())


def test_marks_of_modules_classes_and_functions_are_found(tmp_path):
    tests = tmp_path / "tests"
    tests.mkdir()
    (tests / "test_x.py").write_text(
        "import pytest\n"
        "pytestmark = [pytest.mark.promise('T1'), pytest.mark.cuda]\n"
        "@pytest.mark.promise('T2', 'T3')\n"
        "def test_a(): pass\n"
        "@pytest.mark.promise('A1')\n"
        "class TestB:\n"
        "    def test_c(self): pass\n"
    )
    assert promises.read_marks(tests) == {
        "T1": {"tests/test_x.py": ["test_a", "TestB::test_c"]},
        "T2": {"tests/test_x.py": ["test_a"]},
        "T3": {"tests/test_x.py": ["test_a"]},
        "A1": {"tests/test_x.py": ["TestB::test_c"]},
    }
