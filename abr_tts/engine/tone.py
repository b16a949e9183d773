"""
A tone instead of speech: every sample known beforehand, at any rate, pace and chunking.

For tests and simulation. `plan` is pure and has the time each chunk is due, so that a
simulator plays it in virtual time; `Tone` plays it in a worker process in real time.

What it sounds like: a text of n characters at speed 1.0 lasts n · 60 ms, and sample k of it is
`round(32768 · amplitude · sin(2π · hz · k / rate))`, the sine rounded to float32 first. 60 ms hold
a whole number of cycles of every multiple of 50 Hz, so that clauses spoken one after another make
one unbroken tone. The voices `tone-*` each add one fault that engines in the field have shown.

With `voices_dir` it clones: a voice of that folder is a tone of the clip's strongest frequency. With
`converts` it converts: what was said comes back upside down (`converted`). With `instructs` it whispers,
whatever it is told: half as loud.
"""

from __future__ import annotations

import itertools
import math
import os
import signal
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Optional

import numpy as np
import numpy.typing as npt

from ..audio.pcm import encode_pcm16, to_int16
from ..errors import EngineError
from .base import CONVERTED_RATE, Abilities, Chunk, Emit, Line, Progress, Samples, Voice, unwatched
from .references import References

CHAR_S = 0.06
"""Seconds of tone for one character: about what speech takes (14 characters a second)."""

HOT = 1.07
"""Peak of the over-range fault: what the joins of CosyVoice's chunks reach."""

SILENCE_S = 10.0
"""Digital silence that `tone-silence` puts into the middle."""

POLL_S = 0.02
"""How often a waiting engine looks whether it is still wanted: a chunk of speech is longer."""

VOICES = {
    "tone": "1 kHz (option `hz`)",
    "tone-length": "300 Hz + 50 Hz for each character, modulo 64: tells clauses apart by ear",
    "tone-hot": "float samples with peaks at ±1.07",
    "tone-nan": "float samples; the first of each chunk is NaN, the second infinite",
    "tone-odd": "bytes, of which every chunk but the last has an odd number",
    "tone-empty": "every chunk is followed by one of 0 samples and one of 1 sample",
    "tone-whole": "everything at once, in one chunk",
    "tone-late": "nothing for `late_s`, then bursts of a second of sound, `late_s` / 4 apart",
    "tone-silence": "10 s of digital silence in the middle",
    "tone-die": "half the tone, then the process kills itself",
    "tone-hang": "half the tone, then nothing, for ever, deaf to a cancel",
    "tone-raise": "half the tone, then an exception",
    "tone-thread": "half the tone, then an exception in a thread of the engine's own",
    "tone-refuse": "half the tone, then the engine says that it cannot speak this",
    "tone-freeze": "half the tone, then the whole process stops answering",
}
"""Voice → what it does."""

STOPPING = frozenset({"tone-die", "tone-hang", "tone-raise", "tone-thread", "tone-refuse", "tone-freeze"})
"""Voices that speak the first half, and then do not."""


BOUNDS: dict[str, tuple[tuple[type, ...], float, float]] = {
    "rate": ((int,), 1, 1_000_000),
    "hz": ((int, float), 0, 1_000_000),
    "amplitude": ((int, float), 0, 1),
    "rtf": ((int, float), 0, 1_000),
    "first_delay_s": ((int, float), 0, 86_400),
    "late_s": ((int, float), 0, 86_400),
}
"""Option that is a number → what it may be, the least and the most."""


@dataclass(frozen=True)
class Options:
    """
    The engine's options, with the sizes of things in its sound.

    Args:
        rate: samples a second, any.
        hz: frequency; a multiple of 50 keeps clauses in phase.
        amplitude: 0 to 1.
        chunks: samples in each chunk, again and again; 0 and 1 are allowed.
        rtf: seconds of computing for one second of sound; 0: as fast as it goes.
        first_delay_s: seconds before the first chunk.
        late_s: the delay of `tone-late`.
        voices_dir: folder of reference voices that it clones; "": it clones none.
        converts, instructs: it can do that.
    """

    rate: int = 24_000
    hz: float = 1_000.0
    amplitude: float = 0.5
    chunks: Sequence[int] = (1_440,)
    rtf: float = 0.0
    first_delay_s: float = 0.0
    late_s: float = 1.0
    voices_dir: str = ""
    converts: bool = False
    instructs: bool = False

    def __post_init__(self) -> None:
        """Raises EngineError: an option that cannot be, by its name."""
        for name, (kinds, low, high) in BOUNDS.items():
            value = getattr(self, name)
            if not _is_a(value, kinds) or not low <= value <= high:
                whole = "a number" if float in kinds else "a whole number"
                raise EngineError(f"tone: {name} must be {whole} from {low:g} to {high:g}, not {value!r}")
        for name in ("converts", "instructs"):
            if not isinstance(getattr(self, name), bool):
                raise EngineError(f"tone: {name} must be true or false, not {getattr(self, name)!r}")
        if not isinstance(self.chunks, Sequence) or not all(_is_a(size, (int,)) for size in self.chunks):
            raise EngineError(f"tone: chunks must be a list of whole numbers, not {self.chunks!r}")
        if not any(self.chunks) or min(self.chunks) < 0:
            raise EngineError(f"tone: chunks {list(self.chunks)} would never come to an end")


