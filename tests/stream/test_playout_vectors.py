"""Playout obeys protocol/vectors/playout.json, case by case."""

import json
import re
from pathlib import Path

import pytest

from abr_tts.errors import PlayoutError
from abr_tts.stream.playout import START_TICKS, Frame, Playout

PATH = Path(__file__).parents[2] / "protocol" / "vectors" / "playout.json"
CASES = json.loads(PATH.read_text(encoding="utf-8"))["cases"]

SILENCE = re.compile(r"-(?: x(?P<times>\d+))?")
FRAMES = re.compile(
    r"(?P<first>\d+)(?:\.\.(?P<last>\d+))? (?:t(?P<old>\d+)>)?t(?P<new>\d+)(?P<rise> in)?(?P<fall> out)?"
)


def frames_of(notation: str) -> list[Frame | None]:
    """What one string of a vector's `render` stands for."""
    if silence := SILENCE.fullmatch(notation):
        return [None] * int(silence["times"] or 1)
    said = FRAMES.fullmatch(notation)
    assert said, f"not in the notation: {notation!r}"
    first = int(said["first"])
    return [
        Frame(pts, int(said["new"]), said["old"] and int(said["old"]), bool(said["rise"]), bool(said["fall"]))
        for pts in range(first, int(said["last"] or first) + 1, 960)
    ]


def state_of(playout: Playout, names) -> dict:
    state = {
        "started": playout.started,
        "finished": playout.finished,
        "played": playout.played,
        "buffer": playout.buffer_ticks(),
        "stalls": playout.stalls,
        "stall_ticks": playout.stall_ticks,
        "can_render": playout.can_render,
        "live": list(playout.live),
        "wanted": [list(pair) for pair in playout.wanted],
        "highest": [list(pair) for pair in playout.highest],
    }
    return {name: state[name] for name in names}


def step(playout: Playout, event: list) -> None:
    match event:
        case ["render", *notations]:
            for wanted in (frame for notation in notations for frame in frames_of(notation)):
                assert playout.render() == wanted
        case ["state", wanted]:
            assert state_of(playout, wanted) == wanted
        case ["refuse", fault, refused]:
            before = (playout.wanted, playout.played, playout.end_ticks)
            with pytest.raises(PlayoutError) as refusal:
                step(playout, refused)
            assert refusal.value.fault == fault
            assert (playout.wanted, playout.played, playout.end_ticks) == before
        case [verb, *arguments]:
            method = {"track": "open"}.get(verb, verb)
            getattr(playout, method)(*arguments)


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_vector(case):
    playout = Playout(start_ticks=case.get("start_ticks", START_TICKS), level=case.get("level", 1))
    for number, event in enumerate(case["events"]):
        try:
            step(playout, event)
        except AssertionError as fault:
            raise AssertionError(f"{case['name']}, event {number} {event}: {fault}") from fault


def test_names_of_the_vectors_are_unique():
    names = [case["name"] for case in CASES]
    assert len(names) == len(set(names))
