"""
What a stream core asks of its driver: work for the codecs, messages to write, credit for the
engine, and notices. Plain records; the core's law is told in `core`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from ..control.controller import Plan, Reason
from ..control.ladder import Rung
from ..units import FRAME_TICKS
from ..wire.messages import Audio, Mark, StreamEnd, Switch
from ..wire.messages import Track as TrackMessage
from .track import EncodeJob

Transmitted: TypeAlias = TrackMessage | Audio | Switch | Mark | StreamEnd


class Encode(NamedTuple):
    """Run `job.run()` and return its packets by `encoded(job, packets, now)`."""

    job: EncodeJob


class Transmit(NamedTuple):
    """Write this message to the connection, in order, then call `sent`."""

    message: Transmitted


@dataclass(frozen=True, slots=True)
class Credit:
    """The engine may synthesise `clauses` more."""

    clauses: int


@dataclass(frozen=True, slots=True)
class Opened:
    """A track was opened at `rung`."""

    track: int
    rank: int
    rung: Rung
    start: int


@dataclass(frozen=True, slots=True)
class Switched:
    """
    What is sent changed in layer `rank`, from the frame at `pts` on.

    An upgrade that begins comes from the bank's rung beneath it. `length` is the fade in ticks, 0
    where the encoder was retuned.
    """

    track: int
    rank: int
    source: Rung
    target: Rung
    pts: int
    length: int
    reason: Reason


@dataclass(frozen=True, slots=True)
class Decided:
    """The controller's plan for the two layers is another one than before."""

    plan: Plan


@dataclass(frozen=True, slots=True)
class Finished:
    """
    The speech is handed over for sending; `length` samples at the engine's rate. Only upgrades
    of what is not heard yet may still follow.
    """

    length: int


@dataclass(frozen=True, slots=True)
class Drained:
    """The listener has heard the end: the stream can be forgotten."""


@dataclass(frozen=True, slots=True)
class Clamped:
    """A report claimed more than was sent; it was brought into bounds."""

    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Notice:
    """Something for logs, metrics and the stream's lifetime."""

    event: Opened | Switched | Decided | Finished | Drained | Clamped


Output: TypeAlias = Encode | Transmit | Credit | Notice


class Retained(NamedTuple):
    """Packets that went out and were not heard yet."""

    track: int
    pts: int
    packets: tuple[bytes, ...]

    @property
    def end(self) -> int:
        """The pts after its last packet."""
        return self.pts + len(self.packets) * FRAME_TICKS
