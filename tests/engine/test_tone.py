"""The tone engine's plan: pure, in virtual time, and every sample known beforehand."""

import numpy as np
import pytest

from abr_tts.audio.pcm import ByteJoiner, to_int16
from abr_tts.engine import tone
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
