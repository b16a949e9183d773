"""
Bare libopus for `cost`: the very frames that our tracks feed their encoders, encoded by a few lines of C.

The packets are compared with ours, byte by byte: what is measured is the same work.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from abr_tts.audio import libopus
from abr_tts.control.ladder import FULL
from abr_tts.stream.track import Packetiser, encode_lag
from abr_tts.units import frame_samples

HERE = Path(__file__).parent

ROUNDS = 3
"""Over the whole speech; the fastest counts, because others work on the same machine."""


def frames_of(pcm: np.ndarray, rate: int, rung: str) -> tuple[np.ndarray, list[bytes]]:
    """
    What a track of `rung` feeds its encoder for `pcm` (int16, `rate` Hz), and the packets it makes.

    Returns:
        float32, shape (frames, 480), and as many packets.
    """
    wanted, library, size = FULL[rung], libopus.load(), frame_samples(rate)
    packetiser, fed = Packetiser(wanted, rate, library), []
    count = len(pcm) // size - encode_lag(wanted, rate) - 1
    # A track's first job makes its coder; then it can be watched.
    packets = packetiser.packets(pcm[: size * (encode_lag(wanted, rate) + 2)], 0)
    encoder = packetiser._coder.encoder  # type: ignore[union-attr]
    encode = encoder.encode  # type: ignore[union-attr]
    encoder.encode = lambda frame: (fed.append(frame.copy()), encode(frame))[1]  # type: ignore
    packets += packetiser.packets(pcm[size * (encode_lag(wanted, rate) + 2) :], count - 1)
    return np.array(fed, np.float32), packets


def cpu_s(frames: np.ndarray, packets: Sequence[bytes], kbps: int) -> float:
    """
    Processor seconds that libopus takes for these frames.

    Raises:
        SystemExit: no C compiler, or its packets are not `packets`.
    """
    with tempfile.TemporaryDirectory(prefix="abr-tts-bench-") as name:
        program, file = Path(name, "bare_opus"), Path(name, "frames")
        compiler = ["cc", "-O2", "-o", str(program), str(HERE / "bare_opus.c"), "-ldl"]
        try:
            subprocess.run(compiler, check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise SystemExit(f"a C compiler is needed: {error}") from None
        file.write_bytes(frames.tobytes())
        times = []
        for _ in range(ROUNDS):
            command = [str(program), libopus.load().path, str(file), str(kbps), "1"]
            told = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
            if (int(told[1]), int(told[2])) != (sum(map(len, packets)), _hash(packets)):
                raise SystemExit("bare libopus made other packets than ours: it is not the same work")
            times.append(float(told[0]))
    return min(times)


def _hash(packets: Sequence[bytes]) -> int:
    """FNV-1a, 64 bits."""
    value = 14_695_981_039_346_656_037
    for byte in b"".join(packets):
        value = (value ^ byte) * 1_099_511_628_211 & (1 << 64) - 1
    return value
