"""A server's messages for a player to hear, by the shipped encoders; and what a player makes of them."""

from functools import cache

import numpy as np

from abr_tts.audio.libopus import load
from abr_tts.audio.timeline import Timeline
from abr_tts.control.ladder import FULL
from abr_tts.stream.player import Player
from abr_tts.stream.playout import AS_FAST_AS_POSSIBLE
from abr_tts.stream.track import Track as Sender
from abr_tts.units import FRAME_TICKS
from abr_tts.wire.messages import Audio, StreamEnd, StreamStarted, Switch, Track

from ..signals import speech_like

RATE = 22_050
FRAME = 441
LIBRARY = load()
STARTED = StreamStarted(1, "id", "token", "voice", RATE, 1, "pcm16", "pcm22")


@cache
def speech(seconds: float = 2.0, seed: int = 1) -> np.ndarray:
    return speech_like(RATE, seconds, seed)


def track(pcm, number=1, rung="pcm22", rank=0, start=0, frames=None, at_a_time=5) -> list:
    """One track over `frames` frames (all that there are), as messages: `Track`, then `Audio`s."""
    timeline = Timeline(RATE)
    timeline.append(pcm)
    timeline.end()
    sender = Sender(number, rank, FULL[rung], start, RATE, LIBRARY)
    first, line = sender.next_pts, FULL[rung]
    until = start + frames * FRAME_TICKS if frames else timeline.ready
    packets = sender.job(timeline, until).run()
    opening = Track(
        1, number, rank, rung, line.codec, line.sample_rate, 1, start, (start - first) // FRAME_TICKS
    )
    return [opening, *(
        Audio(1, number, first + at * FRAME_TICKS, tuple(packets[at : at + at_a_time]))
        for at in range(0, len(packets), at_a_time)
    )]  # fmt: skip


def end(pcm) -> StreamEnd:
    return StreamEnd(1, len(pcm), RATE, 1, "pcm16")


def switch(number: int, at: int, length: int = FRAME_TICKS, target: str = "") -> Switch:
    return Switch(1, number, "", target, at, length, "")


def player(out_rate=None, start_ticks=AS_FAST_AS_POSSIBLE, **settings) -> Player:
    new = Player(LIBRARY, out_rate, start_ticks=start_ticks, **settings)
    new.on_message(STARTED)
    return new


def tell(listener: Player, *messages) -> Player:
    for message in messages:
        listener.on_message(message)
    return listener


def frames(listener: Player, count: int) -> np.ndarray:
    """The next `count` frames, one after another; silence where there is none."""
    rate = listener.out_rate
    got = [listener.render() for _ in range(count)]
    return np.concatenate([np.zeros(rate // 50, np.int16) if g is None else g for g in got])


def rest(listener: Player) -> np.ndarray:
    """All that can be rendered without a stall."""
    got = [np.zeros(0, np.int16)]
    while listener.can_render:
        got.append(listener.render())
    return np.concatenate(got)


def heard(*messages, out_rate=None) -> np.ndarray:
    """What a reader without a clock hears of these messages."""
    listener = tell(player(out_rate), *messages)
    sound = rest(listener)
    assert listener.finished
    return sound


def plan(pcm, rungs: list[str], length: int) -> list:
    """A bank that changes to the next of `rungs` every `length` frames, spliced as a server splices."""
    total = -(-len(pcm) // FRAME)
    messages = []
    for number, rung in enumerate(rungs):
        start = max(0, number * length - 1)
        stop = total if number == len(rungs) - 1 else (number + 1) * length
        opening, *audio = track(pcm, number, rung, 0, start * FRAME_TICKS, stop - start)
        messages += [opening, *([switch(number, start * FRAME_TICKS)] if number else []), *audio]
    return [*messages, end(pcm)]
