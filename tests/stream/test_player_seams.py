"""Fades, stalls and pauses lose no sample, repeat none, and cannot be heard as clicks."""

import numpy as np
import pytest

from abr_tts.stream import player as player_module
from abr_tts.stream.mixing import cross_fade, fade_in, fade_out, rise
from abr_tts.stream.playout import START_TICKS
from abr_tts.units import FRAME_TICKS

from ..signals import tone
from .speaking import FRAME, RATE, end, frames, heard, plan, player, rest, speech, tell, track

FADE = 110
"""5 ms at 22 050 Hz."""


def high_energy(sound, at: int, rate: int) -> float:
    """Energy above 12.6 kHz within 20 ms of sample `at`."""
    piece = sound[at - rate // 50 : at + rate // 50].astype(float)
    spectrum = np.abs(np.fft.rfft(piece * np.hanning(len(piece)))) ** 2
    return float(spectrum[np.fft.rfftfreq(len(piece), 1 / rate) > 12_600].sum())


def amplitude(sound, rate: int, hz: float = 1000.0) -> np.ndarray:
    """The level of a tone in steps of 2 ms, each over 10 ms, by its RMS."""
    window, step = rate // 100, rate // 500
    starts = range(0, len(sound) - window + 1, step)
    return np.array([np.sqrt(2 * np.mean(sound[a : a + window].astype(float) ** 2)) for a in starts])


def test_gains_of_a_fade_add_up_to_one_and_are_as_told():
    gain = rise(960)
    assert gain + gain[::-1] == pytest.approx(np.ones(960), abs=1e-6)
    assert gain[0] == pytest.approx(0.5 - 0.5 * np.cos(np.pi * 0.5 / 960))
    one = np.ones(960, np.float32)
    assert cross_fade(one, one) == pytest.approx(one, abs=1e-7)
    assert np.array_equal(cross_fade(0 * one, one), gain)


def test_fades_of_silence_touch_5_ms_and_nothing_else():
    one = np.ones(441, np.float32)
    risen, fallen = fade_in(one, RATE), fade_out(one, RATE)
    assert np.array_equal(risen[:FADE], rise(FADE))
    assert np.array_equal(risen, fallen[::-1])
    assert (risen[FADE:] == 1).all()
    assert (one == 1).all()


@pytest.mark.parametrize("rungs", [
    ("pcm22", "opus24"), ("opus24", "pcm22"), ("opus24", "opus64"), ("opus64", "opus48"),
    ("pcm16k", "pcm22"), ("opus64", "pcm16k"),
])  # fmt: skip
def test_a_tone_keeps_its_level_through_the_fade_of_two_tracks(rungs):
    pcm = tone(RATE, 1.0)
    spliced = heard(*plan(pcm, list(rungs), 25), out_rate=48_000)
    around = slice(24 * 960 - 960, 25 * 960 + 960)
    level = amplitude(spliced[around], 48_000)
    plain = [heard(*track(pcm, rung=rung), end(pcm), out_rate=48_000) for rung in rungs]
    wanted = [amplitude(sound[around], 48_000).mean() for sound in plain]
    assert level.min() >= 0.98 * min(wanted)
    assert level.max() <= 1.02 * max(wanted)


def test_the_level_meter_sees_a_fade_of_tracks_out_of_step():
    pcm = tone(RATE, 1.0)
    late = np.roll(pcm, 11)
    first = plan(pcm, ["pcm22", "pcm22"], 25)
    second = plan(late, ["pcm22", "pcm22"], 25)
    mixed = [*first[: first.index(track_of(first, 1))], *second[second.index(track_of(second, 1)) :]]
    level = amplitude(heard(*mixed, out_rate=48_000)[23 * 960 : 26 * 960], 48_000)
    assert level.min() < 0.5 * level.max()


def track_of(messages, number):
    return next(m for m in messages if type(m).__name__ == "Track" and m.track == number)


@pytest.mark.parametrize("rungs", [("pcm22", "opus12"), ("opus12", "pcm22"), ("opus64", "opus12")])
def test_a_splice_adds_no_click_and_a_hard_cut_does(rungs, monkeypatch):
    pcm = tone(RATE, 1.2, 440.0)
    places = [n * 10 * 960 - 480 for n in range(1, 6)]
    plain = [heard(*track(pcm, rung=rung), end(pcm), out_rate=48_000) for rung in rungs]

    def excess_db() -> float:
        sound = heard(*plan(pcm, [rungs[n % 2] for n in range(6)], 10), out_rate=48_000)
        ratios = [
            high_energy(sound, at, 48_000) / max(high_energy(p, at, 48_000) for p in plain) for at in places
        ]
        return float(10 * np.log10(np.median(ratios)))

    assert excess_db() <= 1.0
    middle = {"cut": lambda old, new: np.concatenate([old[:480], new[480:]])}
    monkeypatch.setattr(player_module, "cross_fade", middle["cut"])
    assert excess_db() > 10.0


def test_over_a_stall_no_sample_is_lost_or_repeated():
    pcm = speech()
    opening, *audio = track(pcm)
    listener = tell(player(start_ticks=START_TICKS), opening, *audio[:4])
    before = frames(listener, 20)
    silence = frames(listener, 7)
    tell(listener, *audio[4:], end(pcm))
    after = rest(listener)
    assert listener.finished
    assert (listener.stalls, listener.stall_ms) == (1, 140)
    assert not silence.any()
    expected = pcm.astype(np.float32)
    cut = 20 * FRAME
    expected[cut - FADE : cut] *= rise(FADE)[::-1]
    expected[cut : cut + FADE] *= rise(FADE)
    assert np.array_equal(np.concatenate([before, after]), np.rint(expected).astype(np.int16))


def test_over_a_pause_no_sample_is_lost_or_repeated():
    pcm = speech()
    listener = tell(player(start_ticks=START_TICKS), *track(pcm), end(pcm))
    before = frames(listener, 30)
    listener.pause()
    fading, silence = frames(listener, 1), frames(listener, 5)
    assert listener.paused
    listener.resume()
    after = rest(listener)
    assert not silence.any()
    assert (listener.stalls, listener.stall_ms) == (0, 0)
    expected = pcm.astype(np.float32)
    cut = 31 * FRAME
    expected[cut - FADE : cut] *= rise(FADE)[::-1]
    expected[cut : cut + FADE] *= rise(FADE)
    assert np.array_equal(np.concatenate([before, fading, after]), np.rint(expected).astype(np.int16))


@pytest.mark.parametrize("rung", ["opus24", "opus64"])
def test_the_bank_beneath_an_upgrade_stays_decoded_and_takes_over_warm(rung):
    pcm = speech()
    alone = heard(*track(pcm, rung=rung), end(pcm))
    both = heard(*track(pcm, 1, rung), *track(pcm, 2, "pcm22", 1, 0, 40), end(pcm))
    down = 39 * FRAME
    assert np.array_equal(both[:down], pcm[:down])
    assert np.array_equal(both[down + FRAME :], alone[down + FRAME :])


def test_packets_that_come_too_late_keep_the_decoder_true():
    pcm = speech()
    alone = heard(*track(pcm, rung="opus48"), end(pcm))
    opening, *audio = track(pcm, 2, "opus48", 1)
    listener = tell(player(), *track(pcm))
    before = frames(listener, 30)
    tell(listener, opening, *audio[:4], *audio[:4])
    before = np.concatenate([before, frames(listener, 2)])
    tell(listener, *audio[4:], end(pcm))
    after = rest(listener)
    assert np.array_equal(before, pcm[: 32 * FRAME])
    assert np.array_equal(after[FRAME:], alone[33 * FRAME :])


def test_an_upgrade_fades_sample_by_sample_as_told():
    pcm = speech()
    quiet = (pcm // 2).astype(np.int16)
    sound = heard(*track(pcm, 1), *track(quiet, 2, "pcm22", 1, 10 * FRAME_TICKS), end(pcm))
    at = 10 * FRAME
    w = rise(FRAME)
    fade = np.rint(pcm[at : at + FRAME] * (1 - w) + quiet[at : at + FRAME] * w)
    assert np.array_equal(sound[:at], pcm[:at])
    assert np.abs(sound[at : at + FRAME] - fade).max() <= 1
    assert np.array_equal(sound[at + FRAME :], quiet[at + FRAME :])
