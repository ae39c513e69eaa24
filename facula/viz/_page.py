"""A page of HTML that needs nothing else: a template with data in it."""

from __future__ import annotations

import json
import os
from html import escape
from pathlib import Path
from typing import Any


class Page:
    """A page to look at in a browser, or in a notebook.

    Args:
        title: what it shows.
        template: the file of this folder that it is made of.
        data: what the template's script reads.

    Example:
        >>> page = facula.viz.graph(facula.nn.Linear(3, 2), (1, 3))
        >>> page.title
        'Linear'
        >>> "<!doctype html>" in page.html
        True
    """

    def __init__(self, title: str, template: str, data: dict[str, Any]) -> None:
        self.title, self.data = title, data
        self._template = Path(__file__).with_name(template)

    @property
    def html(self) -> str:
        """The text of the page."""
        # A script ends at the first "</", also inside of a string.
        data = json.dumps(self.data).replace("<", "\\u003c")
        template = self._template.read_text(encoding="utf-8")
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
