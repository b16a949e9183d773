"""Another resampler changes samples and packets; it changes no decision, and no splice can be heard."""

import random
from functools import cache

import numpy as np
import pytest

from abr_tts.audio import seam
from abr_tts.audio.libopus import load
from abr_tts.audio.pcm import decode_pcm16
from abr_tts.audio.resample import SOXR
from abr_tts.control.ladder import FULL
from abr_tts.control.policy_file import preset
from abr_tts.sim.replay import replay
from abr_tts.stream import coders
from abr_tts.stream.core import CoreSetup
from abr_tts.stream.recorder import RecordedCore
from abr_tts.stream.terms import Terms
from abr_tts.trace import read
from abr_tts.wire.messages import Audio

from ..signals import speech_like, sweep, tone
from ..torch_here import torchaudio
from .driver import Driver, cut
from .joins import SPEECH, SWEEP, TONE, TONE_HZ, Case, as_sound, high_energies, measure, row, syllables
from .splicing import Turns, Upgrades, hear, messages

RATE, SECONDS = 22_050, 6.6
LIBRARY = load()
BOUNDS = seam.Bounds(n=10)
"""Those of the house, for fewer joins; tools/bench/seam.py --resampler torchaudio makes forty of each."""


class Quieter:
    """soxr at half the level."""

    class _Chunks:
        def __init__(self, stream) -> None:
            self._stream = stream

        def resample_chunk(self, samples, last):
            return self._stream.resample_chunk(samples, last=last) / 2

    def stream(self, in_rate, out_rate):
        return self._Chunks(SOXR.stream(in_rate, out_rate))

    def whole(self, samples, in_rate, out_rate):
        return SOXR.whole(samples, in_rate, out_rate) / 2


QUIETER = Quieter()


def loudness(sound: np.ndarray) -> float:
    return float(np.sqrt(np.mean(sound.astype(float) ** 2)))


@pytest.mark.parametrize("rung", ["pcm16k", "opus24"])
def test_the_resampler_of_a_core_is_what_its_packets_are_made_with(rung):
    pcm = tone(RATE, 1.0)
    ours, theirs = (messages(pcm, RATE, Turns([rung]), LIBRARY, by) for by in (QUIETER, SOXR))
    levels = [loudness(hear(sent, LIBRARY, 48_000).sound) for sent in (ours, theirs)]
    assert levels[0] / levels[1] == pytest.approx(0.5, rel=0.02)


def test_a_track_at_the_engines_own_rate_meets_no_resampler():
    pcm = speech_like(RATE, 1.0)
    sent = messages(pcm, RATE, Turns(["pcm22"]), LIBRARY, QUIETER)
    packets = [packet for message in sent if isinstance(message, Audio) for packet in message.packets]
    assert np.array_equal(np.concatenate([decode_pcm16(packet) for packet in packets]), pcm)


def test_the_resampler_of_a_player_is_what_is_heard():
    sent = messages(tone(RATE, 1.0), RATE, Turns(["pcm22"]), LIBRARY)
    levels = [loudness(hear(sent, LIBRARY, 48_000, by).sound) for by in (QUIETER, SOXR)]
    assert levels[0] / levels[1] == pytest.approx(0.5, rel=0.01)


def test_a_spare_coder_of_another_resampler_is_not_taken(monkeypatch):
    monkeypatch.setattr(coders, "_spares", {})
    coders.stock(LIBRARY, FULL["opus24"], RATE, QUIETER)
    assert coders.spares_of(LIBRARY, FULL["opus24"], RATE) == 0
    coders.take(LIBRARY, FULL["opus24"], RATE)
    assert coders.spares_of(LIBRARY, FULL["opus24"], RATE, QUIETER) == coders.SPARES
    coders.take(LIBRARY, FULL["opus24"], RATE, QUIETER)
    assert coders.spares_of(LIBRARY, FULL["opus24"], RATE, QUIETER) == coders.SPARES - 1


