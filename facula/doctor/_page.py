"""The findings as one page of HTML that needs nothing else."""

from __future__ import annotations

import linecache
from collections.abc import Sequence
from html import escape

from facula.doctor._finding import Finding, Place

_PAGES = "https://github.com/facula/facula/blob/main/docs/doctor/"
_STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 56rem; margin: 2rem auto; padding: 0 1rem; }
article { border-top: 1px solid #8885; padding: 1rem 0; }
h2 { font-size: 1.1rem; margin: 0; }
pre { background: #8882; padding: .6rem .8rem; overflow-x: auto; border-radius: .3rem; }
mark { background: #fc06; color: inherit; display: block; }
.place { color: #888; margin: 0; }
"""


def page(findings: Sequence[Finding], title: str) -> str:
    """The page.

    Args:
        findings: what it shows, in this order.
        title: the program that was watched.
    """
    heading = "1 finding" if len(findings) == 1 else f"{len(findings)} findings"
    heading = heading if findings else "Nothing found"
    articles = "\n".join(_article(finding) for finding in findings)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>facula doctor: {escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{heading} in {escape(title)}</h1>\n{articles}\n</body>\n</html>\n"
    )


def _article(finding: Finding) -> str:
    places = [finding.place] + ([finding.other] if finding.other else [])
    excerpts = "\n".join(
        f'<p class="place">{escape(str(place))}</p>\n{_excerpt(place)}' for place in places
    )
    return (
        f'<article id="{escape(finding.id)}">\n'
        f"<h2>{escape(finding.id)} {escape(finding.message)}</h2>\n{excerpts}\n"
        f"<p>{escape(finding.why)}</p>\n<p>Write instead:</p>\n"
        f"<pre>{escape(finding.fix)}</pre>\n"
        f"<p>To silence it: <code># facula: ignore[{escape(finding.id)}]</code> at the end of the "
        f'line. More: <a href="{_PAGES}{escape(finding.id)}.md">{escape(finding.id)}</a>.</p>\n'
        "</article>"
    )


def _excerpt(place: Place) -> str:
    """The line with two lines before and after it."""
    lines = []
    for number in range(max(place.line - 2, 1), place.line + 3):
        text = linecache.getline(place.file, number)
        if text:
            line = f"{number:4} {escape(text.rstrip())}"
            lines.append(f"<mark>{line}</mark>" if number == place.line else f"{line}\n")
    return f"<pre>{''.join(lines)}</pre>" if lines else ""
