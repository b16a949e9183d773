"""
How should nginx choose among servers? First sound of short texts, by each method that it has.

Three servers behind the shipped nginx.conf with TLS. Listeners arrive at random (a Poisson process, the same
for every method), each with a connection, a session and an address of its own. The engine takes time in
proportion to the text, without using the processor, and a server speaks one text at a time, so that a wait
is a queue's. With --paced a connection stays open while its listener listens, as people's do, so that an
open connection is not a busy server. The methods take turns, `--rounds` times. Besides `ip_hash` stands
`ip_hash_nat`: two listeners of three come from one carrier's addresses.

`tail_saved` is 1 less the quotient of p95 (and p99) over round robin's. It takes about 8 minutes.

    pip install '.[espeak,test]'
    python tools/bench/balance.py --json [--paced]      (Linux, nginx)
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import random
import ssl
import sys
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import certificate
from common import ServerProcess, percentile, show

from abr_tts.client.dial import PATH, SUBPROTOCOL
from abr_tts.units import FRAME_TICKS
from abr_tts.wire.codec import decode, encode
from abr_tts.wire.messages import Audio, BitRateHint, Error, Hello, StreamEnd, StreamStart, StreamStarted

sys.path.insert(0, str(Path(__file__).parents[1] / "deploy"))
from shipped import installed, shipped

METHODS = {
    "round_robin": "",
    "least_conn": "least_conn;",
    "hash": "hash $arg_session consistent;",
    "ip_hash": "ip_hash;",
    "ip_hash_nat": "ip_hash;",
}
"""Arm: what stands in balance.conf."""

SERVERS = 3
CHARS = (10, 40)
"""Shortest and longest text; the tone engine makes 0.06 s of sound of a character."""

CHAR_S = 0.06
RTF = 0.15
"""Seconds of computing for a second of sound: a neural voice on a core or a share of a GPU."""

NAT_SHARE = 2 / 3
ENGINE = {"rate": 24_000, "rtf": RTF, "chunks": [1_440]}


@dataclass(frozen=True)
class Visit:
    """One listener: when it comes (seconds from the first), from where, as whom, and its text."""

    at: float
    address: str
    session: str
    text: str


def plan(count: int, load: float, rng: random.Random, nat: bool) -> list[Visit]:
    """`count` visits that keep the servers busy for `load` of the time, 0 to 1."""
    mean_s = sum(CHARS) / 2 * CHAR_S * RTF
    at, visits = 0.0, []
    for _ in range(count):
        at += rng.expovariate(SERVERS * load / mean_s)
        wide = f"127.{rng.randrange(1, 255)}.{rng.randrange(1, 255)}.{rng.randrange(1, 255)}"
        carrier = f"127.9.9.{rng.randrange(1, 255)}"
        behind = rng.random() < NAT_SHARE and nat
        text = "x" * rng.randint(*CHARS)
        visits.append(Visit(at, carrier if behind else wide, f"{rng.getrandbits(64):x}", text))
    return visits


async def visit(url: str, who: Visit, context: ssl.SSLContext, paced: bool) -> float:
    """Seconds from the request to the first audio; leaves when it has heard the end."""
    connector = aiohttp.TCPConnector(local_addr=(who.address, 0), ssl=context)
    async with (
        aiohttp.ClientSession(connector=connector) as http,
        http.ws_connect(
            f"{url}?session={who.session}", protocols=(SUBPROTOCOL,), max_msg_size=1 << 20
        ) as socket,
    ):
        await socket.send_bytes(encode(Hello(client="bench")))
        received = len(await socket.receive_bytes())
        asked, heard, stream = time.monotonic(), 0.0, 0
        await socket.send_bytes(encode(StreamStart(str(uuid.uuid4()), who.text, rung="opus24")))
        while True:
            data = await socket.receive_bytes()
            received += len(data)
            message = decode(data, side="server")
            if isinstance(message, StreamStarted):
                stream = message.stream
            elif isinstance(message, Audio):
                heard = heard or time.monotonic()
                played = max(0, message.pts + len(message.packets) * FRAME_TICKS)
                await socket.send_bytes(encode(BitRateHint(stream, received, played, 0)))
            elif isinstance(message, StreamEnd):
                break
            elif isinstance(message, Error):
                raise SystemExit(f"a request was not answered: {message}")
        if paced:
            await asyncio.sleep(max(0.0, heard + len(who.text) * CHAR_S - time.monotonic()))
        return heard - asked


async def crowd(url: str, visits: list[Visit], context: ssl.SSLContext, paced: bool) -> list[float]:
    """First sounds of all of them."""
    begin = time.monotonic() + 0.5

    async def one(who: Visit) -> float:
        await asyncio.sleep(max(0.0, begin + who.at - time.monotonic()))
        return await visit(url, who, context, paced)

    return list(await asyncio.gather(*map(one, visits)))


def measure(args: argparse.Namespace) -> dict[str, list[float]]:
    """Milliseconds to the first sound of every visit, by method."""
    found: dict[str, list[float]] = {name: [] for name in METHODS}
    with contextlib.ExitStack() as stack:
        settings = {"engine.kind": "tone", "engine.workers": 1, "engine.options": ENGINE}
        settings |= {"server.codec_threads": 1, "limits.waiting_clauses": 1000}
        servers = [stack.enter_context(ServerProcess(settings)) for _ in range(SERVERS)]
        files, context = stack.enter_context(certificate.certificate())
        pair = (Path(files["tls.cert_file"]), Path(files["tls.key_file"]))
        places = [server.url.split("/")[2] for server in servers]
        for turn in range(args.rounds):
            for name, lines in METHODS.items():
                rng = random.Random(args.seed + turn)
                visits = plan(args.requests // args.rounds, args.load, rng, name == "ip_hash_nat")
                with shipped(places, pair, balance=lines) as nginx:
                    url = f"wss://127.0.0.1:{nginx.port}{PATH}"
                    heard = asyncio.run(crowd(url, visits, context, args.paced))
                found[name] += [seconds * 1000 for seconds in heard]
    return found


def table(found: dict[str, list[float]]) -> dict[str, Any]:
    """Percentiles of each, and what each saves of round robin's tail."""
    shares = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
    rows = {
        name: {p: round(percentile(ms, share), 1) for p, share in shares.items()}
        for name, ms in found.items()
    }
    base = rows["round_robin"]
    for row in rows.values():
        row["tail_saved_p95"] = round(1 - row["p95"] / base["p95"], 3)
        row["tail_saved_p99"] = round(1 - row["p99"] / base["p99"], 3)
    return rows


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--paced", action="store_true", help="connections stay open while listeners listen")
    parser.add_argument("--requests", type=int, default=600, help="of each method")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--load", type=float, default=0.7, help="share of the time that servers are busy")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    if not installed():
        raise SystemExit("nginx is missing: apt-get install nginx")
    certificate.check()
    about = {"servers": SERVERS, "requests": args.requests, "load": args.load, "paced": args.paced}
    show({**table(measure(args)), **about, "seed": args.seed}, args.json)


if __name__ == "__main__":
    main()
