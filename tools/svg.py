"""Small drawings in SVG, which read on a light page and on a dark one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

# A picture in a page cannot see the colours of the page, only what the reader prefers.
_STYLE = """
text { font: 14px system-ui, sans-serif; fill: #1f2328; }
.code { font-family: ui-monospace, monospace; }
.small { font-size: 12px; }
.title { font-weight: 600; }
.faint { fill: #59636e; }
.bad { fill: #cf222e; }
.good { fill: #1a7f37; }
.line { stroke: #59636e; fill: none; }
.curve { stroke-width: 2; }
.box { stroke: #59636e; fill: #8882; }
.bad.line { stroke: #cf222e; fill: none; }
.good.line { stroke: #1a7f37; fill: none; }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3; }
.faint { fill: #9198a1; }
.bad { fill: #ff7b72; }
.good { fill: #3fb950; }
.line, .box { stroke: #9198a1; }
.bad.line { stroke: #ff7b72; }
.good.line { stroke: #3fb950; }
}
"""
_HUES = (212, 25, 140, 280, 340, 60, 180, 100)
_TITLE = 30  # the height of the line above a picture
CELL = 40  # the side of a number's box


class Drawing:
    """A picture that grows by lines, boxes and words; places are in pixels from the top left.

    Args:
        width: how wide it is.
        height: how high it is.
        title: what it shows, above the picture.
    """

    def __init__(self, width: int, height: int, title: str) -> None:
        self.width, self.height, self.title = width, height, title
        self._parts: list[str] = []

    @property
    def text(self) -> str:
        """The file."""
        height = self.height + _TITLE
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {height}" '
            f'width="{self.width}" height="{height}" role="img">\n'
            f"<title>{escape(self.title)}</title>\n<style>{_STYLE}</style>\n"
            '<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
            'orient="auto"><path d="M0 0L8 4L0 8z" class="faint"/></marker>\n'
            f'<text x="20" y="22" class="title">{escape(self.title)}</text>\n'
            f'<g transform="translate(0 {_TITLE})">\n' + "\n".join(self._parts) + "\n</g>\n</svg>\n"
        )

    def word(self, x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> None:
        """Write a text whose baseline begins, ends or has its middle at a place.

        Args:
            x: where it is.
            y: where its baseline is.
            text: what it says.
            kind: classes of the style.
            anchor: ``"start"``, ``"middle"`` or ``"end"``.
        """
        self._parts.append(
            f'<text x="{x:.0f}" y="{y:.0f}" class="{kind}" text-anchor="{anchor}" '
            f'xml:space="preserve">{escape(text)}</text>'
        )

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        *,
        hue: int | None = None,
        is_dashed: bool = False,
        strength: float = 0.3,
    ) -> None:
        """Draw a box.

        Args:
            x: its left side.
            y: its upper side.
            width: how wide it is.
            height: how high it is.
            hue: the number of its colour; None for grey.
            is_dashed: whether its border is dashed.
            strength: how much of the colour there is.
        """
        fill = ""
        if hue is not None:
            degrees = _HUES[hue % len(_HUES)]
            fill = f' style="fill:hsl({degrees} 75% 50%);fill-opacity:{strength:.2f}"'
        dash = ' stroke-dasharray="4 3"' if is_dashed else ""
        self._parts.append(
            f'<rect x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" height="{height:.0f}" rx="3" '
            f'class="box"{fill}{dash}/>'
        )

    def cell(
        self,
        x: float,
        y: float,
        text: str,
        *,
        hue: int | None = None,
        is_dashed: bool = False,
        width: float = CELL,
        height: float = CELL,
    ) -> None:
        """Draw a box with a text in its middle.

        Args:
            x: its left side.
            y: its upper side.
            text: what it says.
            hue: the number of its colour; None for grey.
            is_dashed: whether its border is dashed.
            width: how wide it is.
            height: how high it is.
        """
        self.box(x, y, width, height, hue=hue, is_dashed=is_dashed)
        self.word(x + width / 2, y + height / 2 + 5, text, "code", "middle")

    def arrow(self, *points: tuple[float, float], kind: str = "line", has_tip: bool = True) -> None:
        """Draw a line through points, with a tip at the last.

        Args:
            points: pairs of places.
            kind: classes of the style.
            has_tip: whether there is a tip.
        """
        path = "M" + "L".join(f"{x:.0f} {y:.0f}" for x, y in points)
        tip = ' marker-end="url(#tip)"' if has_tip else ""
        self._parts.append(f'<path d="{path}" class="{kind}"{tip}/>')

    def chart(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        curves: Sequence[tuple[str, str, Sequence[tuple[float, float]]]],
        labels: tuple[str, str],
    ) -> None:
        """Draw curves over a common pair of axes, with their names at their ends.

        Args:
            x: the left side of the axes.
            y: their upper end.
            width: how wide they are.
            height: how high they are.
            curves: name, class of the style and points of each.
            labels: what the two axes count.
        """
        points = [point for _, _, curve in curves for point in curve]
        left, right = min(p[0] for p in points), max(p[0] for p in points)
        low, high = min(p[1] for p in points), max(p[1] for p in points)

        def place(point: tuple[float, float]) -> tuple[float, float]:
            return (
                x + (point[0] - left) / (right - left) * width,
                y + height - (point[1] - low) / (high - low) * height,
            )

        self.arrow((x, y - 6), (x, y + height), (x + width, y + height), has_tip=False)
        for value in (low, high):
            self.word(
                x - 6, place((left, value))[1] + 4, f"{round(value, 2):g}", "small faint", "end"
            )
        for value in (left, right):
            self.word(
                place((value, low))[0], y + height + 18, f"{value:g}", "small faint", "middle"
            )
        self.word(x + width / 2, y + height + 18, labels[0], "small faint", "middle")
        self.word(x - 6, y - 14, labels[1], "small faint", "start")
        below = math.inf  # where the name of the next lower curve is
        for name, kind, curve in sorted(curves, key=lambda c: place(c[2][-1])[1], reverse=True):
            self.arrow(*map(place, curve), kind=f"curve line {kind}", has_tip=False)
            end = place(curve[-1])
            below = min(end[1] + 4, below - 16)
            self.word(end[0] + 8, below, name, f"small {kind}")
