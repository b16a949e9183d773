"""Every engine, through its own worker process: what a server may rely on whoever speaks."""

import asyncio
import time
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from abr_tts.engine.build import pool_for
from abr_tts.engine.pool import Limits
from abr_tts.engine.scripts import weights
from abr_tts.engine.text import MAX_CHARS
from abr_tts.errors import EngineError, UnknownVoice

from ..pools import Collector
from .engines import CASES

AUDIBLE = 300
"""RMS of int16 below which nobody hears a word; the engines speak at 1 500 to 5 000."""

QUIET = 100
"""Amplitude of int16 (-50 dBFS) below which it is silence."""

WRAPPED = 45_000
"""Step between two samples that speech cannot take at these rates: an overflow is one of 65 535."""

SLOWEST, FASTEST = 4, 40
"""Letters a second between which speech lies; a Han character counts as four."""

PATIENCE_S = 20.0
"""For what takes a second on a quiet machine; scaled by `Case.quick`."""

GROWTH_MB = 16
"""What a worker may grow over 50 clauses; their sound alone would be 5 MB of floats, and a model's work
space many times that. Measured: 0 to 6."""


class Speaker:
    """One engine, loaded once for all tests, on an event loop that runs while they ask it something."""

    def __init__(self, case):
        self.case, self.runner = case, asyncio.Runner()
        self.known = {}
        self.stack = AsyncExitStack()
        self.runner.run(self._open())

    async def _open(self):
        spec = await self.stack.enter_async_context(self.case.opened(self.case))
        patience = PATIENCE_S * self.case.quick
        self.pool = pool_for(spec, 1, Limits(first_chunk_s=patience, gap_s=patience, cancel_s=patience))
        self.stack.push_async_callback(self.pool.stop)
        await self.pool.start()

    def close(self):
        self.runner.run(self.stack.aclose())
        self.runner.close()

    def begin(self, text, voice=None, speed=1.0):
        """Ask for `text`; only within the loop."""
        sink = Collector()
        chosen = voice if voice and not isinstance(voice, str) else self.pool.choose(voice, None, text)
        sink.ticket = self.pool.say(text, chosen, None, speed, sink)
        return sink

    def say(self, text, voice=None, speed=1.0):
        """Every sample of `text`."""
        return self.runner.run(self._whole(text, voice, speed)).samples

    def said(self, text):
        """The same, spoken once for all tests that only look at it: some engines are slow."""
        if text not in self.known:
            self.known[text] = self.say(text)
        return self.known[text]

    async def _whole(self, text, voice=None, speed=1.0):
        sink = self.begin(text, voice, speed)
        await asyncio.wait_for(sink.over.wait(), PATIENCE_S * self.case.quick)
        assert not sink.broken
        if sink.error:
            raise sink.error
        return sink

    def seconds(self, *arguments, **more):
        return len(self.say(*arguments, **more)) / self.case.rate

    def said_s(self, text):
        return len(self.said(text)) / self.case.rate

    def speaks(self):
        """Whether it still does."""
        return loudness(self.say(self.case.digits[0])) > AUDIBLE

    @property
    def worker(self):
        (worker,) = self.pool._workers
        return worker.pid


@pytest.fixture(scope="module", params=CASES, ids=lambda case: case.name)
def speaker(request):
    if why := request.param.why_not():
        pytest.skip(why)
    speaker = Speaker(request.param)
    try:
        yield speaker
    finally:
        speaker.close()


def loudness(samples):
    return float(np.sqrt(np.mean(samples.astype(float) ** 2))) if len(samples) else 0.0


def letters(text):
    """Length of `text` in letters, digits counted as words of five."""
    return sum(weights(text).values()) + 5 * sum(char.isdigit() for char in text)


def lasts_as_speech_does(text, seconds):
    return letters(text) / FASTEST < seconds < letters(text) / SLOWEST + 1.0


def test_it_says_what_voices_it_has_and_at_which_rate(speaker):
    voices, abilities = speaker.pool.voices, speaker.pool.abilities
    names = [voice.name for voice in voices]
    assert names and len(set(names)) == len(names)
    assert {voice.sample_rate for voice in voices} == {speaker.case.rate}
    assert all(tag == tag.lower() for voice in voices for tag in voice.languages)
    assert set(abilities.defaults.values()) <= set(names)
    slowest, fastest = abilities.speed
    assert 0 < slowest <= 1 <= fastest


def test_it_speaks_each_of_its_scripts_for_as_long_as_speech_takes(speaker):
    for text in speaker.case.texts:
        samples = speaker.said(text)
        assert lasts_as_speech_does(text, len(samples) / speaker.case.rate), text
        assert loudness(samples) > AUDIBLE
        assert speaker.pool.unspeakable(text, speaker.pool.voices[0]) is None
    assert speaker.pool.stats.bad_samples == 0


def test_digits_and_signs_are_spoken(speaker):
    for text in speaker.case.digits:
        samples = speaker.say(text)
        assert len(samples) / speaker.case.rate > 0.15 and loudness(samples) > AUDIBLE, text


