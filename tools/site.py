"""Gather the pages of the site below build/site, where mkdocs finds them.

The pages lie where people read them in the repository. On the site README.md is the first page,
what is not a page is a link to the repository, and a Chinese page calls others by their plain
names: the site itself knows which language it is in. Pages that programs write get their Chinese
here, from the catalogue.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from tools import chinese

ROOT = Path(__file__).parent.parent
SITE = ROOT / "build" / "site"
REPOSITORY = "https://github.com/facula/facula/blob/main/"
# Pages by where they are in the repository, where docs/ is not their place on the site.
_MOVED = {
    "README.md": "index.md",
    "README.zh.md": "index.zh.md",
    "CONTRIBUTING.md": "contributing.md",
    "CONTRIBUTING.zh.md": "contributing.zh.md",
    "CHANGELOG.md": "changelog.md",
    "CHANGELOG.zh.md": "changelog.zh.md",
}
_LINK = re.compile(r"\]\((?!\w+:)([^)#\s]*)(#[^)\s]*)?\)")
# Titles that Markdown would take for bold text.
_UNDERSCORES = re.compile(r"^(#+ )(__\w+__)$", re.MULTILINE)
# The comment of a twin, the link to the other language, and what says that a program must fail.
_ONLY_IN_THE_REPOSITORY = re.compile(
    r"^<!-- made from .*-->\n\n|^\[(?:中文|English)\]\(.*\)\n\n|(?<=^```python) raises=\w+$",
    re.MULTILINE,
)


def pages(root: Path) -> dict[Path, str]:
    """The pages of the site: where each is now, and its name on the site."""
    docs = root / "docs"
    found = {page: page.relative_to(docs).as_posix() for page in docs.rglob("*.md")}
    for page in docs.glob("api/*.md"):
        # With dots the plugin for languages takes "nn" and "fx" for languages.
        found[page] = f"api/{page.stem.replace('.', '-')}.md"
    return found | {root / name: place for name, place in _MOVED.items()}


def pictures(root: Path) -> dict[Path, str]:
    """The pictures of the pages: where each is now, and its name on the site."""
    docs = root / "docs"
    files = (path for path in docs.glob("images/**/*") if path.is_file())
    return {image: image.relative_to(docs).as_posix() for image in files}


def on_site(text: str, page: Path, root: Path) -> str:
    """A page as the site wants it: its links lead to pages of the site, or to the repository.

    Args:
        text: the page.
        page: where it is in the repository.
        root: the repository.
    """
    places, images = pages(root), pictures(root)
    here = os.path.dirname(places[page])

    def link(match: re.Match[str]) -> str:
        # The second of two equal titles is "title-1" in the repository and "title_1" on the site.
        anchor = re.sub(r"-(\d+)$", r"_\1", match[2] or "")
        if not match[1]:
            return f"]({anchor})"
        target = Path(os.path.normpath(page.parent / match[1]))
        if target in places:
            # The plugin for languages takes the page of the language that it is building.
            name = re.sub(r"\.zh\.md$", ".md", places[target])
            return f"]({os.path.relpath(name, here or '.')}{anchor})"
        if not target.exists():
            return match[0]  # mkdocs reports it
        if target in images:
            name = re.sub(r"\.zh(\.\w+)$", r"\1", images[target])
            return f"]({os.path.relpath(name, here or '.')})"
        return f"]({REPOSITORY}{target.relative_to(root).as_posix()})"

    text = _LINK.sub(link, _ONLY_IN_THE_REPOSITORY.sub("", text))
    return _UNDERSCORES.sub(r"\1`\2`", text)


def gather(root: Path, site: Path) -> None:
    """Write the pages and the settings of mkdocs into an empty folder."""
    shutil.rmtree(site, ignore_errors=True)
    made, catalogue = set(chinese.pages(root)), chinese.read(root)
    for page, place in pages(root).items():
        text, target = page.read_text(), site / "source" / place
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(on_site(text, page, root))
        if page in made:
            twin = chinese.translated(text, catalogue)
            target.with_suffix(".zh.md").write_text(on_site(twin, page, root))
    for image, place in pictures(root).items():
        (site / "source" / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(image, site / "source" / place)
    shutil.copy(root / "tools" / "iframe-worker.js", site / "source")
    shutil.copy(root / "mkdocs.yml", site)


if __name__ == "__main__":
    gather(ROOT, SITE)
