import pytest

from tools import chinese, twins

PAGE = """# facula.nn

Layers, which
have `weight`.

**Loss**: [`relu`](#relu), [`values`](#values)

## Loss

### values

```python
values(input)  # stays
```

Args:

- `input`, `other`: the numbers.
- `out`: `None`.

Defined in [a.py](../a.py).

## Values

1. First.
2. Then.

|              | time   | \\|x\\| is small |
| ------------ | ------ | -------------- |
| add, 8 times | 1.2 us | `a b`, 2.50x   |
| 3            | under 1.2 us |          |
"""
MESSAGES = [
    "Layers, which have `weight`.",
    "Loss",
    ": ",
    "Loss",
    "Args:",
    ": ",
    "the numbers.",
    ": ",
    "Defined in {}.",
    "Values",
    "First.",
    "Then.",
    "time",
    "\\|x\\| is small",
    "add, 8 times",
    "under 1.2 us",
]


@pytest.fixture
def root(tmp_path):
    """A repository with one page, whose catalogue is complete."""
    (tmp_path / "docs" / "api").mkdir(parents=True)
    write(tmp_path, "Adds `a` to [b](b.md).", "The sum.")
    chinese.path_of(tmp_path).write_text("")
    chinese.update(tmp_path)
    fill(tmp_path, "Adds `a` to [b](b.md).", "把 `a` 加到 [b](b.md) 上")
    fill(tmp_path, "The sum.", "和")
    return tmp_path


def write(root, *paragraphs):
    (root / "docs/api/facula.md").write_text("# facula\n\n" + "\n\n".join(paragraphs) + "\n")


def fill(root, message, text):
    """Put the Chinese of a message into the catalogue."""
    path = chinese.path_of(root)
    before, line, after = path.read_text().partition(f'msgid "{message}"\n')
    path.write_text(f'{before}{line}msgstr "{text}"\n{after.partition(chr(10))[2]}')


@pytest.mark.promise("U8")
def test_every_page_that_programs_write_has_its_chinese():
    pages = {page.name for page in chinese.pages(chinese.ROOT)}
    assert pages > {"index.md", "facula.nn.md", *twins.MADE}
    assert not chinese.problems(chinese.ROOT)


def test_prose_is_cut_into_messages_and_code_names_and_numbers_are_none():
    assert chinese.messages(PAGE) == MESSAGES


@pytest.mark.parametrize("name", ["api/index.md", "api/facula.nn.md", "benchmarks.md"])
def test_a_page_is_what_it_is_cut_into(name):
    page = (chinese.ROOT / "docs" / name).read_text()
    assert "".join(piece.text for piece in chinese.cut(page)) == page
    same = {message: message for message in chinese.messages(page)}
    assert chinese.translated(page, same).split() == page.split()


def test_a_page_is_put_together_again_in_chinese():
    page = (
        "Adds `a`\nto it.\n\n- `a`, `b`: the numbers.\n\nDefined in [a.py](a.py).\n\n"
        "| 1 ms | yes |\n"
    )
    catalogue = {
        "Adds `a` to it.": "加上 `a`",
        ": ": " = ",
        "the numbers.": "数",
        "Defined in {}.": "定义于 {}",
        "yes": "是",
    }
    assert chinese.translated(page, catalogue) == (
        "加上 `a`\n\n- `a`, `b` = 数\n\n定义于 [a.py](a.py)\n\n| 1 ms | 是 |\n"
    )


def test_a_message_without_chinese_stays_english():
    assert chinese.translated("One.\n\nTwo.\n", {"One.": "一"}) == "一\n\nTwo.\n"


def test_a_heading_keeps_the_anchor_that_links_have():
    page = "# The API\n\n## Loss\n\n### values\n\n## Values\n"
    catalogue = {"The API": "接口", "Loss": "损失", "Values": "值"}
    assert chinese.translated(page, catalogue) == (
        "# 接口 {#the-api}\n\n## 损失 {#loss}\n\n### values\n\n## 值 {#values_1}\n"
    )


def test_a_complete_catalogue_has_no_problems(root):
    assert not chinese.problems(root)


def test_a_message_that_is_not_translated_is_reported(root):
    write(root, "Adds `a` to [b](b.md).", "The sum.", "New.")
    assert chinese.problems(root) == ["api/facula.md: 'New.' has no Chinese."]
    chinese.update(root)
    assert chinese.problems(root) == ["api/facula.md: 'New.' has no Chinese."]
    fill(root, "New.", "新")
    assert not chinese.problems(root)


def test_a_message_that_is_in_no_page_is_reported_and_dropped(root):
    write(root, "The sum.")
    assert chinese.problems(root) == ["No page says 'Adds `a` to [b](b.md).'."]
    chinese.update(root)
    assert not chinese.problems(root)
    assert chinese.read(root) == {"The sum.": "和"}


@pytest.mark.parametrize("text", ["把 `b` 加到 [b](b.md) 上", "把 `a` 加到 [b](c.md) 上"])
def test_other_code_and_links_are_reported(root, text):
    fill(root, "Adds `a` to [b](b.md).", text)
    (found,) = chinese.problems(root)
    assert (
        found == f"api/facula.md: 'Adds `a` to [b](b.md).' has other code or links than '{text}'."
    )


def test_a_message_that_changed_keeps_its_chinese_as_a_proposal(root):
    write(root, "Adds `a` twice to [b](b.md).", "The sum.")
    chinese.update(root)
    text = chinese.path_of(root).read_text()
    assert "#, fuzzy\n" in text and "把 `a` 加到 [b](b.md) 上" in text
    assert chinese.problems(root) == [
        "api/facula.md: 'Adds `a` twice to [b](b.md).' has no Chinese."
    ]
    chinese.path_of(root).write_text(text.replace("#, fuzzy\n", ""))
    assert not chinese.problems(root)
