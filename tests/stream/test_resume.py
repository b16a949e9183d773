"""A stream that loses its connection goes on at another: same bytes, nothing lost, nothing twice."""

import random
from dataclasses import replace

import numpy as np
import pytest

from abr_tts.audio.libopus import load
from abr_tts.control.controller import UPGRADE, Decision, Reason
from abr_tts.control.ladder import FULL
from abr_tts.control.memory import Remembers
from abr_tts.control.policy_file import preset
from abr_tts.errors import ResumeLost
from abr_tts.sim.replay import replay
from abr_tts.stream.core import Attachment, CoreSetup, StreamCore
from abr_tts.stream.layers import Layers
from abr_tts.stream.outputs import Drained
from abr_tts.stream.player import Player
from abr_tts.stream.playout import AS_FAST_AS_POSSIBLE
from abr_tts.stream.recorder import RecordedCore
from abr_tts.stream.terms import Terms
from abr_tts.trace import read
from abr_tts.units import FRAME_TICKS
from abr_tts.wire.messages import Audio, BitRateHint, Mark, StreamEnd, StreamStarted, Switch, Track

from .driver import Driver, cut

RATE = 22_050
LIBRARY = load()
CODECS = ("opus", "pcm16", "ulaw")


PARTIES = ("engine", "codec", "write", "network", "play", "hint")


