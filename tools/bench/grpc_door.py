"""
The gRPC door beside the WebSocket: the load of `load.py` at each, the same listeners, in the same run.

Each round asks both doors, each of a server of its own, in turn first. A round's arm is `load.measure`;
`door_cpu_s_per_audio_s` is the server's own process without its engines, where alone the doors differ.
First sound is at the listener, whose own work is on the same cores: with gRPC that is more. Medians of the
rounds; p99 is of all answers of a round. `machine` is how late a process that only sleeps wakes meanwhile.

    pip install '.[espeak,grpc]'
    python tools/bench/grpc_door.py                        # 20 connections × 10 sentences, 5 rounds
    python tools/bench/grpc_door.py --paced --rounds 1     # at real time
"""

from __future__ import annotations

import argparse
import json
import statistics
from functools import partial
from types import SimpleNamespace
from typing import Any

from common import ServerProcess
from grpc_listener import GrpcListener
from load import ask_ours, measure

ROWS = (
    ("first sound, mean (ms)", lambda one: one["first_audio_ms"]["mean"]),
    ("first sound, p50 (ms)", lambda one: one["first_audio_ms"]["p50"]),
    ("first sound, p99 (ms)", lambda one: one["first_audio_ms"]["p99"]),
    ("processor s per audio s, engines too", lambda one: one["cpu_s_per_audio_s"]),
    ("processor s per audio s, the server alone", lambda one: one["door_cpu_s_per_audio_s"]),
    ("peak memory, engines too (MB)", lambda one: one["peak_pss_mb"]),
    ("peak memory, the server alone (MB)", lambda one: one["door_rss_mb"]),
    ("machine, p99 (ms)", lambda one: one["machine_ms"]["p99"]),
    ("answered (of all)", lambda one: one["ok"] / one["requests"]),
    ("took (s)", lambda one: one["seconds"]),
)
"""Lines of the table: what it says, and where a result has it."""


def arm(grpc: bool, args: argparse.Namespace) -> dict[str, Any]:
    """One server under the whole load at one of its doors."""
    settings = {"engine.kind": args.engine, "engine.workers": args.workers}
    with ServerProcess(settings | ({"grpc.enabled": True, "grpc.port": 0} if grpc else {})) as server:
        server.ask("whole")
        before = server.ask("stats")["cpu_s"]
        where = SimpleNamespace(url=server.told["grpc"] if grpc else server.url, ask=server.ask)
        result = measure(partial(ask_ours, door=GrpcListener) if grpc else ask_ours, where, args)
        after = server.ask("stats")
        result["door_cpu_s_per_audio_s"] = (after["cpu_s"] - before) / result["audio_s"]
        result["door_rss_mb"] = after["rss_kb"] / 1024
        return result


def rounds(args: argparse.Namespace) -> dict[str, list[dict[str, Any]]]:
    """Both doors again and again, each first by turns."""
    results: dict[str, list[dict[str, Any]]] = {"websocket": [], "grpc": []}
    for number in range(args.rounds):
        for grpc in (False, True) if number % 2 == 0 else (True, False):
            results["grpc" if grpc else "websocket"].append(arm(grpc, args))
    return results


def table(results: dict[str, list[dict[str, Any]]]) -> str:
    """In Markdown, with the ratio of the two."""
    lines = ["| | WebSocket | gRPC | ratio |", "|---|---|---|---|"]
    for name, of in ROWS:
        one, other = (statistics.median(of(result) for result in results[door]) for door in results)
        lines.append(f"| {name} | {one:.4g} | {other:.4g} | {other / one:.2f} |")
    return "\n".join(lines)


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--paced", action="store_true", help="listen at real time")
    parser.add_argument("--connections", type=int, default=20)
    parser.add_argument("--each", type=int, default=10, help="sentences of each connection")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rung", help="a fixed one; adaptive without")
    parser.add_argument("--engine", default="espeak")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    results = rounds(args)
    print(json.dumps(results) if args.json else table(results))


if __name__ == "__main__":
    main()
