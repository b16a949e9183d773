"""
The face of any pool: what the server asks of whatever speaks for it.

Three kinds stand behind it: processes of this machine (`pool`), a service elsewhere (`remote`),
actors of a cluster (`ray`). All live on one event loop, and hand PCM to a `base.Sink` there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional, Protocol

from ..errors import BadField, Unsupported
from .base import CONVERTED_RATE, CONVERTED_S, Abilities, Samples, Sink, Voice


@dataclass(frozen=True)
class PoolStats:
    """A moment of a pool; from `said` on, totals since it was made."""

    size: int
    ready: int
    """Workers that have loaded, busy ones among them."""
    busy: int
    starting: int
    waiting: int
    """Requests without a worker yet."""
    said: int
    done: int
    cancelled: int
    faults: int
    """Requests that ended in `Sink.fault`."""
    lost: int
    """Workers that ended although nobody told them to, failed starts among them."""
    samples: int
    bad_samples: int
    """Samples that were not finite and became 0."""
    last_reason: str
    """Why a worker was last lost; empty if none was."""


STARTING, LOADING, READY, FAILED, STOPPED = "starting", "loading", "ready", "failed", "stopped"
"""States of a pool: nothing heard of a worker yet; one loads; one can speak; none starts, and it is
tried again; it was told to stop."""


@dataclass(frozen=True)
class Standing:
    """
    How far a pool is, for `/readyz`.

    Args:
        state: one of the five above.
        sentence: what is being done, or why nothing works; "" when it is ready.
        share: of loading that is done, 0 to 1.
        seconds: since `start`; once it is ready, those that it took.
    """

    state: str
    sentence: str
    share: float
    seconds: float


class Asked(Protocol):
    """A request that was taken."""

    @property
    def given_at(self) -> Optional[float]:
        """When a worker took it up, seconds on the loop's clock; None while it waits for one."""

    @property
    def over(self) -> bool:
        """Whether the sink has heard its last."""

    def cancel(self) -> None:
        """No more of this: the sink hears nothing from now on. Harmless when it is over."""


class Speaking(Protocol):
    """Whatever speaks. `await start()`, then `say`; at the end `await stop()`."""

    async def start(self) -> None:
        """
        Returns as soon as one worker is ready.

        Raises:
            MissingDependency: a library or model is not installed; says how to get it.
            EngineError: no worker starts, for the reason given.
        """

    async def stop(self) -> None:
        """Fault what is under way; returns when nothing is left."""

    @property
    def voices(self) -> tuple[Voice, ...]:
        """Every voice, the default one first; known once `start` has returned."""

    @property
    def abilities(self) -> Abilities:
        """What holds whatever the voice; known once `start` has returned."""

    def choose(self, voice: Optional[str], language: Optional[str], text: str) -> Voice:
        """See `voices.Catalogue.choose`."""

    def unspeakable(self, text: str, voice: Voice) -> Optional[str]:
        """See `voices.Catalogue.unspeakable`: reason for an `UnknownScript` notice."""

    def say(
        self,
        text: str,
        voice: Voice,
        language: Optional[str],
        speed: float,
        sink: Sink,
        *,
        first: bool = False,
        instruct: Optional[str] = None,
    ) -> Asked:
        """
        Speak one clause; never calls `sink` before it returns.

        Args:
            first: the first clause of a stream, which a listener waits for: it overtakes
                waiting clauses that are not (see `queue.Queue`).
            instruct: how to speak it, in words.

        Raises:
            Busy: too many requests wait already.
            Unsupported: `instruct` for an engine that does not follow it.
        """

    def convert(self, audio: Samples, voice: Voice, speed: float, sink: Sink) -> Asked:
        """
        Say what is said in `audio` with `voice`; never calls `sink` before it returns.

        Args:
            audio: int16, mono, `base.CONVERTED_RATE` Hz, at most `base.CONVERTED_S`.

        Raises:
            Busy: too many requests wait already.
            Unsupported: this engine converts no voices.
            BadField: longer, or nothing at all.
        """

    @property
    def ready(self) -> int:
        """Workers that can be given a request or are at one."""

    @property
    def waiting(self) -> int:
        """Requests without a worker yet."""

    @property
    def stats(self) -> PoolStats:
        """Where it stands; cheap, to be asked whenever metrics are."""

    @property
    def progress(self) -> Standing:
        """How far it is with loading; cheap."""


def check_convertible(abilities: Abilities, audio: Samples) -> None:
    """
    Hold speech to be converted to what an engine takes.

    Raises:
        Unsupported, BadField: as `face.Speaking.convert`.
    """
    if not abilities.converts:
        raise Unsupported(f"{abilities.engine} converts no voices")
    seconds = audio.size / CONVERTED_RATE
    if not 0 < seconds <= CONVERTED_S:
        raise BadField(
            f"{seconds:g} s of speech to convert; there must be some, and {CONVERTED_S:g} s at most"
        )