def _is_a(value: Any, kinds: tuple[type, ...]) -> bool:
    return isinstance(value, kinds) and not isinstance(value, bool)


class Stops(Exception):
    """A plan has reached the point where its voice dies, hangs or raises; the message is the voice."""


def samples_of(text: str, voice: str = "tone", speed: float = 1.0, options: Optional[Options] = None) -> int:
    """Samples that a listener gets for `text`; of a voice that stops half-way, the half."""
    rate = (options or Options()).rate
    count = round(len(text) * CHAR_S * rate / speed)
    if voice == "tone-silence":
        return count + round(SILENCE_S * rate)
    return count // 2 if voice in STOPPING else count


def wave(
    text: str, voice: str, speed: float, options: Options, begin: int, end: int
) -> npt.NDArray[np.float32]:
    """Samples `begin` to `end` as float32, before anything goes wrong with them but their loudness."""
    hz = 300.0 + 50.0 * (len(text) % 64) if voice == "tone-length" else options.hz
    amplitude = HOT if voice == "tone-hot" else options.amplitude
    index = np.arange(begin, end)
    if voice != "tone-silence":
        return _sine(index, hz, amplitude, options.rate)
    half = samples_of(text, "tone", speed, options) // 2
    gap = round(SILENCE_S * options.rate)
    sound = _sine(np.where(index < half, index, index - gap), hz, amplitude, options.rate)
    return np.where((index >= half) & (index < half + gap), np.float32(0), sound)


def _sine(index: npt.NDArray[np.int64], hz: float, amplitude: float, rate: int) -> npt.NDArray[np.float32]:
    return (amplitude * np.sin(2 * np.pi * hz * index / rate)).astype(np.float32)


def expected(
    text: str, voice: str = "tone", speed: float = 1.0, options: Optional[Options] = None
) -> Samples:
    """The int16 samples that a listener must get for `text`; of a voice that stops half-way, the half."""
    options = options or Options()
    samples = wave(text, voice, speed, options, 0, samples_of(text, voice, speed, options))
    if voice == "tone-nan":
        for at, size in _chunks(len(samples), voice, options):
            samples[at : at + min(size, 2)] = 0
    return to_int16(samples)


def plan(
    text: str, voice: str = "tone", speed: float = 1.0, options: Optional[Options] = None
) -> Iterator[tuple[float, Chunk]]:
    """
    (seconds after the request at which it is due, chunk) for `text`, in order of time.

    Raises:
        Stops: at the end, for the voices that stop half-way.
    """
    options = options or Options()
    count = samples_of(text, voice, speed, options)
    for at, size in _chunks(count, voice, options):
        due = _due(at + size, voice, options)
        if voice == "tone-odd":
            # Every chunk leaves its last byte to the next, so that all but two are of odd length.
            before = max(at - 1, 0)
            data = encode_pcm16(to_int16(wave(text, voice, speed, options, before, at + size)))
            yield due, data[1 if at else 0 : len(data) - (at + size < count)]
            continue
        floats = wave(text, voice, speed, options, at, at + size)
        if voice == "tone-nan":
            floats[:2] = [np.nan, -np.inf][:size]
        yield due, floats if voice in ("tone-nan", "tone-hot") else to_int16(floats)
        if voice == "tone-empty":
            yield due, to_int16(floats[:0])
    if voice in STOPPING:
        raise Stops(voice)


def _chunks(count: int, voice: str, options: Options) -> Iterator[tuple[int, int]]:
    """(begin, size) of each chunk of `count` samples."""
    sizes: Sequence[int] = options.chunks
    if voice == "tone-whole":
        sizes = (max(count, 1),)
    elif voice == "tone-empty":
        sizes = [size for full in options.chunks for size in (full, 1)]
    at = 0
    for size in itertools.cycle(sizes):
        if at >= count:
            return
        size = min(size, count - at)
        yield at, size
        at += size


def _due(samples: int, voice: str, options: Options) -> float:
    """When the chunk that ends at sample `samples` is ready."""
    seconds = samples / options.rate
    if voice == "tone-late":
        return options.late_s * (1 + math.floor(seconds) / 4)
    return options.first_delay_s + options.rtf * seconds


