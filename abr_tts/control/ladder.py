"""
The ladder: the rungs a stream may be sent at, best first, and their families.

A *rung* is one line of the ladder. Rungs that one decoder plays without being told form a
*family* and share a track: moving inside a family retunes the encoder, moving between
families opens a new track (a splice).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ..errors import NoCommonFormat, UnknownRung
from ..units import FRAMES_PER_SECOND

CELT_FROM_KBPS = 64
"""Opus at and above this bitrate is coded by CELT alone and is a family of its own: its
delay differs by a sample from the hybrid mode's (measured with libopus 1.5)."""

LONG_MESSAGE_BELOW_KBPS = 16
"""Below this bitrate headers weigh more than audio, so a message carries 200 ms: Opus at
8 kbit/s is 47 kbit/s on a TLS wire in 20 ms messages and 11 in 200 ms messages."""

MESSAGE_HEAD_BYTES = 11
"""Of an audio message beside its packets: array, kind, stream, track and pts (protocol, "audio");
up to 3 bytes more stand before each packet."""

FRAMING_BYTES = 26
"""Around a message on its way: WebSocket 4 (RFC 6455 5.2), TLS 1.3 record 22 (RFC 8446 5.2).
Without TLS, or below 126 bytes, it is a little less."""

SEGMENT_BYTES, SEGMENT_HEAD_BYTES = 1448, 52
"""A full TCP segment and what stands before it: IPv4 20, TCP 20, time stamps 12."""


@dataclass(frozen=True, slots=True)
class Rung:
    """
    One line of the ladder.

    Args:
        name: what requests, reports and logs call it.
        codec: `pcm16`, `ulaw` or `opus`.
        sample_rate: Hz that the encoder is fed with (Opus: 24 000; clients decode at 48 000).
        kbps: audio bitrate without any header.
        family: rungs of equal family share a track.
    """

    name: str
    codec: str
    sample_rate: int
    kbps: float
    family: str
    wire_kbps: float = field(init=False, compare=False, repr=False)
    """What the link must carry for this rung in real time: audio in messages of the usual length,
    with the headers of WebSocket, TLS, TCP and IP."""
    frames_per_message: int = field(init=False, compare=False, repr=False)
    """Frames that share one message once an utterance is under way: 5 (100 ms) or 10."""
    packet_bytes: float = field(init=False, compare=False, repr=False)
    """Bytes of one packet on the average."""

    def __eq__(self, other: object) -> bool:
        """By what it is made from; it is asked often, and nearly always of the very same."""
        return self is other or (isinstance(other, Rung) and self._made_from() == other._made_from())

    def _made_from(self) -> tuple[str, str, int, float, str]:
        return self.name, self.codec, self.sample_rate, self.kbps, self.family

    def __post_init__(self) -> None:
        frames = 10 if self.kbps < LONG_MESSAGE_BELOW_KBPS else 5
        object.__setattr__(self, "frames_per_message", frames)
        object.__setattr__(self, "packet_bytes", self.kbps * 1000 / 8 / FRAMES_PER_SECOND)
        kbps = wire_bytes(self.message_bytes(frames)) * 8 / 1000 * FRAMES_PER_SECOND / frames
        object.__setattr__(self, "wire_kbps", kbps)

    def message_bytes(self, frames: int) -> int:
        """WebSocket payload of an audio message of `frames` packets, about."""
        head = 3 if self.packet_bytes > 255 else 2
        return MESSAGE_HEAD_BYTES + round(frames * (self.packet_bytes + head))


def wire_bytes(payload: int) -> int:
    """Bytes on the link of a WebSocket message of `payload` bytes that travels by itself."""
    framed = payload + FRAMING_BYTES
    return framed + SEGMENT_HEAD_BYTES * -(-framed // SEGMENT_BYTES)


def pcm(name: str, rate: int) -> Rung:
    """A rung of 16-bit linear PCM at `rate` Hz, mono, little-endian."""
    return Rung(name, "pcm16", rate, rate * 16 / 1000, name)


def ulaw(name: str, rate: int) -> Rung:
    """A rung of µ-law (ITU-T G.711) at `rate` Hz, one byte a sample."""
    return Rung(name, "ulaw", rate, rate * 8 / 1000, name)


def opus(kbps: int) -> Rung:
    """A rung of Opus at `kbps` kbit/s, encoded from 24 kHz, named `opus<kbps>`."""
    celt = kbps >= CELT_FROM_KBPS
    return Rung(f"opus{kbps}", "opus", 24_000, kbps, "opus-celt" if celt else "opus-hybrid")


class Ladder:
    """Rungs, best first. Names are unique."""

    def __init__(self, rungs: Iterable[Rung]) -> None:
        self.rungs = tuple(rungs)
        if not self.rungs:
            raise ValueError("a ladder needs at least one rung")
        self._by_name = {rung.name: rung for rung in self.rungs}
        if len(self._by_name) != len(self.rungs):
            raise ValueError("two rungs of a ladder have the same name")

    def __getitem__(self, name: str) -> Rung:
        """
        The rung called `name`.

        Raises:
            UnknownRung: with the names that exist.
        """
        try:
            return self._by_name[name]
        except KeyError:
            names = [rung.name for rung in self.rungs]
            raise UnknownRung(f"no rung {name!r}; there are {', '.join(names)}", rungs=names) from None

    def for_codecs(self, codecs: Iterable[str]) -> Ladder:
        """
        The rungs that a client with these decoders can play.

        Raises:
            NoCommonFormat: none is left.
        """
        known = frozenset(codecs)
        rungs = [rung for rung in self.rungs if rung.codec in known]
        if not rungs:
            ours = sorted({rung.codec for rung in self.rungs})
            raise NoCommonFormat(f"the client decodes none of {', '.join(ours)}", codecs=ours)
        return Ladder(rungs)

    def for_rate(self, rate: int) -> Ladder:
        """
        The ladder for an engine of `rate` Hz: a 24 kHz engine gets `pcm24` above `pcm22`.

        A PCM rung faster than the engine would carry nothing, so it falls out.
        """
        fitting = [r for r in self.rungs if r.codec == "opus" or r.sample_rate <= rate]
        return Ladder(fitting or self.rungs)


FULL = Ladder(
    [
        pcm("pcm24", 24_000),
        pcm("pcm22", 22_050),
        pcm("pcm16k", 16_000),
        ulaw("ulaw22", 22_050),
        ulaw("ulaw16k", 16_000),
        opus(64),
        opus(48),
        opus(32),
        opus(24),
        opus(16),
        opus(12),
        opus(8),
    ]
)
"""Every rung the house knows, by codec and then by rate. Policies pick theirs from it."""
