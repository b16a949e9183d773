"""Fails unless a WAV file holds at least a second of something that is not silence."""

import array
import sys
import wave

LEAST_SECONDS = 1.0
LEAST_PEAK = 1000
"""Of 32 767: speech peaks above 5 000, a broken decoder's residue below 100."""


def main(path: str) -> None:
    """Say what the file holds; leave with a sentence if that is no speech."""
    with wave.open(path) as file:
        rate, width, channels = file.getframerate(), file.getsampwidth(), file.getnchannels()
        samples = array.array("h", file.readframes(file.getnframes()))
    seconds, peak = len(samples) / rate, max(map(abs, samples), default=0)
    print(f"{path}: {seconds:.2f} s at {rate} Hz, peak {peak}")
    if (width, channels) != (2, 1) or seconds < LEAST_SECONDS or peak < LEAST_PEAK:
        sys.exit(f"{path} is no speech")


if __name__ == "__main__":
    main(sys.argv[1])
