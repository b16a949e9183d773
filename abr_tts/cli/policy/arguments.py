"""What the verbs that simulate have in common: their arguments, and contenders made of names."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import ConfigError
from ..failure import Failure

if TYPE_CHECKING:
    from ...control.policy import Policy
    from ...sim.run import World
    from ...sim.study import Case, Contender

MOST_REPEATS = 100
"""Speeches per network."""

MOST_JOBS = 256
"""Processes."""

MOST_RTF = 10.0
"""Seconds of work for a second of speech: beyond it nothing can be heard without a stall."""


def add_networks(parser: argparse.ArgumentParser) -> None:
    """Which networks, and how they are played."""
    parser.add_argument(
        "--traces", metavar="DIR|FILE", type=Path, nargs="+", action="extend", required=True,
        help="recorded networks, in any of the formats (docs/policies.md); may be given again",
    )  # fmt: skip
    parser.add_argument(
        "--format", default="", metavar="NAME",
        help="format of the files: csv, tts-netem, mahimahi, sabre, pensieve or fcc; "
        "told by their content by default",
    )  # fmt: skip
    parser.add_argument(
        "--rtt-ms", type=bounded(float, 0, 10_000), metavar="MS",
        help="round trip of the idle path, over what the files say",
    )  # fmt: skip
    parser.add_argument(
        "--seed", type=int, default=1, metavar="N",
        help="of speech, packets and chance (1); same seed, same figures",
    )  # fmt: skip
    parser.add_argument(
        "--repeats", type=bounded(int, 1, MOST_REPEATS), default=1, metavar="N",
        help="speeches over each network (1)",
    )  # fmt: skip
    parser.add_argument(
        "--jobs", type=bounded(int, 1, MOST_JOBS), metavar="N",
        help="processes (as many as there are cores); it changes no figure",
    )  # fmt: skip
    parser.add_argument(
        "--real-time-factor", type=bounded(float, 0, MOST_RTF), default=0.3, metavar="X",
        help="seconds that the engine takes for a second of speech (0.3)",
    )  # fmt: skip
    parser.add_argument(
        "--proxied", action="store_true", help="with a proxy in the path, as behind nginx or a CDN"
    )
    parser.add_argument(
        "--controller", metavar="NAME", help="the controller to use, whatever the policy says: strong or v1"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def bounded(kind: type[int] | type[float], low: float, high: float) -> Any:
    """A number within bounds, both allowed."""

    def number(text: str) -> float:
        value = kind(text)
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"must be {low:g} to {high:g}, not {text}")
        return value

    number.__name__ = "whole number" if kind is int else "number"
    return number


def jobs(arguments: argparse.Namespace) -> int:
    """How many processes."""
    from .workers import cores

    return arguments.jobs or cores()


def cases(arguments: argparse.Namespace) -> tuple[Case, ...]:
    """
    The networks.

    Raises:
        ConfigError, Failure: as `networks.load`.
    """
    from .networks import load

    try:
        return load(arguments.traces, arguments.format, arguments.rtt_ms)
    except ConfigError as error:
        raise Failure(str(error), status=2) from None


def world(arguments: argparse.Namespace) -> World:
    """Everything but networks and contenders."""
    from ...sim.engine import NEURAL
    from ...sim.run import World

    engine = replace(NEURAL, real_time_factor=arguments.real_time_factor)
    return World(engine=engine, proxied=arguments.proxied)


def policy_of(name: str) -> Policy:
    """
    A preset or the policy of a file.

    Raises:
        Failure: there is none, or it is none.
    """
    from ...control.policy_file import PRESETS, preset, read

    try:
        return preset(name) if name in PRESETS else read(Path(name))
    except ConfigError as error:
        hint = "" if Path(name).exists() else f"; presets are {', '.join(PRESETS)}"
        raise Failure(f"{error}{hint}", status=2) from None


def contender(name: str, arguments: argparse.Namespace) -> Contender:
    """
    A policy with its own controller.

    Raises:
        Failure: there is no such policy, or no such controller.
    """
    from ...sim.study import Contender

    policy = with_controller(policy_of(name), arguments.controller)
    return Contender(policy.name, policy)


def with_controller(policy: Policy, name: str | None) -> Policy:
    """
    The policy with another controller, if one is named.

    Raises:
        Failure: there is no such controller.
    """
    if name is None:
        return policy
    known = {item.name: item.metadata.get("choices", ()) for item in fields(policy)}.get("controller", ())
    if name not in known:
        raise Failure(f"--controller: no controller {name!r}; there are {', '.join(known)}", status=2)
    changed: dict[str, Any] = {"controller": name}
    return replace(policy, **changed)


def told_apart(contenders: Sequence[Contender], given: Sequence[str]) -> tuple[Contender, ...]:
    """Contenders of equal names are called what the user called them."""
    names = [one.name for one in contenders]
    return tuple(
        replace(one, name=given[index] if names.count(one.name) > 1 else one.name)
        for index, one in enumerate(contenders)
    )
