"""
What a resampler costs: torchaudio against soxr, in one run.

For each pair of rates: seconds of one core for a second of sound, in chunks of 100 ms as a track takes
them; the lag, from sound that goes in to the same sound that comes out, in milliseconds, and the frames
that a stream is paced for (`lag_frames`, the same for both); the ratio of the costs. And what it costs to
have it: seconds and megabytes of loading, in a process of its own. Everything on one thread.

    pip install '.[torch]'
    python tools/bench/resamplers.py [--json] [--device cuda] [--seconds 60]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[2]))  # signals are those of the tests

import numpy as np

from abr_tts.audio.pcm import to_float
from abr_tts.audio.resample import NAMES, Resampler, StreamResampler, by_name, lag_frames
from tests.signals import speech_like

PAIRS = ((22_050, 24_000), (24_000, 16_000), (22_050, 16_000), (24_000, 22_050), (48_000, 24_000))
"""Engine to rung; the last for engines of 48 kHz."""

CHUNK_S = 0.1
"""Sound in one job of a track."""

ROUNDS = 5
"""The quickest of so many counts: what else the machine did is not the resampler's."""

LOAD = """
import json, resource, time
import numpy
from abr_tts.audio import resample, torch_resample
def megabytes():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) / 1024
before, began = megabytes(), time.perf_counter()
by = resample.by_name({name!r}, {device!r})
resample.convert(numpy.zeros(22050, numpy.float32), 22050, 24000, by)
print(json.dumps({{"seconds": time.perf_counter() - began, "megabytes": megabytes() - before}}))
"""


def cost(by: Resampler, in_rate: int, out_rate: int, seconds: float) -> float:
    """Seconds of a core for one second of sound."""
    sound = to_float(speech_like(in_rate, seconds))
    size = round(in_rate * CHUNK_S)
    chunks = [sound[at : at + size] for at in range(0, len(sound), size)]
    quickest = float("inf")
    for _ in range(ROUNDS):
        stream = StreamResampler(in_rate, out_rate, by)
        stream.push(chunks[0])
        began = time.process_time()
        for chunk in chunks:
            stream.push(chunk)
        quickest = min(quickest, time.process_time() - began)
    return quickest / seconds


def lag_ms(by: Resampler, in_rate: int, out_rate: int) -> float:
    """The most by which output is behind input, fed a millisecond at a time."""
    stream, step = StreamResampler(in_rate, out_rate, by), np.zeros(in_rate // 1000, np.float32)
    taken = given = 0
    late = 0.0
    while taken < 2 * in_rate:
        given += len(stream.push(step))
        taken += len(step)
        late = max(late, taken / in_rate - given / out_rate)
    return 1000 * late


def loading(name: str, device: str) -> dict[str, float]:
    """Seconds and megabytes until the first sound has been resampled."""
    program = LOAD.format(name=name, device=device)
    path = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", program],
        check=True,
        capture_output=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    return {key: round(value, 2) for key, value in json.loads(done.stdout).items()}


def measure(seconds: float, device: str) -> dict[str, Any]:
    """All figures."""
    by = {name: by_name(name, device) for name in NAMES}
    rates: dict[str, Any] = {}
    for pair in PAIRS:
        spent = {name: cost(one, *pair, seconds) for name, one in by.items()}
        rates[f"{pair[0]}>{pair[1]}"] = {
            "lag_frames": lag_frames(*pair),
            "lag_ms": {name: round(lag_ms(one, *pair), 1) for name, one in by.items()},
            "core_s_per_s": {name: round(value, 6) for name, value in spent.items()},
            "ratio": round(spent["torchaudio"] / spent["soxr"], 2),
        }
    return {"rates": rates, "loading": {name: loading(name, device) for name in NAMES}}


def table(found: dict[str, Any]) -> str:
    """The figures for people."""
    lines = [f"{'':16}{'core µs for 1 s':>18}{'':10}{'ratio':>7}{'lag ms':>16}{'':8}{'paced':>7}"]
    lines.append(f"{'':16}{'soxr':>14}{'torchaudio':>14}{'':7}{'soxr':>12}{'torchaudio':>12}{'frames':>7}")
    for name, row in found["rates"].items():
        spent, lag = row["core_s_per_s"], row["lag_ms"]
        lines.append(
            f"{name:16}{1e6 * spent['soxr']:14.0f}{1e6 * spent['torchaudio']:14.0f}{row['ratio']:7.1f}"
            f"{lag['soxr']:12.1f}{lag['torchaudio']:12.1f}{row['lag_frames']:7}"
        )
    for name, row in found["loading"].items():
        lines.append(f"loading {name:12}{row['seconds']:7.2f} s{row['megabytes']:8.1f} MB")
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--device", default="cpu", help="of torchaudio: cpu, cuda, …")
    parser.add_argument("--seconds", type=float, default=60.0, help="of sound")
    args = parser.parse_args()
    found = measure(args.seconds, args.device)
    print(json.dumps(found) if args.json else table(found))


if __name__ == "__main__":
    main()
