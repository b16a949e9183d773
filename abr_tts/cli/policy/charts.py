"""Charts of a study: bars by kind of network, and network against network. Numbers in, SVG out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...demo.picture import FAINT, GRID, INK, PAPER, SOFT
from ...demo.svg import Svg

OWN, OTHER, BOUND = "#0b5d66", "#a9b9c4", "#e9c46a"
"""Colours of the policy in question, of what it is held against, and of the optimum."""

KIND_COLOURS = ("#0b5d66", "#c58a2a", "#5577bd", "#7f9f6b", "#8d5a97", "#5d6d7a")
"""Of kinds of networks, over and over; never red, which is silence."""

WIDTH, LEFT, RIGHT = 1000, 190, 70
"""Pixels: a chart, and the margins beside its axis."""

BAR, GAP = 15, 16
"""Pixels: the height of a bar with its distance, and between groups."""

SIDE, MARGIN = 520, 56
"""Pixels of a square chart, and its margins."""


LEAST_QOE, MOST_FOOT = -1.0, 0.8
"""The foot of a square chart: as deep as the worst network, within these bounds."""


class Bar(NamedTuple):
    """One value; None draws nothing."""

    name: str
    value: float | None
    colour: str


def bars(
    title: str, groups: Sequence[tuple[str, Sequence[Bar]]], most: float, digits: int, note: str = ""
) -> str:
    """
    Bars to the right, in groups one below the other; one beyond `most` is cut, and says its value.
    """
    height = 44 + sum(len(group) * BAR + GAP + 16 for _, group in groups)
    svg = Svg(WIDTH, height, title, note or title)
    svg.rect(0, 0, WIDTH, height, PAPER)
    svg.text(8, 22, title, 16, INK, bold=True)
    svg.text(WIDTH - 8, 22, note, 12, SOFT, at="right")
    scale = (WIDTH - LEFT - RIGHT) / most
    y = 44.0
    for name, group in groups:
        svg.text(8, y + 11, name, 13, INK, bold=True)
        y += 16
        for bar in group:
            if bar.value is not None:
                width = min(max(bar.value, 0.0), most) * scale
                svg.text(LEFT - 8, y + 11, bar.name, 12, INK if bar.colour == OWN else SOFT, at="right")
                svg.rect(LEFT, y + 1, max(width, 1), BAR - 3, bar.colour, rx=2)
                beyond = " …" if bar.value > most else ""
                svg.text(
                    LEFT + width + 5, y + 11, f"{bar.value:.{digits}f}{beyond}", 11.5,
                    INK if bar.colour == OWN else SOFT, bold=bar.colour == OWN,
                )  # fmt: skip
            y += BAR
        y += GAP
    svg.line(LEFT, 40, LEFT, y - GAP, FAINT)
    return str(svg)


class Dot(NamedTuple):
    """One network: how it went with the other one, and with ours."""

    name: str
    kind: str
    x: float
    y: float


def scatter(title: str, across: str, up: str, dots: Sequence[Dot]) -> str:
    """Networks as dots: above the diagonal ours is better. Pointing at one tells its name."""
    width = SIDE + 220
    svg = Svg(width, SIDE, title, f"{up} over {across}, a dot for each network")
    svg.rect(0, 0, width, SIDE, PAPER)
    svg.text(8, 22, title, 16, INK, bold=True)
    low = max(LEAST_QOE, min([MOST_FOOT, *(min(dot.x, dot.y) for dot in dots)]) - 0.02)
    span, inner = 1.0 - low, SIDE - 2 * MARGIN

    def place(value: float) -> float:
        return MARGIN + (min(max(value, low), 1.0) - low) / span * inner

    for tenth in range(int(low * 10), 11):
        value = tenth / 10
        if value < low:
            continue
        at = place(value)
        svg.line(at, MARGIN, at, SIDE - MARGIN, GRID)
        svg.line(MARGIN, SIDE - at, SIDE - MARGIN, SIDE - at, GRID)
        svg.text(at, SIDE - MARGIN + 16, f"{value:.1f}", 11, SOFT, at="middle")
        svg.text(MARGIN - 6, SIDE - at + 4, f"{value:.1f}", 11, SOFT, at="right")
    svg.line(MARGIN, SIDE - MARGIN, SIDE - MARGIN, MARGIN, FAINT, stroke_dasharray="4 3")
    svg.text(SIDE / 2, SIDE - 14, f"QoE with {across}", 12.5, INK, at="middle")
    svg.text(MARGIN, MARGIN - 10, f"QoE with {up}", 12.5, INK)
    colours = colours_of([dot.kind for dot in dots])
    for dot in dots:
        words = f"{dot.name}: {up} {dot.y:.3f}, {across} {dot.x:.3f}"
        svg.dot(place(dot.x), SIDE - place(dot.y), 4.5, colours[dot.kind], words, fill_opacity=0.8)
    for row, (kind, colour) in enumerate(colours.items()):
        better = sum(dot.y > dot.x for dot in dots if dot.kind == kind)
        count = sum(dot.kind == kind for dot in dots)
        svg.dot(SIDE + 8, MARGIN + 20 * row - 4, 5, colour)
        svg.text(SIDE + 20, MARGIN + 20 * row, f"{kind}: better on {better} of {count}", 12.5, INK)
    return str(svg)


def colours_of(names: Sequence[str]) -> dict[str, str]:
    """A colour for each kind, in the order of their names."""
    return {name: KIND_COLOURS[index % len(KIND_COLOURS)] for index, name in enumerate(sorted(set(names)))}
