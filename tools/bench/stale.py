"""
How old is what is heard after the network falls? From a decision to its first byte at the listener.

A link falls from 1 Mbit/s to 40 kbit/s (round trip 60 ms, on TUN: packets between two namespaces).
At that very moment the sender is told to go from 22 kHz PCM to Opus 24, with the bank off, and what
it has sent before must drain first. *Paced* keeps 0.5 s ahead of the listener, *ahead* as far as the
link allows. Direct, over TLS, behind nginx with TLS, and the plain design on aiohttp's defaults.
Medians over several falls, each at another moment between two messages; `_max` is the worst.

With --reaction: the shipped controller instead. From the fall to the first decision for less, and
whether the listener stalls.

    pip install '.[espeak,test]'
    python tools/bench/stale.py [--json] [--reaction]     (root, Linux, nginx; under 6 minutes)
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import aiohttp
import certificate
from common import ServerProcess, show
from listener import Heard, Listener

from abr_tts.client import Client
from abr_tts.errors import AbrError
from abr_tts.sim.scenario import Direction, Scenario
from abr_tts.wire.messages import Audio, StreamStart, StreamStarted, Track

sys.path.insert(0, str(Path(__file__).parents[1] / "netem"))
from nginx import installed, proxy
from tun import NetemError, TunLink, missing

BEFORE_KBPS, AFTER_KBPS, DELAY_S, JITTER_S = 1_000.0, 40.0, 0.03, 0.003
FALL_S = {"ours": 4.0, "plain": 10.0, "adaptive": 8.0}
"""Seconds after which the link falls: everything is under way by then. The plain design's buffers
grow for longer."""

PHASE_S = 0.03
"""By so much later each next fall: messages are 100 ms apart."""

PACED_LEAD_S, AHEAD_LEAD_S = 0.5, 30.0
SETTLE_S = 1.0
"""Seconds in which what is left on the link from before gets through."""

WAIT_S = 100.0
"""The longest that is waited for a byte."""

PORT = 8443
SENTENCE = "The train leaves the city and the network goes with it, sentence by sentence, mile after mile. "
SENTENCES = 15
"""Of about 6 s each."""

ARMS = ("direct", "tls", "nginx_tls")
PLAIN_ARMS = ("aiohttp_paced", "aiohttp_ahead", "aiohttp_tls_ahead")


@dataclass
class Arm:
    """One path to one server, ready to be measured from the client's namespace."""

    link: TunLink
    server: ServerProcess
    url: str
    context: Any


def falling(fall_s: float) -> Scenario:
    """The link that falls at `fall_s`."""
    down = Direction(((0.0, BEFORE_KBPS), (fall_s, AFTER_KBPS)), DELAY_S, JITTER_S)
    return Scenario("fall", 600.0, down, Direction(((0.0, 2_000.0),), DELAY_S, JITTER_S))


@contextlib.contextmanager
def arm(name: str, *more: str, settings: dict[str, Any], program: str = "server_process.py") -> Iterator[Arm]:
    """The path called `name`, one of ARMS."""
    with contextlib.ExitStack() as stack:
        link = stack.enter_context(TunLink())
        host = link.address("server")
        files, context = stack.enter_context(certificate.certificate(host))
        place = {"server.host": "127.0.0.1" if name == "nginx_tls" else host}
        tls = files if name == "tls" else {}
        server = stack.enter_context(
            ServerProcess(
                {**settings, **place, **tls}, *more, program=program,
                wrap=lambda command: link.command("server", command),
            )
        )  # fmt: skip
        url = server.url
        stack.enter_context(link.inside("client"))
        if name == "nginx_tls":
            upstream = url.split("/")[2]
            pair = (files["tls.cert_file"], files["tls.key_file"])
            stack.enter_context(
                proxy((host, PORT), upstream, pair, lambda command: link.popen("server", command))
            )
            url = f"wss://{host}:{PORT}/v1/stream"
        yield Arm(link, server, url, None if url.startswith("ws:") else context)


# ---------------------------------------------------------------- a step that is told


def told(name: str, falls: int) -> dict[str, Any]:
    """Both ways of sending on one path."""
    result: dict[str, Any] = {}
    for mode, lead_s in (("paced", PACED_LEAD_S), ("ahead", AHEAD_LEAD_S)):
        steer = json.dumps({"kind": "told", "rung": "pcm22", "lead_s": lead_s})
        with arm(name, steer, settings={"engine.kind": "espeak"}) as path:
            found = [asyncio.run(one_step(path, FALL_S["ours"] + n * PHASE_S)) for n in range(falls)]
        result[f"{mode}_s"], result[f"{mode}_max_s"] = round(median(found), 2), round(max(found), 2)
    return result


async def one_step(path: Arm, fall_s: float) -> float:
    """Seconds from being told to the first audio of the new rung at the listener."""
    zero = path.link.start(falling(fall_s))
    await asyncio.sleep(SETTLE_S)
    async with Listener(path.url, ssl=path.context or True) as listener:
        await listener.send(StreamStart(str(uuid.uuid4()), SENTENCE * SENTENCES, rung="pcm22"))
        tell = asyncio.ensure_future(step(path, zero + fall_s))
        heard, stream, tracks = Heard("", time.monotonic()), 0, {}
        while True:
            message = await listener.next(heard, stream)
            if isinstance(message, StreamStarted):
                stream = message.stream
                listener.reporter.open(stream, time.monotonic())
            elif isinstance(message, Track):
                tracks[message.track] = message.rung
            elif isinstance(message, Audio):
                if tracks[message.track] == "opus24":
                    return time.monotonic() - (await tell)
                listener.take(heard, message)
            await listener.report(heard, stream)


