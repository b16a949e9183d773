"""
What a broken or hostile peer may send: messages of the protocol, some in order, most of them spoilt.

`Maker(seed, side).message()` gives one WebSocket message after the other, the same ones for the same seed.
Streams have few ids and few handles, so that messages meet streams in every state. Spoilt is the value (a
field is gone, another's, hostile, nested deep, named twice) or the bytes (cut, flipped, spliced, with lengths
that lie). Knows the wire's form by heart and no code that reads it.
"""

from __future__ import annotations

import random
import struct
import uuid
from collections.abc import Callable
from typing import Any, TypeAlias

import msgpack

Body: TypeAlias = dict[str, Any] | list[Any]

IDS = tuple(str(uuid.UUID(int=number, version=4)) for number in range(1, 9))
"""Of streams: few, so that they meet again."""

HANDLES = (1, 1, 1, 2, 2, 3, 4, 127, 128, 255)
"""Of streams; the first ones most often, because a server gives them first."""

WORDS = ("Hi. ", "one two three", "x" * 40, "", " ", "…", "你好。", "\ud83d", "\ude00 half a pair", "\0")

ORDERS = (0.35, 0.8, 0.9, 0.97)
"""Shares of messages in order, of which a connection has one: some faults show after many messages only."""

GREETING = 0.01
"""Share of greetings among the messages after the first."""

LARGE = 70_000
"""Bytes or values of what is meant to be too large for a field, and not for a message."""

_pack = msgpack.Packer(unicode_errors="surrogatepass").pack


def _nested(depth: int, kind: bytes) -> Any:
    """So many arrays or maps in each other, as bytes: no packer makes them."""
    return _Raw(kind * depth + b"\xc0")


class _Raw(bytes):
    """Bytes of msgpack, to stand in a message as they are."""


HOSTILE: tuple[Any, ...] = (
    None, True, False, -1, 0, 1, 256, 65_536, 2**31, 2**32, 2**53, 2**63 - 1, 2**64 - 1, -(2**63),
    0.5, -0.0, 1e308, float("nan"), float("inf"), float("-inf"),
    "", "x", "\ud800", "\0", "x" * 65, "x" * 2_001, "x" * LARGE, "🎵" * 100, b"", b"\xff", bytes(300),
    bytes(LARGE), [], {}, [[]], [None], [[0, 0]], [[0, -1], [65_536, 0]], [0] * 17, {"": 0},
    {"type": "ping"}, {1: 2}, {b"x": 1}, {"x": {"x": {"x": {}}}},
    _Raw(b"\xd4\x05x"), _Raw(b"\xd6\xff\0\0\0\0"), _Raw(b"\xc7\x05\xff\0\0\0\0\0"), _Raw(b"\xd8\0x"),
    _nested(7, b"\x91"), _nested(8, b"\x91"), _nested(200, b"\x91"), _nested(5_000, b"\x91"),
    _nested(3_000, b"\x81\xa1x"),
    _Raw(b"\xdc\x0f\xa0" + b"\x90" * 4_000), _Raw(b"\xdc\x0f\xa0" + b"\x80" * 4_000),
    _Raw(b"\xdc\x13\x88" + b"\x05" * 5_000), _Raw(b"\x9f" + b"\x90" * 15),
    _Raw(b"\xc1"), _Raw(b"\xdd\xff\xff\xff\xff"), _Raw(b"\xdf\xff\xff\xff\xff"),
    _Raw(b"\xdb\xff\xff\xff\xff"), _Raw(b"\xc6\x7f\xff\xff\xff"), _Raw(b"\x92\x92\x91"),
    _Raw(b"\x91\xa3\xff\xfe\xfd"),
)  # fmt: skip
"""Values that no field, or hardly one, may have; in the end what ends no message as it should."""

HEADERS = bytes(range(0x80, 0xA2)) + bytes(range(0xC0, 0xE1))
"""First bytes of what has a length, an extension, or no meaning."""


def pack(value: Any) -> bytes:
    """As msgpack; a `_Raw` within as it stands."""
    if isinstance(value, _Raw):
        return bytes(value)
    if isinstance(value, list):
        packed: bytes = msgpack.Packer().pack_array_header(len(value))
        return packed + b"".join(map(pack, value))
    if isinstance(value, dict):
        packed = msgpack.Packer().pack_map_header(len(value))
        return packed + b"".join(pack(key) + pack(item) for key, item in value.items())
    return bytes(_pack(value))