def speech(seconds: float, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (np.cumsum(rng.integers(-900, 901, round(seconds * RATE))) % 16_000 - 8_000).astype(np.int16)


class Line(Driver):
    """A driver whose listener is a real player, and whose connection can be cut."""

    paced = False
    """The listener hears in real time, not as fast as it comes."""

    def __init__(self, terms: Terms, clauses, rng: random.Random, lines: list[str] | None = None) -> None:
        self.terms, self.handle = terms, 1
        self.player = Player(LIBRARY, RATE, start_ticks=AS_FAST_AS_POSSIBLE)
        self.player.on_message(StreamStarted(1, "", "", "", RATE, 1, "", ""))
        self.heard: list[np.ndarray] = []
        self.marks: list[tuple[int, int, int]] = []
        self.bytes: dict[tuple[int, int], bytes] = {}
        self.cuts = 0
        self.began: float | None = None
        self.controller = terms.controller()
        setup = CoreSetup(1, RATE, self.controller, LIBRARY)
        core = StreamCore(setup, 0.0) if lines is None else RecordedCore(setup, terms, 0.0, lines.append)
        super().__init__(core, clauses, rng)

    def network(self) -> bool:
        if not self.on_the_way:
            return False
        size, message = self.on_the_way.popleft()
        self.received += size
        assert message.stream == self.handle
        if isinstance(message, Audio):
            for index, packet in enumerate(message.packets):
                key = message.track, message.pts + index * FRAME_TICKS
                assert self.bytes.setdefault(key, packet) == packet
        if isinstance(message, Mark):
            self.marks.append((message.pts, message.begin, message.end))
        self.player.on_message(message)
        return False

    def play(self) -> bool:
        while self.player.can_render and self.rng.random() < 0.9:
            self.began = self.now if self.began is None else self.began
            if self.paced and len(self.heard) * 0.02 > self.now - self.began:
                break
            self.heard.append(self.player.render())
        return False

    def hint(self) -> bool:
        player = self.player
        self.core.report(
            BitRateHint(
                stream=self.handle, received=self.received, played=player.played, buffer_ms=player.buffer_ms
            ),
            self.now,
        )
        return True

    def cut(self) -> None:
        """The connection is lost with all that was on its way; another takes over after a while."""
        self.socket.clear()
        self.on_the_way.clear()
        self.core.detach(self.now)
        self.drain()
        for _ in range(self.rng.randrange(30)):
            self.step(("engine", "codec"))
        assert not self.socket, "nothing is sent without a connection"
        self.received, self.handle = 0, self.handle % 255 + 1
        known = self.controller.estimate(self.now) if isinstance(self.controller, Remembers) else None
        self.controller = replace(self.terms, remembered=known).controller()
        to = Attachment(self.handle, self.controller, dict(self.player.wanted), self.player.played, known)
        self.core.attach(to, self.now)
        self.cuts += 1
        self.drain()

    def run(self, cuts: float = 0.0) -> np.ndarray:
        for _ in range(200_000):
            if self.events and isinstance(self.events[-1], Drained):
                break
            self.step(PARTIES)
            if self.rng.random() < cuts:
                self.cut()
        else:
            raise AssertionError("not drained")
        while self.on_the_way:
            self.network()
        while not self.player.finished:
            self.heard.append(self.player.render())
        return np.concatenate(self.heard)


def clauses(rng: random.Random) -> list[list[np.ndarray]]:
    return [cut(speech(rng.uniform(0.5, 4), rng.randrange(99)), rng, 6000) for _ in range(3)]


@pytest.mark.parametrize("rung", ["opus24", "opus64", "pcm22", "pcm16k", "ulaw22"])
@pytest.mark.parametrize("seed", range(8))
def test_at_a_fixed_rung_the_sound_is_that_of_an_unbroken_connection(rung, seed):
    terms = Terms(CODECS, RATE, 1, rung=FULL[rung])
    plain = Line(terms, clauses(random.Random(seed)), random.Random(seed + 1))
    whole = plain.run()
    broken = Line(terms, clauses(random.Random(seed)), random.Random(seed + 2))
    assert np.array_equal(broken.run(cuts=0.03), whole)
    assert broken.cuts > 2
    assert broken.bytes == plain.bytes
    assert list(dict.fromkeys(broken.marks)) == plain.marks


@pytest.mark.parametrize("policy", ["default", "classic", "opus"])
@pytest.mark.parametrize("seed", range(8))
def test_an_adaptive_stream_loses_nothing_and_says_no_packet_in_two_ways(policy, seed):
    terms = Terms(CODECS, RATE, 1, policy=preset(policy))
    lines: list[str] = []
    spoken = clauses(random.Random(seed))
    length = sum(len(chunk) for clause in spoken for chunk in clause)
    line = Line(terms, spoken, random.Random(seed + 2), lines)
    line.paced = True
    assert len(line.run(cuts=0.002)) == length
    assert line.cuts
    assert line.player.stalls == 0
    assert replay(read(lines, "t")).difference is None


def upgrade_to(pts: int) -> Decision:
    return Decision(UPGRADE, FULL["opus48"], pts, Reason("rate", "there is room"))


def test_an_upgrade_that_was_cut_is_followed_by_another_over_the_frame_of_a_fade():
    layers = Layers(1, RATE, LIBRARY)
    track, _, _ = layers.join(upgrade_to(0))
    track.next_pts = 40 * FRAME_TICKS
    layers.cut(UPGRADE, 30 * FRAME_TICKS)
    assert layers.next_pts(UPGRADE) == 30 * FRAME_TICKS
    after, messages, _ = layers.join(upgrade_to(30 * FRAME_TICKS))
    assert (after.number, after.start) == (track.number + 1, 29 * FRAME_TICKS)
    assert [(type(m), m.track) for m in messages] == [(Track, after.number), (Switch, after.number)]
    assert (messages[1].at, messages[1].length) == (after.start, FRAME_TICKS)


def test_an_upgrade_of_which_nothing_came_is_forgotten():
    layers = Layers(1, RATE, LIBRARY)
    layers.join(upgrade_to(50 * FRAME_TICKS))
    layers.cut(UPGRADE, 50 * FRAME_TICKS)
    assert layers[UPGRADE] is None
    assert layers.join(upgrade_to(50 * FRAME_TICKS))[0].start == 50 * FRAME_TICKS


def test_a_cut_before_anything_was_sent_costs_nothing():
    terms = Terms(CODECS, RATE, 1, rung=FULL["opus24"])
    line = Line(terms, clauses(random.Random(5)), random.Random(5))
    line.cut()
    other = Line(terms, clauses(random.Random(5)), random.Random(6))
    assert np.array_equal(line.run(), other.run())


def test_a_listener_who_has_all_but_the_end_is_told_the_end_again():
    terms = Terms(CODECS, RATE, 1, rung=FULL["pcm22"])
    line = Line(terms, clauses(random.Random(3)), random.Random(3))
    while not any(isinstance(message, StreamEnd) for message in line.messages):
        line.step(PARTIES)
    line.socket.clear()
    line.on_the_way = type(line.on_the_way)(
        one for one in line.on_the_way if not isinstance(one[1], StreamEnd)
    )
    while line.on_the_way:
        line.network()
    line.cut()
    line.run()
    assert line.player.finished


@pytest.mark.parametrize("told", [False, True])
def test_a_speech_that_is_cancelled_before_its_end_is_told_again_ends_as_cancelled(told):
    """The engine was done before the connection was lost: the listener waits for an end all the same."""
    line = Line(Terms(CODECS, RATE, 1, rung=FULL["pcm22"]), [[speech(2, 1)]], random.Random(3))
    line.network = lambda: Driver.network(line)  # its bytes arrive, and its player, which died, has none
    for _ in range(3000):
        line.step(("engine", "codec", "write", "network", "hint"))
    assert line.messages[-1].reason == "done"
    line.cut()
    for _ in range(3000 if told else 0):
        line.step(("write", "network", "hint"))
    line.socket.clear()
    line.core.cancel(line.now)
    line.drain()
    ends = [] if told else [(line.handle, "cancelled")]
    assert [(one.stream, one.reason) for one in line.socket] == ends
    assert (line.messages[-1].stream, line.messages[-1].reason) == (line.handle if told else 1, "done")


def test_a_listener_who_starves_and_pauses_finds_all_of_it_at_the_next_connection():
    line = Line(Terms(CODECS, RATE, 1, rung=FULL["pcm22"]), [[speech(4, 1)]], random.Random(4))
    while line.now < 6.0:
        line.step(("engine", "codec", "write"))  # nothing arrives, and nothing is heard of the listener
    line.core.pause(line.now)
    line.drain()
    line.hint()
    line.drain()
    assert (line.core.played, [one for one in line.events if isinstance(one, Drained)]) == (0, [])
    line.cut()
    line.core.resume(line.now)
    line.drain()
    line.run()
    assert line.player.finished


def test_what_was_freed_is_lost_and_the_stream_stays_as_it_was():
    terms = Terms(CODECS, RATE, 1, rung=FULL["opus24"])
    line = Line(terms, clauses(random.Random(4)), random.Random(4))
    while line.player.played < 50 * FRAME_TICKS:
        line.step(PARTIES)
    line.hint()
    line.drain()
    line.core.detach(line.now)
    line.drain()
    for wanted in ({0: 0}, {}, {0: 2**31}):
        with pytest.raises(ResumeLost):
            line.core.attach(Attachment(2, terms.controller(), wanted, line.player.played), line.now)
    line.core.attach(
        Attachment(1, terms.controller(), dict(line.player.wanted), line.player.played), line.now
    )
    line.drain()
    line.socket.clear()


def test_what_is_told_again_waits_for_room_on_the_new_connection():
    """A slow listener lost much that was on its way; all at once it would delay whatever comes after."""
    terms = Terms(CODECS, RATE, 1, rung=FULL["pcm22"])
    line = Line(terms, [[speech(20, 1)]], random.Random(9))
    for _ in range(3000):
        line.step(("engine", "codec", "write"))
    held = sum(len(packet) for one in line.core.retained for packet in one.packets)
    line.cut()
    for _ in range(3):
        line.step(("write",))
    first = line.core.outstanding
    for _ in range(3000):
        line.step(("codec", "write"))
    assert first < line.core.outstanding < held + 8_000
    line.run()
    assert line.player.stalls == 0
