"""What happened on one network, drawn: capacity, what was sent and heard, what was in hand, and stalls."""

from __future__ import annotations

from collections.abc import Sequence

from ...demo.account import Account, Spell
from ...demo.picture import Shown, draw
from ...sim.result import Point, Result, Utterance
from ...sim.study import Contender, Study, seed_of
from .watch import Notes, watched

LOOK_S = 0.2
"""Seconds between two looks: a stall lasts 0.2 s at least, because playing goes on with that much."""

HEARD = 1000
"""Samples a second of an account without sound: its lengths are read in milliseconds."""


def timeline(study: Study, case: int, contenders: Sequence[Contender], headline: str) -> str:
    """A network's first session with these contenders, one below the other, as an SVG document."""
    network = study.cases[case]
    seed = seed_of(network.name, study.seed, 0)
    arms = []
    for contender in contenders:
        notes = Notes()
        result = study.play(network, contender, watched(contender.arm(), notes), seed, LOOK_S)
        arms.append(Shown(account(contender.name, result), notes.pieces))
    note = (
        f"{network.kind}, round trip {network.scenario.base_rtt_s * 1000:.0f} ms; "
        "between utterances nothing is heard, and the bank is empty"
    )
    return draw(arms, network.scenario, headline, note, axis="seconds of the recording")


def account(name: str, result: Result) -> Account:
    """What was heard in a session, as a demonstration's account holds it; without sound."""
    told = Account(name, name, sample_rate=HEARD, complete=True)
    for utterance in result.utterances:
        _add(told, utterance)
    return told


def _add(told: Account, utterance: Utterance) -> None:
    told.stalls += utterance.stalls
    told.stall_s += utterance.stall_s
    told.complete = told.complete and utterance.complete
    for rung, seconds in utterance.played_s.items():
        told.seconds_at[rung] = told.seconds_at.get(rung, 0.0) + seconds
        told.rendered += round(seconds * HEARD)
    told.bank.append((utterance.asked_at, 0.0))
    before: Point | None = None
    begun = utterance.asked_at + utterance.startup_s
    for point in utterance.trace:
        told.bank.append((point.at, point.buffer_s))
        if point.rung_played:
            stalled = point.stall_s - (before.stall_s if before else 0.0)
            _heard(told, begun if before is None else before.at, point.at, point.rung_played, stalled)
            before = point
    if before is not None and utterance.complete and utterance.ended_at > before.at:
        _heard(told, before.at, utterance.ended_at, before.rung_played, utterance.stall_s - before.stall_s)
    told.bank.append((utterance.ended_at, 0.0))


def _heard(told: Account, begin: float, end: float, rung: str, stalled_s: float) -> None:
    """From `begin` to `end` one rung was heard, but for so many seconds of silence at its end."""
    turn = max(begin, end - stalled_s)
    for start, stop, what in ((begin, turn, rung), (turn, end, "")):
        if stop - start < 1e-9:
            continue
        last = told.spells[-1] if told.spells else None
        if last is not None and last.rung == what and start - last.end < 1e-9:
            told.spells[-1] = Spell(last.begin, stop, what)
        else:
            told.spells.append(Spell(start, stop, what))
