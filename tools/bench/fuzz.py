"""
Fuzz: a million spoilt messages against the codec, the connection on both its sides, and a real server.

*codec*: what is read is told by a record that reads as itself again; all else is an error of the tree with a
code of `protocol/errors.json`. *server*, *client*: a `Connection` with streams in every state never raises,
tells each fault with its code, and is closed if and only if that ends it. *live*: a server of its own, over
sockets, beside listeners whose sound must stay the same sample by sample (`fuzz_live`). Everywhere memory is
bounded, no message takes long, and the same seed gives the same messages.

    pip install '.[test]'
    python tools/bench/fuzz.py --json                       # 1 000 000 messages: some 10 minutes on two cores
    python tools/bench/fuzz.py --messages 20000 --json      # a piece
    python tools/bench/fuzz.py --part codec --seed 7        # one part, other messages
"""

from __future__ import annotations

import argparse
import gc
import json
import resource
import sys
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import fuzz_live
from common import show
from fuzz_messages import IDS, ORDERS, Maker

from abr_tts import errors as e
from abr_tts.wire import codec
from abr_tts.wire import messages as m
from abr_tts.wire.connection import Connection, Failed, Received

SHARES = {"codec": 0.3, "server": 0.25, "client": 0.15, "live": 0.3}
"""Of the messages, by part: a live one takes ten times as long."""

LOOK_EVERY = 100
"""Messages of the codec of which one is read with an eye on memory."""

MESSAGE_KB = 400
"""What reading one message may take beside four times its bytes: 4 096 values of 100 bytes."""

GROWTH_KB = 32_768
"""What a part may grow by: heaps, once; no part keeps anything that grows with the messages."""

SLOW_MS = 50.0
"""Processor time that one message may take: a mebibyte of any script takes 3 (measured)."""

CODES = {
    entry["code"]
    for entry in json.loads((Path(__file__).parents[2] / "protocol" / "errors.json").read_text())["errors"]
}


@dataclass
class Tally:
    """What became of a part's messages."""

    messages: int = 0
    taken: int = 0
    codes: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    """What must not be, in words."""
    slowest_ms: float = 0.0
    most_kb: int = 0
    """Of memory, for one message, beyond four times its size."""

    def wrong(self, what: str, data: bytes | str) -> None:
        """Note a fault and the message that brought it about."""
        told = data.hex() if isinstance(data, bytes) else repr(data)
        self.faults.append(f"{what}: {told[:400]}")

    def refused(self, error: e.AbrError, data: bytes | str) -> None:
        """Count a refusal; one without a code of the list is a fault."""
        self.codes[error.code] += 1
        if error.code not in CODES or not error.message:
            self.wrong(f"{type(error).__name__} has no code or no words", data)

    def timed(self, work: Callable[[], None], data: bytes | str) -> None:
        """Do it; whatever it raises is a fault."""
        self.messages += 1
        begun = time.thread_time()
        try:
            work()
        except Exception as error:
            self.wrong(f"{type(error).__name__} {error}", data)
        self.slowest_ms = max(self.slowest_ms, (time.thread_time() - begun) * 1000)


# ------------------------------------------------------------ the codec


def fuzz_codec(count: int, seed: int) -> Tally:
    """Messages of either side, one by one."""
    tally = Tally()
    sides: tuple[codec.Side, ...] = ("client", "server")
    makers = {side: Maker(seed, side) for side in sides}
    for number in range(count):
        side = sides[number % 2]
        maker = makers[side]
        maker.order = ORDERS[0]
        data = maker.message()
        data = data.encode() if isinstance(data, str) else data
        if number % LOOK_EVERY < 4:
            _look(tally, data, side)
        tally.timed(lambda data=data, side=side: _read(tally, data, side), data)  # type: ignore[misc]
    return tally


def _read(tally: Tally, data: bytes, side: codec.Side) -> None:
    try:
        message = codec.decode(data, side)
    except e.AbrError as error:
        tally.refused(error, data)
        codec.stream_of(data)
        return
    tally.taken += 1
    plain = replace(message, clamped=0) if isinstance(message, m.BitRateHint) else message
    if codec.decode(codec.encode(plain), side) != plain:
        tally.wrong("does not read as itself again", data)


def _look(tally: Tally, data: bytes, side: codec.Side) -> None:
    tracemalloc.start()
    with suppress(Exception):  # `_read` sees them
        codec.decode(data, side)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    kb = (peak - 4 * len(data)) // 1024
    tally.most_kb = max(tally.most_kb, kb)
    if kb > MESSAGE_KB:
        tally.wrong(f"took {kb} kB", data)


# ------------------------------------------------------------ the connection


