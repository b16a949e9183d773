"""CosyVoice behind Triton: real gRPC to a servicer made of Triton's own stubs."""

import asyncio
import contextlib
import re

import numpy as np
import pytest
import trustme

pytest.importorskip("tritonclient.grpc", reason="pip install '.[triton]': no tritonclient here")

from abr_tts.audio.pcm import to_int16
from abr_tts.engine.references import RATE as CLIP_RATE
from abr_tts.engine.references import References
from abr_tts.engine.spec import Limits
from abr_tts.errors import EngineError, EngineLost, EngineTimeout

from ..pools import Collector
from .fakes import COSYVOICE_S, Answer, Script, asking
from .tritons import spoken, triton_server

FLOATS = (1.07 * np.sin(np.arange(round(sum(COSYVOICE_S) * 24_000)) / 7)).astype(np.float32)
"""Beyond full scale, as the joins of CosyVoice are."""
SOUND = to_int16(FLOATS)
WELL = spoken(FLOATS, COSYVOICE_S)
FIRST = round(COSYVOICE_S[0] * 24_000)


@contextlib.asynccontextmanager
async def triton(script, *, server=None, **options):
    async with triton_server(script, **(server or {})) as url, asking(url, "triton", **options) as pool:
        yield pool


def ask(pool, voice=None, text="你好，世界。", **more):
    sink = Collector()
    sink.ticket = pool.say(text, pool.choose(voice, None, text), None, 1.0, sink, **more)
    return sink


@pytest.mark.parametrize("decoupled", [True, False])
def test_every_sample_arrives_clipped_and_the_servers_own_voice_is_asked_for_by_the_text_alone(decoupled):
    async def main():
        script = Script(WELL)
        async with triton(script, server={"decoupled": decoupled}) as pool:
            assert [voice.name for voice in pool.voices] == ["default"]
            np.testing.assert_array_equal(await ask(pool).whole(), SOUND)
            await script.until(lambda: script.heard)
            assert script.asked == [{"target_text": "你好，世界。"}]

    asyncio.run(main())


@pytest.mark.parametrize(
    ("generation", "prefix"), [(2, ""), (3, "You are a helpful assistant.<|endofprompt|>")]
)
def test_a_clip_goes_along_with_its_length_and_transcript(tmp_path, generation, prefix):
    clip = np.random.default_rng(5).integers(-9_000, 9_000, 2 * CLIP_RATE, np.int16)
    References(tmp_path).add("anna", clip, text="What I said.", consent=True)

    async def main():
        script = Script(WELL)
        async with triton(script, voices_dir=str(tmp_path), generation=generation) as pool:
            assert [voice.name for voice in pool.voices] == ["default", "anna"]
            np.testing.assert_array_equal(await ask(pool, "anna").whole(), SOUND)
        asked = script.asked[0]
        np.testing.assert_array_equal(to_int16(asked.pop("reference_wav")), clip)
        assert asked.pop("reference_wav_len").tolist() == [clip.size]
        assert asked == {"target_text": "你好，世界。", "reference_text": f"{prefix}What I said."}

    asyncio.run(main())


def test_an_error_in_mid_stream_ends_the_request_and_is_not_repeated():
    async def main():
        script = Script(spoken(FLOATS[:FIRST], [1], then="error"), WELL)
        async with triton(script) as pool:
            sink = ask(pool)
            assert (await sink.failure()).message == "the engine's server failed: CUDA out of memory"
            np.testing.assert_array_equal(sink.samples, SOUND[:FIRST])
            assert len(script.asked) == 1

    asyncio.run(main())


@pytest.mark.parametrize(
    "first",
    [Answer(then="error"), Answer(then="unavailable"), Answer(then="early")],
    ids=lambda one: one.then,
)
def test_a_failure_before_the_first_sample_is_tried_again(first):
    async def main():
        script = Script(first, WELL)
        async with triton(script) as pool:
            np.testing.assert_array_equal(await ask(pool).whole(), SOUND)
            assert len(script.asked) == 2

    asyncio.run(main())


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (spoken(FLOATS[:FIRST], [1], then="abort"), EngineError, r"failed \(INTERNAL\): the backend died"),
        (spoken(FLOATS[:FIRST], [1], then="early"), EngineLost, "broke off"),
        (spoken(FLOATS[:FIRST], [1], then="hang"), EngineTimeout, "fell silent"),
        (Answer(then="hang"), EngineTimeout, "no sound"),
        (spoken(FLOATS[:FIRST], [1], datatype="INT16"), EngineError, "sent INT16, not FP32"),
        (Answer((FLOATS[:9].view(np.uint8)[:35],)), EngineError, "no FP32 samples"),
        (Answer(), EngineError, "sent no sound"),
    ],
)
def test_every_way_to_fail_ends_in_one_sentence(answer, kind, words):
    async def main():
        async with triton(Script(answer), limits=Limits(first_chunk_s=0.3, gap_s=0.3)) as pool:
            sink = ask(pool)
            error = await sink.failure()
            assert type(error) is kind and re.search(words, error.message)
            assert pool.stats.faults == 1

    asyncio.run(main())


def test_a_cancel_is_seen_by_the_server_within_a_chunk():
    async def main():
        script = Script(spoken(np.tile(FLOATS, 20), [1.0] * 150, pause_s=0.5))
        async with triton(script) as pool:
            sink = ask(pool)
            await sink.started.wait()
            heard = len(sink.chunks)
            sink.ticket.cancel()
            loop = asyncio.get_running_loop()
            begin = loop.time()
            await script.until(lambda: script.heard == ["cut"])
            assert loop.time() - begin < 0.5, "a chunk takes 0.5 s"
            assert len(sink.chunks) == heard and not sink.over.is_set()

    asyncio.run(main())


def test_forty_seconds_in_one_message_are_taken():
    long = np.tile(FLOATS, 6)

    async def main():
        async with triton(Script(Answer((long,)))) as pool:
            assert (await ask(pool).whole()).size == long.size > 4_000_000 / 4

    asyncio.run(main())


@pytest.mark.parametrize(
    ("options", "server", "words"),
    [
        ({"model": "cosyvoice9"}, {}, "NOT_FOUND.*unknown model"),
        ({"model": "unloaded"}, {"model": "unloaded"}, "has not loaded the model 'unloaded'"),
    ],
)
def test_a_model_that_is_not_there_is_told_at_the_start(options, server, words):
    async def main():
        with pytest.raises(EngineError, match=words):
            async with triton(Script(WELL), server=server, limits=Limits(load_s=0.5), **options):
                pass

    asyncio.run(main())


def test_a_server_that_is_not_there_is_told_at_the_start(unused_port):
    async def main():
        with pytest.raises(EngineError, match="cannot be reached"):
            async with asking(f"grpc://127.0.0.1:{unused_port}", "triton", limits=Limits(load_s=0.5)):
                pass

    asyncio.run(main())


def test_a_certificate_of_our_own_authority_is_taken(tmp_path):
    authority = trustme.CA()
    issued = authority.issue_cert("localhost")
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    tls = (issued.private_key_pem.bytes(), b"".join(pem.bytes() for pem in issued.cert_chain_pems))

    async def main():
        async with triton(Script(WELL), server={"tls": tls}, ca_file=str(tmp_path / "ca.pem")) as pool:
            np.testing.assert_array_equal(await ask(pool).whole(), SOUND)

    asyncio.run(main())
