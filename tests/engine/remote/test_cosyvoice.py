"""CosyVoice's HTTP server: each kind of voice goes to the inference that makes it, with its fields."""

import asyncio
import contextlib
import io
import re
import wave

import numpy as np
import pytest

from abr_tts.engine.references import RATE as CLIP_RATE
from abr_tts.engine.references import References
from abr_tts.engine.spec import Limits
from abr_tts.errors import EngineError, EngineLost, UnknownVoice

from ..pools import Collector
from .fakes import COSYVOICE_S, HANG, Answer, Script, asking, http_server, speech

SOUND = speech(sum(COSYVOICE_S))
CLIP = np.random.default_rng(5).integers(-9_000, 9_000, 2 * CLIP_RATE, np.int16)
END = "<|endofprompt|>"
ASSISTANT = f"You are a helpful assistant.{END}"


@contextlib.asynccontextmanager
async def cosyvoice(script, **options):
    async with http_server(script) as url, asking(url, "cosyvoice-http", **options) as pool:
        yield pool


def ask(pool, voice=None, instruct=None, text="你好，世界。"):
    sink = Collector()
    sink.ticket = pool.say(text, pool.choose(voice, None, text), None, 1.0, sink, instruct=instruct)
    return sink


def folder(tmp_path):
    kept = References(tmp_path / "voices")
    kept.add("anna", CLIP, text="What I said.", consent=True)
    kept.add("bert", CLIP, consent=True)
    return kept


def clip(data):
    with wave.open(io.BytesIO(data)) as file:
        assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (CLIP_RATE, 1, 2)
        return np.frombuffer(file.readframes(file.getnframes()), np.int16)


@pytest.mark.parametrize(
    ("voice", "instruct", "generation", "wanted"),
    [
        ("中文女", None, 1, {"route": "inference_sft", "spk_id": "中文女"}),
        (
            "中文女",
            "sadly",
            1,
            {"route": "inference_instruct", "spk_id": "中文女", "instruct_text": f"sadly{END}"},
        ),
        ("anna", None, 2, {"route": "inference_zero_shot", "prompt_text": "What I said."}),
        ("anna", None, 3, {"route": "inference_zero_shot", "prompt_text": f"{ASSISTANT}What I said."}),
        ("bert", None, 2, {"route": "inference_cross_lingual"}),
        ("bert", None, 3, {"route": "inference_cross_lingual", "tts_text": f"{ASSISTANT}你好，世界。"}),
        ("anna", "sadly", 2, {"route": "inference_instruct2", "instruct_text": f"sadly{END}"}),
        (
            "bert",
            "sadly",
            3,
            {"route": "inference_instruct2", "instruct_text": f"You are a helpful assistant. sadly{END}"},
        ),
    ],
)
def test_what_is_asked_decides_the_inference(tmp_path, voice, instruct, generation, wanted):
    folder(tmp_path)

    async def main():
        script = Script(Answer.whole(SOUND))
        options = {"voices": ["中文女"], "voices_dir": str(tmp_path / "voices"), "generation": generation}
        async with cosyvoice(script, **options) as pool:
            np.testing.assert_array_equal(await ask(pool, voice, instruct).whole(), SOUND)
        asked = dict(script.asked[0])
        if voice != "中文女":
            np.testing.assert_array_equal(clip(asked.pop("prompt_wav")), CLIP)
        assert asked == {"tts_text": "你好，世界。", **wanted}

    asyncio.run(main())


def test_an_older_server_that_ends_the_prompt_itself_is_left_to_it():
    async def main():
        script = Script(Answer.whole(SOUND))
        async with cosyvoice(script, voices=["v"], generation=1, end_of_prompt=False) as pool:
            await ask(pool, "v", "sadly").whole()
        assert script.asked[0]["instruct_text"] == "sadly"

    asyncio.run(main())


@contextlib.asynccontextmanager
async def raw_server(*answers):
    """Answers with these bytes, one after the other, whatever is asked."""
    answers = list(answers)

    async def serve(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answers.pop(0))
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


HELLO = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"
STARLETTE = b"HTTP/1.1 200 OK\r\nserver: uvicorn\r\ntransfer-encoding: chunked\r\n\r\n"
"""The head of a StreamingResponse without a media type: no content type at all."""


def chunked(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


def test_a_body_without_a_content_type_is_pcm_at_the_rate_that_is_set():
    body = chunked(SOUND[:9_000].tobytes()) + chunked(SOUND[9_000:].tobytes()) + b"0\r\n\r\n"

    async def main():
        async with (
            raw_server(HELLO, STARLETTE + body) as url,
            asking(url, "cosyvoice-http", voices=["v"], sample_rate=22_050) as pool,
        ):
            assert pool.voices[0].sample_rate == 22_050 and pool.abilities.speed == (1.0, 1.0)
            np.testing.assert_array_equal(await ask(pool).whole(), SOUND)

    asyncio.run(main())


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (STARLETTE + chunked(bytes(4_800)), EngineLost, "broke off"),
        (STARLETTE + b"zz\r\n", EngineError, "broke off|no HTTP"),
        (b"SSH-2.0-OpenSSH_9.7\r\n", EngineError, "speaks no HTTP"),
        (b"HTTP/1.1 307 Moved\r\nlocation: http://elsewhere/\r\n\r\n", EngineError, "redirects"),
    ],
    ids=["no end", "bad chunk", "not HTTP", "redirect"],
)
def test_what_is_no_good_http_ends_in_a_sentence(answer, kind, words):
    async def main():
        async with (
            raw_server(HELLO, answer) as url,
            asking(url, "cosyvoice-http", voices=["v"], retries=0) as pool,
        ):
            error = await ask(pool).failure()
            assert isinstance(error, kind) and re.search(words, error.message)

    asyncio.run(main())


def test_a_voice_that_another_replica_has_stored_is_found_and_one_that_is_removed_is_told(tmp_path):
    kept = folder(tmp_path)

    async def main():
        script = Script(Answer.whole(SOUND))
        async with cosyvoice(script, voices_dir=str(kept.folder)) as pool:
            assert [voice.name for voice in pool.voices] == ["anna", "bert"]
            with pytest.raises(UnknownVoice):
                pool.choose("carl", None, "x")
            kept.add("carl", CLIP, consent=True)
            np.testing.assert_array_equal(await ask(pool, "carl").whole(), SOUND)
            voice = pool.choose("carl", None, "x")
            (kept.folder / "carl" / "audio.wav").unlink()
            sink = Collector()
            pool.say("x", voice, None, 1.0, sink)
            assert "'carl' was removed" in (await sink.failure()).message
            assert pool.stats.servers[0].failures == 0, "no fault of the server's"

    asyncio.run(main())


def test_a_server_that_knows_no_such_speaker_breaks_off_after_its_status_and_is_told():
    """Starlette has sent 200 when the generator raises its KeyError: the body ends without an end."""

    async def main():
        script = Script(Answer(then="reset"))
        async with cosyvoice(script, voices=["nobody"], retries=1) as pool:
            assert type(await ask(pool).failure()) is EngineLost
            assert len(script.asked) == 2, "nothing was heard yet, so it was tried again, once"

    asyncio.run(main())


def test_a_server_without_any_voice_does_not_start():
    async def main():
        with pytest.raises(EngineError, match="it has no voice: name one"):
            async with cosyvoice(Script(HANG), limits=Limits(load_s=1)):
                pass

    asyncio.run(main())
