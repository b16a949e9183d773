"""Voices that are copied from a prompt: the right function, with the right words before the text."""

import asyncio
import shutil
from pathlib import Path

import numpy as np
import pytest

from abr_tts.audio.pcm import encode_pcm16
from abr_tts.engine.base import Line
from abr_tts.engine.cosyvoice import prompts
from abr_tts.engine.references import References, read_wav
from abr_tts.errors import EngineError

from ..pools import Collector
from .checkout import make_clip, make_weights
from .engines import asked, loaded, pool_of, say, state

SYSTEM = "You are a helpful assistant."
MARK = "<|endofprompt|>"


def run(main):
    asyncio.run(main())


@pytest.fixture(params=["old", "new"])
def either(request, checkout, old_checkout):
    """Signatures with tensors, and with paths."""
    return old_checkout if request.param == "old" else checkout


def anna(clip, transcript=""):
    return {"anna": {"audio": clip, "transcript": transcript, "languages": ["en"]}}


def test_a_clip_with_a_transcript_is_a_zero_shot_voice_and_without_one_a_cross_lingual_one(
    either, weights, clip
):
    async def main():
        voices = {**anna(clip, "hello there"), "bert": {"audio": clip}}
        async with pool_of(either, weights[2], voices=voices) as pool:
            for _ in range(3):  # the old signatures spoil the table's entry at every call
                assert (await say(pool, "nnnn", "anna").whole()).size == 16 * 960
                assert await asked(pool) == "hello there|nnnn"
                assert (await say(pool, "mmmm", "bert").whole()).size == 16 * 960
                assert await asked(pool) == "None|mmmm"

    run(main)


def test_a_prompt_is_computed_once(either, weights, clip):
    async def main():
        async with pool_of(either, weights[2], voices=anna(clip, "hello there")) as pool:
            for _ in range(5):
                await say(pool, "nnnn", "anna").whole()
            assert (await state(pool))[2] == 1

    run(main)


def test_a_model_that_cannot_keep_prompts_gets_them_each_time(either, weights, clip, monkeypatch):
    monkeypatch.setattr("abr_tts.engine.cosyvoice.variant.REGISTER", "no_such_function")
    engine = loaded(either, weights[2], monkeypatch, voices=anna(clip, "hello there"))
    for number in (1, 2):
        engine.say(Line("nnnn", "anna"), lambda chunk: True)
        assert engine._variant.model.frontend.prompts == number


def test_where_prompts_are_not_kept_an_instruction_has_one_mark_too(either, weights, clip, monkeypatch):
    monkeypatch.setattr("abr_tts.engine.cosyvoice.variant.REGISTER", "no_such_function")
    engine = loaded(either, weights[2], monkeypatch, voices=anna(clip, "hello there"))
    engine.say(Line("nnnn", "anna", instruct="whisper"), lambda chunk: True)
    assert engine._variant.model.asked == f"whisper{MARK}|nnnn"


def test_cosyvoice_3_is_told_who_it_is_before_a_transcript_or_a_text(checkout, weights, clip):
    async def main():
        voices = {**anna(clip, "hello there"), "bert": {"audio": clip}}
        async with pool_of(checkout, weights[3], voices=voices) as pool:
            await say(pool, "nnnn", "anna").whole()
            assert await asked(pool) == f"{SYSTEM}{MARK}hello there|nnnn"
            await say(pool, "mmmm", "bert").whole()
            assert await asked(pool) == f"None|{SYSTEM}{MARK}mmmm"
            await say(pool, "nnnn", "anna", instruct="slowly").whole()
            assert await asked(pool) == f"{SYSTEM} slowly{MARK}|nnnn"

    run(main)


def test_an_instruction_ends_with_one_mark_whoever_adds_it(either, weights, clip):
    async def main():
        async with pool_of(either, weights[2], voices=anna(clip, "hello there")) as pool:
            for told in ("whisper", f"whisper{MARK}", "whisper"):
                await say(pool, "nnnn", "anna", instruct=told).whole()
                assert await asked(pool) == f"whisper{MARK}|nnnn"
            assert (await state(pool))[2] == 2, "the clip with its transcript, and with the instruction"
            await say(pool, "nnnn", "anna").whole()
            assert await asked(pool) == "hello there|nnnn"

    run(main)


