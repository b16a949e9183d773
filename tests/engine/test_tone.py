"""The tone engine's plan: pure, in virtual time, and every sample known beforehand."""

import numpy as np
import pytest

from abr_tts.audio.pcm import ByteJoiner, to_int16
from abr_tts.engine import tone
from abr_tts.engine.base import Line
from abr_tts.engine.references import References
from abr_tts.errors import EngineError


def played(text, voice="tone", **options):
    """Everything that a plan hands out, as a worker would clean it; the times; how it stopped."""
    joiner, parts, times, stopped = ByteJoiner(), [np.zeros(0, np.int16)], [], None
    try:
        for due, chunk in tone.plan(text, voice, 1.0, tone.Options(**options)):
            times.append(due)
            if isinstance(chunk, bytes):
                chunk = joiner.push(chunk)
            parts.append(to_int16(chunk) if chunk.dtype.kind == "f" else chunk)
    except tone.Stops as stop:
        stopped = str(stop)
    assert joiner.rest == b"" and times == sorted(times)
    return np.concatenate(parts), times, stopped


@pytest.mark.parametrize("voice", tone.VOICES)
@pytest.mark.parametrize("chunks", [[1_440], [0, 1, 999], [100_000]])
def test_every_voice_hands_out_what_is_expected_of_it(voice, chunks):
    options = tone.Options(chunks=chunks)
    samples, _, stopped = played("abcdefg", voice, chunks=chunks)
    np.testing.assert_array_equal(samples, tone.expected("abcdefg", voice, options=options))
    assert len(samples) == tone.samples_of("abcdefg", voice)
    assert stopped == (voice if voice in tone.STOPPING else None)


def test_the_tone_is_the_sine_that_the_module_promises():
    index = np.arange(7 * 1_323)
    sine = 0.5 * np.sin(2 * np.pi * 1_000 * index / 22_050)
    heard = tone.expected("abcdefg", options=tone.Options(rate=22_050))
    assert np.abs(heard - 32_768 * sine).max() <= 0.51


def test_clauses_one_after_another_make_one_unbroken_tone():
    parts = [tone.expected("a" * size) for size in (1, 5, 2)]
    np.testing.assert_array_equal(np.concatenate(parts), tone.expected("a" * 8))


def test_twice_the_speed_is_half_the_length():
    assert len(tone.expected("abcd", speed=2.0)) * 2 == len(tone.expected("abcd"))


def test_the_length_of_a_text_can_be_heard():
    def pitch(text):
        return np.abs(np.fft.rfft(tone.expected(text, "tone-length"), 24_000)).argmax()

    assert [pitch("a" * size) for size in (3, 4, 10)] == [450, 500, 800]


def test_a_plan_has_the_pace_that_was_asked_for():
    _, times, _ = played("abcd", rtf=0.5, first_delay_s=2.0, chunks=[2_400])
    assert times == pytest.approx([2.05, 2.1, 2.12])
    _, times, _ = played("a" * 50, "tone-late", late_s=4.0, chunks=[12_000])
    assert times == [4.0, 5.0, 5.0, 6.0, 6.0, 7.0], "4 s of nothing, then a second of sound each second"


def test_ten_seconds_of_digital_silence_shift_nothing():
    heard = tone.expected("abcd", "tone-silence")
    plain = tone.expected("abcd")
    half = len(plain) // 2
    assert not heard[half : half + 240_000].any()
    np.testing.assert_array_equal(np.delete(heard, np.s_[half : half + 240_000]), plain)


@pytest.mark.parametrize("chunks", [[], [0], [0, 0], [-1, 5]])
def test_a_chunk_plan_that_gets_nowhere_is_refused(chunks):
    with pytest.raises(EngineError, match="never come to an end"):
        tone.Options(chunks=chunks)


@pytest.mark.parametrize(
    "options",
    [
        *({"rate": 0}, {"rate": 24_000.5}, {"rate": "fast"}, {"hz": -1}, {"amplitude": 1.1}),
        *({"rtf": -0.1}, {"rtf": float("nan")}, {"first_delay_s": float("inf")}, {"late_s": True}),
        *({"chunks": "abc"}, {"chunks": 5}, {"chunks": [1.5]}, {"converts": 1}, {"instructs": "yes"}),
    ],
)
def test_an_option_that_cannot_be_is_refused_by_its_name(options):
    (name,) = options
    with pytest.raises(EngineError, match=f"^tone: {name} must be "):
        tone.Tone().load(options)


def spoken(call, **options):
    """What an engine with these options hands out when `call` is made of it."""
    engine, parts = tone.Tone(), [np.zeros(0, np.int16)]
    engine.load(options)

    def take(chunk):
        parts.append(chunk)
        return True

    call(engine, take)
    return np.concatenate(parts)


def test_a_voice_made_of_a_clip_is_a_tone_of_its_strongest_frequency(tmp_path):
    index = np.arange(32_000)
    clip = to_int16(0.4 * np.sin(2 * np.pi * 703 * index / 16_000) + 0.1 * np.sin(index))
    References(tmp_path).add("anna", clip)
    heard = spoken(lambda engine, take: engine.say(Line("hello", "anna"), take), voices_dir=str(tmp_path))
    np.testing.assert_array_equal(heard, tone.expected("hello", options=tone.Options(hz=700)))
    with pytest.raises(EngineError, match="no voice 'bo'"):
        spoken(lambda engine, take: engine.say(Line("hello", "bo"), take), voices_dir=str(tmp_path))


@pytest.mark.parametrize("rate", [8_000, 16_000, 24_000])
def test_what_is_converted_comes_back_upside_down_and_as_long(rate):
    audio = np.arange(-1_600, 1_600, dtype=np.int16)
    heard = spoken(lambda engine, take: engine.convert(audio, "tone", 1.0, take), rate=rate, converts=True)
    assert len(heard) == 3_200 * rate // 16_000
    assert (heard[0], heard[-1]) == (1_599, -1_600 if rate >= 16_000 else -1_599)
    faster = spoken(lambda engine, take: engine.convert(audio, "tone", 2.0, take), rate=rate, converts=True)
    assert len(faster) == len(heard) // 2


def test_abilities_are_those_of_the_options(tmp_path):
    def abilities(**options):
        engine = tone.Tone()
        engine.load(options)
        found = engine.abilities
        return found.clones, found.converts, found.instructs

    assert abilities() == (False, False, False)
    assert abilities(voices_dir=str(tmp_path), converts=True, instructs=True) == (True, True, True)
