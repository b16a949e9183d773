"""
One session over a network, by any backend: what is asked for, and what came of it.
"""

from __future__ import annotations

import asyncio
import csv
from dataclasses import dataclass, field
from pathlib import Path

import virtual
from live import Session
from serving import Front
from talk import Talk
from ways import WAYS

from abr_tts.control.policy import Policy
from abr_tts.control.policy_file import PRESETS, preset, read
from abr_tts.errors import ConfigError
from abr_tts.sim import importers
from abr_tts.sim.result import Result
from abr_tts.sim.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Asked:
    """
    Args:
        talk: what is said.
        policy: how the server adapts, a preset's name or the path of a file.
        rung: hold every stream at it; None: adapt.
        front: what stands before the server.
        until_s: no utterance starts after this second.
        seed: of the network's chances, beside the scenario's own.
    """

    talk: Talk
    policy: str = "default"
    rung: str | None = None
    front: Front = field(default_factory=Front)
    until_s: float = float("inf")
    seed: int = 1


def play(backend: str, scenario: Scenario, asked: Asked) -> tuple[Result, tuple[str, ...]]:
    """
    What a listener hears of it, and what is to be said of the backend.

    Raises:
        NetemError: this machine cannot do it.
        AbrError, ConfigError: the server or the stream failed.
    """
    if backend == "virtual":
        result = virtual.listen(
            scenario, asked.talk, policy_of(asked.policy), rung=asked.rung, until_s=asked.until_s,
            tls=asked.front.encrypted, proxied=asked.front.nginx, seed=asked.seed,
        )  # fmt: skip
        return result, ("the core, the controller and the player of production, TCP by a model",)
    settings = {"stream.policy": asked.policy}
    with WAYS[backend](scenario, asked.front, settings, asked.talk, asked.seed) as (process, way):
        session = Session(way, asked.talk, asked.rung, asked.until_s)
        return asyncio.run(session.run(scenario.name, process.firsts)), way.notes


def network(path: Path, rtt_ms: float | None = None) -> Scenario:
    """
    The scenario of a file in any format of `sim.importers`; the first, where it holds several.

    Args:
        rtt_ms: round trip of the idle path; what the file, an `INDEX.csv` beside it
            (`file,base_rtt_ms`) or its format says, if None.

    Raises:
        ConfigError: it is none, or cannot be read.
    """
    index = path.with_name("INDEX.csv")
    if rtt_ms is None and index.exists():
        rows = csv.DictReader(index.read_text("utf-8").splitlines())
        rtt_ms = next((float(row["base_rtt_ms"]) for row in rows if row["file"] == path.name), None)
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror or error}") from None
    return importers.read(text, str(path), name=path.stem, rtt_ms=rtt_ms)[0]


def policy_of(source: str) -> Policy:
    """
    A preset, or the policy of a file.

    Raises:
        ConfigError: there is no such preset, or the file says something wrong.
    """
    return preset(source) if source in PRESETS else read(Path(source))