def test_the_first_version_is_told_how_to_speak_by_its_own_voices(either, tmp_path, clip):
    async def main():
        folder = make_weights(tmp_path / "CosyVoice-300M-Instruct", 1)
        async with pool_of(either, folder, voices=anna(clip)) as pool:
            assert pool.abilities.instructs
            await say(pool, "nnnn", "英文男", instruct="gladly").whole()
            heard = await asked(pool)
            assert heard.startswith("gladly<") and heard.count("endofprompt") == 1
            refused = await say(pool, "nnnn", "anna", instruct="gladly").failure()
            assert "cannot be told how to speak" in refused.message and pool.stats.lost == 0

    run(main)


def test_a_voice_that_came_with_a_later_version_refuses_to_be_told(checkout, weights):
    async def main():
        async with pool_of(checkout, weights[2]) as pool:
            refused = await say(pool, "nnnn", "英文男", instruct="gladly").failure()
            assert "copied from a prompt" in refused.message and pool.stats.lost == 0

    run(main)


def test_a_voice_that_another_replica_stores_speaks_at_once_and_one_that_is_removed_no_more(
    either, weights, clip, tmp_path
):
    async def main():
        folder = References(tmp_path / "voices")
        async with pool_of(either, weights[2], voices_dir=str(folder.folder)) as pool:
            folder.add("Carla", read_wav(clip), text="guten tag", languages=["de"], consent=True)
            assert (await say(pool, "nnnn", "carla").whole()).size == 16 * 960
            assert await asked(pool) == "guten tag|nnnn"
            voice = pool.choose("carla", None, "n")
            folder.remove("carla")
            sink = Collector(pool.moved)
            pool.say("nnnn", voice, None, 1.0, sink)
            assert "no voice 'carla'" in (await sink.failure()).message
            folder.add("carla", read_wav(clip)[:20_000], text="anders")
            await say(pool, "nnnn", "carla").whole()
            assert await asked(pool) == "anders|nnnn", "another clip of the same name"

    run(main)


def test_the_voices_used_last_are_kept_and_no_more(checkout, weights, clip, monkeypatch):
    monkeypatch.setattr(prompts, "KEPT", 3)
    voices = {f"v{number}": {"audio": clip} for number in range(5)}
    engine = loaded(checkout, weights[2], monkeypatch, voices=voices)
    front = engine._variant.model.frontend
    assert front.prompts == 5 and len(engine._prompts._kept) == 3
    for name, computed in (("v4", 5), ("v0", 6), ("v0", 6), ("v4", 6), ("v3", 6), ("v2", 7)):
        engine.say(Line("nnnn", name), lambda chunk: True)
        assert front.prompts == computed, name
    assert len(engine._prompts._kept) == 3
    assert len(front.spk2info) == 2, "what a call was lent is gone with it"


@pytest.mark.parametrize("seconds, well", [(30.0, True), (30.1, False)])
def test_a_clip_of_thirty_seconds_is_the_longest(either, weights, tmp_path, monkeypatch, seconds, well):
    clip = make_clip(tmp_path / "long.wav", seconds)
    if well:
        assert loaded(either, weights[2], monkeypatch, voices=anna(clip)).voices
        return
    with pytest.raises(EngineError, match=r"'anna' cannot be used: .*30s"):
        loaded(either, weights[2], monkeypatch, voices=anna(clip))


def test_a_clip_that_is_not_there_or_not_of_the_right_form_is_named(
    checkout, old_checkout, weights, tmp_path, monkeypatch
):
    with pytest.raises(EngineError, match=r"'anna' cannot be used: there is no file"):
        loaded(checkout, weights[2], monkeypatch, voices=anna(str(tmp_path / "none.wav")))
    with pytest.raises(EngineError, match=r"'anna' cannot be used: .*not 16-bit mono at 16000"):
        fast = make_clip(tmp_path / "fast.wav", rate=44_100)
        loaded(old_checkout, weights[2], monkeypatch, voices=anna(fast))


@pytest.mark.parametrize("table, words", [({}, "needs its clip"), ({"audio": "a", "text": "b"}, "not text")])
def test_a_voice_of_the_settings_has_a_clip_and_nothing_unknown(checkout, weights, monkeypatch, table, words):
    with pytest.raises(EngineError, match=words):
        loaded(checkout, weights[2], monkeypatch, voices={"anna": table})