def pitch(clip: Samples, rate: int = CONVERTED_RATE) -> float:
    """The strongest frequency of a clip in Hz, to the nearest multiple of 50."""
    size = np.abs(np.fft.rfft(clip.astype(np.float64)))
    size[0] = 0
    return 50.0 * round(float(np.argmax(size)) * rate / len(clip) / 50)


def converted(audio: Samples, speed: float = 1.0, options: Optional[Options] = None) -> Samples:
    """What a listener must get for 16 kHz `audio`: each sample -x - 1, held until the next is due."""
    rate = (options or Options()).rate
    index = np.arange(round(len(audio) * rate / CONVERTED_RATE / speed))
    return ~audio[np.minimum(index * speed * CONVERTED_RATE / rate, len(audio) - 1).astype(np.int64)]


class Tone:
    """The engine (see `base.Engine`). Its options are the fields of `Options`."""

    def load(self, options: Mapping[str, Any], progress: Progress = unwatched) -> None:
        """Check the options; there is nothing to load."""
        unknown = set(options) - {field.name for field in fields(Options)}
        if unknown:
            raise EngineError(f"the tone engine has no option {', '.join(sorted(unknown))}")
        self._options = Options(**options)

    @property
    def sample_rate(self) -> int:
        """Hz."""
        return self._options.rate

    @property
    def voices(self) -> Sequence[Voice]:
        """The tone, then its faults."""
        rate = self._options.rate
        return [Voice(name, ("und", "en", "zh"), rate, text) for name, text in VOICES.items()]

    @property
    def abilities(self) -> Abilities:
        """A tone pronounces every script alike."""
        options = self._options
        return Abilities(
            "tone",
            "1",
            speed=(0.25, 4.0),
            instructs=options.instructs,
            converts=options.converts,
            clones=bool(options.voices_dir),
        )

    def say(self, line: Line, emit: Emit) -> None:
        """Play the plan in real time; see `base.Engine.say`."""
        voice, options = line.voice, self._options
        if line.instruct and options.instructs:
            options = replace(options, amplitude=options.amplitude / 2)
        if voice not in VOICES:
            voice, options = "tone", replace(options, hz=self._cloned(voice))
        self._play(plan(line.text, voice, line.speed, options), voice, emit)

    def convert(self, audio: Samples, voice: str, speed: float, emit: Emit) -> None:
        """Give back what was said, upside down; see `base.Converter.convert`."""
        sound = converted(audio, speed, self._options)
        count = len(sound) // 2 if voice in STOPPING else len(sound)

        def chunks() -> Iterator[tuple[float, Chunk]]:
            for at, size in _chunks(count, voice, self._options):
                yield _due(at + size, voice, self._options), sound[at : at + size]
            if voice in STOPPING:
                raise Stops(voice)

        self._play(chunks(), voice, emit)

    def _cloned(self, name: str) -> float:
        """The frequency of a voice of the folder."""
        found = References(self._options.voices_dir).get(name) if self._options.voices_dir else None
        if found is None:
            raise EngineError(f"the tone engine has no voice {name!r}")
        try:
            return pitch(found.read())
        except (OSError, ValueError) as error:  # removed a moment ago, or no clip of ours
            raise EngineError(f"the voice {name!r} cannot be used: {error}") from None

    def _play(self, chunks: Iterator[tuple[float, Chunk]], voice: str, emit: Emit) -> None:
        """Hand out each chunk when it is due, then stop as the voice does."""
        begin = time.monotonic()
        wanted = True
        try:
            for due, chunk in chunks:
                while wanted and (wait := begin + due - time.monotonic()) > 0:
                    time.sleep(min(wait, POLL_S))
                    wanted = emit(b"")  # nothing to hand out, but a cancel to notice
                wanted = wanted and emit(chunk)
                if not wanted and voice != "tone-hang":
                    return
        except Stops:
            _stop(voice, emit)


def _stop(voice: str, emit: Emit) -> None:
    """Do what `voice` does half-way."""
    if voice == "tone-die":
        os.kill(os.getpid(), signal.SIGKILL)
    if voice == "tone-freeze":
        os.kill(os.getpid(), signal.SIGSTOP)
    if voice == "tone-refuse":
        raise EngineError("the tone engine was asked to refuse this")
    if voice == "tone-raise":
        raise RuntimeError("the tone engine was asked to raise")
    if voice == "tone-thread":
        threading.Thread(target=_raise, name="tone").start()
    while True:  # "tone-hang", and what waits for a thread that is dead
        time.sleep(3600)


def _raise() -> None:
    raise RuntimeError("the tone engine was asked to raise in its own thread")
