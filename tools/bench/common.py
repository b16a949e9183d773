"""What the benchmarks share: a server process, percentiles, and printing."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


class ServerProcess:
    """
    `with ServerProcess({"engine.kind": "tone"}) as server: server.url, server.ask("stats")`.

    Args:
        settings: of the server, by dotted name.
        more: further arguments of the program.
        program: beside this file; it prints a URL and answers questions.
        wrap: turns the command into one that runs elsewhere, in a namespace say.
    """

    def __init__(
        self,
        settings: dict[str, Any],
        *more: str,
        program: str = "server_process.py",
        wrap: Callable[[list[str]], list[str]] = list,
    ) -> None:
        settings = {"server.port": 0, **settings}
        self._command = wrap([sys.executable, str(HERE / program), json.dumps(settings), *more])

    def __enter__(self) -> ServerProcess:
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self.told: dict[str, Any] = self._read()
        self.url: str = self.told["url"]
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._process.kill()

    def ask(self, what: str) -> Any:
        """One of the questions that `server_process` answers."""
        assert self._process.stdin
        self._process.stdin.write(what + "\n")
        return self._read()

    def _read(self) -> Any:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("the server process ended; what it said stands above")
        return json.loads(line)


def percentile(values: list[float], share: float) -> float:
    """The value below which `share` (0 to 1) of `values` lie: nearest rank."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def spread(values: list[float]) -> dict[str, float]:
    """p50 and p99 of milliseconds, to a hundredth."""
    return {"p50": round(percentile(values, 0.5), 2), "p99": round(percentile(values, 0.99), 2)}


def show(result: dict[str, Any], as_json: bool) -> None:
    """One JSON object, or a line for each figure."""
    if as_json:
        print(json.dumps(result))
        return
    for key, value in result.items():
        if isinstance(value, dict):
            print(f"{key}:")
            for name, inner in value.items():
                print(f"  {name:24} {inner}")
        else:
            print(f"{key:26} {value}")
