import re

import pytest

from facula.doctor._checks import CHECKS
from tools import learn


def page(*blocks):
    return "\n".join(f"```{block}\n```\n" for block in blocks)


@pytest.mark.promise("U8")
@pytest.mark.parametrize("path", learn.pages(), ids=lambda path: path.name)
def test_the_programs_of_a_page_print_what_it_shows(path):
    assert not "\n".join(learn.differences(path.read_text(), path.name))


@pytest.mark.parametrize("path", learn.pages(), ids=lambda path: path.name)
def test_every_link_of_a_page_leads_to_a_file_and_a_title(path):
    for link, anchor in re.findall(r"\]\((?!https?:)([^)#]+)#?([^)]*)\)", path.read_text()):
        target = path.parent / link
        assert target.exists(), link
        titles = (
            re.findall(r"^#+ (.*)$", target.read_text().lower(), re.MULTILINE) if anchor else []
        )
        anchors = {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in titles}
        assert not anchor or anchor in anchors, anchor


def test_every_finding_that_a_page_names_is_one_of_the_doctor():
    ids = {check.id for check in CHECKS}
    for path in learn.pages():
        assert set(re.findall(r"\bF\d{3}\b", path.read_text())) <= ids, path.name


def test_blocks_share_their_names():
    assert not learn.differences(page("python\nx = 1", "python\nprint(x)", "text\n1"), "page")


def test_another_output_is_reported_with_its_line():
    (found,) = learn.differences("# Title\n\n" + page("python\nprint(1)", "text\n2"), "page")
    assert found == "page, the block at line 3:\n--- shown\n+++ printed\n@@ -1 +1 @@\n-2\n+1"


def test_output_that_is_not_shown_is_reported():
    assert learn.differences(page("python\nprint(1)"), "page")


def test_space_at_the_ends_of_lines_does_not_count():
    assert not learn.differences(page("python\nprint('a  ')", "text\na"), "page")


def test_an_exception_is_shown_with_its_type():
    text = page("python raises=ValueError\nraise ValueError('no')", "text\nValueError: no")
    assert not learn.differences(text, "page")


def test_an_exception_that_is_not_announced_ends_the_page():
    with pytest.raises(ValueError, match="no"):
        learn.differences(page("python raises=TypeError\nraise ValueError('no')"), "page")


def test_an_announced_exception_must_come():
    with pytest.raises(AssertionError, match=r"program1.py raised no ValueError"):
        learn.differences(page("python raises=ValueError\nx = 1"), "page")


def test_writing_replaces_what_is_shown_and_nothing_else():
    before = page("python\nprint(1)", "text\nold") + "\nwords\n\n" + page("python\nprint(2)")
    after = (
        page("python\nprint(1)", "text\n1") + "\nwords\n\n" + page("python\nprint(2)", "text\n2")
    )
    assert learn.written(before) == after
    assert learn.written(after) == after


def test_programs_run_in_a_folder_that_is_gone_afterwards(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    learn.differences(page("python\nopen('left', 'w').close()"), "page")
    assert not list(tmp_path.iterdir())
