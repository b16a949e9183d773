"""
Record tests/js/opus.fixture.json: packets of the server's encoder, and what its decoder makes of them.

    python tools/opus_wasm/record.py

Speech-like sound and a sweep, at 12 to 64 kbit/s, and speech with FEC, run through the libopus that the
server ships. Of the decoded samples the SHA-256 is kept, which SILK must meet, and every 61st sample, which
CELT must meet to 1e-6; with every seventh packet lost the same is kept. tests/web/test_opus_wasm.py compares
every sample, where Python is at hand. A new libopus asks for a new recording; CI does not make one.
"""

from __future__ import annotations

import base64
import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from abr_tts.audio.libopus import Library, load
from abr_tts.audio.opus import Decoder, Encoder, mode_of
from abr_tts.audio.pcm import to_float

ROOT = Path(__file__).parents[2]
FIXTURE = ROOT / "tests" / "js" / "opus.fixture.json"

sys.path.insert(0, str(ROOT))
from tests.signals import speech_like, sweep  # noqa: E402  (the tests are no package that is installed)

RATE, FRAME = 24_000, 480
SECONDS = 0.6
RUNGS = (12, 16, 24, 48, 64)
STRIDE = 61
"""Every so manieth decoded sample is kept: a prime, so that all places of a frame come up."""

LOST = 7
"""Every seventh packet is lost where losses are concealed."""

Pcm = NDArray[np.float32]


def packets_of(library: Library, sound: NDArray[np.int16], kbps: int, loss_percent: int = 0) -> list[bytes]:
    """`sound` at 24 kHz in packets of 20 ms, as a track of the server encodes it."""
    encoder = Encoder(library, kbps=kbps, loss_percent=loss_percent)
    pcm = to_float(sound)
    return [encoder.encode(pcm[at : at + FRAME]) for at in range(0, len(pcm), FRAME)]


def decoded(library: Library, packets: list[bytes]) -> Pcm:
    """All packets through one decoder."""
    decoder = Decoder(library)
    return np.concatenate([decoder.decode(packet) for packet in packets])


def with_losses(library: Library, packets: list[bytes], recover: bool) -> Pcm:
    """Every seventh lost: concealed, or recovered from its successor, which is decoded after."""
    decoder, out = Decoder(library), []
    for at, packet in enumerate(packets):
        if at % LOST != LOST - 1:
            out.append(decoder.decode(packet))
        elif recover and at + 1 < len(packets):
            out.append(decoder.recover(packets[at + 1]))
        else:
            out.append(decoder.conceal())
    return np.concatenate(out)


def told(pcm: Pcm) -> dict[str, Any]:
    """What the fixture keeps of decoded samples."""
    little = pcm.astype("<f4")
    return {
        "samples": len(pcm),
        "sha256": hashlib.sha256(little.tobytes()).hexdigest(),
        "some": base64.b64encode(little[::STRIDE].tobytes()).decode(),
    }


def stream(library: Library, name: str, packets: list[bytes]) -> dict[str, Any]:
    """One stream of the fixture."""
    return {
        "name": name,
        "modes": sorted({mode_of(packet) for packet in packets}),
        "packets": [base64.b64encode(packet).decode() for packet in packets],
        "decoded": told(decoded(library, packets)),
        "concealed": told(with_losses(library, packets, recover=False)),
    }


def main() -> None:
    """Write the fixture."""
    library = load()
    speech = speech_like(RATE, SECONDS, seed=3)
    streams = [
        stream(library, f"{name} at {kbps} kbit/s", packets_of(library, sound, kbps))
        for name, sound in (("speech", speech), ("a sweep", sweep(RATE, SECONDS, 100, 10_000)))
        for kbps in RUNGS
    ]
    redundant = packets_of(library, speech, 24, loss_percent=20)
    recovered = {"recovered": told(with_losses(library, redundant, recover=True))}
    streams.append(stream(library, "speech at 24 kbit/s with FEC", redundant) | recovered)
    whole = {"libopus": library.version, "stride": STRIDE, "lost": LOST, "streams": streams}
    FIXTURE.write_text(json.dumps(whole, indent=1) + "\n", "utf-8")
    print(f"{FIXTURE.stat().st_size} bytes")


if __name__ == "__main__":
    main()
