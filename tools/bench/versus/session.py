"""
One arm's way through its visits: namespaces, server, nginx and listener, utterance after utterance
in real time. Runs in a process of its own (`versus.py --child`); what it heard is pickled.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[2] / "netem"))

from certificate import certificate
from common import ServerProcess
from nginx import proxy
from tun import TunLink

from abr_tts.errors import AbrError
from abr_tts.sim.result import Utterance
from abr_tts.sim.scenario import Direction, Scenario
from versus.heard import Ear, Int16
from versus.listeners import PATIENCE_S, Listener, Ours, Plain
from versus.plan import Said, Visit
from versus.punctual import COMMAND, punctual, watch

PORT = 8443
"""Of nginx, in a namespace of its own."""

SETTLE_S = 0.3
"""Seconds in which what was said while connecting gets through."""

FAULTS = (AbrError, OSError, TimeoutError, ConnectionError)
"""What may befall a listener."""


@dataclass(frozen=True)
class Arm:
    """
    What is compared.

    Args:
        name: in tables.
        kind: of `serve.py`: `ours`, `plain:RUNG`, `rtc:RUNG`.
        policy: of our server.
        rung: at which our server is held.
    """

    name: str
    kind: str
    policy: str = "default"
    rung: str | None = None


ARMS = {
    arm.name: arm
    for arm in (
        Arm("aiohttp-opus24", "plain:opus24"),
        Arm("aiohttp-opus32", "plain:opus32"),
        Arm("ours-opus24", "ours", rung="opus24"),
        Arm("ours-opus32", "ours", rung="opus32"),
        Arm("ours-opus", "ours", policy="opus"),
        Arm("ours-default", "ours", policy="default"),
        Arm("ours-classic", "ours", policy="classic"),
        Arm("webrtc-opus24", "rtc:opus24"),
    )
}
"""By name, in the order of the table; the first is what the others are compared with."""


@dataclass(slots=True)
class Item:
    """One utterance of a visit as it was heard."""

    said: Said
    record: Utterance
    speech: Int16
    as_heard: Int16
    rate: int
    concealed_s: float
    recovered_s: float
    fault: str


@dataclass(slots=True)
class Heard:
    """One visit of one arm."""

    visit: Visit
    items: list[Item] = field(default_factory=list)
    cpu_s: float = 0.0
    """Of the server process, engine and nginx apart."""
    lags: dict[str, list[float]] = field(default_factory=dict)
    """How late the event loops of listener and server were, in seconds."""


def calm(scenario: Scenario) -> Scenario:
    """The same path at its best, for the time before the plan begins."""

    def at_best(way: Direction) -> Direction:
        best = max(kbps for _, kbps in way.rate)
        return replace(way, rate=((0.0, best),), drop_windows=(), loss=0.0, bursts=None)

    return replace(scenario, down=at_best(scenario.down), up=at_best(scenario.up))


def run(arm: Arm, visits: list[Visit], folder: Path, rate: int) -> list[Heard]:
    """Every visit in turn, on fresh servers over one pair of namespaces."""
    with TunLink() as link, link.inside("client"):
        return [_visit(arm, visit, link, folder, rate) for visit in visits]


def _visit(arm: Arm, visit: Visit, link: TunLink, folder: Path, rate: int) -> Heard:
    link.start(calm(visit.scenario))
    with _server(arm, link, folder) as (server, url, context):
        dial = _dialler(arm, url, context, rate)
        heard, ears = Heard(visit), list[Ear]()
        with punctual():
            zero = asyncio.run(_listen(heard, ears, link, dial, server))
        after = server.ask("noted")
    heard.cpu_s += after["cpu_s"]
    heard.lags["server"] = after["lags"]
    for said, ear in zip(visit.said, ears, strict=True):
        begun = [at for text, at in after["firsts"] if text == said.clauses[0] and at >= ear.asked_at]
        heard.items.append(
            Item(
                said, ear.utterance(zero, min(begun, default=None)), ear.speech(), ear.as_heard(), ear.rate,
                ear.concealed_s, ear.recovered_s, ear.fault,
            )
        )  # fmt: skip
    return heard


@contextlib.contextmanager
def _server(arm: Arm, link: TunLink, folder: Path) -> Iterator[tuple[ServerProcess, str, Any]]:
    """(process, URL, TLS context): behind nginx with TLS, WebRTC alone directly, with its own DTLS."""
    host = link.address("server")
    direct = arm.kind.startswith("rtc")
    settings = {"server.host": host if direct else "127.0.0.1"}
    if arm.kind == "ours":
        settings["stream.policy"] = arm.policy
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(
            ServerProcess(
                settings, arm.kind, str(folder), program="versus/serve.py",
                wrap=lambda command: link.command("server", command),
            )
        )  # fmt: skip
        if direct:
            yield server, server.url, None
            return
        files, context = stack.enter_context(certificate(host))
        pair = (files["tls.cert_file"], files["tls.key_file"])
        upstream, path = server.url.split("/", 3)[2:]
        stack.enter_context(
            proxy((host, PORT), upstream, pair, lambda command: link.popen("server", [*COMMAND, *command]))
        )
        yield server, f"wss://{host}:{PORT}/{path}", context


def _dialler(arm: Arm, url: str, context: Any, rate: int) -> Callable[[], Listener]:
    kind, _, rung = arm.kind.partition(":")
    if kind == "plain":
        return lambda: Plain(url, context, rung, rate)
    if kind == "rtc":
        from versus.rtc_listener import Rtc

        return lambda: Rtc(url, context, rung, rate)
    return lambda: Ours(url, context, arm.rung)


async def _listen(
    heard: Heard, ears: list[Ear], link: TunLink, dial: Callable[[], Listener], server: ServerProcess
) -> float:
    """
    Hear what the plan says; a connection that is lost is made anew for the next utterance.

    Returns:
        Second 0 of the plan. No sound: asyncio prints the result of its main task to nobody.
    """
    lags = heard.lags["listener"] = list[float]()
    watching = asyncio.ensure_future(watch(lags))
    connection = contextlib.AsyncExitStack()
    listener: Listener | None = await connection.enter_async_context(dial())
    await asyncio.sleep(SETTLE_S)
    heard.cpu_s = -server.ask("noted")["cpu_s"]
    lags.clear()
    zero = link.start(heard.visit.scenario)
    for said in heard.visit.said:
        await asyncio.sleep(max(0.0, zero + said.at - time.monotonic()))
        ear = Ear(said.seconds, time.monotonic())
        ears.append(ear)
        before = _bytes(link)
        try:
            async with asyncio.timeout(said.seconds + PATIENCE_S):
                if listener is None:
                    listener = await connection.enter_async_context(dial())
                await listener.hear(said, ear)
        except FAULTS as fault:
            ear.fault = f"{type(fault).__name__}: {fault}"
            listener = None
            await connection.aclose()
        ear.ended_at, ear.wire_bytes = time.monotonic(), _bytes(link) - before
    await connection.aclose()
    watching.cancel()
    return float(zero)


def _bytes(link: TunLink) -> int:
    """IP bytes that were sent to the listener so far."""
    return int(link.counters()["down"].get("sent_bytes", 0))
