"""
A session under anything that clients, networks, engines and operators may do, in any order.

Hypothesis makes up the story; the rules are what may happen, the invariants what must hold all the while:
a packet of a track is the same bytes each time that it is sent, and comes in its order; nothing is spoken
twice; what is counted is what there is; memory is bounded; and in the end nothing is left, timers included.

The stories are the same every time, so that a change is not refused for what it did not change. To look for
new ones ask for many: `ABR_TTS_STORIES=5000 pytest tests/server/test_session_machine.py` makes them up anew,
some 15 a second, by `--hypothesis-seed` again, and ends with how to repeat the one that fails.
"""

import os
import re
from collections import Counter

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from abr_tts.audio.pcm import decode_pcm16
from abr_tts.units import FRAME_TICKS, seconds_to_ticks
from abr_tts.wire import messages as m
from abr_tts.wire.codec import decode, encode

from .noise_engine import RATE, noise
from .session_world import MAX_AHEAD_S, MAX_LEAD_S, World
from .virtual_loop import VirtualLoop

MESSAGE_S = 0.5
"""What one message more may add."""

PART = re.compile(r"s\d+p\d+")

STREAMS, RUNGS = 6, (None, "pcm22", None, "opus24")
"""A stream is asked for at one of them, each time."""

which = st.integers(0, 30)
few = st.integers(0, STREAMS - 1)
"""Streams: few ids, so that they are asked for again."""
references = st.tuples(which, which)


class Stream:
    """What the client has of one stream, over all its connections."""

    def __init__(self, number):
        self.number, self.id = number, f"00000000-0000-4000-8000-{number:012}"
        self.token, self.end = None, None
        self.rung = RUNGS[number % len(RUNGS)]
        self.packets, self.tracks = {}, {}
        self.played, self.parts = 0, 0
        self.lied = False
        """The client claimed what is not so: it may miss what it claimed to have."""

    def words(self, sentences):
        """That many more sentences; each has a name that no other one has."""
        first, self.parts = self.parts, self.parts + sentences
        return "".join(f"Sentence s{self.number}p{n} is read. " for n in range(first, self.parts))

    def next_pts(self, track):
        got = [pts for number, pts in self.packets if number == track]
        return max(got) + FRAME_TICKS if got else self.tracks[track][1]

    @property
    def banked(self):
        """Pts up to which the bank is here without a hole."""
        bank = {pts for track, pts in self.packets if self.tracks[track][0] == 0 and pts >= 0}
        pts = 0
        while pts in bank:
            pts += FRAME_TICKS
        return pts

    def hint(self, line, handle):
        """What is true."""
        buffer_ms = (self.banked - self.played) // 48
        return m.BitRateHint(handle, line.received, self.played, buffer_ms, rtt_ms=20.0)


