"""
The picture of a demonstration: the link, and beneath it what each listener was sent, heard and had
in hand, on one axis of time. Silence where speech should be is red, and nothing else is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ..control.controller import BANK, UPGRADE
from ..control.ladder import FULL
from ..sim.scenario import Scenario
from .account import Account
from .svg import Svg
from .told import Piece, merged

WIDTH, LEFT, RIGHT = 1000, 104, 84
"""Pixels: the picture, and the margins beside its axis of time."""

LINK_TOP, LINK_HEIGHT = 106, 104
ARM_HEIGHT = 214
SENT_TOP, SENT_HEIGHT = 26, 11
HEARD_TOP, HEARD_HEIGHT = 58, 30
BANK_TOP, BANK_HEIGHT = 104, 76
"""Pixels; tops within an arm count from its own."""

INK, SOFT, FAINT, GRID, PAPER = "#1d2a35", "#5d6d7a", "#9aa7b1", "#e4e9ed", "#ffffff"
LINK_FILL, LINK_LINE = "#dbe4ec", "#56697a"
STALL, GOOD = "#e01e37", "#1b7f4b"

COLOURS = {
    "pcm24": "#0b4f6c", "pcm22": "#0b5d66", "pcm16k": "#4fb0ae", "ulaw22": "#7f9f6b", "ulaw16k": "#a9bd7f",
    "opus64": "#31508f", "opus48": "#5577bd", "opus32": "#8fabe0", "opus24": "#f4b63f", "opus16": "#c58a2a",
    "opus12": "#8d6220", "opus8": "#5c4218",
}  # fmt: skip
"""Of rungs: the sea where it sounds best, then blue, then sand and earth."""

NAMES = {
    "pcm24": "24 kHz PCM", "pcm22": "22 kHz PCM", "pcm16k": "16 kHz PCM",
    "ulaw22": "22 kHz µ-law", "ulaw16k": "16 kHz µ-law",
}  # fmt: skip
"""Of rungs, for people; Opus rungs are called by their kbit/s."""

LEAST_S = 2.0
"""Seconds that the axis of time shows at least."""

LEAST_KBPS = 10.0
"""Foot of the link's axis, which is logarithmic: an empty link lies on it."""

NEED_GAP = 12.0
"""Pixels between two base lines of what rungs need, at least."""

SENT_GAP_S = 0.25
"""Messages that are no further apart look like one: at 1000 pixels they would flicker."""


@dataclass(frozen=True, slots=True)
class Shown:
    """One arm: what was heard of it, and what was sent."""

    account: Account
    pieces: Sequence[Piece]


def name_of(rung: str) -> str:
    """A rung's name for people: `22 kHz PCM`, `Opus 24`."""
    return NAMES.get(rung) or rung.replace("opus", "Opus ")


def draw(
    arms: Sequence[Shown],
    link: Scenario,
    headline: str,
    note: str,
    footnote: str = "",
    axis: str = "seconds since the request",
) -> str:
    """The picture as an SVG document; a line of words above, beneath it and at the foot."""
    seconds = max(LEAST_S, *(arm.account.end for arm in arms))
    height = LINK_TOP + LINK_HEIGHT + 26 + len(arms) * ARM_HEIGHT + 34
    words = "; ".join(f"{arm.account.title}: {verdict(arm.account)}" for arm in arms)
    picture = _Picture(seconds, height, headline, words)
    picture.head(headline, note)
    return str(picture.body(arms, link, footnote, axis))


def verdict(account: Account) -> str:
    """How it was to listen, in a few words."""
    told = "no stall" if not account.stalls else _stalls(account)
    return told if account.complete else f"{told}; cut off after {account.heard_s:.0f} s of speech"


def _stalls(account: Account) -> str:
    times = "stall" if account.stalls == 1 else "stalls"
    return f"{account.stalls} {times}, {account.stall_s:.1f} s of silence"