class Side:
    """One side of a connection, which now and then does what a program would do with it."""

    def __init__(self, role: str, seed: int) -> None:
        self.role, self.tally = role, Tally()
        self.maker = Maker(seed, "client" if role == "server" else "server")
        self.rng, self.now, self.opened = self.maker.rng, 0.0, 0
        self._renew()

    def _renew(self) -> None:
        self.opened += 1
        self.maker.order = self.rng.choice(ORDERS)
        self.connection = Connection(self.role, self.now, session="s", server="x")  # type: ignore[arg-type]
        if self.rng.random() < 0.9:
            if self.role == "client":
                self.connection.send(m.Hello())
            self.connection.receive(
                codec.encode(m.Hello() if self.role == "server" else m.Welcome(1, "s")), self.now
            )
        self._collect(b"")

    def step(self) -> None:
        """Time passes, a message comes, and what comes of it is looked at."""
        data = self.maker.message()
        self.now += 40.0 if self.rng.random() < 0.001 else self.rng.random() * 0.01
        self.tally.timed(lambda: self._take(data), data)
        if self.connection.closed:
            self._renew()

    def _take(self, data: bytes | str) -> None:
        timer = self.connection.get_timer()
        if timer is not None and timer <= self.now:
            self.connection.handle_timer(self.now)
        self.connection.receive(data, self.now)
        self._collect(data)
        if not self.connection.closed and self.rng.random() < 0.3:
            self._act()
            self._collect(data)
        closed = self.connection.closed
        if closed != (self.connection.get_timer() is None) or closed != (
            self.connection.close_code is not None
        ):
            self.tally.wrong("closed, and still waits for time, or the other way round", data)
        if self.connection.active_streams > self.connection.limits.streams and self.role == "server":
            self.tally.wrong("more streams than there may be", data)

    def _collect(self, data: bytes | str) -> None:
        events = self.connection.events_received()
        answers = [codec.decode(each, self.role) for each in self.connection.data_to_send()]  # type: ignore[arg-type]
        told = [answer.code for answer in answers if isinstance(answer, m.Error)]
        failed = [event for event in events if isinstance(event, Failed)]
        for event in failed:
            self.tally.refused(event.error, data)
            if event.scope == e.CONNECTION and not self.connection.closed:
                self.tally.wrong("goes on after a fault that ends it", data)
        if self.role == "server" and told != [event.error.code for event in failed]:
            self.tally.wrong(f"told {told}", data)
        self.tally.taken += len(events) - len(failed)
        for event in events:
            if isinstance(event, Received) and self.role == "server" and not self.connection.closed:
                self._answer(event)

    def _answer(self, event: Received) -> None:
        """A server takes most streams, and refuses some."""
        if not isinstance(event.message, m.StreamStart | m.Attach | m.AudioStart) or not event.stream_id:
            return
        if self.rng.random() < 0.2:
            self.connection.fail(e.Busy("later", retry_after=1), event.stream_id)
            self.connection.data_to_send()
            return
        more = self.rng.random() < 0.5 if isinstance(event.message, m.Attach) else None
        handle = self.connection.start_stream(event.stream_id, more_text=more)
        self.connection.send(m.StreamStarted(handle, event.stream_id, "x", "v", 22_050, 1, "opus", "opus24"))

    def _act(self) -> None:
        """What comes from inside: speech and ends of it; on the client's side requests."""
        handle, stream_id = self.rng.randrange(1, 5), self.rng.choice(IDS)
        if self.role == "server":
            deeds: list[Any] = [
                m.Audio(handle, 0, 0, (b"x",)),
                m.StreamEnd(handle, 0, 22_050, 1, "opus"),
                m.Mark(handle, 0, 0, 1),
            ]
        else:
            deeds = [
                m.StreamStart(stream_id, "Hi", open=True),
                m.Text(stream_id, "more"),
                m.TextEnd(stream_id),
                m.Cancel(stream_id),
                m.Attach(stream_id, "x"),
                m.BitRateHint(handle, 0, 0, 0),
            ]
        if self.rng.random() < 0.2:
            self.connection.release(stream_id)
            return
        try:
            self.connection.send(self.rng.choice(deeds))
        except e.AbrError as error:
            self.tally.refused(error, b"ours")


def fuzz_connection(role: str, count: int, seed: int) -> Tally:
    """Messages of its peer, to one connection after the other."""
    side = Side(role, seed)
    for _ in range(count):
        side.step()
    return side.tally


# ------------------------------------------------------------ all of it


def run(part: str, count: int, seed: int) -> dict[str, Any]:
    """One part, as it is told."""
    before, begun = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
    if part == "live":
        return fuzz_live.run(count, seed, CODES)
    gc.freeze()  # what was there before is not searched while a message is timed
    tally = fuzz_codec(count, seed) if part == "codec" else fuzz_connection(part, count, seed)
    gc.unfreeze()
    grown_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    if grown_kb > GROWTH_KB:
        tally.faults.append(f"grew by {grown_kb} kB")
    if tally.slowest_ms > SLOW_MS:
        tally.faults.append(f"a message took {tally.slowest_ms:.1f} ms")
    return {
        "messages": tally.messages,
        "taken": tally.taken,
        "refused": dict(tally.codes.most_common()),
        "slowest_ms": round(tally.slowest_ms, 2),
        "grown_kb": grown_kb,
        "seconds": round(time.monotonic() - begun, 1),
        "faults": len(tally.faults),
        "first_faults": tally.faults[:5],
    } | ({"most_kb": tally.most_kb} if part == "codec" else {})


def main() -> None:
    """Run and print; 1 if there was a fault."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--messages", type=int, default=1_000_000, help="of all parts together")
    parser.add_argument("--part", choices=SHARES, action="append", help="only this; may be repeated")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    parts = args.part or list(SHARES)
    whole = sum(SHARES[part] for part in parts)
    told = {part: run(part, round(args.messages * SHARES[part] / whole), args.seed) for part in parts}
    counted = sum(each["messages"] for each in told.values())
    faults = sum(each["faults"] for each in told.values())
    show({"messages": counted, "faults": faults, "seed": args.seed, **told}, args.json)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
