"""
Packet k decodes to exactly frame k: the encoder is fed the timeline advanced by its lookahead.

Lag is the peak of the cross-correlation with the source at 48 kHz, found to 1/32 sample, over the
band that the codec keeps. Feeding the encoder without the advance is the control that must fail.
"""

import numpy as np
import pytest

from abr_tts.audio import opus, pcm
from abr_tts.audio.resample import convert
from abr_tts.audio.timeline import Timeline
from tests.signals import speech_like, sweep, tone

LIBRARY = opus.load()
RATE, FRAME, SECONDS = 24_000, 480, 4.0
HYBRID, CELT = (8, 12, 16, 24, 32, 48), (64,)
SIGNALS = {
    "speech": speech_like(RATE, SECONDS, seed=3),
    "tone": tone(RATE, SECONDS),
    "sweep": sweep(RATE, SECONDS, 200, 3500),
}
RESIDUAL_DB = {  # signal: bound at (8, 12, 16, 24, 32, 48, 64) kbit/s; measured values are 1 to 2 dB lower
    "speech": (-4.0, -6.0, -6.0, -6.4, -6.4, -6.4, -16.0),
    "tone": (-14.0, -17.0, -22.0, -22.0, -22.0, -22.0, -36.0),
    "sweep": (-9.0, -19.0, -20.0, -20.0, -20.0, -20.0, -36.0),
}
"""Below 64 kbit/s SILK keeps the sound and not the wave, so the residual of speech is high at any bitrate."""


def through_opus(samples: np.ndarray, kbps: int, advance: int | None = None) -> np.ndarray:
    """The whole utterance as a client hears it: one pre-roll packet is decoded and dropped."""
    timeline = Timeline(RATE)
    timeline.append(samples)
    timeline.end()
    encoder, decoder, out = opus.Encoder(LIBRARY, kbps=kbps), opus.Decoder(LIBRARY), []
    shift = encoder.lookahead if advance is None else advance
    for k in range(-1, len(samples) // FRAME):
        frame = timeline.read(k * FRAME + shift, (k + 1) * FRAME + shift)
        out.append(decoder.decode(encoder.encode(pcm.to_float(frame))))
    return np.concatenate(out[1:])


def source(samples: np.ndarray) -> np.ndarray:
    return convert(pcm.to_float(samples), RATE, 48_000)


def lag(reference: np.ndarray, got: np.ndarray, low_hz: float = 100.0, top_hz: float = 3500.0) -> float:
    """Samples at 48 kHz by which `got` comes late, from the averaged cross-spectrum of a band."""
    size, fine = 4096, 32
    window = np.hanning(size)
    cross = np.zeros(size // 2 + 1, complex)
    for at in range(0, len(reference) - size, size // 2):
        pair = [np.fft.rfft(x[at : at + size] * window) for x in (reference, got)]
        cross += pair[0].conj() * pair[1]
    hz = np.fft.rfftfreq(size, 1 / 48_000)
    cross[(hz < low_hz) | (hz > top_hz)] = 0
    peak = int(np.argmax(np.fft.irfft(cross, size * fine)))
    return (peak - size * fine if peak > size * fine // 2 else peak) / fine


def residual_db(reference: np.ndarray, got: np.ndarray) -> float:
    inner = slice(9600, -9600)
    error = (got - reference)[inner].astype(float)
    return float(10 * np.log10(np.sum(error**2) / np.sum(reference[inner].astype(float) ** 2)))


@pytest.mark.parametrize("signal", SIGNALS)
@pytest.mark.parametrize("kbps", HYBRID)
def test_a_hybrid_track_lies_on_its_source_within_two_and_a_half_samples(kbps, signal):
    samples = SIGNALS[signal]
    reference, got = source(samples), through_opus(samples, kbps)
    assert len(got) == len(reference)
    assert abs(lag(reference, got)) <= 2.5
    assert residual_db(reference, got) <= RESIDUAL_DB[signal][HYBRID.index(kbps)]


@pytest.mark.parametrize("signal", SIGNALS)
@pytest.mark.parametrize("kbps", CELT)
def test_a_celt_track_lies_on_its_source_within_half_a_sample(kbps, signal):
    samples = SIGNALS[signal]
    reference, got = source(samples), through_opus(samples, kbps)
    assert abs(lag(reference, got, top_hz=11_000)) <= 0.5
    assert residual_db(reference, got) <= RESIDUAL_DB[signal][-1]


@pytest.mark.parametrize("kbps", [16, 24, 32, 48])
def test_the_upper_band_of_hybrid_lies_there_too(kbps):
    """CELT codes it above 8 kHz, two samples later than SILK below: the price of one constant."""
    samples = SIGNALS["speech"]
    assert abs(lag(source(samples), through_opus(samples, kbps), 8500, 11_500)) <= 2.5


@pytest.mark.parametrize(("kbps", "best"), [(12, 155), (24, 155), (48, 155), (64, 156)])
def test_the_constant_is_the_whole_sample_that_fits_best(kbps, best):
    samples = SIGNALS["speech"]
    reference = source(samples)
    advances = (best - 1, best, best + 1)
    lags = [abs(lag(reference, through_opus(samples, kbps, advance))) for advance in advances]
    assert lags[1] == min(lags)


def test_without_the_advance_a_track_is_late_by_all_of_it():
    samples = SIGNALS["speech"]
    reference, got = source(samples), through_opus(samples, 24, advance=0)
    assert lag(reference, got) == pytest.approx(310, abs=2)
    assert residual_db(reference, got) > -1


def test_the_first_samples_are_heard_because_of_one_packet_of_pre_roll():
    samples = SIGNALS["tone"]
    reference, got = source(samples)[:960], through_opus(samples, 64)[:960]
    start = slice(0, 312)
    assert np.sum(got[start] ** 2) == pytest.approx(np.sum(reference[start] ** 2), rel=0.2)


def test_every_retune_inside_the_family_stays_on_the_timeline():
    samples = speech_like(RATE, 6.0, seed=5)
    signal = np.concatenate([np.zeros(FRAME, np.int16), samples, np.zeros(FRAME, np.int16)])
    encoder, decoder, out = opus.Encoder(LIBRARY, kbps=24), opus.Decoder(LIBRARY), []
    ladder = (24, 48, 12, 32, 8, 16)
    for k in range(-1, len(samples) // FRAME):
        encoder.retune(ladder[max(k, 0) // 50])
        at = FRAME + k * FRAME + encoder.lookahead
        out.append(decoder.decode(encoder.encode(pcm.to_float(signal[at : at + FRAME]))))
    reference, got = source(samples), np.concatenate(out[1:])
    for second in range(len(ladder)):
        piece = slice(second * 48_000, (second + 1) * 48_000)
        assert abs(lag(reference[piece], got[piece])) <= 2.5
