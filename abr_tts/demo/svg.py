"""A few shapes of SVG 1.1 as text. Pixels in, one document out; it knows nothing of speech."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from xml.sax.saxutils import escape, quoteattr

FONT = "system-ui, -apple-system, 'Segoe UI', 'Noto Sans', 'DejaVu Sans', Arial, sans-serif"
"""What the reader's machine has; the picture carries no font."""

ANCHORS = {"left": "start", "middle": "middle", "right": "end"}
"""Which end of a text stands at its x."""


class Svg:
    """
    A picture that grows; `str` of it is the document. Further attributes by keyword, `_` for `-`.

    Args:
        title, description: what a reader who does not see it is told.
    """

    def __init__(self, width: int, height: int, title: str, description: str) -> None:
        self._width, self._height = width, height
        self._parts = [f"<title>{escape(title)}</title>", f"<desc>{escape(description)}</desc>"]

    def rect(self, x: float, y: float, width: float, height: float, fill: str, **more: object) -> None:
        """A filled box."""
        self._add("rect", x=_n(x), y=_n(y), width=_n(width), height=_n(height), fill=fill, **more)

    def line(
        self, x1: float, y1: float, x2: float, y2: float, stroke: str, width: float = 1, **more: object
    ) -> None:
        """A straight line."""
        ends = {"x1": _n(x1), "y1": _n(y1), "x2": _n(x2), "y2": _n(y2)}
        self._add("line", **ends, stroke=stroke, stroke_width=_n(width), **more)

    def dot(self, x: float, y: float, radius: float, fill: str, words: str = "", **more: object) -> None:
        """A filled circle; `words` appear when it is pointed at."""
        place = {"cx": _n(x), "cy": _n(y), "r": _n(radius), "fill": fill} | more
        self._parts.append(f"<circle{_attributes(place)}><title>{escape(words)}</title></circle>")

    def area(self, points: Iterable[tuple[float, float]], base: float, fill: str, **more: object) -> None:
        """What lies between a line and the height `base`."""
        known = list(points)
        if known:
            outline = [(known[0][0], base), *known, (known[-1][0], base)]
            self._add("path", d=_path(outline) + "Z", fill=fill, **more)

    def curve(self, points: Iterable[tuple[float, float]], stroke: str, width: float = 1.5) -> None:
        """A line from point to point."""
        known = list(points)
        if known:
            self._add(
                "path", d=_path(known), fill="none", stroke=stroke, stroke_width=_n(width),
                stroke_linejoin="round",
            )  # fmt: skip

    def text(
        self,
        x: float,
        y: float,
        words: str,
        size: float,
        fill: str,
        *,
        at: str = "left",
        bold: bool = False,
        halo: str = "",
    ) -> None:
        """
        One line of text on the base line `y`.

        Args:
            at: which end of it stands at `x`: left, middle or right.
            halo: colour of a rim that keeps it readable over lines.
        """
        more = {"font_weight": "600"} if bold else {}
        if halo:
            more |= {"stroke": halo, "stroke_width": "3", "paint_order": "stroke"}
        place = {"x": _n(x), "y": _n(y), "font_size": _n(size), "fill": fill, "text_anchor": ANCHORS[at]}
        self._parts.append(f"<text{_attributes(place | more)}>{escape(words)}</text>")

    def __str__(self) -> str:
        size = f'width="{self._width}" height="{self._height}" viewBox="0 0 {self._width} {self._height}"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-family={quoteattr(FONT)}>'
        return "\n".join([head, *self._parts, "</svg>", ""])

    def _add(self, element: str, **attributes: object) -> None:
        self._parts.append(f"<{element}{_attributes(attributes)}/>")


def _attributes(values: Mapping[str, object]) -> str:
    return "".join(f" {name.replace('_', '-')}={quoteattr(str(value))}" for name, value in values.items())


def _path(points: list[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{_n(x)} {_n(y)}" for x, y in points)


def _n(value: float) -> str:
    """A number with at most two decimals."""
    return f"{value:.2f}".rstrip("0").rstrip(".")