def trace_of(by) -> list[str]:
    """The trace of an adaptive stream with this resampler."""
    terms = Terms(("opus", "pcm16", "ulaw"), RATE, 1, preset("opus"))
    lines: list[str] = []
    setup = CoreSetup(1, RATE, terms.controller(), LIBRARY, resampler=by)
    rng = random.Random(3)
    pcm = speech_like(RATE, 4.0)
    driver = Driver(RecordedCore(setup, terms, 0.0, lines.append, "1"), [cut(pcm, rng, 5000)], rng)
    driver.run()
    return lines


def assert_replays(by) -> None:
    """A trace by this resampler is of other packets than one by soxr, and repeats without any."""
    lines = trace_of(by)
    assert lines != trace_of(SOXR), "the sizes of packets are others"
    assert replay(read(lines, "t")).difference is None


def test_a_replay_does_not_know_the_resampler():
    assert_replays(QUIETER)


# ------------------------------------------------------------ torchaudio


def test_nor_does_it_know_torchaudio():
    assert_replays(torchaudio())


@cache
def signal(name: str):
    made = {SPEECH: lambda: syllables(RATE, SECONDS), SWEEP: lambda: sweep(RATE, SECONDS)}
    return made.get(name, lambda: tone(RATE, SECONDS, TONE_HZ))()


@cache
def whole_track(name: str, out_rate: int, rung: str):
    by = torchaudio()
    return hear(messages(signal(name), RATE, Turns([rung]), LIBRARY, by), LIBRARY, out_rate, by).sound


def rows(script, a: str, b: str, out_rate: int = 48_000) -> dict[str, seam.Row]:
    """By target: the worst joins towards it, all by torchaudio."""
    by, found = torchaudio(), []
    for name in (SPEECH, TONE, SWEEP):
        wholes = {rung: whole_track(name, out_rate, rung) for rung in (a, b)}
        sent = messages(signal(name), RATE, script, LIBRARY, by)
        found += measure(Case(name, signal(name), RATE, out_rate, by), sent, wholes, LIBRARY)
    return {rung: row(one for one in found if one.join.target == rung) for rung in (a, b)}


@pytest.mark.parametrize(("a", "b"), [("pcm22", "opus24"), ("pcm16k", "opus12"), ("opus64", "opus24")])
def test_a_splice_by_torchaudio_cannot_be_heard(a, b):
    for target, found in rows(Turns([a, b]), a, b).items():
        assert BOUNDS.faults(found) == [], f"to {target}: {found}"


def test_nor_at_another_output_rate():
    for target, found in rows(Turns(["pcm24", "pcm16k"]), "pcm24", "pcm16k", 44_100).items():
        assert BOUNDS.faults(found) == [], f"to {target}: {found}"


@pytest.mark.parametrize("upgrade", ["pcm22", "opus48"])
def test_going_up_by_torchaudio_and_back_cannot_be_heard(upgrade):
    for target, found in rows(Upgrades("opus24", upgrade), "opus24", upgrade).items():
        assert BOUNDS.faults(found) == [], f"to {target}: {found}"


def test_a_retune_by_torchaudio_cannot_be_heard():
    by, rungs = torchaudio(), ("opus48", "opus12")
    wholes = {rung: whole_track(SPEECH, 48_000, rung) for rung in rungs}
    sent = messages(signal(SPEECH), RATE, Turns(rungs), LIBRARY, by)
    joins = high_energies(Case(SPEECH, signal(SPEECH), RATE, 48_000, by), sent, wholes, LIBRARY)
    assert max(high for _, high in joins) <= seam.RETUNE_HF_DB


@pytest.mark.parametrize("rung", ["pcm22", "pcm16k", "ulaw22", "opus64", "opus24", "opus12"])
def test_a_whole_track_by_torchaudio_lies_on_its_source(rung):
    source = Case(SPEECH, signal(SPEECH), RATE, 48_000).source
    late = seam.lag(source, as_sound(whole_track(SPEECH, 48_000, rung)), 48_000)
    assert abs(late) <= seam.lag_bound(FULL[rung].family)
