"""
What is said, when, over which networks: one plan for all arms, from a seed.

An utterance is asked for at a fixed second of its network's time, so that the same words meet the
same weather in every arm, however long an arm made its listener wait before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from random import Random

from abr_tts.cli.failure import Failure
from abr_tts.cli.policy.networks import load
from abr_tts.engine.text import Clauser
from abr_tts.server.config import Settings
from abr_tts.sim.engine import conversation
from abr_tts.sim.scenario import Direction, Scenario
from abr_tts.sim.study import Case

FIRST_AT_S = 0.5
"""Second of the network's time at which the first utterance is asked for."""

START_S = 0.5
"""Allowed for the start of an utterance in the plan of the next."""

SENTENCES = (
    "The early train to the coast is late because of fog on the bridge.",
    "Your table for four is booked under the name of Martin.",
    "Turn left at the second light, then keep to the right.",
    "It will rain until noon, and the wind comes from the west.",
    "She found the silver key behind a row of old books.",
    "Please take one tablet with water after every meal.",
    "The museum opens at nine and closes when it gets dark.",
    "Nobody had seen the black dog since Thursday evening.",
    "I have moved your meeting with the bank to next Tuesday.",
    "The recipe asks for three eggs, some butter and a pinch of salt.",
    "A fresh coat of paint would make this hallway look brighter.",
    "Your parcel left the warehouse and should arrive before the weekend.",
    "The children built a castle of sand far from the waves.",
    "We can change the password as soon as you confirm your address.",
    "There is heavy traffic on the ring road, so leave ten minutes early.",
    "The judge read the letter twice and put it away without a word.",
    "Most of the orchard was planted by his grandfather.",
    "Would you like me to read the rest of the message?",
    "The nurse checked the chart and drew the curtains.",
    "Seven cyclists crossed the finish within a single second.",
    "Boil the rice gently and do not lift the lid.",
    "The last ferry back to the island leaves at half past eight.",
)
"""Read to people by machines, more or less; 2 to 5 s each."""


@dataclass(frozen=True, slots=True)
class Said:
    """
    One utterance.

    Args:
        clauses: its text, as a server cuts it.
        at: second of the network's time at which it is asked for.
        seconds: its length.
    """

    clauses: tuple[str, ...]
    at: float
    seconds: float

    @property
    def text(self) -> str:
        """The whole."""
        return " ".join(self.clauses)


@dataclass(frozen=True, slots=True)
class Visit:
    """A conversation over one stretch of one network, which begins with its second `offset`."""

    scenario: Scenario
    kind: str
    offset: float
    said: tuple[Said, ...]


def clauses_of(text: str) -> tuple[str, ...]:
    """What a server with its own settings speaks at a time."""
    engine = Settings().engine
    clauser = Clauser(engine.clause_chars, engine.first_clause_chars)
    return tuple(clause.text for clause in [*clauser.feed(text), *clauser.end()])


def texts(seed: str, seconds_of: Mapping[str, float]) -> Iterator[tuple[str, float]]:
    """
    Without end: the text of utterance after utterance, and the rest behind it in seconds.

    Their lengths are about those of the simulator's conversation: sentences until the next would be
    further from it.

    Args:
        seconds_of: each sentence's length.
    """
    rng = Random(f"{seed}/sentences")
    for wanted, rest in conversation(f"{seed}/talk"):
        chosen: list[str] = []
        length = 0.0
        for sentence in rng.sample(list(seconds_of), len(seconds_of)):
            if chosen and length + seconds_of[sentence] / 2 > wanted:
                break
            chosen.append(sentence)
            length += seconds_of[sentence]
        yield " ".join(chosen), rest


def scheduled(told: Iterable[tuple[str, float]], seconds_of: Mapping[str, float]) -> tuple[Said, ...]:
    """
    Texts and rests as utterances, one behind the other.

    Args:
        seconds_of: each clause's length.
    """
    at, said = FIRST_AT_S, []
    for text, rest in told:
        clauses = clauses_of(text)
        seconds = sum(seconds_of[clause] for clause in clauses)
        said.append(Said(clauses, at, seconds))
        at += START_S + seconds + rest
    return tuple(said)


# ------------------------------------------------------------ networks


def read_networks(folder: Path, only: str = "") -> list[Case]:
    """
    The networks of a folder, in any format that `abr-tts policy simulate` reads, whose name or kind
    contains `only`.

    Raises:
        ConfigError: a bad file, with its line.
        Failure: there is none.
    """
    found = [case for case in load([folder]) if only in case.name or only in case.kind]
    if not found:
        raise Failure(f"{folder}: there is no network with {only!r} in its name or kind", status=2)
    return found


def draw(networks: Sequence[Case], most: int, seed: str) -> list[Case]:
    """
    At most `most` of them, each kind with its share, at least one of each while there is room.

    Within a kind they are drawn by chance; the same seed draws the same.
    """
    kinds: dict[str, list[Case]] = {}
    for network in networks:
        kinds.setdefault(network.kind, []).append(network)
    shuffled = {
        kind: Random(f"{seed}/{kind}").sample(some, len(some)) for kind, some in sorted(kinds.items())
    }
    taken = dict.fromkeys(shuffled, 0)
    for _ in range(min(most, len(networks))):
        hungry = [kind for kind in shuffled if taken[kind] < len(shuffled[kind])]
        taken[min(hungry, key=lambda kind: taken[kind] / len(shuffled[kind]))] += 1
    return [network for kind, some in shuffled.items() for network in some[: taken[kind]]]


def turned(scenario: Scenario, offset: float) -> Scenario:
    """The same network, but its second 0 is second `offset` (0 to its duration) of the original."""
    return replace(
        scenario,
        down=_turned(scenario.down, offset, scenario.duration_s),
        up=_turned(scenario.up, offset, scenario.duration_s),
    )


def _turned(way: Direction, offset: float, round_s: float) -> Direction:
    rate = [(0.0, way.kbps_at(offset))]
    rate += [(at - offset, kbps) for at, kbps in way.rate if offset < at < round_s]
    rate += [(at - offset + round_s, kbps) for at, kbps in way.rate if at < offset]
    windows = []
    for begin, end in way.drop_windows:
        if begin < offset:
            windows.append((begin - offset + round_s, min(end, offset) - offset + round_s))
        if end > offset:
            windows.append((max(begin, offset) - offset, end - offset))
    steps = dict(sorted(rate))
    return replace(way, rate=tuple(steps.items()), drop_windows=tuple(sorted(windows)))


def conversations(
    networks: Sequence[Case], utterances: int, seed: str, seconds_of: Mapping[str, float]
) -> list[list[tuple[str, float]]]:
    """
    For each network (text, rest) of so many utterances.

    Args:
        seconds_of: each sentence's length.
    """
    return [
        list(islice(texts(f"{seed}/{network.scenario.name}", seconds_of), utterances)) for network in networks
    ]


def visits(
    networks: Sequence[Case],
    told: Sequence[Sequence[tuple[str, float]]],
    seed: str,
    seconds_of: Mapping[str, float],
) -> list[Visit]:
    """
    A conversation over each network, from a second of it that is drawn by chance.

    Args:
        told: of `conversations`.
        seconds_of: each clause's length.
    """
    found = []
    for network, some in zip(networks, told, strict=True):
        scenario = network.scenario
        offset = Random(f"{seed}/{scenario.name}/offset").randrange(max(1, int(scenario.duration_s)))
        found.append(
            Visit(turned(scenario, offset), network.kind, float(offset), scheduled(some, seconds_of))
        )
    return found