def test_the_default_voice_comes_first_and_must_exist(checkout, weights, clip, monkeypatch):
    engine = loaded(checkout, weights[2], monkeypatch, voices=anna(clip), default_voice="anna")
    assert [voice.name for voice in engine.voices] == ["anna", "中文女", "英文男"]
    assert engine.abilities.defaults == {"": "anna"}
    assert engine.voices[0].languages[:2] == ("en", "zh") and engine.voices[2].languages[0] == "en"
    with pytest.raises(EngineError, match="'nobody'"):
        loaded(checkout, weights[2], monkeypatch, default_voice="nobody")


def test_a_model_without_voices_speaks_with_the_sample_of_its_checkout(checkout, tmp_path, clip, monkeypatch):
    folder = make_weights(tmp_path / "voiceless")
    bare = loaded(checkout, folder, monkeypatch, warm_up="nnn")
    assert list(bare.voices) == [] and bare.sample_rate == 24_000
    mine = tmp_path / "checkout"
    shutil.copytree(checkout, mine)
    (mine / "asset").mkdir()
    shutil.copy(clip, mine / "asset" / "zero_shot_prompt.wav")
    assert [voice.name for voice in loaded(str(mine), folder, monkeypatch).voices] == ["sample"]


def test_speech_is_converted_to_a_voice_of_a_prompt_and_to_no_other(either, weights, clip):
    async def main():
        async with pool_of(either, weights[2], voices=anna(clip)) as pool:
            assert pool.abilities.converts and pool.abilities.clones
            source = read_wav(clip)
            for speed, pieces in ((1.0, 50 * 960), (2.0, 25 * 960)):
                sink = Collector(pool.moved)
                pool.convert(source, pool.choose("anna", None, "n"), speed, sink)
                assert (await sink.whole()).size == pieces
            sink = Collector(pool.moved)
            pool.convert(source, pool.choose("英文男", None, "n"), 1.0, sink)
            assert "not copied from a prompt" in (await sink.failure()).message
            assert (await state(pool))[:2] == (0, 0)

    run(main)


@pytest.mark.parametrize("damage", ["gone", "cut", "no sound at all"])
def test_a_clip_that_was_damaged_later_is_refused_and_costs_no_worker(either, weights, tmp_path, damage):
    folder = tmp_path / "voices"
    References(folder).add("anna", read_wav(make_clip(tmp_path / "a.wav")), text="hello there")
    audio = folder / "anna" / "audio.wav"

    async def main():
        async with pool_of(either, weights[2], voices_dir=str(folder)) as pool:
            voice = pool.choose("anna", None, "")
            if damage == "gone":
                audio.unlink()
            else:
                audio.write_bytes(audio.read_bytes()[:20] if damage == "cut" else b"no sound at all")
            for ask in (
                lambda sink: pool.convert(np.ones(16_000, np.int16), voice, 1.0, sink),
                lambda sink: pool.say("nnnn", voice, None, 1.0, sink),
            ):
                ask(sink := Collector(pool.moved))
                assert "anna" in (await sink.failure()).message
            assert pool.stats.lost == 0 and pool.ready == 1

    run(main)


def test_the_file_of_converted_speech_is_gone_afterwards(checkout, weights, clip, monkeypatch, tmp_path):
    engine = loaded(checkout, weights[2], monkeypatch, voices=anna(clip))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    heard = []
    engine.convert(read_wav(clip), "anna", 1.0, lambda chunk: heard.append(len(chunk)) or True)
    assert sum(heard) == 50 * 960 and not list(tmp_path.iterdir())


def test_a_tensor_is_float_and_mono_at_16_khz(old_checkout, weights, clip, monkeypatch):
    variant = loaded(old_checkout, weights[2], monkeypatch, voices=anna(clip))._variant
    tensor = variant.prompt(Path(clip))
    assert tensor.shape == (1, 32_000) and tensor.dtype == np.float32
    back = np.rint(tensor[0] * 32_768).astype(np.int16)
    assert encode_pcm16(back) == encode_pcm16(read_wav(clip))
