"""
The picture of a session: the link, what is in hand, and what is heard, on one axis of time. One HTML
page that needs nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from html import escape
from itertools import pairwise

from abr_tts.demo.picture import COLOURS
from abr_tts.demo.svg import Svg
from abr_tts.sim.result import Point, Result
from abr_tts.sim.scenario import Scenario

WIDTH, LEFT, RIGHT = 1000, 70, 20
LINK_TOP, HEARD_TOP, HAND_TOP = 60, 200, 260
LINK_HEIGHT, HEARD_HEIGHT, HAND_HEIGHT = 110, 26, 90
HEIGHT = 430
"""Pixels."""

INK, SOFT, GRID, PAPER = "#1d2a35", "#5d6d7a", "#e4e9ed", "#ffffff"
LINK, HAND, STALL = "#56697a", "#1b7f4b", "#e01e37"

Axis = Callable[[float], float]
"""Second to pixel."""

LOWEST, HIGHEST = 1.0, 4.0
"""log10 of kbit/s at foot and head of the link's axis; beyond, it lies on the edge."""


def page(scenario: Scenario, result: Result, how: str) -> str:
    """
    The page.

    Args:
        how: backend and policy, in words.
    """
    title = f"{scenario.name}: {how}"
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{escape(title)}</title>"
        f"<body style='margin:0;background:{PAPER}'>{_drawn(scenario, result, title)}</body></html>\n"
    )


def _drawn(scenario: Scenario, result: Result, title: str) -> str:
    end = max(result.seconds, 1.0)

    def x(second: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * min(second, end) / end

    svg = Svg(WIDTH, HEIGHT, title, "capacity of the link, rungs heard, and seconds of speech in hand")
    svg.rect(0, 0, WIDTH, HEIGHT, PAPER)
    svg.text(LEFT, 26, title, 16, INK)
    _axis(svg, x, end)
    _link(svg, scenario, x, end)
    highest_s = max([1.0, *(p.buffer_s for one in result.utterances for p in one.trace)])
    svg.text(LEFT, HAND_TOP - 6, f"in hand, 0 to {highest_s:.1f} s", 11, SOFT)
    svg.text(LEFT, HEARD_TOP - 6, "heard (red: waits)", 11, SOFT)
    for one in result.utterances:
        _heard(svg, one.trace, x)
        foot = HAND_TOP + HAND_HEIGHT
        line = [(x(p.at), foot - HAND_HEIGHT * p.buffer_s / highest_s) for p in one.trace]
        svg.area(line, foot, HAND, fill_opacity="0.3")
    _legend(svg, [rung for one in result.utterances for rung, _ in one.runs])
    return str(svg)


def _axis(svg: Svg, x: Axis, end: float) -> None:
    step = 10 ** math.floor(math.log10(end / 2)) if end >= 2 else 1
    step = next(step * factor for factor in (1, 2, 5, 10) if end / (step * factor) <= 12)
    for index in range(math.floor(end / step) + 1):
        at = x(index * step)
        svg.line(at, LINK_TOP, at, HAND_TOP + HAND_HEIGHT, GRID)
        svg.text(at, HAND_TOP + HAND_HEIGHT + 16, f"{index * step:g} s", 11, SOFT, at="middle")


def _link(svg: Svg, scenario: Scenario, x: Axis, end: float) -> None:
    def y(kbps: float) -> float:
        level = (math.log10(max(kbps, 0.1)) - LOWEST) / (HIGHEST - LOWEST)
        return LINK_TOP + LINK_HEIGHT * (1 - min(1.0, max(0.0, level)))

    period, steps = scenario.duration_s, [at for at, _ in scenario.down.rate if at < scenario.duration_s]
    edges = sorted(
        {turn * period + at for turn in range(math.ceil(end / period)) for at in steps if at < end} | {end}
    )
    points = []
    for begin, until in pairwise(edges):
        kbps = scenario.down.kbps_at(begin % period)
        points += [(x(begin), y(kbps)), (x(until), y(kbps))]
    svg.curve(points, LINK)
    for kbps in (10, 100, 1000, 10_000):
        svg.text(LEFT - 6, y(kbps) + 4, f"{kbps:g}", 11, SOFT, at="right")
    svg.text(LEFT, LINK_TOP - 8, "the link, kbit/s", 11, SOFT)
    for begin, until in scenario.down.drop_windows:
        if begin < end:
            svg.rect(x(begin), LINK_TOP, x(until) - x(begin), LINK_HEIGHT, STALL, fill_opacity="0.12")


def _heard(svg: Svg, trace: tuple[Point, ...], x: Axis) -> None:
    """Each stretch in the colour of its rung."""
    begin = 0.0
    for (this, colour), (after, next_colour) in pairwise((point, _colour(point)) for point in trace):
        if not begin and colour:
            begin = this.at
        if colour and (colour != next_colour or after is trace[-1]):
            svg.rect(x(begin), HEARD_TOP, max(0.5, x(after.at) - x(begin)), HEARD_HEIGHT, colour)
            begin = after.at


def _colour(point: Point) -> str:
    """Empty before anything is heard."""
    if not point.rung_played:
        return ""
    return COLOURS.get(point.rung_played, SOFT) if point.buffer_s else STALL


def _legend(svg: Svg, rungs: list[str]) -> None:
    for index, rung in enumerate(dict.fromkeys(rungs)):
        at = LEFT + 100 * index
        svg.rect(at, HEIGHT - 34, 12, 12, COLOURS.get(rung, SOFT))
        svg.text(at + 18, HEIGHT - 24, rung, 12, INK)