class _Picture:
    def __init__(self, seconds: float, height: int, title: str, description: str) -> None:
        self._seconds = seconds
        self._scale = (WIDTH - LEFT - RIGHT) / seconds
        self._svg = Svg(WIDTH, height, title, description)
        self._svg.rect(0, 0, WIDTH, height, PAPER)

    def head(self, headline: str, note: str) -> None:
        self._svg.text(LEFT, 34, headline, 20, INK, bold=True)
        self._svg.text(LEFT, 55, note, 12.5, SOFT)

    def body(self, arms: Sequence[Shown], link: Scenario, footnote: str, axis: str) -> Svg:
        rungs = self._rungs(arms)
        self._legend(rungs, any(arm.account.stalls for arm in arms))
        self._link(link, rungs)
        top = LINK_TOP + LINK_HEIGHT + 26
        most_s = max((bank for arm in arms for _, bank in arm.account.bank), default=0.0)
        step_s = _tick(max(most_s, 1.0), 3)
        for arm in arms:
            self._arm(arm, top, step_s, math.ceil(most_s / step_s - 0.02))
            top += ARM_HEIGHT
        self._axis(top - 14, axis, footnote)
        return self._svg

    def _x(self, second: float) -> float:
        return LEFT + min(max(second, 0.0), self._seconds) * self._scale

    @staticmethod
    def _rungs(arms: Sequence[Shown]) -> list[str]:
        """Those heard or sent, best first."""
        used = {spell.rung for arm in arms for spell in arm.account.spells if spell.rung}
        used |= {piece.rung for arm in arms for piece in arm.pieces}
        return [rung.name for rung in FULL.rungs if rung.name in used]

    def _legend(self, rungs: Sequence[str], stalled: bool) -> None:
        x = float(LEFT)
        entries = [(name_of(rung), COLOURS.get(rung, FAINT)) for rung in rungs]
        if stalled:
            entries.append(("silence: the listener waits", STALL))
        for words, colour in entries:
            self._svg.rect(x, 70, 13, 13, colour, rx=2)
            self._svg.text(x + 19, 81, words, 12.5, INK)
            x += 19 + 7.1 * len(words) + 18

    # ------------------------------------------------------------ the link

    def _link(self, link: Scenario, rungs: Sequence[str]) -> None:
        svg, foot = self._svg, LINK_TOP + LINK_HEIGHT
        steps = _steps(link, self._seconds)
        most = max(LEAST_KBPS * 10, *(kbps for _, _, kbps in steps)) * 1.25
        points = []
        for begin, end, kbps in steps:
            y = foot - _height(kbps, most)
            points += [(self._x(begin), y), (self._x(end), y)]
        self._grid(LINK_TOP, foot)
        svg.area(points, foot, LINK_FILL)
        self._needs(rungs, foot, most)
        svg.curve(points, LINK_LINE, 1.8)
        for begin, end, kbps in steps:
            if self._x(end) - self._x(begin) > 6.4 * len(_rate(kbps)):
                y = foot - _height(kbps, most)
                beneath = y < LINK_TOP + 18
                svg.text(
                    (self._x(begin) + self._x(end)) / 2, y + 17 if beneath else y - 6, _rate(kbps), 12, INK,
                    at="middle", bold=True, halo=LINK_FILL if beneath else PAPER,
                )  # fmt: skip
        self._label(LINK_TOP + 14, "the link", bold=True)
        self._label(LINK_TOP + 30, "(log scale)")

    def _needs(self, rungs: Sequence[str], foot: float, most: float) -> None:
        """What each rung needs of the link: a dotted line, with its name where there is room."""
        taken = LINK_TOP - 20.0
        for rung in rungs:
            need = FULL[rung].wire_kbps
            if not LEAST_KBPS < need < most:
                continue
            y, colour = foot - _height(need, most), COLOURS.get(rung, FAINT)
            self._svg.line(LEFT, y, WIDTH - RIGHT, y, colour, 1.2, stroke_dasharray="2 3")
            taken = max(y + 4, taken + NEED_GAP)
            self._svg.text(WIDTH - RIGHT + 6, taken, name_of(rung), 11, colour)

    # ------------------------------------------------------------ an arm

    def _arm(self, arm: Shown, top: float, step_s: float, steps: int) -> None:
        svg, account = self._svg, arm.account
        svg.text(LEFT, top + 14, account.title, 15, INK, bold=True)
        colour = STALL if account.stalls or not account.complete else GOOD
        svg.text(WIDTH - RIGHT, top + 14, verdict(account), 15, colour, at="right", bold=True)
        foot = top + BANK_TOP + BANK_HEIGHT
        self._grid(top + SENT_TOP - 2, foot)
        for wait in account.waits:
            x = self._x(wait.begin)
            svg.rect(
                x, top + SENT_TOP - 2, self._x(wait.end) - x, foot - top - SENT_TOP + 2, STALL, opacity=0.1
            )
        self._sent(arm, top + SENT_TOP)
        self._heard(account, top + HEARD_TOP)
        self._in_hand(account, top + BANK_TOP, step_s, max(1, steps))

    def _sent(self, arm: Shown, top: float) -> None:
        self._label(top + 15, "sent")
        for rank, y in ((UPGRADE, top), (BANK, top + SENT_HEIGHT + 2)):
            for begin, end, rung in merged(arm.pieces, rank, SENT_GAP_S):
                colour = COLOURS.get(rung, FAINT)
                self._svg.rect(
                    self._x(begin), y, max(1.0, self._x(end) - self._x(begin)), SENT_HEIGHT, colour
                )
        if any(piece.rank == UPGRADE for piece in arm.pieces):
            self._svg.text(WIDTH - RIGHT + 6, top + 9, "upgrades", 10.5, SOFT)
            self._svg.text(WIDTH - RIGHT + 6, top + SENT_HEIGHT + 11, "bank", 10.5, SOFT)

    def _heard(self, account: Account, top: float) -> None:
        self._label(top + 20, "heard", bold=True)
        for spell in account.spells:
            x, width = self._x(spell.begin), max(0.5, self._x(spell.end) - self._x(spell.begin))
            self._svg.rect(
                x, top, width, HEARD_HEIGHT, COLOURS.get(spell.rung, FAINT) if spell.rung else STALL
            )
        words = f"{'done' if account.complete else 'cut'} at {account.end:.1f} s"
        after = self._x(account.end) + 8
        if account.spells and after + 80 < WIDTH - RIGHT:
            self._svg.text(after, top + 20, words, 12, SOFT)

    def _in_hand(self, account: Account, top: float, step_s: float, steps: int) -> None:
        svg, foot, scale = self._svg, top + BANK_HEIGHT, BANK_HEIGHT / (step_s * steps)
        points = [(self._x(at), foot - scale * bank) for at, bank in account.bank]
        svg.area(points, foot, LINK_FILL, opacity=0.8)
        svg.curve(points, LINK_LINE)
        svg.line(LEFT, foot, WIDTH - RIGHT, foot, FAINT)
        self._label(top + 12, "in hand")
        for index in range(steps + 1):
            seconds = index * step_s
            svg.text(WIDTH - RIGHT + 6, foot - scale * seconds + 4, f"{seconds:g} s", 10.5, SOFT)

    # ------------------------------------------------------------ what all share

    def _label(self, y: float, words: str, bold: bool = False) -> None:
        self._svg.text(LEFT - 12, y, words, 12.5, INK if bold else SOFT, at="right", bold=bold)

    def _grid(self, top: float, foot: float) -> None:
        for second in self._ticks():
            self._svg.line(self._x(second), top, self._x(second), foot, GRID)

    def _axis(self, y: float, words: str, footnote: str) -> None:
        for second in self._ticks():
            self._svg.text(self._x(second), y, f"{second:g}", 11.5, SOFT, at="middle")
        self._svg.text(LEFT, y + 18, words, 11.5, SOFT)
        self._svg.text(WIDTH - RIGHT, y + 18, footnote, 11, SOFT, at="right")

    def _ticks(self) -> list[float]:
        step = _tick(self._seconds, 12)
        return [index * step for index in range(int(self._seconds / step) + 1)]


