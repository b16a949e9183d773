"""The JavaScript's own tests hold, and it hears of a server's messages what Python's player hears."""

import base64
import json
import re
from dataclasses import replace

import numpy as np
import pytest

from abr_tts.units import FRAME_TICKS
from abr_tts.web import STATIC
from abr_tts.wire.codec import encode
from abr_tts.wire.messages import Switch

from ..stream import speaking
from ..stream.speaking import end, plan, player, rest, speech, switch, tell, track
from .node import JS, OLDEST, needs_node, node

pytestmark = needs_node

STARTED = replace(speaking.STARTED, stream_id="6f1c2b1e-9a4d-4c3b-8e57-0d2f3a4b5c6d")

FRAMES = 24
"""Frames between two splices of a plan: half a second."""

ROUNDING = 0.5 / 32768
"""Python rounds what it gives to 16 bits."""


def on_the_wire(message):
    """The helpers leave out whither a switch goes, which the wire does not."""
    return replace(message, target="x") if isinstance(message, Switch) else message


def heard_in_python(messages, out_rate):
    """int16 samples as float, and each frame as the JavaScript tells it."""
    listener, frames = player(out_rate), []
    render = listener._playout.render

    def noted():
        frame = render()
        frames.append([frame.pts, frame.track, frame.fade_from, frame.fade_in, frame.fade_out])
        return frame

    listener._playout.render = noted
    sound = rest(tell(listener, *messages))
    assert listener.finished
    return sound / 32768, frames, listener


def heard_in_javascript(messages, out_rate):
    wire = [base64.b64encode(encode(on_the_wire(message))).decode() for message in messages]
    told = json.loads(node(JS / "hear.mjs", text=json.dumps({"outRate": out_rate, "messages": wire})))
    return np.frombuffer(base64.b64decode(told["samples"]), "<f4"), told["frames"], told["meters"]


def difference_db(sound, other, rate) -> float:
    """
    The difference over the sound in dB, below 7 kHz: the pass band of either resampler at every rate.

    Above, soxr's filter is the narrower one: it passes 7.3 kHz of 16 kHz, the JavaScript's 7.1 kHz.
    """
    below = np.fft.rfftfreq(len(sound), 1 / rate) < 7_000
    noise, signal = np.fft.rfft(sound - other)[below], np.fft.rfft(other)[below]
    return float(10 * np.log10(np.sum(np.abs(noise) ** 2) / np.sum(np.abs(signal) ** 2)))


def test_every_test_of_the_javascript_holds():
    tests = sorted(JS.glob("*.test.mjs"))
    report = node("--test", *tests)
    passed = re.search(r"^# pass (\d+)", report, re.M)
    assert passed and int(passed[1]) >= len(tests)
    assert re.search(r"^# skipped 0$", report, re.M), "none is left out"


def test_node_is_new_enough():
    assert int(node("--version").strip().lstrip("v").split(".")[0]) >= OLDEST


@pytest.mark.parametrize(
    "rungs", [["opus24", "opus64", "opus48"], ["opus64", "opus12", "opus64"], ["opus32", "opus64", "opus32"]]
)
def test_opus_at_its_own_rate_is_heard_as_in_python_but_for_rounding(rungs):
    pcm = speech(2.0)
    messages = [STARTED, *plan(pcm, rungs, FRAMES)]
    expected, frames, _ = heard_in_python(messages, 48_000)
    sound, told, _ = heard_in_javascript(messages, 48_000)
    assert told == frames
    assert len(sound) == len(expected)
    assert np.abs(np.clip(sound, -1, 1 - 2 * ROUNDING) - expected).max() <= ROUNDING + 1e-6


@pytest.mark.parametrize("out_rate", [44_100, 48_000])
@pytest.mark.parametrize(
    "rungs",
    [["pcm22", "opus24", "pcm16k"], ["ulaw22", "pcm22", "opus64"], ["opus64", "pcm16k", "opus12", "ulaw16k"]],
)
def test_every_family_is_heard_as_in_python(rungs, out_rate):
    pcm = speech(2.0)
    messages = [STARTED, *plan(pcm, rungs, FRAMES)]
    expected, frames, listener = heard_in_python(messages, out_rate)
    sound, told, meters = heard_in_javascript(messages, out_rate)
    assert told == frames
    assert len(sound) == len(expected)
    assert difference_db(sound, expected, out_rate) < -75
    assert meters["seconds"] == pytest.approx(listener.seconds_played)
    assert (meters["switches"], meters["badPackets"]) == (listener.switches, 0)


def test_an_upgrade_over_a_bank_is_played_as_in_python():
    pcm = speech(2.0)
    bank, *banked = track(pcm, 1, "opus24")
    upgrade, *better = track(pcm, 2, "pcm22", rank=1, start=20 * FRAME_TICKS, frames=60)
    messages = [
        STARTED,
        bank,
        *banked[:12],
        upgrade,
        switch(2, 20 * FRAME_TICKS),
        *better,
        *banked[12:],
        end(pcm),
    ]
    expected, frames, _ = heard_in_python(messages, 48_000)
    sound, told, _ = heard_in_javascript(messages, 48_000)
    assert {frame[1] for frame in frames} == {1, 2}
    assert told == frames
    assert difference_db(sound, expected, 48_000) < -75


def test_the_files_lie_where_python_says():
    assert (STATIC / "index.js").is_file() and (STATIC / "package.json").is_file()
