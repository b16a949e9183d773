"""A live listener, with shipped packets: bridges, positions, what is dropped, what stays as it was."""

import numpy as np
import pytest

from abr_tts.audio.opus import Decoder
from abr_tts.stream.live import Live
from abr_tts.stream.live_player import LivePlayer
from abr_tts.stream.player import Player
from abr_tts.stream.playout import START_TICKS
from abr_tts.units import FRAME_TICKS

from ..signals import tone
from .speaking import FRAME, LIBRARY, RATE, STARTED, end, speech, tell, track

NOTHING = Live(slow_below_ms=0, conceal_ms=0, late_ms=None)


def live(settings: Live, out_rate=None) -> LivePlayer:
    player = LivePlayer(settings, LIBRARY, out_rate, start_ticks=START_TICKS)
    player.on_message(STARTED)
    return player


def calls(listener: Player, count: int) -> list[np.ndarray | None]:
    return [listener.render() for _ in range(count)]


def sound_of(frames) -> np.ndarray:
    size = max(len(frame) for frame in frames if frame is not None)
    return np.concatenate([np.zeros(size, np.int16) if frame is None else frame for frame in frames])


def high_energy(sound: np.ndarray, at: int, rate: int) -> float:
    """Energy above 12.6 kHz within 20 ms of sample `at`."""
    piece = sound[at - rate // 50 : at + rate // 50].astype(float)
    spectrum = np.abs(np.fft.rfft(piece * np.hanning(len(piece)))) ** 2
    return float(spectrum[np.fft.rfftfreq(len(piece), 1 / rate) > 12_600].sum())


@pytest.mark.parametrize("rung", ["pcm22", "opus24"])
@pytest.mark.parametrize("settings", [NOTHING, Live()])
def test_where_sound_comes_in_time_live_mode_changes_no_sample(rung, settings):
    pcm = speech()
    messages = [*track(pcm, rung=rung), end(pcm)]
    plain = tell(Player(LIBRARY, start_ticks=START_TICKS), STARTED, *messages)
    listener = tell(live(settings), *messages)
    for _ in range(150):
        expected, got = plain.render(), listener.render()
        assert (expected is None) == (got is None)
        assert got is None or np.array_equal(got, expected)
        assert (listener.played, listener.buffer_ms) == (plain.played, plain.buffer_ms)
    assert listener.finished and listener.lateness.loss == 0.0


@pytest.mark.parametrize("rung", ["pcm22", "opus24"])
def test_with_everything_off_a_stall_sounds_as_ever(rung):
    pcm = speech()
    opening, *audio = track(pcm, rung=rung)
    plain = tell(Player(LIBRARY, start_ticks=START_TICKS), STARTED, opening, *audio[:4])
    listener = tell(live(NOTHING), opening, *audio[:4])
    for late in (audio[4:], [end(pcm)]):
        assert np.array_equal(sound_of(calls(listener, 40)), sound_of(calls(plain, 40)))
        tell(plain, *late)
        tell(listener, *late)


@pytest.mark.parametrize("out_rate", [RATE, 24_000, 48_000])
@pytest.mark.parametrize("gap, least", [(0, 0.8), (1, 0.5), (2, 0.25)])  # libopus fades what it makes up
def test_a_bridge_has_no_click_and_loses_nothing(gap, least, out_rate):
    pcm = tone(RATE, 1.0, 440.0, 0.3)
    opening, *audio = track(pcm, rung="opus24")
    listener = tell(live(Live(slow_below_ms=0), out_rate), opening, *audio[:4])
    frames = calls(listener, 19 + gap)
    tell(listener, *audio[4:], end(pcm))
    frames += calls(listener, 40)
    sound, size = sound_of(frames), out_rate // 50
    assert listener.finished and listener.stalls == 0
    assert listener.lateness.concealed_ms == 20 * gap
    assert len(sound) - 40 * size < len(pcm) * out_rate // RATE + gap * size <= len(sound)
    level = np.sqrt(
        [np.mean(sound[at : at + size].astype(float) ** 2) for at in range(5 * size, 40 * size, size // 2)]
    )
    assert level.min() > least * np.median(level)
    if out_rate == 48_000:
        usual = max(high_energy(sound, at * size, out_rate) for at in range(5, 15))
        around = [high_energy(sound, at * size, out_rate) for at in range(16, 24)]
        assert 10 * np.log10(max(around) / usual) < 3.0


def test_sixty_ms_are_made_up_and_then_there_is_silence():
    pcm = tone(RATE, 1.0, 440.0, 0.3)
    opening, *audio = track(pcm, rung="opus24")
    listener = tell(live(Live(slow_below_ms=0), 48_000), opening, *audio[:4])
    frames = calls(listener, 30)
    heard = [frame is not None and bool(frame.any()) for frame in frames]
    assert heard == [True] * 22 + [False] * 8  # 19 held, 3 made up
    assert abs(int(frames[21][-1])) <= 2
    assert (listener.lateness.concealed_ms, listener.stalls, listener.stall_ms) == (60, 1, 160)
    assert listener.lateness.loss == pytest.approx(0.03)


def test_what_comes_late_is_decoded_as_if_nothing_had_been_made_up():
    pcm = speech()
    opening, *audio = track(pcm, rung="opus24")
    plain = sound_of(calls(tell(Player(LIBRARY), STARTED, opening, *audio, end(pcm)), 100))
    listener = tell(live(Live(slow_below_ms=0)), opening, *audio[:4])
    calls(listener, 22)
    silent = calls(listener, 3)
    tell(listener, *audio[4:], end(pcm))
    after = sound_of(calls(listener, 80))
    assert silent == [None] * 3
    late = 19 * FRAME
    assert np.array_equal(after[FRAME : 20 * FRAME], plain[late + FRAME : late + 20 * FRAME])


def test_a_copy_of_a_decoder_goes_its_own_way():
    pcm = speech()
    _, *audio = track(pcm, rung="opus24")
    packets = [packet for message in audio for packet in message.packets]
    one, other = Decoder(LIBRARY), Decoder(LIBRARY)
    for packet in packets[:20]:
        one.decode(packet)
        other.decode(packet)
    twin = one.copy()
    assert twin.conceal(3).any()
    twin.close()
    for packet in packets[20:40]:
        assert np.array_equal(one.decode(packet), other.decode(packet))


def test_speech_is_slower_while_little_is_held_and_positions_stay_those_of_speech():
    pcm = speech(4.0)
    opening, *audio = track(pcm, at_a_time=1)
    listener = tell(live(Live(slow_below_ms=400, conceal_ms=0, late_ms=None)), opening, *audio[:15])
    given, held = [], audio[15:]
    for _ in range(150):  # one packet a call: never more than 300 ms
        given.append(listener.render())
        before = listener.played
        tell(listener, held.pop(0))
        assert listener.played == before
    sound = sound_of(given)
    speech_s, sound_s = listener.played / 48_000, len(sound) / RATE
    assert listener.stalls == 0
    assert sound_s - speech_s == pytest.approx(listener.lateness.slowed_ms / 1000, abs=0.02)
    assert 0.05 < listener.lateness.slowed_ms / 1000 < 0.35
    tail = pcm[: round(listener.played * RATE / 48_000)][-100:]
    assert np.array_equal(sound[-100:], tail)  # the last sample heard is the one that `played` tells
    assert listener.buffer_ms == pytest.approx((15 + 150) * 20 - speech_s * 1000, abs=21)
    place = listener.media_at(len(sound) * 48_000 // RATE)
    assert place == pytest.approx(listener.played, abs=FRAME_TICKS)


def test_speech_is_not_slower_when_all_of_it_is_held():
    pcm = speech()
    listener = tell(live(Live(slow_below_ms=10_000)), *track(pcm), end(pcm))
    assert np.array_equal(sound_of(calls(listener, 100)), pcm)
    assert listener.lateness.slowed_ms == 0


def test_what_is_too_late_is_dropped_and_the_place_is_known():
    pcm = speech(4.0)
    opening, *audio = track(pcm)
    settings = Live(slow_below_ms=0, conceal_ms=0, late_ms=200)
    listener = tell(live(settings), opening, *audio[:4])
    before = calls(listener, 20 + 50)  # a second of silence
    tell(listener, *audio[4:], end(pcm))
    after = listener.render()
    assert listener.lateness.expired_ms == 800
    assert listener.played == (20 + 40 + 1) * FRAME_TICKS
    whole = pcm[60 * FRAME : 61 * FRAME]
    assert np.array_equal(after[110:], whole[110:])
    assert listener.stalls == 1 and listener.lateness.loss == pytest.approx(0.4)
    handed_out = sum(frame is not None for frame in (*before, after))
    assert listener.media_at(handed_out * FRAME_TICKS) == listener.played
    assert listener.media_at(10 * FRAME_TICKS) == 10 * FRAME_TICKS


def test_the_end_is_given_to_its_last_sample_however_slow():
    pcm = speech()[: 50 * FRAME + 123]
    opening, *audio = track(pcm, at_a_time=1)
    listener = tell(live(Live(slow_below_ms=1_000, conceal_ms=0, late_ms=None)), opening, *audio[:15])
    given, held = [], audio[15:]
    while not listener.finished:
        given.append(listener.render())
        tell(listener, held.pop(0) if held else end(pcm))
    sound = sound_of(given)
    assert listener.lateness.slowed_ms > 0
    assert np.array_equal(sound[-200:], pcm[-200:])
    assert (
        listener.played == -(-len(pcm) * 48_000 // RATE)
        or abs(listener.played - len(pcm) * 48_000 / RATE) < 1
    )
