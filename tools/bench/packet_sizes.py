"""
How large Opus packets of speech are: the table of `abr_tts/sim/packets.py`, measured again.

    python tools/bench/packet_sizes.py [--json] [--kbps 8 12 …] [--sentences N]

Speaks with espeak-ng in this process (English and Mandarin), resamples to 24 kHz as a track does,
and encodes 20 ms at a time with the house's own encoder. A frame below -50 dBFS is a pause.
"""

from __future__ import annotations

import argparse
import json
import statistics

import numpy as np
import numpy.typing as npt

from abr_tts.audio.libopus import load
from abr_tts.audio.opus import Encoder
from abr_tts.audio.pcm import to_float
from abr_tts.audio.resample import convert
from abr_tts.engine.base import Line
from abr_tts.engine.espeak import Espeak
from abr_tts.sim.packets import OPUS
from abr_tts.units import frame_samples

RATE = 24_000
PAUSE_DBFS = -50.0

SENTENCES = {
    "en-us": [
        "The harbour lay quiet under a pale morning sky.",
        "Three small boats, their sails still furled, rocked by the old stone wall; nobody was about yet.",
        "At half past seven the baker opened his shutters, and the smell of bread drifted down to the water.",
        '"You are early today," he said, wiping his hands.',
        "She smiled, counted out four coins, and asked whether the ferry had already gone.",
    ],
    "cmn": [
        "清晨的港口十分安静，三只小船靠在旧石墙边轻轻摇晃。",
        "七点半，面包师打开了窗户，面包的香味慢慢飘到水边。",
        "“你今天来得真早。”他一边擦手一边说。",
        "她笑了笑，数出四枚硬币，问渡船是不是已经开走了。",
        "风从海上吹来，带着盐和远方的气息。",
    ],
}


def speech(sentences: int) -> npt.NDArray[np.float32]:
    """Frames of speech at 24 kHz, shape (n, 480): so many sentences of each language."""
    engine = Espeak()
    engine.load({})
    frames = []
    for voice, texts in SENTENCES.items():
        said = bytearray()

        def keep(data: bytes, said: bytearray = said) -> bool:
            said.extend(data)
            return True

        engine.say(Line(" ".join(texts[:sentences]), voice), keep)
        sound = convert(to_float(np.frombuffer(bytes(said), np.int16)), engine.voices[0].sample_rate, RATE)
        size = frame_samples(RATE)
        frames.append(sound[: len(sound) // size * size].reshape(-1, size))
    return np.concatenate(frames)


def measure(frames: npt.NDArray[np.float32], kbps: int) -> dict[str, float]:
    """Mean and standard deviation of the packets' bytes, in speech and in pauses."""
    encoder = Encoder(load(), kbps=kbps, rate=RATE)
    level = 10 * np.log10((frames.astype(np.float64) ** 2).mean(axis=1) + 1e-12)
    packets = [len(encoder.encode(frame)) for frame in frames]
    speaking = [size for size, db in zip(packets, level, strict=True) if db > PAUSE_DBFS]
    resting = [size for size, db in zip(packets, level, strict=True) if db <= PAUSE_DBFS]
    return {
        "speech": statistics.fmean(speaking),
        "speech_sd": statistics.stdev(speaking),
        "pause": statistics.fmean(resting),
        "pause_sd": statistics.stdev(resting),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Measure the sizes of Opus packets of speech.")
    parser.add_argument("--kbps", type=int, nargs="+", default=list(OPUS))
    parser.add_argument("--sentences", type=int, default=5, help="of each language, at most 5")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    frames = speech(arguments.sentences)
    table = {kbps: measure(frames, kbps) for kbps in arguments.kbps}
    if arguments.json:
        print(json.dumps(table))
        return
    print(f"{len(frames) / 50:.0f} s of speech")
    for kbps, row in table.items():
        print(f"    {kbps}: Sizes({', '.join(f'{value:.1f}' for value in row.values())}),")


if __name__ == "__main__":
    main()
