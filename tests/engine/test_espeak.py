"""espeak-ng itself: it speaks English and Mandarin and a hundred more, and loses no part of a text."""

import asyncio
from dataclasses import replace

import espeakng_loader
import numpy as np
import pytest

from abr_tts.audio.resample import lag_frames
from abr_tts.engine import languages
from abr_tts.engine.base import Line
from abr_tts.engine.espeak import Espeak
from abr_tts.errors import EngineError, MissingDependency
from abr_tts.units import frame_samples

from .pools import Collector, running, speak

RATE = 22_050
AUDIBLE = 300
"""RMS of int16 below which nobody hears a word; espeak-ng speaks at 2 000 to 5 000."""

WORDS = {
    "Latin": "hello", "Arabic": "مرحبا", "Armenian": "Բարեւ", "Bengali": "নমস্কার", "Bopomofo": "ㄋㄧˇ",
    "Cyrillic": "Привет", "Devanagari": "नमस्ते", "Ethiopic": "ሰላም", "Georgian": "გამარჯობა",
    "Greek": "Καλημέρα", "Gujarati": "નમસ્તે", "Gurmukhi": "ਸਤਿ", "Han": "你好", "Hangul": "안녕하세요",
    "Hebrew": "שלום", "Kana": "こんにちは", "Kannada": "ನಮಸ್ಕಾರ", "Malayalam": "നമസ്കാരം",
    "Myanmar": "မင်္ဂလာပါ", "Oriya": "ନମସ୍କାର", "Shavian": "𐑖𐑱𐑝", "Sinhala": "ආයුබෝවන්",
    "Tamil": "வணக்கம்", "Telugu": "నమస్కారం", "Thai": "สวัสดี",
}  # fmt: skip


@pytest.fixture(scope="module")
def engine():
    """The library lives once in a process, and here only these tests use it."""
    engine = Espeak()
    engine.load({})
    return engine


def render(engine, text, voice="en-us", speed=1.0):
    parts = []
    engine.say(Line(text, voice, speed=speed), lambda data: parts.append(data) or True)
    return np.frombuffer(b"".join(parts), "<i2")


def seconds(*arguments, **more):
    return len(render(*arguments, **more)) / RATE


def loudness(samples):
    return float(np.sqrt(np.mean(samples.astype(float) ** 2))) if len(samples) else 0.0


@pytest.mark.parametrize(
    ("voice", "text", "shortest", "longest"),
    [
        ("en-us", "Hello world, this is a test.", 1.5, 3.0),
        ("cmn", "你好，世界。今天天气很好。", 2.5, 6.0),
        ("en-us", "3.14", 0.8, 2.5),
        ("en-us", "¥1,299.00", 2.0, 5.0),
        ("en-us", "GPT-4o", 0.5, 2.0),
        ("cmn", "我用GPT-4o写代码", 1.5, 4.5),
    ],
)
def test_english_and_mandarin_sound_for_as_long_as_speech_does(engine, voice, text, shortest, longest):
    samples = render(engine, text, voice)
    assert shortest < len(samples) / RATE < longest
    assert loudness(samples) > AUDIBLE


def test_every_voice_that_is_offered_loads_and_speaks_digits(engine):
    assert len(engine.voices) > 100
    assert [voice.name for voice in engine.voices[:2]] == ["en-us", "cmn"]
    assert len({voice.name for voice in engine.voices}) == len(engine.voices)
    mute = [v.name for v in engine.voices if loudness(render(engine, "3.14", v.name)) < AUDIBLE]
    assert mute == []


@pytest.mark.parametrize("script", [script for script in languages.DEFAULTS if script])
def test_every_script_has_a_voice_that_reads_it_and_any_voice_calls_on_it(engine, script):
    voice = languages.DEFAULTS[script]
    assert voice in {v.name for v in engine.voices} and languages.reads(voice, script)
    own = render(engine, WORDS[script], voice)
    assert loudness(own) > AUDIBLE
    for other in ("en-us", "cmn"):
        if not languages.reads(other, script):
            assert len(render(engine, WORDS[script], other)) == pytest.approx(len(own), rel=0.1)


def test_voices_and_scripts_of_the_tables_exist(engine):
    names = {voice.name for voice in engine.voices}
    listed = {name for voices in languages.NATIVE.values() for name in voices}
    assert listed | languages.SPELLS_LATIN | set(languages.RATES) | set(languages.VARIANTS) <= names
    assert set(languages.NATIVE) | {"Latin", ""} == set(languages.DEFAULTS) == set(WORDS) | {""}


@pytest.mark.parametrize("voice", ["en-us", "cmn", "ru", "ja"])
def test_a_text_of_mixed_scripts_lasts_as_long_as_its_parts(engine, voice):
    parts = ["你好，", "world! ", "Приветствую"]
    whole = seconds(engine, "".join(parts), voice)
    assert whole == pytest.approx(sum(seconds(engine, part, voice) for part in parts), rel=0.1)


