"""
What one utterance adds to the metrics: audio sent and heard by rung, switches, delays, stalls; of these
also what tells its policy from another one.

It counts what it is told and decides nothing.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from prometheus_client import Counter as Seconds

from ...control.ladder import Rung
from ...control.policy import Policy
from ...control.utility import measured_utility
from ...stream.outputs import Opened, Switched
from ...units import FRAME_TICKS, ticks_to_seconds
from ...wire.messages import Audio, BitRateHint
from ..watching.metrics import Metrics
from ..watching.tracing import OFF, Span
from .heard import Heard

FRAME_S = ticks_to_seconds(FRAME_TICKS)
"""Seconds of audio in one packet."""


class Account:
    """
    Args:
        metrics: of the server.
        asked_at: when the request came, seconds on the loop's clock.
        policy: that it adapts by; None: its rung is fixed.
        span: what a collector is told of the stream when it is over.
    """

    def __init__(
        self, metrics: Metrics, asked_at: float, policy: Policy | None = None, span: Span = OFF
    ) -> None:
        self._metrics, self._asked_at = metrics, asked_at
        self._span: Span | None = span
        self._first_rung: str | None = None
        self._first_sound_s: float | None = None
        self._of_policy = metrics.policies.of(policy)
        self._of_policy.streams.inc()
        self._worth: dict[str, float] = {}
        self._sent_at: dict[str, Seconds] = {}
        self._heard_at: dict[str, Seconds] = {}
        self._first_chunk_at: float | None = None
        self._delivered = False
        self._tracks: dict[int, tuple[int, str]] = {}
        self._heard = Heard()
        self._carried = 0
        self._stalls = self._stall_ms = 0
        self._sending: dict[int, str] = {}
        self._played: Counter[str] = Counter()
        self._switches: Counter[str] = Counter()
        self._last: BitRateHint | None = None

    def carried(self, size: int) -> None:
        """The connection has sent so many bytes more, of whatever kind."""
        self._carried += size

    def moved(self, carried: int) -> None:
        """The stream goes on at another connection, which has sent so many bytes by now."""
        self._carried = carried
        self._heard.moved()

    def opened(self, event: Opened) -> None:
        """A track opened."""
        self._tracks[event.track] = (event.rank, self._met(event.rung))
        self._sending[event.rank] = event.rung.name
        self._first_rung = self._first_rung or event.rung.name

    def switched(self, event: Switched) -> None:
        """What is sent changed; where a track was retuned, from its next message on."""
        self._tracks[event.track] = (event.rank, self._met(event.target))
        self._sending[event.rank] = event.target.name
        self._switches[event.reason.code] += 1
        self._of_policy.switches.inc()
        self._metrics.switches.labels(event.source.name, event.target.name, event.reason.code).inc()

    def _met(self, rung: Rung) -> str:
        name = rung.name
        if name not in self._worth:
            self._worth[name] = measured_utility(rung)
            # Finding a series by its labels takes longer than counting, and this is asked at each message.
            self._sent_at[name] = self._metrics.sent_seconds.labels(name)
            self._heard_at[name] = self._metrics.played_seconds.labels(name)
        return name

    def first_chunk(self, at: float) -> None:
        """The engine's first samples came."""
        self._first_chunk_at = at
        self._metrics.first_raw.observe(at - self._asked_at)

    def sent(self, audio: Audio, at: float) -> None:
        """A message of audio went into the kernel; `carried` has been told of it."""
        rank, rung = self._tracks[audio.track]
        self._heard.sent(self._carried, rank, audio.pts, len(audio.packets), rung)
        silent = -audio.pts // FRAME_TICKS if audio.pts < 0 else 0  # what only warms the decoder up
        sounding = max(0, len(audio.packets) - silent)
        self._sent_at[rung].inc(sounding * FRAME_S)
        self._of_policy.sent_bytes.inc(sum(map(len, audio.packets)))
        if not self._delivered and sounding and self._first_chunk_at is not None:
            self._delivered = True
            self._first_sound_s = at - self._asked_at
            self._metrics.first_delivered.observe(self._first_sound_s)
            self._of_policy.first_sound.observe(self._first_sound_s)
            self._metrics.first_added.observe(at - self._first_chunk_at)

    def report(self, hint: BitRateHint) -> None:
        """What the listener says of itself."""
        metrics, of_policy = self._metrics, self._of_policy
        self._last = hint
        for rung, ticks in self._heard.report(hint.received, hint.played).items():
            seconds = ticks_to_seconds(ticks)
            self._played[rung] += ticks
            self._heard_at[rung].inc(seconds)
            of_policy.played_seconds.inc(seconds)
            of_policy.utility_seconds.inc(seconds * self._worth[rung])
        metrics.bank.observe(hint.buffer_ms / 1000)
        metrics.outstanding_by_reports.observe(max(0, self._carried - hint.received))
        metrics.clamped.inc(hint.clamped)
        if hint.stalls and not self._stalls:
            of_policy.stalled_streams.inc()
        for stalls, stalled_seconds in (
            (metrics.stalls, metrics.stalled_seconds),
            (of_policy.stalls, of_policy.stalled_seconds),
        ):
            stalls.inc(max(0, hint.stalls - self._stalls))
            stalled_seconds.inc(max(0, hint.stall_ms - self._stall_ms) / 1000)
        self._stalls = max(self._stalls, hint.stalls)
        self._stall_ms = max(self._stall_ms, hint.stall_ms)

    def close(self, reason: str) -> None:
        """The stream is over, for the first reason that is given."""
        if self._span is None:
            return
        policy, version = self._of_policy.version
        sound_s = self._first_sound_s
        facts = {
            "policy": policy,
            "policy_version": version,
            "rung_first": self._first_rung,
            "first_sound_ms": None if sound_s is None else round(sound_s * 1000, 2),
            "played_s": round(ticks_to_seconds(self._played.total()), 2),
            "switches": self._switches.total(),
            "stalls": self._stalls,
            "stalled_ms": self._stall_ms,
        }
        self._span.end(reason, facts)
        self._span = None

    def taken(self, received: int, played: int) -> None:
        """A listener who does not report has so much: it is forgotten, and does not count as heard."""
        self._heard.report(received, played)

    def told(self, now: float) -> dict[str, Any]:
        """What of this an operator is shown while the stream lives; JSON values, None for what is unknown."""
        hint, (policy, version) = self._last, self._of_policy.version
        return {
            "age_s": round(now - self._asked_at, 1),
            "policy": policy,
            "hash": version,
            "bank": self._sending.get(0),
            "upgrade": self._sending.get(1),
            "played_s": {rung: round(ticks_to_seconds(ticks), 2) for rung, ticks in self._played.items()},
            "switches": dict(self._switches),
            "bank_s": hint.buffer_ms / 1000 if hint else None,
            "rtt_ms": round(hint.rtt_ms) if hint and hint.rtt_ms >= 0 else None,
            "stalls": self._stalls,
            "stalled_s": self._stall_ms / 1000,
        }
