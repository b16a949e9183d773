"""
A recorded stream again: the same core, fed with what it was fed with then.

`replay` repeats a trace and tells the first decision that comes out other than recorded. `judge`
asks another policy the same questions beside it: each time that the recorded core decided, what
the other one would have, seeing what was seen then. From the first difference on that is not what
would have happened: another choice would have met another network and another bank.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..control.controller import BANK, Controller, Decision, Learner, Observation
from ..control.estimate import Estimate
from ..control.policy import Policy
from ..errors import AbrError, LocalError
from ..stream.core import Attachment, CoreSetup, StreamCore
from ..stream.outputs import Encode
from ..stream.pacer import KernelSample
from ..stream.recorder import RecordedCore
from ..stream.terms import Terms
from ..stream.track import EncodeJob
from ..trace import HINT_MORE, BadTrace, Difference, Record, Trace, compare, read
from ..units import ticks_to_seconds
from ..wire.messages import BitRateHint
from .speaker import NO_CODEC


@dataclass(frozen=True, slots=True)
class Replayed:
    """
    What came of a replay.

    Args:
        policy: name of the recorded policy, or `rung opus24` where the request fixed one.
        seconds: from the first line to the last input.
        difference: where it parts from the trace; None: equal, bit for bit.
    """

    policy: str
    inputs: int
    outputs: int
    seconds: float
    difference: Difference | None


@dataclass(frozen=True, slots=True)
class Choice:
    """What a controller plans: rungs of bank and upgrade (None: no upgrade), and why."""

    bank: str
    upgrade: str | None
    bank_reason: str
    upgrade_reason: str

    @property
    def rungs(self) -> tuple[str, str | None]:
        """Both, without the reasons."""
        return self.bank, self.upgrade


@dataclass(frozen=True, slots=True)
class Look:
    """
    A moment at which a choice changed, the recorded one or the other policy's.

    Args:
        at_s: since the stream began.
        heard_s: where the listener was in the speech.
        banked_s: how far the speech was banked.
        then: as recorded; None before the first decision.
        now: as the other policy would.
    """

    at_s: float
    heard_s: float
    banked_s: float
    then: Choice | None
    now: Choice | None

    @property
    def differs(self) -> bool:
        """Whether other rungs are chosen."""
        then, now = self.then, self.now
        return then is not None and now is not None and then.rungs != now.rungs


@dataclass(frozen=True, slots=True)
class Verdict:
    """
    What another policy would have chosen.

    Args:
        policy: its name.
        looks: every change of either's choice, in order.
        differing: (look, seconds) of each stretch in which the rungs differ: where it begins, how
            long it lasts.
        asked: how often it was asked what is sent next.
        otherwise: how often of them it would have sent something else: another layer, rung or pts,
            nothing at all, or something instead of nothing.
        first_s: when that was first, seconds since the stream began; None: never.
    """

    policy: str
    looks: tuple[Look, ...]
    differing: tuple[tuple[Look, float], ...]
    asked: int
    otherwise: int
    first_s: float | None


def replay(trace: Trace) -> Replayed:
    """
    Repeat a trace on a core that its header makes.

    Raises:
        BadTrace: the header makes no core.
    """
    terms = _terms(trace)
    difference = _run(trace, terms, lambda remembered: _made(trace, terms, remembered))
    inputs = [entry for entry in trace.entries if entry.is_input]
    start = trace.header["now"]
    seconds = inputs[-1].record["now"] - start if inputs else 0.0
    name = terms.policy.name if terms.policy else f"rung {terms.first.name}"
    return Replayed(name, len(inputs), len(trace.entries) - len(inputs), seconds, difference)


def judge(trace: Trace, policy: Policy) -> Verdict:
    """
    What `policy` would have chosen, shown what the recorded controller was shown.

    Raises:
        BadTrace: the header makes no core.
        NoCommonFormat: the listener decodes nothing of the other policy's ladder.
    """
    recorded = _terms(trace)
    other = replace(recorded, policy=policy, rung=None)
    watcher = _Watcher(float(trace.header["now"]))

    def both(remembered: Estimate | None) -> Controller:
        watcher.ask(_made(trace, recorded, remembered), replace(other, remembered=remembered).controller())
        return watcher

    _run(trace, recorded, both)
    return Verdict(
        policy.name, tuple(watcher.looks), _stretches(watcher.looks, watcher.last_s),
        watcher.asked, watcher.otherwise, watcher.first_s,
    )  # fmt: skip


# ---------------------------------------------------------------- the core again


def _terms(trace: Trace) -> Terms:
    try:
        terms = Terms.from_header(trace.header)
        _ = terms.first
    except (TypeError, ValueError, ArithmeticError, AbrError, LocalError) as error:
        raise BadTrace(f"{trace.source}:1: the header makes no stream: {error}") from None
    return terms


def _made(trace: Trace, terms: Terms, remembered: Estimate | None) -> Controller:
    try:
        return replace(terms, remembered=remembered).controller()
    except (TypeError, ValueError, AbrError) as error:
        raise BadTrace(f"{trace.source}:1: the header makes no controller: {error}") from None


def _run(trace: Trace, terms: Terms, make: Callable[[Estimate | None], Controller]) -> Difference | None:
    """
    Feed a new core with the trace's inputs; where it parts from the trace.

    Args:
        make: a controller for the stream's first connection, and for each later one.
    """
    header, lines = trace.header, list[str]()
    try:
        controller = make(terms.remembered)
        setup = CoreSetup(header["handle"], terms.rate, controller, NO_CODEC, **header["limits"])
        core = RecordedCore(setup, terms, header["now"], lines.append, header["product"])
    except (TypeError, ValueError) as error:
        raise BadTrace(f"{trace.source}:1: the header makes no core: {error}") from None
    refused = None
    job = _drain(core, None)
    for entry in trace.entries:
        if entry.is_input:
            try:
                job = _drain(core, _feed(core, entry.record, job, make))
            except (AbrError, TypeError, ValueError, LookupError, RuntimeError, ArithmeticError) as error:
                at_s = entry.record["now"] - header["now"]
                refused = Difference(entry.line, at_s, f"the core refuses {entry.kind}: {error}")
                break
    difference = compare(trace, read(lines, "replay"))
    return refused if refused and (difference is None or difference.line >= refused.line) else difference


def _drain(core: StreamCore, job: EncodeJob | None) -> EncodeJob | None:
    """Poll the core; the job that is out, which is the new one if there is one."""
    while (output := core.poll()) is not None:
        if isinstance(output, Encode):
            job = output.job
    return job


def _feed(
    core: StreamCore,
    record: Record,
    job: EncodeJob | None,
    make: Callable[[Estimate | None], Controller],
) -> EncodeJob | None:
    """One input; the job that is out after it."""
    kind, now = record["in"], record["now"]
    if kind == "attach":
        known = None if record["remembered"] is None else Estimate(**record["remembered"])
        wanted = {int(track): int(pts) for track, pts in record["wanted"]}
        core.attach(Attachment(record["handle"], make(known), wanted, record["played"], known), now)
        return job
    if kind == "encoded":
        if job is None:
            raise ValueError("there is no job to be encoded")
        core.encoded(job, [bytes(size) for size in record["sizes"]], now)
        return None
    _INPUTS[kind](core, record, now)
    return job


def _hint(record: Record) -> BitRateHint:
    more = {name: record[name] for name in HINT_MORE if name in record}
    if "highest" in more:
        more["highest"] = tuple(map(tuple, more["highest"]))
    return BitRateHint(
        1, record["received"], record["played"], record["buffer_ms"], record["rtt_ms"], **more
    )  # fmt: skip


_INPUTS: dict[str, Callable[[StreamCore, Record, float], None]] = {
    "pcm": lambda core, record, now: core.push_pcm(np.zeros(record["samples"], np.int16), now),
    "mark": lambda core, record, now: core.mark(record["begin"], record["end"], now),
    "clause_end": lambda core, record, now: core.end_clause(now),
    "pcm_end": lambda core, record, now: core.end_pcm(now),
    "sent": lambda core, record, now: core.sent(record["size"], now, record["own"]),
    "hint": lambda core, record, now: core.report(_hint(record), now),
    "kernel": lambda core, record, now: core.report(
        KernelSample(record["unacked_bytes"], record["user_bytes"], record["min_rtt_ms"]), now
    ),
    "received": lambda core, record, now: core.received(record["total"], now),
    "pause": lambda core, record, now: core.pause(now),
    "resume": lambda core, record, now: core.resume(now),
    "cancel": lambda core, record, now: core.cancel(now),
    "detach": lambda core, record, now: core.detach(now),
    "timer": lambda core, record, now: core.handle_timer(now),
}


# ---------------------------------------------------------------- another policy beside it


class _Watcher:
    """Decides as the recorded controller, and asks the other one the same."""

    def __init__(self, start: float) -> None:
        self._start = start
        self.looks: list[Look] = []
        self.last_s = 0.0
        self.asked = self.otherwise = 0
        self.first_s: float | None = None

    def ask(self, recorded: Controller, other: Controller) -> None:
        """From here on these two, on another connection."""
        self._recorded, self._other = recorded, other
        self._learners = [one for one in (recorded, other) if isinstance(one, Learner)]

    def decide(self, seen: Observation) -> Decision | None:
        """The recorded controller's decision."""
        decision, instead = self._recorded.decide(seen), self._other.decide(seen)
        self.last_s = seen.now - self._start
        self.asked += 1
        if _sent_next(decision) != _sent_next(instead):
            self.otherwise += 1
            self.first_s = self.last_s if self.first_s is None else self.first_s
        before = self.looks[-1] if self.looks else None
        then = _choice(decision) or (before.then if before else None)
        now = _choice(instead) or (before.now if before else None)
        if before is None or not (_alike(before.then, then) and _alike(before.now, now)):
            banked = seen.layers[BANK].next_pts
            look = Look(self.last_s, ticks_to_seconds(seen.head), ticks_to_seconds(banked), then, now)
            self.looks.append(look)
        return decision

    def on_sent(self, size: int, own: bool, now: float) -> None:
        """To both."""
        for learner in self._learners:
            learner.on_sent(size, own, now)

    def on_received(self, total: int, rtt_ms: float, now: float) -> None:
        """To both."""
        for learner in self._learners:
            learner.on_received(total, rtt_ms, now)

    def on_kernel(self, queued: int, min_rtt_ms: float, now: float) -> None:
        """To both."""
        for learner in self._learners:
            learner.on_kernel(queued, min_rtt_ms, now)


def _sent_next(decision: Decision | None) -> tuple[int, str, int] | None:
    if decision is None or not decision.send:
        return None
    return decision.rank, decision.rung.name, decision.pts


def _choice(decision: Decision | None) -> Choice | None:
    if decision is None:
        return None
    plan, reason = decision.plan, decision.reason.sentence
    if plan is None:
        return Choice(decision.rung.name, None, reason, "")
    upgrade = plan.upgrade.name if plan.upgrade else None
    return Choice(plan.bank.name, upgrade, plan.bank_reason.sentence, plan.upgrade_reason.sentence)


def _alike(one: Choice | None, other: Choice | None) -> bool:
    return (one and one.rungs) == (other and other.rungs)


def _stretches(looks: list[Look], end_s: float) -> tuple[tuple[Look, float], ...]:
    """Where the rungs differ, neighbours joined."""
    found: list[tuple[Look, float]] = []
    opened: Look | None = None
    for look in looks:
        if look.differs:
            opened = opened or look
        elif opened is not None:
            found.append((opened, look.at_s - opened.at_s))
            opened = None
    if opened is not None:
        found.append((opened, end_s - opened.at_s))
    return tuple(found)