def test_clauses_spoken_one_by_one_last_as_long_as_the_text_at_once(engine):
    for voice, clauses in [("en-us", ["Hello there. ", "How are you?"]), ("cmn", ["你好。", "你好吗？"])]:
        whole = seconds(engine, "".join(clauses), voice)
        assert sum(seconds(engine, clause, voice) for clause in clauses) == pytest.approx(whole, abs=0.06)


@pytest.mark.parametrize(("text", "same"), [
    ("１２３", "123"), ("٣", "3"), ("①", "1"), ("Ｈｅｌｌｏ", "Hello"), ("𝐇𝐞𝐥𝐥𝐨", "Hello"),
    ("10％", "10%"), ("３．１４", "3.14"),
    ("Hel\ufffdlo", "Hello"), ("Hello\0 world", "Hello world"), ("Hello\ud83d", "Hello"),
])  # fmt: skip
def test_other_forms_of_a_character_sound_like_the_plain_one(engine, text, same):
    assert seconds(engine, text) == pytest.approx(seconds(engine, same), abs=0.03)


def test_speed_changes_the_length_and_stays_within_what_is_said_of_it(engine):
    text = "The quick brown fox jumps over the lazy dog near the bank."
    normal = seconds(engine, text)
    assert seconds(engine, text, speed=2.0) == pytest.approx(normal / 2, rel=0.2)
    assert seconds(engine, text, speed=0.75) == pytest.approx(normal / 0.75, rel=0.2)
    slowest, fastest = engine.abilities.speed
    for speed, limit in [(0.01, slowest), (100.0, fastest)]:
        assert seconds(engine, text, speed=speed) == pytest.approx(
            seconds(engine, text, speed=limit), rel=0.05
        )


def test_the_first_chunk_is_enough_to_code_a_streams_first_frame(engine):
    taken = []
    engine.say(Line("Hello world", "en-us"), lambda data: taken.append(data))
    assert len(taken[0]) / 2 >= (lag_frames(RATE, 24_000) + 1) * frame_samples(RATE)


def test_a_cancel_stops_within_a_chunk_and_the_engine_goes_on(engine):
    taken = []
    engine.say(Line("A long sentence about nothing, " * 50, "en-us"), lambda data: taken.append(data))
    assert len(taken) == 1, "append returns None: not wanted any more"
    assert len(taken[0]) / 2 / RATE < 0.1
    assert seconds(engine, "Hello") > 0.3


def test_what_a_listener_raises_comes_out_of_the_callback(engine):
    def broken(data):
        raise KeyError("from the callback")

    with pytest.raises(KeyError, match="from the callback"):
        engine.say(Line("Hello", "en-us"), broken)
    assert seconds(engine, "Hello") > 0.3


def test_a_library_or_data_that_is_not_there_is_a_missing_dependency(tmp_path):
    for options in [{"library": "/no/lib.so", "data": str(tmp_path)}, {"data": str(tmp_path)}]:
        with pytest.raises(MissingDependency, match=r"/no/lib\.so|pip install"):
            Espeak().load(options)


def test_data_under_a_path_longer_than_the_library_can_hold_is_found(tmp_path):
    deep = tmp_path / ("d" * 100) / ("e" * 100)
    deep.mkdir(parents=True)
    (deep / "espeak-ng-data").symlink_to(espeakng_loader.get_data_path())

    async def main():
        async with running("espeak", data=str(deep / "espeak-ng-data")) as pool:
            assert loudness(await speak(pool, "Hello world").whole()) > AUDIBLE
            assert loudness(await speak(pool, "Привет").whole()) > AUDIBLE, "a dictionary read later"

    asyncio.run(main())


def test_a_pool_chooses_voices_by_script_and_language_and_speaks_them():
    async def main():
        async with running("espeak") as pool:
            for text, name in [
                ("Hello", "en-us"),
                ("你好，world", "cmn"),
                ("Приветствую", "ru"),
                ("3.14", "en-us"),
            ]:
                assert pool.choose(None, None, text).name == name
            for language, name in [("zh", "cmn"), ("zh-CN", "cmn"), ("en", "en-us"), ("en-GB", "en-gb")]:
                assert pool.choose(None, language, "x").name == name
            assert pool.unspeakable("Hello 你好 བཀྲ", pool.voices[0]) == "Tibetan"
            assert loudness(await speak(pool, "你好，world! Приветствую").whole()) > AUDIBLE
            sink = Collector()
            pool.say("x", replace(pool.voices[0], name="nobody"), None, 1.0, sink)
            assert "nobody" in (await sink.failure()).message
            assert loudness(await speak(pool, "and on it goes").whole()) > AUDIBLE

    asyncio.run(main())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"voice": "en"}, "no option 'voice'; there are data, library"),
        ({"library": "libc.so.6"}, "is no libespeak"),
    ],
)
def test_an_option_that_it_does_not_have_and_a_library_of_others_are_refused(options, words):
    async def main():
        with pytest.raises((EngineError, MissingDependency), match=words):
            async with running("espeak", **options):
                pass

    asyncio.run(main())
