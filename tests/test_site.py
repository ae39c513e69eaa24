import re

import pytest

from tools import site


@pytest.fixture
def root(tmp_path):
    for name, text in {
        "README.md": "# Title\n\n[中文](README.zh.md)\n\n"
        "[Views](docs/learn/views.md), [code](facula/a.py)\n",
        "README.zh.md": "<!-- made from README.md, 12ab -->\n\n# 标题\n\n"
        "[视图](docs/learn/views.zh.md)\n",
        "CONTRIBUTING.md": "",
        "CONTRIBUTING.zh.md": "",
        "CHANGELOG.md": "",
        "CHANGELOG.zh.md": "",
        "mkdocs.yml": "",
        "tools/iframe-worker.js": "",
        "facula/a.py": "",
        "docs/learn/views.md": "[Title](../../README.md), [gone](gone.md)\n"
        "```python raises=KeyError\n",
        "docs/learn/views.zh.md": "",
        "docs/api/facula.nn.md": "[a](#relu-1), [b](facula.md#relu-1)\n\n### __name__\n",
        "docs/api/facula.md": "The API. [Layers](facula.nn.md)\n",
        "docs/chinese.po": 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\n'
        'msgid "The API. [Layers](facula.nn.md)"\nmsgstr "接口 [层](facula.nn.md)"\n',
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture
def source(root):
    """The pages of the site."""
    site.gather(root, root / "build")
    return root / "build" / "source"


def test_pages_link_to_pages_of_the_site_and_else_to_the_repository(source):
    text = (source / "index.md").read_text()
    assert text == f"# Title\n\n[Views](learn/views.md), [code]({site.REPOSITORY}facula/a.py)\n"
    assert "[Title](../index.md)" in (source / "learn/views.md").read_text()


def test_pictures_go_with_the_pages(root):
    (root / "docs/images").mkdir()
    (root / "docs/images/graph.png").write_bytes(b"picture")
    (root / "docs/learn/views.md").write_text("![graph](../images/graph.png)\n")
    site.gather(root, root / "build")
    assert (root / "build/source/learn/views.md").read_text() == "![graph](../images/graph.png)\n"
    assert (root / "build/source/images/graph.png").read_bytes() == b"picture"


def test_a_link_that_leads_nowhere_is_left_for_mkdocs_to_report(source):
    assert "[gone](gone.md)" in (source / "learn/views.md").read_text()


def test_marks_of_programs_stay_in_the_repository(source):
    assert "```python\n" in (source / "learn/views.md").read_text()


def test_a_chinese_page_calls_others_by_their_plain_names(source):
    assert (source / "index.zh.md").read_text() == "# 标题\n\n[视图](learn/views.md)\n"


def test_no_module_is_taken_for_a_language(source):
    text = (source / "api/facula-nn.md").read_text()
    assert text == "[a](#relu_1), [b](facula.md#relu_1)\n\n### `__name__`\n"


def test_a_page_that_programs_write_is_there_in_chinese(source):
    assert (source / "api/facula.md").read_text() == "The API. [Layers](facula-nn.md)\n"
    assert (source / "api/facula.zh.md").read_text() == "接口 [层](facula-nn.md)\n"
    assert (source / "api/facula-nn.zh.md").exists()


def test_every_page_to_learn_from_is_in_the_navigation():
    named = set(re.findall(r"learn/[\w/-]+\.md", (site.ROOT / "mkdocs.yml").read_text()))
    pages = {place for place in site.pages(site.ROOT).values() if place.startswith("learn/")}
    assert named == {place for place in pages if not place.endswith(".zh.md")}
