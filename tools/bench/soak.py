"""
Soak: thousands of streams that are cancelled, killed, resumed, read slowly and refused; what stays behind?

Clients ask for short sentences one after the other; by chance a stream is heard to its end, cancelled at any
moment, cut off by a reset, taken up again at another connection, or read slower than it lasts. Every fifth
round there are four times as many clients as the server takes streams, and it refuses some: an answer, too.
*Slope* is how much resident memory grows with a stream after the warm-up (least squares over the rounds, each
looked at when its last stream is gone).
*Left* is what the server holds afterwards and did not before: tasks, threads, descriptors, processes,
connections, streams. *Growth* says which Python objects have become more, by objgraph. *Lag* is how late
the server's loop wakes, as it is: nothing is taken off for the machine, whose own lateness (`machine_ms`: a
process that only sleeps) stands beside it. Where that is more than half of what is allowed, the lag says
nothing of the server: the claim is `null` then, neither held nor broken, and a quiet machine must judge it.

    pip install '.[espeak,test]'
    python tools/bench/soak.py --json                   # 10 000 streams: some 8 minutes on two cores
    python tools/bench/soak.py --streams 300 --json     # a look
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from typing import Any

from common import ServerProcess, percentile, show
from engine_host import Lateness
from soaker import Tally, crowd

ROUNDS = 50
"""Of as many streams; memory is looked at after each, when nothing of it is kept any more."""

WARM_SHARE = 0.3
"""Of the rounds, which count for nothing: heaps grow until the greatest crowd has passed."""

STREAMS_AT_ONCE = 16
"""That the server takes; a crowd is half of it, an overload four times."""

WINDOW_S = 2.0
"""That a stream without a connection is kept."""

QUIET_S = 30.0
"""Within which all must be gone after the last stream."""

SLOPE_KB, LAG_MS = 1.0, 20.0
"""A stream's share of growing memory, and how late 99 in 100 wake-ups of the loop may be."""

QUIET_SHARE = 0.5
"""Of the lag that is allowed: a machine whose own is more cannot show the server's."""

SETTINGS = {
    "engine.kind": "espeak", "limits.streams": STREAMS_AT_ONCE, "resume.window_s": WINDOW_S,
    "stream.linger_s": 1.0, "limits.retry_after_s": 0.1,
}  # fmt: skip

TELLING = ("tasks", "threads", "processes", "connections", "active", "streams", "resumable", "detached",
           "clauses_waiting", "encodings_waiting", "descriptors")  # fmt: skip
"""What must be as it was."""


def slope(rows: list[tuple[int, int]]) -> float:
    """kB a stream: least squares over (streams so far, kB)."""
    middle = sum(x for x, _ in rows) / len(rows), sum(y for _, y in rows) / len(rows)
    spread = sum((x - middle[0]) ** 2 for x, _ in rows)
    return sum((x - middle[0]) * (y - middle[1]) for x, y in rows) / spread if spread else 0.0


def quiet(server: ServerProcess, before: dict[str, int]) -> dict[str, int]:
    """What stays: asked again and again until nothing does, or time is up."""
    deadline = time.monotonic() + QUIET_S
    while True:
        now = server.ask("held")
        left = {name: now[name] - before[name] for name in TELLING if now[name] != before[name]}
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.2)


def run(streams: int, rounds: int, seed: int) -> dict[str, Any]:
    """The whole."""
    each, tally, rows, growth = max(1, streams // rounds), Tally(), [], {}
    with ServerProcess(SETTINGS, program="soak_server.py") as server:
        asyncio.run(crowd(server.url, 4, 8, "warm", Tally()))
        quiet(
            server,
            server.ask("held")
            | dict.fromkeys(("connections", "active", "streams", "resumable", "detached"), 0),
        )
        before = server.ask("held")
        server.ask("lag")
        with Lateness() as late:
            for number in range(rounds):
                clients = STREAMS_AT_ONCE * 4 if number % 5 == 4 else STREAMS_AT_ONCE // 2
                asyncio.run(crowd(server.url, min(clients, each), each, f"{seed} {number}", tally))
                quiet(server, before)  # what is kept for who may come back is no growth
                rows.append((tally.total, server.ask("held")["rss_kb"]))
                if number == int(WARM_SHARE * rounds):
                    server.ask("growth")
        lag, left = server.ask("lag"), quiet(server, before)
        growth = server.ask("growth")
    warm = rows[int(WARM_SHARE * rounds) :]
    return {
        "streams": tally.total,
        "done": dict(tally.done),
        "refused": {code: count for code, count in tally.refused.items() if count},
        "unanswered": len(tally.unanswered),
        "first_unanswered": tally.unanswered[:5],
        "rss_kb": {"before": before["rss_kb"], "warm": warm[0][1], "after": rows[-1][1]},
        "rss_mb_by_streams": {count: round(kb / 1024, 1) for count, kb in rows[:: max(1, len(rows) // 10)]},
        "slope_kb_a_stream": round(slope(warm), 3),
        "loop_lag_ms": lag,
        "machine_ms": {"p50": round(percentile(late.ms, 0.5), 2), "p99": round(percentile(late.ms, 0.99), 2)},
        "left": left,
        "growth": growth,
    }


def judged(result: dict[str, Any]) -> dict[str, bool | None]:
    """Each claim: whether it holds; None: this machine is too busy to tell."""
    quiet = result["machine_ms"]["p99"] <= LAG_MS * QUIET_SHARE
    return {
        "slope": result["slope_kb_a_stream"] <= SLOPE_KB,
        "lag": result["loop_lag_ms"]["p99"] <= LAG_MS if quiet else None,
        "left": not result["left"],
        "answered": not result["unanswered"],
    }


def holds(result: dict[str, Any]) -> bool:
    """Whether no claim is broken."""
    return False not in judged(result).values()


def main() -> None:
    """Run and print; 1 if something is not as it must be."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--streams", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    try:
        import objgraph  # noqa: F401 -- only whether it is there
    except ModuleNotFoundError:
        raise SystemExit("objgraph is missing, which counts objects: pip install '.[espeak,test]'") from None
    result = run(args.streams, args.rounds, args.seed)
    show(result | {"claims": judged(result)}, args.json)
    sys.exit(0 if holds(result) else 1)


if __name__ == "__main__":
    main()
