"""Laws of the playout: whatever arrives, and in whatever batches, they hold."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abr_tts.errors import PlayoutError
from abr_tts.stream.held import MAX_TRACKS
from abr_tts.stream.playout import AS_FAST_AS_POSSIBLE, Playout
from abr_tts.units import FRAME_TICKS

from .speaking import end as stream_end
from .speaking import heard, plan, player, rest, speech, tell, track

frame_positions = st.integers(0, 40).map(lambda n: n * FRAME_TICKS)
events = st.one_of(
    st.tuples(st.just("open"), st.integers(0, 4), st.integers(0, 1), frame_positions, st.integers(0, 2)),
    st.tuples(st.just("more"), st.integers(0, 4), st.integers(1, 15)),
    st.tuples(st.just("switch"), st.integers(0, 4), frame_positions),
    st.tuples(st.just("pause")),
    st.tuples(st.just("resume")),
    st.tuples(st.just("render"), st.integers(1, 12)),
)


class Witness:
    """Drives a playout and holds every frame to the laws."""

    def __init__(self, start_ticks: int) -> None:
        self.playout = Playout(start_ticks=start_ticks)
        self.before = None
        self.ranges: dict[int, list[int]] = {}

    def do(self, event: tuple) -> None:
        match event:
            case ("open", number, rank, start, preroll):
                if number not in self.playout.live:
                    self.playout.open(number, rank, start, preroll)
                    self.ranges[number] = [start, start - preroll * FRAME_TICKS]
            case ("more", number, packets) if number in self.playout.live:
                pts = dict(self.playout.wanted)[number]
                assert self.playout.hold(number, pts, packets) == 0
                self.ranges[number][1] += packets * FRAME_TICKS
            case ("switch", number, at) if number in self.playout.live:
                self.playout.switch(number, at)
            case ("pause",):
                self.playout.pause()
            case ("resume",):
                self.playout.resume()
            case ("render", count):
                for _ in range(count):
                    self.render()

    def holds(self, number: int, pts: int) -> bool:
        start, stop = self.ranges[number]
        return start <= pts < stop

    def render(self) -> None:
        playout, before = self.playout, self.before
        position, promised = playout.played, playout.can_render
        frame = playout.render()
        if frame is None:
            assert not promised
            assert playout.played == position
            assert before is None or before.fade_out or playout.finished
            return
        assert frame.pts == (before.pts + FRAME_TICKS if before else 0)
        assert self.holds(frame.track, frame.pts)
        assert frame.fade_in == (before is not None and before.fade_out)
        assert frame.fade_out or promised
        if frame.fade_from is None:
            assert before is None or frame.fade_in or before.track == frame.track
        else:
            assert frame.fade_from == before.track != frame.track
            assert self.holds(frame.fade_from, frame.pts)
        assert frame.fade_out or playout.finished or self.holds(frame.track, frame.pts + FRAME_TICKS)
        assert len(playout.live) <= 5
        self.before = frame


@settings(max_examples=300, deadline=None)
@given(st.lists(events, max_size=60), st.sampled_from([0, 2_880, 9_600]), st.integers(0, 40_000))
def test_whatever_arrives_every_frame_is_played_once_in_order_and_fades_are_whole(script, start, length):
    witness = Witness(start)
    for event in [*script, ("render", 3)]:
        witness.do(event)
    witness.playout.end(length)
    witness.playout.resume()
    witness.do(("render", 60))
    playout = witness.playout
    everything_there = playout.played + playout.buffer_ticks() >= length
    assert playout.finished == everything_there
    assert playout.stall_ticks >= playout.stalls * FRAME_TICKS


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-4_000, 60_000), st.integers(1, 300)), max_size=30))
def test_packets_at_any_place_are_taken_or_refused_and_never_break_it(arrivals):
    playout = Playout()
    playout.open(1, 0, 0, 1)
    playout.open(2, 1, 4_800, 2)
    for number, pts, packets in arrivals:
        before = playout.wanted
        try:
            skipped = playout.hold(number, pts, packets)
        except PlayoutError:
            assert playout.wanted == before
        else:
            assert 0 <= skipped <= packets
            taken = (packets - skipped) * FRAME_TICKS
            assert dict(playout.wanted)[number] == dict(before)[number] + taken
        playout.render()


def test_live_tracks_are_limited_and_room_comes_back_as_they_are_passed():
    playout = Playout()
    for number in range(MAX_TRACKS):
        playout.open(number, 0, number * FRAME_TICKS)
        playout.hold(number, number * FRAME_TICKS, 12)
    with pytest.raises(PlayoutError) as refusal:
        playout.open(MAX_TRACKS, 0, MAX_TRACKS * FRAME_TICKS)
    assert refusal.value.fault == "too_many_tracks"
    for _ in range(12):  # to the end of the first track
        playout.render()
    playout.open(MAX_TRACKS, 0, MAX_TRACKS * FRAME_TICKS)
    assert playout.live == tuple(range(1, MAX_TRACKS + 1))


def batches(messages, cuts):
    """The messages in groups that end at `cuts`."""
    places = sorted({cut % (len(messages) + 1) for cut in cuts} | {len(messages)})
    return [messages[a:b] for a, b in zip([0, *places], places, strict=False)]


def single_packets(messages):
    """The same arrivals with every packet in a message of its own."""
    for message in messages:
        if hasattr(message, "packets"):
            for number, packet in enumerate(message.packets):
                yield type(message)(1, message.track, message.pts + number * FRAME_TICKS, (packet,))
        else:
            yield message


PCM = speech(1.0)
STREAMS = {
    "opus24": [*track(PCM, rung="opus24"), stream_end(PCM)],
    "pcm16k": [*track(PCM, rung="pcm16k"), stream_end(PCM)],
    "pcm22": [*track(PCM, rung="pcm22"), stream_end(PCM)],
    "a bank of three families": plan(PCM, ["opus24", "pcm16k", "opus64"], 15),
}
WHOLE = {name: heard(*messages) for name, messages in STREAMS.items()}


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(sorted(STREAMS)), st.lists(st.integers(0, 200), max_size=40), st.booleans())
def test_in_any_grouping_of_arrivals_the_output_is_the_same_bit_for_bit(name, cuts, one_by_one):
    messages = list(single_packets(STREAMS[name])) if one_by_one else STREAMS[name]
    listener = player(start_ticks=AS_FAST_AS_POSSIBLE)
    sound = []
    for batch in batches(messages, cuts):
        tell(listener, *batch)
        sound.append(rest(listener))
    assert listener.finished
    assert listener.stalls == 0
    assert np.array_equal(np.concatenate(sound), WHOLE[name])