class Sessions(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.loop = VirtualLoop()
        self.world = self.loop.do(World, self.loop)
        self.streams = [Stream(number) for number in range(STREAMS)]
        self.stray = Stream(STREAMS)
        """What is said of a handle that its client was not given: nobody knows whose it is."""
        self.refused = Counter()

    # ------------------------------------------------------------ clients come and go

    @initialize(number=few, more=st.booleans())
    def two_clients_and_a_stream(self, number, more):
        self.connect(2)
        self.connect(2)
        self.start(0, number, 2, more)

    @rule(level=st.sampled_from([1, 2, 2, 2]))
    def connect(self, level):
        if len(self.world.lines) < 4:
            line = self.loop.do(self.world.connect)
            self.say(line, m.Hello(level=level, codecs=("opus", "pcm16")))

    @precondition(lambda self: self.world.lines)
    @rule(line=which, code=st.sampled_from([1000, 1006, 1006]))
    def go(self, line, code):
        """What is under way to it is lost."""
        line = self.line(line)
        self.loop.do(line.socket.end, code)
        line.kernel.taken.clear()

    @precondition(lambda self: self.world.lines)
    @rule(line=which, seconds=st.sampled_from([0.0, 0.5, 3.0]))
    def come_back(self, line, seconds):
        """A connection breaks, and its client goes on with all that it heard there, at another one."""
        names = set(self.line(line).handles.values())
        self.go(line, 1006)
        self.time_passes(seconds)
        self.connect(2)
        for stream in filter(lambda stream: stream.id in names, self.streams):
            self.attach(-1, self.known.index(stream), "right")

    @precondition(lambda self: self.world.lines)
    @rule(line=which, data=st.sampled_from([b"\xc1", "text", encode(m.Hello())]))
    def break_the_rules(self, line, data):
        self.loop.do(self.line(line).socket.came, data)

    # ------------------------------------------------------------ what clients ask

    @precondition(lambda self: self.world.lines)
    @rule(line=which, number=few, sentences=st.sampled_from([3, 2, 1, 0]), more=st.booleans())
    def start(self, line, number, sentences, more):
        """Of a used id only the first sentence is asked for, which must not be spoken again."""
        stream = self.streams[number]
        first = stream.token is None and not stream.parts
        text = stream.words(sentences) if first else f"Sentence s{number}p0 is read. "
        stream.parts = max(stream.parts, 1)
        self.say(self.line(line), m.StreamStart(stream.id, text, open=more, rung=stream.rung))

    @precondition(lambda self: self.world.lines)
    @rule(reference=references, sentences=st.integers(0, 3))
    def text(self, reference, sentences):
        line, handle, stream = self.handle(reference)
        self.say(line, m.Text(handle, stream.words(sentences)))

    @precondition(lambda self: self.world.lines)
    @rule(reference=references, kind=st.sampled_from([m.TextEnd, m.TextEnd, m.Cancel, m.Pause, m.Resume]))
    def ask(self, reference, kind):
        line, handle, _ = self.handle(reference)
        self.say(line, kind(handle))

    @precondition(lambda self: self.world.lines)
    @rule(reference=references, share=st.sampled_from([0, 0.5, 0.9, 1, 1]))
    def report(self, reference, share):
        """What is true."""
        line, handle, stream = self.handle(reference)
        stream.played = max(stream.played, int(stream.banked * share))
        self.say(line, stream.hint(line, handle))

    @precondition(lambda self: self.world.lines)
    @rule(
        reference=references,
        received=st.sampled_from([0, 10**9]),
        played=st.sampled_from([0, 10**6, 2**32 - 1]),
    )
    def lie(self, reference, received, played):
        line, handle, stream = self.handle(reference)
        if stream is self.stray:
            return
        stream.lied = True
        self.say(line, m.BitRateHint(handle, received, played, 60_000, rtt_ms=0.0, stalls=3, stall_ms=10**6))

    @precondition(lambda self: self.world.lines)
    @rule(line=which, number=few, how=st.sampled_from(["right", "right", "right", "wrong token", "lie"]))
    def attach(self, line, number, how):
        """It may be attached elsewhere, or here, and be heard: two claim it then."""
        line, stream = self.line(line), self.known[number % len(self.known)]
        token = "wrong" if how == "wrong token" or not stream.token else stream.token
        wanted = {track: stream.next_pts(track) for track in stream.tracks}
        played = stream.played
        if how == "lie" and token != "wrong" and stream.id not in line.handles.values():
            stream.lied, played = True, stream.played + 960_000
            wanted = {track: pts + 48_000 for track, pts in wanted.items()}
        if token != "wrong":
            if stream.id in line.handles.values() or stream.id in line.wanted:
                return  # as the client sees it, it is here, or was asked for here and not answered yet
            line.wanted[stream.id] = wanted
        self.say(line, m.Attach(stream.id, token, tuple(wanted.items()), played))

    # ------------------------------------------------------------ what else happens

    @precondition(lambda self: self.world.lines)
    @rule(line=which, most=st.sampled_from([1, 3, 10, 1_000, 1_000]))
    def read(self, line, most):
        """The network brings messages, and the client looks at them."""
        line = self.line(line)
        for data in self.loop.do(line.kernel.read, most):
            line.received += len(data)
            self.told(line, decode(data, "server"))

    @rule(tenths=st.sampled_from([3, 10, 30]), hears=st.sampled_from([True, True, False]))
    def a_while(self, tenths, hears):
        """All is well: everybody reads and reports, and hears, unless all have paused in silence."""
        for _ in range(tenths):
            self.time_passes(0.1)
            for number in range(len(self.world.lines)):
                self.read(number, 1_000)
            for line in list(self.world.lines):
                for handle, stream in [(handle, self.of(name)) for handle, name in line.handles.items()]:
                    if hears:
                        stream.played = max(stream.played, min(stream.banked, stream.played + 4_800))
                    self.say(line, stream.hint(line, handle))

    @rule()
    def a_moment(self):
        """The same for a moment; twice, so that a story is more than mishaps."""
        self.a_while(1, True)

    @rule(seconds=st.sampled_from([0.02, 0.3, 2.0, 5.0, 20.0]))
    def time_passes(self, seconds):
        self.loop.run_for(seconds)
        self.loop.do(lambda: self.world.turns.look(self.loop.time()))

    @rule(
        chance=st.sampled_from([*["nothing"] * 6, "the engine fails", "drain", "move"]), again=st.booleans()
    )
    def mishap(self, chance, again):
        if chance == "the engine fails":
            self.loop.do(self.world.engine.fail)
        elif chance in ("drain", "move") and again:
            if not self.world.draining:
                self.loop.do(self.world.drain)
            if chance == "move":
                self.loop.do(self.world.move)

    # ------------------------------------------------------------ help

    @property
    def known(self):
        """Streams that have begun once."""
        return [stream for stream in self.streams if stream.token] or self.streams

    def line(self, number):
        return self.world.lines[number % len(self.world.lines)]

    def handle(self, reference):
        """A connection, one of its streams by its handle, and what the client has of it."""
        line = self.line(reference[0])
        known = list(line.handles.items())
        if not known:
            return line, 1, self.stray
        handle, stream_id = known[reference[1] % len(known)]
        return line, handle, self.of(stream_id)

    def of(self, stream_id):
        return self.streams[int(stream_id[-1])]

    def say(self, line, message):
        self.loop.do(line.socket.came, encode(message))

    def told(self, line, message):
        """What a client does with a message, and what it may expect of it."""
        match message:
            case m.StreamStarted():
                stream = self.of(message.stream_id)
                assert stream.token in (None, message.token), "a stream keeps its token"
                stream.token, line.handles[message.stream] = message.token, message.stream_id
                for key in [key for key in line.due if key[0] == stream.number]:
                    del line.due[key]
            case m.Track():
                self.opened(line, message)
            case m.Audio():
                self.heard(line, message)
            case m.StreamEnd():
                self.ended(line, message)
            case m.Error():
                self.refused[message.code] += 1
                assert message.code not in ("internal", "stream_failed"), message
                if message.scope == "stream" and message.stream_id:
                    stream = self.of(message.stream_id)
                    assert stream.lied or "not held from" not in message.message, message
                    if stream.id in line.handles.values():
                        line.wanted.pop(stream.id, None)
                    line.handles = {h: name for h, name in line.handles.items() if name != stream.id}

    def opened(self, line, track):
        stream = self.of(line.handles[track.stream])
        opened = track.rank, track.start - track.preroll * FRAME_TICKS, track.rung
        assert stream.tracks.setdefault(track.track, opened) == opened, "a track is told again as it was"
        wanted = line.wanted.get(stream.id, {})
        first = None if stream.lied and wanted else wanted.get(track.track, opened[1])
        line.due.setdefault((stream.number, track.track), first)

    def heard(self, line, audio):
        stream = self.of(line.handles[audio.stream])
        key = stream.number, audio.track
        assert line.due[key] in (None, audio.pts), "in order, and none twice on one connection"
        for number, packet in enumerate(audio.packets):
            pts = audio.pts + number * FRAME_TICKS
            assert stream.packets.setdefault((audio.track, pts), packet) == packet, "the same bytes again"
        line.due[key] = audio.pts + len(audio.packets) * FRAME_TICKS

    def ended(self, line, end):
        stream = self.of(line.handles[end.stream])
        told, before = (end.length, end.reason), stream.end
        assert before in (None, told) or "cancelled" in (before[1], end.reason), (before, told)
        stream.end = told
        if end.reason != "done" or stream.lied:
            return
        assert stream.banked >= end.length * 48_000 // RATE, "all of it has come"
        if stream.rung == "pcm22":
            sound = decode_pcm16(b"".join(packet for _, packet in sorted(stream.packets.items())))
            self.is_all_that_was_said(stream, sound[: end.length])

    def is_all_that_was_said(self, stream, sound):
        """Each clause with words of the stream, in order; between them there may be some that were stray."""
        own, stray = f"s{stream.number}p", f"s{self.stray.number}p"
        at = 0
        for text in self.world.engine.said:
            said = noise(text)
            fits = np.array_equal(sound[at : at + len(said)], said)
            assert fits or own not in text, f"{text!r} is not what sounds at sample {at}"
            if fits and (own in text or stray in text):
                at += len(said)
        assert at == len(sound), f"{len(sound)} samples came, {at} of them of what was said"

    # ------------------------------------------------------------ what must hold

    @invariant()
    def nothing_is_spoken_twice(self):
        parts = Counter(part for text in self.world.engine.said for part in PART.findall(text))
        assert not parts or max(parts.values()) == 1, parts

    @invariant()
    def nothing_fails_by_itself(self):
        faults = self.loop.faults, self.world.logged.lines
        assert faults == ([], []), faults

    @invariant()
    def what_is_counted_is_what_there_is(self):
        world = self.world
        assert world.admission.streams == world.counted, (world.admission.streams, world.counted)
        shelved, waiting = len(world.resumption.shelf), world.turns.waiting
        assert shelved <= world.settings.resume.streams, f"{shelved} on the shelf"
        assert waiting <= world.settings.limits.waiting_streams + len(world.lines), f"{waiting} wait"

    @invariant()
    def memory_is_bounded(self):
        clause = max((len(noise(text)) for text in self.world.engine.said), default=0)
        for utterance in self.world.utterances:
            core = utterance.core
            assert core.held_samples <= (MAX_AHEAD_S + MESSAGE_S) * RATE + clause, core.held_samples
            for packets in core._outgoing.kept._packets:  # the bank's and, above it, the upgrade's
                spans = [one.end - one.pts for one in packets]
                assert sum(spans) <= seconds_to_ticks(MAX_LEAD_S + MESSAGE_S), sum(spans) / 48_000

    def teardown(self):
        """All go; after the time that streams are kept nothing is left."""
        world, loop = self.world, self.loop
        try:
            for number, line in enumerate(list(world.lines)):
                if number % 2:
                    loop.do(line.socket.end, 1006)
            if world.draining:
                loop.do(world.stop)
            for line in list(world.lines):
                loop.do(line.socket.end, 1000)
            loop.run_for(60.0)
            left = world.lines, world.admission.streams, list(world.utterances)
            assert left == ([], 0, []), left
            left = world.turns.speaking, world.turns.waiting, world.engine.busy
            assert left == (0, 0, False), left
            left = len(world.resumption.shelf), world.resumption._held, world.ids._live
            assert left == (0, {}, set()), left
            started, ended = (
                sum(s.value for f in counter.collect() for s in f.samples if s.name.endswith("_total"))
                for counter in (world.metrics.started, world.metrics.ended)
            )
            assert started == ended, "each stream ends, and once"
            assert loop.timers == [], loop.timers
        finally:
            world.logged.stop()
            loop.close()


MORE = os.environ.get("ABR_TTS_STORIES")
"""So many stories at random; unset: 60 that are always the same."""

TestSessions = Sessions.TestCase
TestSessions.settings = settings(
    max_examples=int(MORE or 60),
    stateful_step_count=40,
    deadline=None,
    derandomize=not MORE,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
