"""The player makes of a server's packets the speech that went in, whole and in time."""

from dataclasses import replace

import numpy as np
import pytest

from abr_tts.audio.opus import Decoder
from abr_tts.audio.pcm import to_float
from abr_tts.audio.resample import convert
from abr_tts.errors import PlayoutError
from abr_tts.stream.player import Player
from abr_tts.units import FRAME_TICKS, convert_length
from abr_tts.wire.messages import Audio, Mark, StreamEnd, Track

from .speaking import (
    FRAME,
    LIBRARY,
    RATE,
    STARTED,
    end,
    frames,
    heard,
    plan,
    player,
    rest,
    speech,
    switch,
    tell,
    track,
)


def lag(sound, source) -> float:
    """Samples by which `sound` comes after `source`, to a fraction, by the peak of their correlation."""
    size = 1 << (2 * len(source) - 1).bit_length()
    spectrum = np.fft.rfft(sound.astype(float), size) * np.conj(np.fft.rfft(source.astype(float), size))
    line = np.fft.irfft(spectrum)
    peak = int(np.argmax(line))
    before, here, after = line[peak - 1], line[peak], line[(peak + 1) % size]
    return (peak if peak < size // 2 else peak - size) + 0.5 * (before - after) / (before - 2 * here + after)


def snr_db(sound, source) -> float:
    """Signal over noise below 3 kHz: above it Opus' hybrid mode follows the energy, not the wave."""
    below = np.fft.rfftfreq(len(source), 1 / RATE) < 3_000
    signal = np.fft.rfft(source.astype(float))[below]
    noise = np.fft.rfft(sound.astype(float) - source)[below]
    return float(10 * np.log10(np.sum(np.abs(signal) ** 2) / np.sum(np.abs(noise) ** 2)))


def test_pcm_at_the_engines_rate_passes_through_bit_for_bit():
    pcm = np.random.default_rng(3).integers(-32768, 32768, 22_050 + 100).astype(np.int16)
    assert np.array_equal(heard(*track(pcm), end(pcm)), pcm)


@pytest.mark.parametrize(
    ("rung", "least_db"),
    [("ulaw22", 35), ("pcm16k", 50), ("opus64", 20), ("opus48", 17), ("opus24", 12), ("opus12", 8)],
)
def test_every_rung_is_heard_at_its_place_and_at_its_length(rung, least_db):
    pcm = speech()
    sound = heard(*track(pcm, rung=rung), end(pcm))
    assert len(sound) == len(pcm)
    assert abs(lag(sound, pcm)) <= 0.5
    assert snr_db(sound, pcm) >= least_db


def test_a_lag_of_one_frame_would_be_seen():
    pcm = speech()
    assert lag(np.roll(pcm, FRAME), pcm) == pytest.approx(FRAME, abs=0.1)


@pytest.mark.parametrize("out_rate", [8_000, 16_000, 22_050, 44_100, 48_000])
@pytest.mark.parametrize("length", [1, 440, 441, 442, 10_000])
@pytest.mark.parametrize("rung", ["pcm22", "opus24"])
def test_the_whole_is_as_long_as_the_speech_at_any_output_rate(rung, length, out_rate):
    pcm = speech()[:length]
    listener = tell(player(out_rate), *track(pcm, rung=rung), end(pcm))
    assert len(rest(listener)) == convert_length(length, RATE, out_rate)
    assert listener.finished
    assert listener.render() is None


def test_an_empty_stream_is_finished_without_a_sample():
    listener = tell(player(), StreamEnd(1, 0, RATE, 1, ""))
    assert listener.finished
    assert listener.render() is None


def test_frames_resampled_one_by_one_join_without_a_seam():
    pcm = speech()
    direct = heard(*track(pcm, rung="opus64"), end(pcm), out_rate=48_000)
    there = heard(*track(pcm, rung="opus64"), end(pcm), out_rate=22_050)
    whole = convert(to_float(direct), 48_000, 22_050)
    noise = to_float(there) - whole
    assert 20 * np.log10(np.abs(noise).max()) < -80


def test_opus_at_its_own_rate_is_what_the_decoder_gives():
    pcm = speech(1.0)
    opening, *audio = track(pcm, rung="opus24")
    decoder = Decoder(LIBRARY, 48_000)
    decoded = np.concatenate([decoder.decode(p) for message in audio for p in message.packets])[960:]
    sound = heard(opening, *audio, end(pcm), out_rate=48_000)
    assert np.array_equal(sound, np.rint(decoded * 32768).clip(-32768, 32767).astype(np.int16)[: len(sound)])


def test_overshoot_is_clipped_and_never_wraps():
    pcm = np.where(np.arange(8_820) // 40 % 2, 32767, -32768).astype(np.int16)
    sound = heard(*track(pcm), end(pcm), out_rate=48_000)
    assert sound.max() == 32767
    assert sound.min() == -32768
    middle = np.arange(10, 200) * 40 * 48_000 // RATE + 43
    assert np.array_equal(np.sign(sound[middle]), np.sign(pcm[np.arange(10, 200) * 40 + 20]))


@pytest.mark.parametrize("duration", [2, 3])
def test_level_0_hears_opus_packets_of_several_frames_as_it_hears_single_ones(duration):
    pcm = speech(1.0)
    opening, *audio = track(pcm, rung="opus24")
    singles = [packet for message in audio for packet in message.packets]
    singles += singles[-1:] * (-len(singles) % duration)  # beyond the end, never heard
    bundles = tuple(bundle(singles[at : at + duration]) for at in range(0, len(singles), duration))
    listener = Player(LIBRARY, RATE, level=0, start_ticks=0)
    tell(listener, replace(opening, duration=duration), Audio(1, 1, -FRAME_TICKS, bundles), end(pcm))
    assert np.array_equal(rest(listener), heard(opening, *audio, end(pcm)))
    assert listener.bad_packets == 0


def bundle(packets) -> bytes:
    """One packet of several frames, by RFC 6716 section 3.2.5: code 3, each frame with its length."""
    assert len({packet[0] for packet in packets}) == 1, "one mode in a packet"
    frames_alone = [packet[1:] for packet in packets]
    head = bytes([packets[0][0] | 3, 0x80 | len(packets)])
    return head + b"".join(opus_length(len(f)) for f in frames_alone[:-1]) + b"".join(frames_alone)


def opus_length(size: int) -> bytes:
    """RFC 6716 section 3.2.1."""
    return bytes([size]) if size < 252 else bytes([252 + size % 4, (size - 252 - size % 4) // 4])


def test_a_bad_packet_is_heard_as_silence_and_counted():
    pcm = speech(1.0)
    opening, *audio = track(pcm, rung="opus24", at_a_time=1)
    audio[10] = Audio(1, 1, audio[10].pts, (b"",))
    audio[20] = Audio(1, 1, audio[20].pts, (b"\xff" * 5,))
    listener = tell(player(48_000), opening, *audio, end(pcm))
    sound = rest(listener)
    assert len(sound) == convert_length(len(pcm), RATE, 48_000)
    assert listener.bad_packets == 2
    assert not sound[9 * 960 : 10 * 960].any()


def test_a_pcm_packet_of_the_wrong_size_shifts_nothing():
    pcm = speech(1.0)
    opening, *audio = track(pcm, at_a_time=1)
    audio[5] = Audio(1, 1, audio[5].pts, (audio[5].packets[0] + b"abcd",))
    audio[7] = Audio(1, 1, audio[7].pts, (audio[7].packets[0][:-3],))
    listener = tell(player(), opening, *audio, end(pcm))
    sound = rest(listener)
    assert listener.bad_packets == 2
    assert np.array_equal(sound[: 7 * FRAME], pcm[: 7 * FRAME])
    assert np.array_equal(sound[8 * FRAME :], pcm[8 * FRAME :])


def test_what_cannot_be_played_is_refused_and_the_rest_plays_on():
    pcm = speech(1.0)
    listener = player()
    good, *audio = track(pcm)
    for bad in (
        Track(1, 1, 0, "x", "mp3", 22_050, 1, 0),
        Track(1, 1, 0, "x", "pcm16", 22_051, 1, 0),
        Track(1, 1, 0, "x", "pcm16", 0, 1, 0),
        Track(1, 1, 0, "x", "pcm16", 22_050, 2, 0),
    ):
        with pytest.raises(PlayoutError) as refusal:
            listener.on_message(bad)
        assert refusal.value.fault == "bad_format"
    with pytest.raises(PlayoutError):
        listener.on_message(audio[0])
    tell(listener, good, audio[0])
    with pytest.raises(PlayoutError):
        listener.on_message(audio[2])
    tell(listener, *audio[1:], end(pcm), Mark(1, 0, 0, 5))
    assert np.array_equal(rest(listener), pcm)


def test_without_libopus_pcm_plays_and_opus_is_refused():
    pcm = speech(1.0)
    listener = tell(Player(None, RATE, start_ticks=0), *track(pcm), end(pcm))
    with pytest.raises(PlayoutError):
        listener.on_message(track(pcm, 2, "opus24", rank=1)[0])
    assert np.array_equal(rest(listener), pcm)


def test_the_output_rate_must_divide_into_frames():
    with pytest.raises(ValueError, match="20 ms"):
        Player(LIBRARY, 22_051)


def test_a_track_before_the_rate_is_known_is_refused():
    listener = Player(LIBRARY)
    with pytest.raises(PlayoutError):
        listener.on_message(track(speech(1.0))[0])
    tell(listener, STARTED)
    assert listener.out_rate == RATE


def test_a_cancelled_stream_ends_with_what_is_here():
    pcm = speech(1.0)
    opening, first, second, *_ = track(pcm)
    listener = tell(player(), opening, first, second)
    tell(listener, StreamEnd(1, len(pcm), RATE, 1, "pcm16", "cancelled"))
    assert np.array_equal(rest(listener), pcm[: 10 * FRAME])
    assert listener.finished


def test_reports_tell_what_is_held_and_heard():
    pcm = speech(1.0)
    listener = player()
    assert (listener.played, listener.buffer_ms, listener.highest) == (0, 0, ())
    opening, *audio = track(pcm, rung="opus24")
    tell(listener, opening, *audio[:3])
    assert listener.highest == ((1, 13 * FRAME_TICKS),)
    assert listener.wanted == ((1, 14 * FRAME_TICKS),)
    assert listener.buffer_ms == 280
    frames(listener, 4)
    assert (listener.played, listener.buffer_ms) == (4 * FRAME_TICKS, 200)


def test_the_tally_knows_every_rung_heard_and_each_change():
    pcm = speech(1.0)
    listener = tell(player(), *plan(pcm, ["opus24", "pcm22"], 20)[:-1])
    listener.on_message(switch(0, 10 * FRAME_TICKS, 0, "opus16"))
    listener.on_message(end(pcm))
    assert listener.rung_played is None
    rest(listener)
    assert listener.rung_played == "pcm22"
    assert listener.switches == 2
    assert listener.seconds_played == pytest.approx({"opus24": 0.2, "opus16": 0.18, "pcm22": 0.62})


def test_memory_is_bounded_over_two_hundred_splices():
    pcm = speech(4.2)
    rungs = ["opus24", "pcm22", "opus64", "pcm16k"] * 50
    listener = player()
    for message in plan(pcm, rungs, 1)[:-1]:
        listener.on_message(message)
        rest(listener)
        assert len(listener.wanted) <= 2
        assert listener.held_packets <= 6
    listener.on_message(end(pcm))
    rest(listener)
    assert listener.finished