async def step(path: Arm, at: float) -> float:
    """Tell the server at `at`; when it took it."""
    await asyncio.sleep(at - time.monotonic())
    answer = await asyncio.get_running_loop().run_in_executor(None, path.server.ask, "rung opus24")
    return float(answer["at"])


def plain(name: str) -> dict[str, Any]:
    """The plain design, which changes once."""
    settings = {"paced": name == "aiohttp_paced"}
    with arm("tls" if "tls" in name else "direct", settings=settings, program="plain_server.py") as path:
        return {"s": round(asyncio.run(one_plain(path)), 2)}


async def one_plain(path: Arm) -> float:
    """Seconds from being told to the first message of the new kind, at most WAIT_S."""
    at = path.link.start(falling(FALL_S["plain"])) + FALL_S["plain"]
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(path.url, ssl=path.context or True, max_msg_size=0) as socket,
    ):
        tell = asyncio.ensure_future(step(path, at))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(at + WAIT_S - time.monotonic()):
                while not (await socket.receive_bytes())[0]:
                    pass
        waited = time.monotonic() - (await tell)
        socket._response.connection.transport.abort()  # type: ignore[union-attr]
        return min(waited, WAIT_S)


# ---------------------------------------------------------------- the shipped controller


def reaction(name: str, falls: int) -> dict[str, Any]:
    """The shipped controller on one path: how soon it decides for less, and what is heard."""
    steer = json.dumps({"kind": "watched"})
    with arm(name, steer, settings={"engine.kind": "espeak", "stream.policy": "default"}) as path:
        found = [asyncio.run(one_fall(path, FALL_S["adaptive"] + n * PHASE_S)) for n in range(falls)]
    times = [one["reaction_s"] for one in found if one["reaction_s"] is not None]
    return {
        "reaction_s": round(median(times), 2) if times else None,
        "reaction_max_s": round(max(times), 2) if times else None,
        "decided": f"{len(times)} of {falls}",
        "stalls": sum(one["stalls"] for one in found),
        "why": found[0]["why"],
    }


async def one_fall(path: Arm, fall_s: float) -> dict[str, Any]:
    """A listener in real time through one fall; the first plan after it that sends less."""
    at = path.link.start(falling(fall_s)) + fall_s
    await asyncio.sleep(SETTLE_S)
    async with Client(path.url, ssl=path.context, connect_s=WAIT_S) as client:
        speech = client.speak(SENTENCE * 4, realtime=True)
        async for _ in speech:
            pass
        plans = await asyncio.get_running_loop().run_in_executor(None, path.server.ask, "plans")
        before = [plan for plan in plans if plan["at"] <= at]
        less = [plan for plan in plans if plan["at"] > at and _is_less(plan, before[-1])] if before else []
        return {
            "reaction_s": less[0]["at"] - at if less else None,
            "stalls": speech.stats.stalls,
            "why": less[0]["why"] if less else None,
        }


def _is_less(plan: dict[str, Any], before: dict[str, Any]) -> bool:
    return bool(plan["bank_kbps"] < before["bank_kbps"] or plan["upgrade_kbps"] < before["upgrade_kbps"])


# ---------------------------------------------------------------- all of them


def run_arm(name: str, args: argparse.Namespace) -> dict[str, Any]:
    """One arm, in this process."""
    if name in PLAIN_ARMS:
        return plain(name)
    return reaction(name, args.falls) if args.reaction else told(name, args.falls)


def run_all(names: tuple[str, ...], args: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """Each arm in a process of its own, all at once: they mostly wait."""
    more = ["--falls", str(args.falls), *(["--reaction"] if args.reaction else [])]
    running = {
        name: subprocess.Popen(
            [sys.executable, __file__, "--arm", name, *more], stdout=subprocess.PIPE, text=True
        )
        for name in names
    }
    results = {}
    for name, process in running.items():
        output, _ = process.communicate()
        if process.returncode:
            raise SystemExit(f"the arm {name} failed; what it said stands above")
        results[name] = json.loads(output)
    return results


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--reaction", action="store_true", help="the shipped controller, not a told step")
    parser.add_argument("--falls", type=int, default=8, help="how often the link falls in each arm")
    parser.add_argument("--arm", choices=ARMS + PLAIN_ARMS, help="this one alone, as JSON")
    args = parser.parse_args()
    certificate.check()
    lacks = missing() or (None if installed() else "nginx is not installed")
    if lacks:
        raise SystemExit(f"this needs a TUN link and nginx: {lacks}")
    try:
        if args.arm:
            print(json.dumps(run_arm(args.arm, args)))
            return
        results = run_all(ARMS if args.reaction else ARMS + PLAIN_ARMS, args)
    except (NetemError, AbrError) as error:
        raise SystemExit(str(error)) from None
    if not args.reaction:
        results["aiohttp_defaults"] = {
            f"{name.removeprefix('aiohttp_')}_s": results.pop(name)["s"] for name in PLAIN_ARMS
        }
    show(results, args.json)


if __name__ == "__main__":
    main()