def test_what_it_cannot_pronounce_is_told_and_harms_nothing(speaker):
    if speaker.case.foreign is None:
        pytest.skip("it pronounces everything")
    script, word = speaker.case.foreign
    main = speaker.case.texts[0]
    assert speaker.pool.unspeakable(f"{main} {word}", speaker.pool.voices[0]) == script
    lost = speaker.pool.stats.lost
    alone = len(speaker.said(main))
    assert len(speaker.say(f"{main} {word}")) > 0.8 * alone
    speaker.say(word)
    assert speaker.speaks() and speaker.pool.stats.lost == lost


@pytest.mark.parametrize("text", ["…", "😀", "-", " ", "\0", "<speak>", "[[x]]", "[a](b)", "\u200b"])
def test_text_without_words_ends_in_silence_or_in_an_error_and_no_worker_is_lost(speaker, text):
    lost = speaker.pool.stats.lost
    try:
        samples = speaker.say(text)
    except EngineError:
        samples = np.zeros(0)
    assert len(samples) / speaker.case.rate < 5
    assert speaker.pool.stats.lost == lost


def test_speed_changes_the_length(speaker):
    if not speaker.case.speeds:
        pytest.skip("it has one speed")
    text = speaker.case.texts[0]
    normal, (slowest, fastest) = speaker.said_s(text), speaker.pool.abilities.speed
    quick, slow = min(1.5, fastest), max(0.75, slowest)
    assert speaker.seconds(text, speed=quick) == pytest.approx(normal / quick, rel=0.2)
    assert speaker.seconds(text, speed=slow) == pytest.approx(normal / slow, rel=0.2)
    assert speaker.seconds(text, speed=100.0) > 0


def test_a_cancel_frees_it_within_a_chunk_and_it_speaks_again(speaker):
    async def cancel():
        sink = speaker.begin(" ".join(speaker.case.texts[:1] * 12))
        await asyncio.wait_for(sink.started.wait(), PATIENCE_S * speaker.case.quick)
        sink.ticket.cancel()
        heard, began = len(sink.chunks), time.monotonic()
        await speaker._whole(speaker.case.digits[0])
        assert len(sink.chunks) == heard and not sink.over.is_set(), "a cancelled listener hears nothing more"
        return time.monotonic() - began

    alone = time.monotonic()
    speaker.say(speaker.case.digits[0])
    alone = time.monotonic() - alone
    lost = speaker.pool.stats.lost
    assert speaker.runner.run(cancel()) - alone < speaker.case.cancel_s
    assert speaker.speaks() and speaker.pool.stats.lost == lost


def test_an_unknown_voice_is_an_error_and_nothing_more(speaker):
    with pytest.raises(UnknownVoice, match="nobody"):
        speaker.pool.choose("nobody", None, "x")
    lost = speaker.pool.stats.lost
    with pytest.raises(EngineError, match="nobody"):
        speaker.say("Hello.", replace(speaker.pool.voices[0], name="nobody"))
    assert speaker.speaks() and speaker.pool.stats.lost == lost


def test_the_longest_clause_is_spoken_to_its_end(speaker):
    text = speaker.case.texts[0]
    count = MAX_CHARS // letters(text)
    alone, longest = speaker.said_s(text), speaker.seconds(" ".join([text] * count))
    assert 0.75 * count * alone < longest < 1.5 * count * alone


def test_one_text_sounds_alike_twice(speaker):
    text = speaker.case.texts[0]
    first, second = speaker.said(text), speaker.say(text)
    assert len(second) == pytest.approx(len(first), rel=speaker.case.repeats)
    assert abs(20 * np.log10(loudness(second) / loudness(first))) < 1.5


def test_no_peak_is_wrapped_round(speaker):
    if not speaker.case.smooth:
        pytest.skip("it swings from full scale to full scale; its own tests hold it to the sample")
    for text in speaker.case.texts:
        assert np.abs(np.diff(speaker.said(text).astype(int))).max() < WRAPPED


def test_there_is_little_silence_around_what_it_says(speaker):
    loud = np.flatnonzero(np.abs(samples := speaker.said(speaker.case.texts[0]).astype(int)) > QUIET)
    assert loud[0] / speaker.case.rate < speaker.case.lead_s
    assert (len(samples) - loud[-1]) / speaker.case.rate < speaker.case.tail_s


def test_many_short_clauses_leak_neither_memory_nor_threads_nor_files(speaker):
    if not (speaker.case.local and Path("/proc/self/status").exists()):
        pytest.skip("its worker cannot be watched from here")
    words = (
        ("One.", "Two!", "three,", "4", "Five?")
        if speaker.case.texts[0].isascii()
        else ("一。", "二", "好，")
    )

    def some(count):
        for index in range(count):
            assert len(speaker.say(words[index % len(words)]))
        return watched(speaker.worker)

    some(5)
    before, after = some(5), some(speaker.case.many)
    assert after["megabytes"] - before["megabytes"] < GROWTH_MB
    assert after["threads"] <= before["threads"] and after["files"] <= before["files"]


def watched(pid):
    """What a process holds."""
    status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return {
        "megabytes": int(status["VmRSS"].split()[0]) / 1024,
        "threads": int(status["Threads"]),
        "files": len(list(Path(f"/proc/{pid}/fd").iterdir())),
    }