def _steps(link: Scenario, seconds: float) -> list[tuple[float, float, float]]:
    """(from, to, kbit/s) of the downlink over so many seconds, round after round."""
    found, start = [], 0.0
    while start < seconds:
        rate = [step for step in link.down.rate if step[0] < link.duration_s]
        ends = [at for at, _ in rate[1:]] + [link.duration_s]
        found += [(start + at, start + end, kbps) for (at, kbps), end in zip(rate, ends, strict=True)]
        start += link.duration_s
    return [(begin, min(end, seconds), kbps) for begin, end, kbps in found if begin < seconds]


def _height(kbps: float, most: float) -> float:
    """Pixels above the foot, on a logarithmic axis."""
    return LINK_HEIGHT * math.log(max(kbps, LEAST_KBPS) / LEAST_KBPS) / math.log(most / LEAST_KBPS)


def _rate(kbps: float) -> str:
    if kbps >= 1000:
        return f"{kbps / 1000:g} Mbit/s"
    return f"{kbps:g} kbit/s" if kbps else "nothing"


def _tick(most: float, count: int) -> float:
    """A step of 1, 2 or 5 times a power of ten that gives at most `count` + 1 marks."""
    raw = most / count
    power = 10.0 ** math.floor(math.log10(raw))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= raw * 0.999)
