"""Spare coders change when a coder is made, and no packet."""

import itertools

import numpy as np
import pytest

from abr_tts.audio import opus, resample
from abr_tts.audio.timeline import Timeline
from abr_tts.control.ladder import FULL, Rung
from abr_tts.stream import coders
from abr_tts.stream.track import RESTOCK_JOB, Packetiser, Track, encode_lag, prepare
from abr_tts.units import FRAME_TICKS
from tests.signals import speech_like

LIBRARY = opus.load()
RATE = 22_050
CODED = [rung for rung in FULL.rungs if rung.codec == "opus" or rung.sample_rate != RATE]
OPUS = [rung for rung in FULL.rungs if rung.codec == "opus"]


@pytest.fixture(autouse=True)
def shelf(monkeypatch):
    """Spares of this test alone."""
    monkeypatch.setattr(coders, "_spares", {})


def timeline(rate: int, seconds: float) -> Timeline:
    whole = Timeline(rate)
    whole.append(speech_like(rate, seconds))
    whole.end()
    return whole


SPEECH = timeline(RATE, 1.0)


def jobs(rung: Rung, start: int = 0, frames: int = 10):
    """A new track's jobs, in order."""
    track = Track(0, 0, rung, start, RATE, LIBRARY)
    for until in itertools.count(start + FRAME_TICKS, frames * FRAME_TICKS):
        if until > SPEECH.ready:
            return
        yield track.job(SPEECH, until)


def packets(rung: Rung, start: int = 0) -> list[bytes]:
    return [packet for job in jobs(rung, start) for packet in job.run()]


@pytest.mark.parametrize("start", [0, 10 * FRAME_TICKS])
@pytest.mark.parametrize("rung", CODED, ids=lambda rung: rung.name)
def test_a_spare_gives_the_packets_of_a_new_coder_bit_for_bit(rung, start):
    expected = packets(rung, start)
    coders.stock(LIBRARY, rung, RATE)
    assert packets(rung, start) == expected
    assert coders.spares_of(LIBRARY, rung, RATE) == coders.SPARES, "it was replaced"


@pytest.mark.parametrize("wanted", OPUS, ids=lambda rung: rung.name)
def test_a_spare_of_any_rung_of_the_family_gives_the_packets_of_the_rung_wanted(wanted):
    expected = packets(wanted)
    for other in OPUS:
        if other.family == wanted.family:
            coders._spares.clear()
            coders.stock(LIBRARY, other, RATE)
            assert packets(wanted) == expected


def test_no_job_that_a_listener_waits_for_makes_a_coder(monkeypatch):
    """Neither the one with the first frame, nor the one with which the player can begin."""
    rung = FULL["opus24"]
    prepare(LIBRARY, RATE, [rung])
    made, make = [], coders.make
    monkeypatch.setattr(coders, "make", lambda *kind: made.append(kind) or make(*kind))
    for number, job in enumerate(jobs(rung), 1):
        job.run()
        assert len(made) == (number >= RESTOCK_JOB)


@pytest.mark.parametrize("rung", OPUS, ids=lambda rung: rung.name)
def test_of_an_opus_track_only_the_job_that_begins_the_utterance_is_run_in_place(rung):
    assert [job.cheap for job in jobs(rung)][:3] == [True, False, False]
    assert not any(job.cheap for job in jobs(rung, 10 * FRAME_TICKS))


def test_streams_beyond_the_spares_make_their_own_coders():
    rung = FULL["opus24"]
    coders.stock(LIBRARY, rung, RATE)
    taken = [coders.take(LIBRARY, rung, RATE) for _ in range(coders.SPARES + 2)]
    assert len({id(coder.encoder) for coder in taken}) == coders.SPARES + 2
    for _ in range(coders.SPARES + 2):
        coders.restock(LIBRARY, rung, RATE)
    assert coders.spares_of(LIBRARY, rung, RATE) == coders.SPARES


def test_without_preparation_nothing_is_kept():
    for rung in CODED:
        packets(rung)
        assert coders.spares_of(LIBRARY, rung, RATE) == 0


def test_after_preparation_no_stream_measures_a_resampler():
    rate = 32_000
    prepare(LIBRARY, rate, FULL.rungs)
    before = resample.lag_frames.cache_info().misses
    assert min(encode_lag(rung, rate) for rung in FULL.rungs) > 0
    assert resample.lag_frames.cache_info().misses == before


def test_a_codec_that_meets_too_little_input_says_so():
    with pytest.raises(RuntimeError, match="samples for 5 frames"):
        Packetiser(FULL["opus24"], RATE, LIBRARY).packets(np.zeros(441, np.int16), 5)
