"""
What an utterance works with: what all utterances of a server share, and what it needs of the connection
that it is sent over. Both are given to it; it must not look behind them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from ...audio.libopus import Library
from ...audio.resample import SOXR, Resampler
from ...engine.face import Speaking
from ...wire.messages import Message
from ..config import Settings
from ..load.relief import CHEAP, CHEAP_COMPLEXITY, Relief
from ..load.turns import Turns
from ..watching.metrics import Metrics
from ..watching.tracing import OFF, Tracing
from .recording import Recordings
from .workshop import Workshop

if TYPE_CHECKING:
    from .utterance import Utterance


@dataclass(frozen=True, slots=True)
class Services:
    """What all utterances of a server share."""

    settings: Settings
    pool: Speaking
    workshop: Workshop
    library: Library
    metrics: Metrics
    turns: Turns
    relief: Relief
    recordings: Recordings | None = None
    resampler: Resampler = SOXR
    tracing: Tracing = OFF

    def encoders(self) -> Library:
        """What a stream that begins now encodes with."""
        strained = self.relief.step >= CHEAP
        return replace(self.library, complexity=CHEAP_COMPLEXITY) if strained else self.library


class Link(Protocol):
    """What an utterance needs of its connection, or of whoever keeps it while it has none."""

    def transmit(self, utterance: Utterance, message: Message) -> None:
        """Write this message, then call `written`."""

    def finished(self, utterance: Utterance) -> None:
        """All is handed over for sending; the listener plays on."""

    def over(self, utterance: Utterance) -> None:
        """The listener has heard the end, or is not heard of any more: forget the stream."""

    def fault(self, utterance: Utterance, error: Exception) -> None:
        """Tell the peer, and close the utterance if that ends it."""

    def waits(self, utterance: Utterance, place: int, seconds: float) -> None:
        """It is not its turn: this place in the queue, about so long."""

    def warn_of_script(self, utterance: Utterance, names: str) -> None:
        """Text in these scripts, "Tibetan, Khmer", cannot be pronounced."""
