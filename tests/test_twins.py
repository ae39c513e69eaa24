import pytest

from tools import twins

PAGE = "# Title\n\n```python\nx = 1  # one\n```\n"
TWIN = "# 标题\n\n```python\nx = 1  # 一\n```\n"


@pytest.fixture
def root(tmp_path):
    (tmp_path / "docs" / "learn").mkdir(parents=True)
    for page in [tmp_path / "README.md", tmp_path / "docs" / "learn" / "views.md"]:
        page.write_text(PAGE)
        twins.twin_of(page).write_text(TWIN)
        twins.write_hash(twins.twin_of(page))
    return tmp_path


@pytest.mark.promise("U8")
def test_every_page_has_a_twin_that_is_up_to_date():
    assert len(twins.sources(twins.ROOT)) > 20
    assert not twins.problems(twins.ROOT)


def test_twins_with_other_comments_agree(root):
    assert not twins.problems(root)


@pytest.mark.parametrize("page", ["doctor.md", "design.md", "doctor/F101.md", "learn/new.md"])
def test_a_page_without_a_twin_is_reported(root, page):
    path = root / "docs" / page
    path.parent.mkdir(exist_ok=True)
    path.write_text(PAGE)
    assert twins.problems(root) == [f"docs/{page} has no twin {path.stem}.zh.md."]


def test_a_twin_that_is_older_than_its_source_is_reported_until_it_is_marked(root):
    (root / "README.md").write_text(PAGE + "More.\n")
    (found,) = twins.problems(root)
    assert found.startswith("README.md has changed since README.zh.md was made from it.")
    twins.write_hash(root / "README.zh.md")
    assert not twins.problems(root)
    assert (root / "README.zh.md").read_text().count("made from") == 1


def test_a_program_that_differs_is_reported(root):
    twin = root / "README.zh.md"
    twin.write_text(twin.read_text().replace("x = 1", "x = 2"))
    assert twins.problems(root) == [
        "README.md and README.zh.md have programs that differ in more than comments."
    ]


def test_a_twin_without_its_page_is_reported(root):
    (root / "docs/learn/views.md").unlink()
    assert twins.problems(root) == [
        "docs/learn/views.zh.md is the twin of a page that is not there."
    ]
