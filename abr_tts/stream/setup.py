"""
What a stream core is made with, and what it is moved with to another connection. Records.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..audio.libopus import Library
from ..audio.resample import SOXR, Resampler
from ..control.controller import Controller
from ..control.estimate import Estimate


@dataclass(frozen=True, slots=True)
class CoreSetup:
    """
    What a core is made with.

    Args:
        handle: the stream's small integer on its connection.
        rate: Hz of the engine and so of the timeline.
        controller: chooses what is sent.
        library: the libopus that encodes.
        max_ahead_s: the engine gets no credit while it is this far ahead of the listener.
        max_lead_s: nothing is sent that would lead the listener by more.
        resampler: brings the timeline to a rung's rate; it changes samples, and no decision.
    """

    handle: int
    rate: int
    controller: Controller
    library: Library
    max_ahead_s: float = 30.0
    max_lead_s: float = 30.0
    resampler: Resampler = SOXR


@dataclass(frozen=True, slots=True)
class Attachment:
    """
    The connection on which a stream goes on.

    Args:
        handle: the stream's number on it.
        controller: a new one, since what the old one learned was of another connection.
        wanted: track → pts of the next packet that the listener does not have, of each that it plays.
        played: ticks that it has played.
        remembered: what the controller was told of the link when it was made, for the trace.
    """

    handle: int
    controller: Controller
    wanted: Mapping[int, int]
    played: int
    remembered: Estimate | None = None
