"""A page of HTML that needs nothing else: the template ``page.html`` with data in it."""

from __future__ import annotations

import json
import os
from html import escape
from pathlib import Path
from typing import Any

_TEMPLATE = Path(__file__).with_name("page.html")


class Page:
    """A page to look at in a browser, or in a notebook.

    Args:
        title: what it shows.
        rows: what stands in its lines, one after the other; see ``page.html``.
        groups: more about the groups that the lines are in, by their paths.

    Example:
        >>> page = facula.viz.graph(facula.nn.Linear(3, 2), (1, 3))
        >>> page.title
        'Linear'
        >>> "<!doctype html>" in page.html
        True
    """

    def __init__(
        self, title: str, rows: list[dict[str, Any]], groups: dict[str, str] | None = None
    ) -> None:
        self.title, self.rows, self.groups = title, rows, groups or {}

    @property
    def html(self) -> str:
        """The text of the page."""
        data = json.dumps({"title": self.title, "rows": self.rows, "groups": self.groups})
        # A script ends at the first "</", also inside of a string.
        data = data.replace("<", "\\u003c")
        template = _TEMPLATE.read_text(encoding="utf-8")
        return template.replace("{{title}}", escape(self.title)).replace("{{data}}", data)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file.

        Args:
            path: the file, which is replaced if it is there.
        """
        Path(path).write_text(self.html, encoding="utf-8")

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{escape(self.html)}" style="width:100%;height:40rem;border:0">'
            "</iframe>"
        )