class Maker:
    """
    Args:
        seed: of chance.
        side: whose messages: `client` or `server`.
        text: how much of the text is spoken where a server really speaks: its most characters.
    """

    def __init__(self, seed: int | str, side: str, text: int = 100) -> None:
        self.rng = random.Random(f"{seed} {side}")
        self._text, self._side = text, side
        self.ids = IDS
        """Of streams. A server remembers those that it has spoken, so that it must be given new ones."""
        self.order = ORDERS[0]
        """Share of messages that are in order: without some, no connection lives long enough to tell."""
        self._bodies: tuple[Callable[[], Body], ...] = (
            (self._start, self._start, self._words, self._ask, self._ask, self._ask, self._attach,
             self._audio_start, self._uplink, self._hint, self._hint, self._hint, self._ping)
            if side == "client"
            else (self._started, self._started, self._track, self._audio, self._audio, self._audio,
                  self._switch, self._mark, self._end, self._told, self._error, self._ping)
        )  # fmt: skip

    def message(self) -> bytes | str:
        """The next one; now and then a text frame."""
        body = self._body()
        if self.rng.random() < self.order:
            return pack(body)
        chance = self.rng.random()
        if chance < 0.45:
            return pack(self._spoilt(body))
        if chance < 0.5:
            return self._doubled(body)
        if chance < 0.93:
            return self._damaged(pack(body))
        if chance < 0.98:
            return self.rng.randbytes(self.rng.randrange(60))
        return "text " * self.rng.randrange(3)

    def _body(self) -> Body:
        """One in order; hardly ever a greeting, which is over."""
        if self.rng.random() < GREETING:
            return self._hello() if self._side == "client" else self._welcome()
        return self.rng.choice(self._bodies)()

    # ------------------------------------------------------------ in order

    def _id(self) -> str:
        return self.rng.choice(self.ids)

    def _ref(self) -> int | str:
        return self.rng.choice(HANDLES) if self.rng.random() < 0.7 else self._id()

    def _spoken(self) -> str:
        return self.rng.choice(WORDS)[: self._text]

    def _hello(self) -> Body:
        return {"type": "hello", "versions": [1], "level": self.rng.randrange(3), "codecs": ["opus", "pcm16"]}

    def _start(self) -> Body:
        body = {"type": "stream_start", "stream_id": self._id(), "text": self._spoken()}
        more = {"open": True, "rung": self.rng.choice(("pcm22", "opus24", "x")), "voice": "x", "speed": 1.5,
                "policy": "thrifty", "mode": "whole", "formats": ["pcm16"], "instruct": "softly",
                "language": "en"}  # fmt: skip
        return body | {key: more[key] for key in self.rng.sample(sorted(more), self.rng.choice((0, 0, 1, 2)))}

    def _words(self) -> Body:
        return {"type": "text", "stream": self._ref(), "text": self._spoken()}

    def _ask(self) -> Body:
        return {"type": self.rng.choice(("text_end", "cancel", "pause", "resume")), "stream": self._ref()}

    def _attach(self) -> Body:
        tracks = [[self.rng.randrange(3), self.rng.randrange(-3, 90) * 960]]
        return {"type": "attach", "stream_id": self._id(), "token": "x", "tracks": tracks, "played": 960}

    def _audio_start(self) -> Body:
        codec, purpose = (
            self.rng.choice(("pcm16", "opus", "ulaw")),
            self.rng.choice(("reference", "conversion", "x")),
        )
        made = {"type": "audio_start", "stream_id": self._id(), "codec": codec, "sample_rate": 16_000,
                "purpose": purpose}  # fmt: skip
        new = {"consent": True, "voice": f"v{self.rng.randrange(10**6)}", "text": "what is said"}
        return made | new if purpose == "reference" else made

    def _uplink(self) -> Body:
        packets = [self.rng.choice((bytes(640), bytes(320), self.rng.randbytes(40)))] * self.rng.randrange(
            1, 4
        )
        return [3, self.rng.choice(HANDLES), self.rng.choice((0, 0, 960, 1_920)), *packets]

    def _hint(self) -> Body:
        big = (0, 100, 5_000, 10**7, 2**53)
        values = [2, self.rng.choice(HANDLES), self.rng.choice(big), self.rng.choice((0, 960, 96_000, 2**31))]
        values += [self.rng.randrange(9_000), [[0, 960]], 20.5, -1, 3, 0.01, 1, 200, False, True]
        return values[: self.rng.randrange(5, 15)]

    def _ping(self) -> Body:
        return {"type": self.rng.choice(("ping", "pong")), "value": self.rng.randrange(2**20)}

    def _welcome(self) -> Body:
        limits = {"streams": 16, "text_chars": 200_000}
        return {"type": "welcome", "version": 1, "session": "s", "server": "x", "ping_ms": 20_000,
                "hint_ms": 100, "limits": limits}  # fmt: skip

    def _started(self) -> Body:
        return {"type": "stream_started", "stream": self.rng.choice(HANDLES), "stream_id": self._id(),
                "token": "x", "voice": "v", "sample_rate": 22_050, "channels": 1, "codec": "opus",
                "rung": "opus24"}  # fmt: skip

    def _track(self) -> Body:
        return {"type": "track", "stream": self.rng.choice(HANDLES), "track": self.rng.randrange(4),
                "rank": self.rng.randrange(2), "rung": "opus24", "codec": "opus", "sample_rate": 24_000,
                "channels": 1, "start": self.rng.randrange(9) * 960, "preroll": 2}  # fmt: skip

    def _audio(self) -> Body:
        packets = [bytes(self.rng.choice((1, 60, 255, 256, 882))) for _ in range(self.rng.randrange(1, 12))]
        return [
            1,
            self.rng.choice(HANDLES),
            self.rng.randrange(4),
            self.rng.randrange(-3, 90) * 960,
            *packets,
        ]

    def _switch(self) -> Body:
        return {"type": "switch", "stream": self.rng.choice(HANDLES), "track": 1, "from": "opus24",
                "to": "opus48", "at": 960, "length": 960, "reason": "more"}  # fmt: skip

    def _mark(self) -> Body:
        return {"type": "mark", "stream": self.rng.choice(HANDLES), "pts": 960, "begin": 0, "end": 4}

    def _end(self) -> Body:
        return {"type": "stream_end", "stream": self.rng.choice(HANDLES), "length": 22_050,
                "sample_rate": 22_050, "channels": 1, "codec": "opus",
                "reason": self.rng.choice(("done", "cancelled", "moved"))}  # fmt: skip

    def _told(self) -> Body:
        flow = {"type": "flow_control", "rate": 3.5, "retry_after": 1, "stream": self.rng.choice(HANDLES)}
        return (
            flow if self.rng.random() < 0.5 else {"type": "going_away", "deadline_ms": 9_000, "reason": "x"}
        )

    def _error(self) -> Body:
        scope = self.rng.choice(("stream", "stream", "nothing", "connection"))
        return {"type": "error", "code": "busy", "message": "later", "scope": scope, "stream_id": self._id(),
                "retry_after": 1, "detail": {"limit": 3}}  # fmt: skip

    # ------------------------------------------------------------ spoilt

    def _spoilt(self, body: Body) -> Body:
        """One or two places of the value are others."""
        for _ in range(self.rng.choice((1, 1, 2))):
            body = self._spoilt_array(body) if isinstance(body, list) else self._spoilt_map(body)
        return body

    def _spoilt_array(self, body: list[Any]) -> Body:
        at, deed = self.rng.randrange(len(body) + 1), self.rng.randrange(4)
        if deed == 0:
            return body[:at]
        if deed == 1:
            return [*body[:at], self.rng.choice(HOSTILE), *body[at:]]
        return [*body[:at], self.rng.choice(HOSTILE), *body[at + 1 :]]

    def _spoilt_map(self, body: dict[str, Any]) -> Body:
        key, deed = self.rng.choice(sorted(body) or ["type"]), self.rng.randrange(8)
        if deed == 0:
            return {name: value for name, value in body.items() if name != key}
        if deed == 1:
            return body | {
                self.rng.choice(("x", "stream", "stream_id", "open", "")): self.rng.choice(HOSTILE)
            }
        if deed == 2:
            return [body]
        if deed == 3:
            other = self.rng.choice(self._bodies)()
            return body | (other if isinstance(other, dict) else {})
        return body | {key: self.rng.choice(HOSTILE)}

    def _doubled(self, body: Body) -> bytes:
        """A map that names one of its keys twice."""
        if isinstance(body, list):
            return pack([*body, body])
        key = self.rng.choice(sorted(body))
        packed: bytes = msgpack.Packer().pack_map_header(len(body) + 1)
        return packed + pack(key) + pack(body[key]) + pack(body)[1:]

    def _damaged(self, data: bytes) -> bytes:
        """One to four of the bytes' mishaps."""
        made = bytearray(data)
        for _ in range(self.rng.choice((1, 1, 1, 2, 4))):
            self._damage(made)
        return bytes(made)

    def _damage(self, data: bytearray) -> None:
        rng, deed = self.rng, self.rng.randrange(8)
        at = rng.randrange(len(data) + 1)
        if deed == 0:
            del data[at:]
        elif deed == 1:
            data[at:at] = rng.randbytes(rng.randrange(1, 9))
        elif deed == 2:
            del data[at : at + rng.randrange(1, 9)]
        elif deed == 3:
            data += data[at:]
        elif deed == 4:
            data[at:at] = struct.pack(">BI", rng.choice(HEADERS), rng.choice((0, 1, 300, 2**31, 2**32 - 1)))
        elif deed == 5:
            data += pack(self.rng.choice(self._bodies)())
        elif data:
            at = min(at, len(data) - 1)
            data[at] = rng.choice(HEADERS) if deed == 6 else data[at] ^ 1 << rng.randrange(8)
