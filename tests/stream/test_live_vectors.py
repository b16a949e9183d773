"""A live listener's playout obeys protocol/vectors/live.json, case by case."""

import json
import re
from pathlib import Path

import pytest

from abr_tts.stream.live import Live, LivePlayout
from abr_tts.stream.playout import Frame

from .test_playout_vectors import frames_of, step

PATH = Path(__file__).parents[2] / "protocol" / "vectors" / "live.json"
CASES = json.loads(PATH.read_text(encoding="utf-8"))["cases"]

MADE_UP = re.compile(r"~(?P<number>\d) t(?P<track>\d+)(?P<fall> out)?")
MEND = re.compile(r"(?P<pts>\d+) ~(?P<number>\d)>t(?P<track>\d+)")
BRIDGE = re.compile(r"(?P<pts>\d+) t(?P<track>\d+) bridge")


def live_frames_of(notation: str, pts: int) -> list[Frame | None]:
    """What one string stands for; a frame that is made up stands before `pts`."""
    if said := MADE_UP.fullmatch(notation):
        number, track = int(said["number"]), int(said["track"])
        return [Frame(pts, track, fade_out=bool(said["fall"]), concealed=number)]
    if said := MEND.fullmatch(notation):
        return [Frame(int(said["pts"]), int(said["track"]), mend=int(said["number"]))]
    if said := BRIDGE.fullmatch(notation):
        return [Frame(int(said["pts"]), int(said["track"]), bridge=True)]
    return frames_of(notation)


def state_of(playout: LivePlayout) -> dict:
    return {
        "late": playout.late_ticks,
        "concealed": playout.concealed_ticks,
        "expired": playout.expired_ticks,
        "played": playout.played,
        "stalls": playout.stalls,
        "stall_ticks": playout.stall_ticks,
        "finished": playout.finished,
    }


def live_step(playout: LivePlayout, event: list) -> None:
    match event:
        case ["render", *notations]:
            for notation in notations:
                for wanted in live_frames_of(notation, playout.played):
                    assert playout.render() == wanted
        case ["state", wanted]:
            assert {name: state_of(playout)[name] for name in wanted} == wanted
        case _:
            step(playout, event)


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_vector(case):
    live = Live(conceal_ms=case.get("conceal_ms", 60), late_ms=case.get("late_ms"))
    playout = LivePlayout(live)
    for number, event in enumerate(case["events"]):
        try:
            live_step(playout, event)
        except AssertionError as fault:
            raise AssertionError(f"{case['name']}, event {number} {event}: {fault}") from fault


@pytest.mark.parametrize("setting, within, beyond", [
    ("conceal_ms", (0, 20, 40, 60), (-20, 10, 61, 80)),
    ("slow_below_ms", (0, 10_000), (-1, 10_001)),
    ("late_ms", (None, 0, 60_000), (-1, 60_001)),
])  # fmt: skip
def test_settings_are_held_to_their_bounds(setting, within, beyond):
    for value in within:
        assert getattr(Live(**{setting: value}), setting) == value
    for value in beyond:
        with pytest.raises(ValueError, match=setting):
            Live(**{setting: value})


def test_names_of_the_vectors_are_unique():
    names = [case["name"] for case in CASES]
    assert len(names) == len(set(names))
