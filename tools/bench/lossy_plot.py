"""The picture of `lossy`: quality against loss, a line for each arm, on one page that needs nothing else."""

from __future__ import annotations

from html import escape
from typing import Any

from abr_tts.demo.svg import Svg

WIDTH, HEIGHT, LEFT, TOP, FOOT, RIGHT = 480, 380, 60, 60, 320, 20
COLOURS = {"plc": "#31508f", "fec": "#1b7f4b", "fec10": "#c58a2a"}
WORDS = {"plc": "no FEC, concealed", "fec": "FEC for this loss", "fec10": "FEC for 10 %, whatever the loss"}
INK, SOFT, GRID, PAPER = "#1d2a35", "#5d6d7a", "#e4e9ed", "#ffffff"
SCALES = {"pesq": ("PESQ-WB", 1.0, 4.6, 0.6), "seg_snr_db": ("segmental SNR, dB", -5.0, 15.0, 5.0)}
"""Meter → its name, foot, head and step of the axis."""

MOST_LOSS = 20
WHY = (
    "Over TCP, FEC stays off: what is lost is sent again, so that there is nothing to repair, and the "
    "copies would only take bits from the speech itself (the distance between the lines at 0 %)."
)


def page(rows: list[dict[str, Any]], kbps: int) -> str:
    """The page: a panel for each meter; lines are virtual time, dots are TUN."""
    panels = "".join(_panel(rows, meter) for meter in SCALES if meter in rows[0])
    title = f"Opus {kbps} kbit/s over a transport that loses packets"
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{escape(title)}</title>"
        f"<body style='font-family:sans-serif;color:{INK};background:{PAPER}'><h1>{escape(title)}</h1>"
        f"{panels}<p>Lines: virtual time. Dots: TUN.</p><p>{escape(WHY)}</p></body></html>\n"
    )


def _panel(rows: list[dict[str, Any]], meter: str) -> str:
    name, low, high, step = SCALES[meter]

    def x(loss: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * loss / MOST_LOSS

    def y(value: float) -> float:
        return FOOT - (FOOT - TOP) * (min(high, max(low, value)) - low) / (high - low)

    svg = Svg(WIDTH, HEIGHT, name, f"{name} against lost packets")
    svg.text(LEFT, 24, name, 14, INK, bold=True)
    for index in range(round((high - low) / step) + 1):
        value = low + index * step
        svg.line(LEFT, y(value), WIDTH - RIGHT, y(value), GRID)
        svg.text(LEFT - 8, y(value) + 4, f"{value:.1f}", 11, SOFT, at="right")
    for loss in range(0, MOST_LOSS + 1, 5):
        svg.text(x(loss), FOOT + 18, f"{loss} %", 11, SOFT, at="middle")
    for index, arm in enumerate(dict.fromkeys(row["arm"] for row in rows)):
        svg.text(LEFT + 115 * index, HEIGHT - 16, WORDS[arm], 10, COLOURS[arm])
        svg.curve([(x(r["loss_pct"]), y(r[meter])) for r in rows if _is(r, arm, "virtual")], COLOURS[arm], 2)
        for row in rows:
            if _is(row, arm, "tun"):
                svg.rect(x(row["loss_pct"]) - 3, y(row[meter]) - 3, 6, 6, COLOURS[arm], rx=3)
    return str(svg)


def _is(row: dict[str, Any], arm: str, backend: str) -> bool:
    return bool(row["arm"] == arm and row["backend"] == backend)
