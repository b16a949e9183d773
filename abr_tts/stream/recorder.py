"""
A stream core that writes its trace while it works.

The same face and the same law as `StreamCore`; each input and each output also becomes a line of
`trace`, given to a sink. It must not know where lines go; a sink that fails is its owner's affair.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from ..control.controller import Reason
from ..trace import HINT_MORE, VERSION, line
from ..wire.messages import BitRateHint
from .core import Attachment, CoreSetup, StreamCore
from .outputs import (
    Clamped,
    Credit,
    Decided,
    Drained,
    Encode,
    Finished,
    Notice,
    Opened,
    Output,
    Switched,
    Transmit,
)
from .pacer import KernelSample
from .terms import Terms
from .track import EncodeJob

_HINT_DEFAULTS = {item.name: item.default for item in fields(BitRateHint) if item.name in HINT_MORE}


class RecordedCore(StreamCore):
    """
    Args:
        setup: of the core; its controller is one that `terms` made, new.
        terms: of the stream.
        sink: takes each line, its end included.
        product: version of the program, for the header.
    """

    def __init__(
        self, setup: CoreSetup, terms: Terms, now: float, sink: Callable[[str], None], product: str = ""
    ) -> None:
        super().__init__(setup, now)
        self._sink = sink
        limits = {"max_ahead_s": setup.max_ahead_s, "max_lead_s": setup.max_lead_s}
        start = {"trace": VERSION, "product": product, "now": now, "handle": setup.handle, "limits": limits}
        sink(line(start | terms.as_header()))

    def _note(self, kind: str, now: float, **more: Any) -> None:
        self._sink(line({"in": kind, "now": now, **more}))

    # ------------------------------------------------------------ inputs

    def push_pcm(self, pcm: npt.NDArray[np.int16], now: float) -> None:
        """As the core's; only the count is written."""
        self._note("pcm", now, samples=len(pcm))
        super().push_pcm(pcm, now)

    def mark(self, begin: int, end: int, now: float) -> None:
        """As the core's."""
        self._note("mark", now, begin=begin, end=end)
        super().mark(begin, end, now)

    def end_clause(self, now: float) -> None:
        """As the core's."""
        self._note("clause_end", now)
        super().end_clause(now)

    def end_pcm(self, now: float) -> None:
        """As the core's."""
        self._note("pcm_end", now)
        super().end_pcm(now)

    def cancel(self, now: float) -> None:
        """As the core's."""
        self._note("cancel", now)
        super().cancel(now)

    def encoded(self, job: EncodeJob, packets: list[bytes], now: float) -> None:
        """As the core's; only the sizes are written."""
        self._note("encoded", now, sizes=[len(packet) for packet in packets])
        super().encoded(job, packets, now)

    def sent(self, size: int, now: float, own: bool = True) -> None:
        """As the core's."""
        self._note("sent", now, size=size, own=own)
        super().sent(size, now, own)

    def report(self, report: BitRateHint | KernelSample, now: float) -> None:
        """As the core's."""
        if isinstance(report, KernelSample):
            self._note("kernel", now, **asdict(report))
        else:
            self._note("hint", now, **_hint(report))
        super().report(report, now)

    def received(self, total: int, now: float) -> None:
        """As the core's."""
        self._note("received", now, total=total)
        super().received(total, now)

    def pause(self, now: float) -> None:
        """As the core's."""
        self._note("pause", now)
        super().pause(now)

    def resume(self, now: float) -> None:
        """As the core's."""
        self._note("resume", now)
        super().resume(now)

    def detach(self, now: float) -> None:
        """As the core's."""
        self._note("detach", now)
        super().detach(now)

    def attach(self, to: Attachment, now: float) -> None:
        """As the core's; one that is refused is no input."""
        known = None if to.remembered is None else asdict(to.remembered)
        wanted = [list(pair) for pair in to.wanted.items()]
        super().attach(to, now)
        self._note("attach", now, handle=to.handle, wanted=wanted, played=to.played, remembered=known)

    def handle_timer(self, now: float) -> None:
        """As the core's."""
        self._note("timer", now)
        super().handle_timer(now)

    # ------------------------------------------------------------ outputs

    def poll(self) -> Output | None:
        """As the core's."""
        output = super().poll()
        if output is not None and not isinstance(output, Transmit):
            self._sink(line(_output(output)))
        return output


def _hint(hint: BitRateHint) -> dict[str, Any]:
    """The fields of a report: what the core reads, and what is not the default."""
    told: dict[str, Any] = {
        "received": hint.received,
        "played": hint.played,
        "buffer_ms": hint.buffer_ms,
        "rtt_ms": hint.rtt_ms,
    }
    for name, default in _HINT_DEFAULTS.items():
        value = getattr(hint, name)
        if value != default:
            told[name] = value
    return told


def _output(output: Encode | Credit | Notice) -> dict[str, Any]:
    if isinstance(output, Credit):
        return {"out": "credit", "clauses": output.clauses}
    if isinstance(output, Encode):
        job = output.job
        return {
            "out": "encode", "track": job.track, "rank": job.rank, "rung": job.rung.name,
            "pts": job.pts, "frames": job.frames,
        }  # fmt: skip
    return _event(output.event)


def _event(event: Opened | Switched | Decided | Finished | Drained | Clamped) -> dict[str, Any]:
    match event:
        case Decided(plan):
            return {
                "out": "decided",
                "bank": plan.bank.name,
                "upgrade": plan.upgrade.name if plan.upgrade else None,
                "bank_reason": _reason(plan.bank_reason),
                "upgrade_reason": _reason(plan.upgrade_reason),
            }
        case Switched():
            return {
                "out": "switched", "track": event.track, "rank": event.rank, "from": event.source.name,
                "to": event.target.name, "pts": event.pts, "length": event.length,
                "reason": _reason(event.reason),
            }  # fmt: skip
        case Opened():
            return {
                "out": "opened", "track": event.track, "rank": event.rank, "rung": event.rung.name,
                "start": event.start,
            }  # fmt: skip
        case Finished(length):
            return {"out": "finished", "length": length}
        case Clamped(wrong):
            return {"out": "clamped", "fields": list(wrong)}
        case Drained():
            return {"out": "drained"}


def _reason(reason: Reason) -> dict[str, Any]:
    return {"code": reason.code, "sentence": reason.sentence, **reason.values}
