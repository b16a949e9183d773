"""
The controller's face: an Observation goes in, a Decision on what to send next comes out.

A controller is pure and small: it holds what it has learned and looks at no clock, no socket
and no sample. The stream core asks it each time that the socket may take another message, and
whenever something is heard of the network. One that learns from the network is a `Learner` too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, runtime_checkable

from .ladder import Rung

BANK, UPGRADE = 0, 1
"""The two layers, by rank: for each frame the player takes the highest rank it holds."""

MOST_OUTSTANDING_BYTES = 32_768
"""Bytes on the way on a connection at which nothing more is sent, unless a decision says otherwise:
0.74 s of 22 kHz PCM."""

BUNDLE = 10
"""Frames of Opus that share a message of the bank where so many are made: what a player wants to start, or
to go on after a stall (rule 1 of the player), so less would be heard no sooner. Opus 24 then needs a ninth
less of the link, slow starts come some 40 ms sooner (half of the recordings, seed 1), and a server of Opus 24
needs a ninth less of its processor (tools/bench/cost)."""


class Layer(NamedTuple):
    """
    What one layer has sent.

    Args:
        next_pts: where its live track goes on.
        rung: of the live track, None before the first.
        received: pts up to which its live track is known to have arrived.
    """

    next_pts: int
    rung: Rung | None = None
    received: int = 0


class Observation(NamedTuple):
    """
    What the core knows when it asks. Positions are ticks, `now` is seconds.

    Args:
        now: the driver's clock.
        ready: pts up to which frames could be encoded at this moment.
        ended: no more speech comes after `ready`.
        played: pts up to which the listener has reported sound.
        outstanding: bytes sent on the connection and not known to be received.
        layers: by rank.
        paused: the listener paused.
        head: pts at which the listener is by now, as far as one can tell.
        eager: the listener plays faster than time passes (it writes a file, say).
        making: the engine is at work on a clause.
        real_time_factor: seconds that the engine takes for a second of speech, 0 while unknown.
    """

    now: float
    ready: int
    ended: bool
    played: int
    outstanding: int
    layers: tuple[Layer, ...]
    paused: bool = False
    head: int = 0
    eager: bool = False
    making: bool = False
    real_time_factor: float = 0.0


@dataclass(frozen=True, slots=True)
class Reason:
    """Why, as data for logs and as one sentence for people."""

    code: str
    sentence: str
    values: dict[str, float] = field(default_factory=dict)


class Plan(NamedTuple):
    """
    What each layer is sent at for now, and why; it changes far less often than what is sent next.

    `upgrade` is None while nothing is upgraded.
    """

    bank: Rung
    upgrade: Rung | None
    bank_reason: Reason
    upgrade_reason: Reason

    def differs(self, other: Plan) -> bool:
        """Whether it is news after `other`: another rung, or another kind of reason."""
        return self._gist() != other._gist()

    def _gist(self) -> tuple[Rung, Rung | None, str, str]:
        return self.bank, self.upgrade, self.bank_reason.code, self.upgrade_reason.code


class Decision(NamedTuple):
    """
    Send frames from `pts` on in layer `rank` at `rung`; the pacer says how many.

    Args:
        until: pts at which the message ends at the latest.
        outstanding_bytes: it waits while so much is on the way.
        send: False: nothing is to be sent now; the other fields say what would come next.
        again_at: when to ask again, even if nothing happens until then.
        plan: what this is part of.
        bundle: frames that may share a message of the bank if so many are there, though the rung's usual
            message is shorter; 0: no more than usual.
        early: though nothing is to be sent, the first track may be told: its first word then waits for less.
    """

    rank: int
    rung: Rung
    pts: int
    reason: Reason
    until: int | None = None
    outstanding_bytes: int = MOST_OUTSTANDING_BYTES
    send: bool = True
    again_at: float | None = None
    plan: Plan | None = None
    bundle: int = 0
    early: bool = False


class Controller(Protocol):
    """Chooses what is sent next."""

    def decide(self, seen: Observation) -> Decision | None:
        """What to send next, or None to send nothing until the next input."""
        ...


@runtime_checkable
class Learner(Protocol):
    """A controller that learns from the network is also told what happens on the connection."""

    def on_sent(self, size: int, own: bool, now: float) -> None:
        """A message of `size` payload bytes went to the socket; not `own`: of something else."""

    def on_received(self, total: int, rtt_ms: float, now: float) -> None:
        """The listener has `total` payload bytes; a round trip of -1 is not known."""

    def on_kernel(self, queued: int, min_rtt_ms: float, now: float) -> None:
        """The next hop has not acknowledged `queued` bytes; a round trip of -1 is not known."""


class FixedRung:
    """The rung that the request named, for the whole utterance; after its first frame Opus by BUNDLE."""

    def __init__(self, rung: Rung) -> None:
        self._rung = rung
        self._bundle = BUNDLE if rung.codec == "opus" else 0
        self._reason = Reason("fixed", f"the request asked for {rung.name}")

    def decide(self, seen: Observation) -> Decision | None:
        """The next frame of the bank at the fixed rung, if there is one."""
        pts = seen.layers[BANK].next_pts
        if pts >= seen.ready:
            return None
        return Decision(BANK, self._rung, pts, self._reason, bundle=self._bundle if pts else 0)
