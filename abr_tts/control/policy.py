"""
A policy: everything about adaptation that an operator may choose, as one frozen record.

A `Policy` that exists is valid: it checks each value and how they fit together. How one is read
from TOML stands in `policy_file`. It knows no network and no stream.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

from ..errors import PolicyError
from .ladder import Ladder, Rung, pcm
from .utility import measured_utility

MEMORY_KEYS = ("client", "address", "none")
"""Whose next utterance starts with what was learned: the API key's and address together, the
address's alone, or nobody's."""


CONTROLLERS = ("strong", "v1")
"""`strong.Strong` and `adaptive.Adaptive`."""


def number(default: float, sentence: str, low: float, high: float) -> Any:
    """A numeric field: what it does, and its bounds, both allowed values themselves."""
    return field(default=default, metadata={"sentence": sentence, "low": low, "high": high})


def word(default: Any, sentence: str, choices: tuple[str, ...] = ()) -> Any:
    """A text field: what it does, and what it may be."""
    return field(default=default, metadata={"sentence": sentence, "choices": choices})


@dataclass(frozen=True)
class Policy:
    """
    How streams adapt. Times are seconds, rates kbit/s on the wire, sizes bytes.

    Raises:
        PolicyError: from the constructor; the sentence begins with the key.
    """

    name: str = word("", "What requests, metrics and logs call it.")
    rungs: tuple[Rung, ...] = field(default=(), metadata={"sentence": "The ladder, best first."})
    utilities: tuple[float, ...] = field(
        default=(), metadata={"sentence": "What each rung is worth to a listener, 0 to 1."}
    )
    controller: str = word(
        "strong", "How rungs are chosen: by chances, or by the smaller of two averages.", CONTROLLERS
    )
    bank_rung: str = word(
        "opus24", "Rung at which speech is sent first, well ahead of the listener; the lowest if absent."
    )
    bank_best: str = word(
        "opus24",
        "Best rung of the bank, on a link that carries it with next to no risk; no family but its own.",
    )
    bank_lead_s: float = number(30.0, "Seconds that the bank goes ahead of the listener at most.", 1, 600)
    safe_lead_s: float = number(
        3.0, "Seconds of bank ahead of the listener from which upgrades may be sent.", 0.2, 60
    )
    outage_lead_s: float = number(
        8.0, "The same in a stream whose link has died before, though the engine made no more.", 0.2, 60
    )
    low_lead_s: float = number(
        2.0, "Seconds of lead below which the bank takes a lower rung on a link that cannot keep up.", 0.2, 60
    )
    upgrade_lead_s: float = number(
        6.0, "Seconds ahead of the listener that upgrades are sent at most.", 0.4, 60
    )
    level0_lead_s: float = number(
        4.0, "Seconds of lead at most of a client that can hold one track only.", 0.5, 60
    )
    headroom: float = number(1.1, "Capacity over need from which a better rung is taken.", 1, 4)
    keep_headroom: float = number(1.0, "Capacity over need down to which a rung is kept.", 0.5, 4)
    bank_headroom: float = number(
        1.5, "Capacity over need below which the bank takes a lower rung while its lead is low.", 1, 10
    )
    hold_up_s: float = number(1.5, "Seconds that a better rung must fit before it is taken.", 0, 60)
    probe_s: float = number(
        3.0, "Seconds without news after which a link that seems too slow is tried again.", 0.5, 600
    )
    least_gain: float = number(0.01, "Utility that an upgrade must add.", 0, 1)
    start_kbps: float = number(300.0, "Capacity assumed of a link that nothing is known of.", 1, 100_000)
    opening_bytes: int = number(5_000, "Bytes that may be on the way before a first report.", 5_000, 64_000)
    bank_queue_s: float = number(
        0.2, "Seconds of capacity, beside a round trip, that the bank may have on the way.", 0.02, 5
    )
    upgrade_queue_s: float = number(
        0.15, "Seconds of its own rate, beside a round trip, that an upgrade may have on the way.", 0.02, 5
    )
    least_outstanding_bytes: int = number(
        3_000, "Bytes that may be on the way on any link: two full TCP segments.", 1_000, 64_000
    )
    most_outstanding_bytes: int = number(
        65_536, "Bytes that may be on the way at most, whatever the link.", 8_000, 1_048_576
    )
    fast_half_life_s: float = number(0.5, "Half-life of the quick average of capacity.", 0.05, 60)
    slow_half_life_s: float = number(3.0, "Half-life of the slow one; the smaller rules.", 0.05, 600)
    late_s: float = number(0.12, "Seconds of queue beyond a round trip that count as trouble.", 0.05, 5)
    outage_s: float = number(1.0, "Seconds of silence beyond what is due that count as an outage.", 0.2, 30)
    idle_probe_bytes: int = number(
        1_200, "Bytes of a probe while nobody speaks, some seconds after speech; 0: none is sent.", 0, 4_000
    )
    memory_key: str = word("client", "Whose next utterance starts with what was learned.", MEMORY_KEYS)
    memory_s: float = number(600.0, "Seconds that what was learned of a link is kept.", 0, 86_400)

    def __post_init__(self) -> None:
        for item in fields(self):
            if "low" in item.metadata:
                _check_number(item.name, getattr(self, item.name), item.metadata, item.type == "int")
            elif "choices" in item.metadata:
                _check_word(item.name, getattr(self, item.name), item.metadata["choices"])
        self._check_ladder()
        for smaller, larger in RELATIONS:
            if getattr(self, smaller) > getattr(self, larger):
                raise fault(
                    smaller,
                    f"is {getattr(self, smaller):g}, but must not be above {larger} "
                    f"({getattr(self, larger):g})",
                    larger,
                )

    def _check_ladder(self) -> None:
        if not self.rungs:
            raise fault("rung", "is missing: the ladder has no rung")
        if len(self.utilities) != len(self.rungs):
            raise fault("utilities", "must be one for each rung")
        names = [rung.name for rung in self.rungs]
        if len(set(names)) != len(names):
            double = next(name for name in names if names.count(name) > 1)
            raise fault("rung", f"{double} stands in the ladder twice")
        for rung, utility in zip(self.rungs, self.utilities, strict=True):
            if not 0 <= utility <= 1:
                raise fault("utility", f"of {rung.name} is {utility:g}, but must be 0 to 1")
        if self.bank_rung not in names:
            raise fault(
                "bank_rung", f"is {self.bank_rung!r}, which is not in the ladder: {', '.join(names)}", "rung"
            )

    # ------------------------------------------------------------ the ladder

    @property
    def ladder(self) -> Ladder:
        """The rungs as a ladder."""
        return Ladder(self.rungs)

    @cached_property
    def bank(self) -> Rung:
        """The rung of the bank."""
        return next(rung for rung in self.rungs if rung.name == self.bank_rung)

    def utility(self, rung: Rung) -> float:
        """What `rung` is worth; the measured value of one that is not in the ladder."""
        ours = self._worth.get(rung.name)
        return measured_utility(rung) if ours is None else ours

    @cached_property
    def _worth(self) -> dict[str, float]:
        return {rung.name: utility for rung, utility in zip(self.rungs, self.utilities, strict=True)}

    @cached_property
    def by_utility(self) -> tuple[Rung, ...]:
        """The rungs by what they are worth, the best first; of equals the cheaper."""
        return tuple(sorted(self.rungs, key=lambda rung: (-self.utility(rung), rung.wire_kbps)))

    def for_listener(self, codecs: Iterable[str], rate: int, level: int = 1) -> Policy:
        """
        This policy for one listener and one engine.

        Args:
            codecs: that the listener decodes.
            rate: Hz of the engine. From 24 000 on `pcm24` stands in for `pcm22`; PCM that is
                faster than the engine falls out.
            level: conformance; 0 leaves one family.

        Raises:
            NoCommonFormat: the listener decodes no rung of the ladder.
        """
        worth = {_for_rate(rung, rate): self.utility(rung) for rung in self.rungs}
        rungs = Ladder(worth).for_codecs(codecs).for_rate(rate).rungs
        if level == 0:
            rungs = _one_family(rungs)
        names = [rung.name for rung in rungs]
        bank = self.bank_rung if self.bank_rung in names else min(rungs, key=lambda r: r.wire_kbps).name
        return replace(self, rungs=rungs, utilities=tuple(worth[rung] for rung in rungs), bank_rung=bank)


RELATIONS = (
    ("safe_lead_s", "bank_lead_s"),
    ("safe_lead_s", "outage_lead_s"),
    ("low_lead_s", "bank_lead_s"),
    ("upgrade_lead_s", "bank_lead_s"),
    ("keep_headroom", "headroom"),
    ("fast_half_life_s", "slow_half_life_s"),
    ("least_outstanding_bytes", "most_outstanding_bytes"),
    ("opening_bytes", "most_outstanding_bytes"),
)
"""Pairs of which the first must not be above the second."""

NUMBERS = tuple(item.name for item in fields(Policy) if "low" in item.metadata)
"""The numeric fields, which a search may vary within their bounds."""


def fault(key: str, reason: str, *others: str) -> PolicyError:
    """The error of a key, and of `others` that it does not fit: `reason` goes on after its name."""
    return PolicyError(f"{key} {reason}", key, *others)


def _check_number(key: str, value: Any, bounds: Mapping[str, Any], whole: bool) -> None:
    kinds = (int,) if whole else (int, float)
    endless = isinstance(value, float) and not math.isfinite(value)
    if isinstance(value, bool) or not isinstance(value, kinds) or endless:
        raise fault(key, f"must be a {'whole ' if whole else ''}number, not {value!r}")
    for name, word_, bad in (
        ("low", "least", value < bounds["low"]),
        ("high", "most", value > bounds["high"]),
    ):
        if bad:
            shown = f"{value:g}" if isinstance(value, float) else f"{value!r:.20}"
            raise fault(key, f"is {shown}, but must be at {word_} {bounds[name]:g}")


def _check_word(key: str, value: Any, choices: tuple[str, ...]) -> None:
    if not isinstance(value, str) or not value:
        raise fault(key, f"must be a text, not {value!r}")
    if choices and value not in choices:
        raise fault(key, f"is {value!r}, but must be one of {', '.join(choices)}")


def _for_rate(rung: Rung, rate: int) -> Rung:
    return pcm("pcm24", 24_000) if rung.name == "pcm22" and rate >= 24_000 else rung


def _one_family(rungs: tuple[Rung, ...]) -> tuple[Rung, ...]:
    """What a client that holds one track gets: hybrid Opus, else the lowest PCM rung."""
    hybrid = tuple(rung for rung in rungs if rung.family == "opus-hybrid")
    return hybrid or (min(rungs, key=lambda rung: rung.wire_kbps),)
