"""
What a door asks for, and what it gets: the native door's own reception, then the terms that a client gets
who knows nothing of tracks. It reads PCM at the engine's rate, or one track of Opus.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

from ...control.ladder import FULL, Rung, opus, pcm
from ...control.policy import Policy
from ...control.policy_file import preset
from ...engine.face import Speaking
from ...errors import BadField, NoCommonFormat, Unsupported
from ...stream.terms import Terms
from ...units import frame_samples
from ...wire.messages import Hello, StreamStart
from ..access.auth import Caller
from ..rollout.policies import Policies
from ..speech.reception import STREAM, WHOLE, Accepted, receive

ONE_TRACK = 0
"""Conformance of a client that knows nothing of tracks (protocol/SPEC.md, levels)."""

ANYBODY = Hello()
"""Who is asked what it decodes when a request is received: whatever there is, for a door decodes it."""


@dataclass(frozen=True, slots=True)
class Ask:
    """
    One speech.

    Args:
        text: what to say; with `open` more of it comes later.
        voice: as the engine calls it; None: by the language, else by the script of the text.
        language: BCP 47 tag.
        speed: 1 is the voice's own.
        instruct: how to speak, in words.
        policy: one that requests may name; None: the caller's own.
        opus: Opus packets are wanted, not PCM.
        kbps: of Opus, if its bitrate is fixed; None: it adapts.
        whole: nobody listens before all of it is there: it may wait for those who do, and Opus has the best
            rung of the policy.
    """

    text: str = ""
    open: bool = False
    voice: str | None = None
    language: str | None = None
    speed: float = 1.0
    instruct: str | None = None
    policy: str | None = None
    opus: bool = False
    kbps: int | None = None
    whole: bool = False

    def request(self, stream_id: str) -> StreamStart:
        """As the native door would have it."""
        return StreamStart(
            stream_id, self.text, self.open, self.voice, self.language, self.speed,
            policy=self.policy, mode=WHOLE if self.whole else STREAM, instruct=self.instruct,
        )  # fmt: skip


def accept(ask: Ask, pool: Speaking, policies: Policies, caller: Caller) -> Accepted:
    """
    Args:
        ask: the request.
        pool: the engine, started.
        policies: of the server.
        caller: who asks.

    Raises:
        EmptyText, UnknownVoice, UnknownPolicy: as the native door.
        Unsupported: the engine cannot be told how to speak, or speaks at a rate that has no frames.
        BadField: a speed that the engine does not speak at; `detail` has `low` and `high`.
    """
    slowest, fastest = pool.abilities.speed
    if not slowest <= ask.speed <= fastest:
        raise BadField(
            f"this server's engine, {pool.abilities.engine}, speaks at speeds from {slowest:g} to "
            f"{fastest:g}, not {ask.speed:g}",
            field="speed", low=slowest, high=fastest,
        )  # fmt: skip
    voice = receive(ask.request(""), ANYBODY, pool, policies, caller).voice
    try:
        frame_samples(voice.sample_rate)
    except ValueError as fault:
        raise Unsupported(f"the voice {voice.name} speaks at a rate that cannot be sent: {fault}") from None
    terms = _terms(ask, voice.sample_rate, policies.choose(ask.policy, caller))
    return Accepted(voice, terms, terms.first)


def _terms(ask: Ask, rate: int, policy: Policy) -> Terms:
    if not ask.opus:
        return Terms(("pcm16",), rate, ONE_TRACK, rung=pcm_rung(rate))
    if ask.kbps is not None:
        return Terms(("opus",), rate, ONE_TRACK, rung=opus(ask.kbps))
    terms = Terms(("opus",), rate, ONE_TRACK, policy=policy)
    try:
        terms.first  # noqa: B018 -- asks whether there is one
    except NoCommonFormat:
        terms = replace(terms, policy=_opus_preset())
    return replace(terms, policy=None, rung=terms.best) if ask.whole else terms


def pcm_rung(rate: int) -> Rung:
    """16-bit PCM at the engine's own rate: the ladder's rung, else one like it."""
    found = (rung for rung in FULL.rungs if rung.codec == "pcm16" and rung.sample_rate == rate)
    return next(found, pcm(f"pcm{rate / 1000:g}", rate))


@cache
def _opus_preset() -> Policy:
    """For callers whose own policy has no Opus."""
    return preset("opus")
