"""An OpenAI-compatible server is asked as its form says, and every sample of its answer arrives once."""

import asyncio
import ssl

import numpy as np
import pytest
import trustme

from abr_tts.engine.spec import Limits
from abr_tts.errors import Busy, EngineError, EngineLost, EngineTimeout, Unsupported

from ...server.harness import soon
from ..pools import Collector
from .asked import IMPATIENT, ask, served
from .fakes import COSYVOICE_S, HANG, RATE, RESET, Answer, Script, asking, http_server, speech, wav

SOUND = speech(sum(COSYVOICE_S))


# ---------------------------------------------------------------- what is asked, and what arrives


def test_cosyvoice_chunks_arrive_sample_for_sample_and_the_form_is_openais():
    async def test(pool, script):
        np.testing.assert_array_equal(await ask(pool, voice="shimmer").whole(), SOUND)
        assert script.asked == [
            {"model": "kokoro", "input": "Good evening.", "voice": "shimmer"}
            | {"response_format": "pcm", "speed": 1.0, "lang_code": "a"}
        ]
        assert [voice.sample_rate for voice in pool.voices] == [RATE, RATE]
        assert pool.stats.done == 1 and pool.stats.samples == SOUND.size

    served(test, Answer.whole(SOUND), model="kokoro", extra={"lang_code": "a"})


@pytest.mark.parametrize("cut", [1, 3, 4_095])
def test_chunks_cut_in_the_middle_of_a_sample_are_joined(cut):
    data = SOUND[:24_000].tobytes()
    pieces = [data[:cut], *(data[at : at + 4_097] for at in range(cut, len(data), 4_097))]

    async def test(pool, script):
        np.testing.assert_array_equal(await ask(pool).whole(), SOUND[:24_000])

    served(test, Answer(tuple(pieces)))


@pytest.mark.parametrize(
    "header", [{}, {"size": 0}, {"size": 0xFFFF_FFFF}, {"tags": b"LIST\x05\0\0\0abcde\0"}]
)
def test_a_wav_header_in_the_body_is_never_heard(header):
    async def test(pool, script):
        np.testing.assert_array_equal(await ask(pool).whole(), SOUND[:9_000])

    whole = wav(SOUND[:9_000], **header)
    served(test, Answer((whole[:5], whole[5:30], whole[30:])))


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Answer((wav(SOUND, 16_000),)), "sends 16000 Hz, but engine.options.sample_rate is 24000"),
        (Answer((wav(SOUND, channels=2),)), "2 channels"),
        (Answer((b"OggS" + bytes(99),)), "sent Ogg, not PCM"),
        (Answer((b"ID3" + bytes(99),)), "sent MP3, not PCM"),
        (Answer((SOUND,), headers={"Content-Type": "audio/mpeg"}), "sent audio/mpeg, not PCM"),
        (Answer((b"{}",), headers={"Content-Type": "application/json"}), "sent application/json, not PCM"),
        (Answer((SOUND,), headers={"Content-Type": "audio/L16;rate=16000"}), "sends 16000 Hz"),
        (Answer((b"<html>",), headers={"Content-Type": "text/html"}), "sent text/html, not PCM"),
        (Answer(), "sent no sound"),
    ],
)
def test_what_is_no_pcm_is_refused_in_a_sentence_and_never_played(answer, words):
    async def test(pool, script):
        sink = ask(pool)
        assert words in (await sink.failure()).message
        assert not sink.chunks and len(script.asked) == 1, "trying again would bring the same"

    served(test, answer)


def test_instructions_go_along_where_the_operator_says_that_they_are_followed():
    async def test(pool, script):
        await ask(pool, instruct="whisper").whole()
        assert script.asked[0]["instructions"] == "whisper"

    served(test, Answer.whole(SOUND), instructs=True)


def test_instructions_and_conversion_are_refused_where_they_would_be_ignored():
    async def test(pool, script):
        with pytest.raises(Unsupported):
            ask(pool, instruct="whisper")
        with pytest.raises(Unsupported):
            pool.convert(SOUND[:16_000], pool.voices[0], 1.0, Collector())
        assert not script.asked

    served(test, Answer.whole(SOUND))


# ---------------------------------------------------------------- keys and certificates


def test_the_key_is_read_from_a_file_and_a_wrong_one_is_told_without_showing_it(tmp_path):
    right, wrong = tmp_path / "right", tmp_path / "wrong"
    right.write_text("sk-correct-horse\n")
    wrong.write_text("sk-battery-staple")

    async def main():
        script = Script(Answer.whole(SOUND))
        async with http_server(script, key="sk-correct-horse") as url:
            async with asking(url, api_key_file=str(right)) as pool:
                assert (await ask(pool).whole()).size
            async with asking(url, api_key_file=str(wrong)) as pool:
                message = (await ask(pool).failure()).message
        assert "refused our key (HTTP 401): Incorrect API key provided" in message
        assert "horse" not in message and "staple" not in message and "127.0.0.1" not in message

    asyncio.run(main())


def test_the_key_may_stand_in_the_environment(monkeypatch):
    monkeypatch.setenv("SPEECH_KEY", "sk-correct-horse")

    async def test(pool, script):
        assert (await ask(pool).whole()).size
        assert "horse" not in repr(pool._options)

    served(test, Answer.whole(SOUND), http={"key": "sk-correct-horse"}, api_key_env="SPEECH_KEY")


def test_a_certificate_of_our_own_authority_is_taken_and_any_other_refused(tmp_path):
    authority, stranger = trustme.CA(), trustme.CA()
    ours, theirs = tmp_path / "ours.pem", tmp_path / "theirs.pem"
    authority.cert_pem.write_to_path(str(ours))
    stranger.cert_pem.write_to_path(str(theirs))
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("localhost").configure_cert(tls)

    async def main():
        async with http_server(Script(Answer.whole(SOUND)), tls=tls) as url:
            async with asking(url, ca_file=str(ours)) as pool:
                np.testing.assert_array_equal(await ask(pool).whole(), SOUND)
            with pytest.raises(EngineError, match="not trusted"):
                async with asking(url, ca_file=str(theirs), limits=IMPATIENT):
                    pass

    asyncio.run(main())


# ---------------------------------------------------------------- failures


@pytest.mark.parametrize("first", [RESET, Answer(status=500), Answer(status=503), Answer(then="reset")])
def test_a_try_that_fails_before_its_first_sample_is_made_again(first):
    async def test(pool, script):
        np.testing.assert_array_equal(await ask(pool).whole(), SOUND)
        assert len(script.asked) == 2 and pool.stats.faults == 0

    served(test, first, Answer.whole(SOUND))


def test_tries_are_bounded():
    async def test(pool, script):
        assert "HTTP 500: out of memory" in (await ask(pool).failure()).message
        assert len(script.asked) == 3

    body = b'{"detail": "out of memory"}'
    served(test, Answer((body,), status=500, headers={"Content-Type": "application/json"}), retries=2)


def test_a_stream_that_breaks_off_is_never_begun_again():
    async def test(pool, script):
        sink = ask(pool)
        assert type(await sink.failure()) is EngineLost
        np.testing.assert_array_equal(sink.samples, SOUND[: sink.samples.size])
        assert sink.samples.size == SOUND[:43_200].size and len(script.asked) == 1

    served(test, Answer((SOUND[:43_200],), 0.01, then="reset"))


@pytest.mark.parametrize("status", [400, 404, 413, 422])
def test_a_request_that_the_server_does_not_want_is_not_repeated_and_leaves_it_in_service(status):
    async def test(pool, script):
        for _ in range(3):
            message = (await ask(pool).failure()).message
            assert f"HTTP {status}: body.input: too long" in message
        assert len(script.asked) == 3 and pool.ready == 4

    body = b'{"detail": [{"loc": ["body", "input"], "msg": "too long", "type": "x"}]}'
    answer = Answer((body,), status=status, headers={"Content-Type": "application/json"})
    served(test, answer, breaker_failures=2)


@pytest.mark.parametrize(
    ("answer", "heard", "words"),
    [
        (HANG, 0, "no sound within its time limit"),
        (Answer(then="hang"), 0, "no sound within its time limit"),
        (Answer((SOUND[:24_000],), then="hang"), 24_000, "fell silent in the middle"),
        (Answer((b"\1",) * 1_000, 0.02), 0, "no sound"),
        (Answer((SOUND[:24_000], *(b"\1",) * 1_000), 0.02), 24_000, "fell silent"),
    ],
    ids=["no status", "no sound", "hangs in the middle", "slow loris", "slow loris in the middle"],
)
def test_a_server_that_hangs_or_dribbles_ends_in_a_time_out(answer, heard, words):
    async def test(pool, script):
        sink = ask(pool)
        error = await sink.failure()
        assert type(error) is EngineTimeout and words in error.message
        assert heard <= sink.samples.size < heard + 480
        await script.until(lambda: script.heard == ["cut"])
        assert len(script.asked) == 1 and pool.stats.busy == 0

    served(test, answer, limits=IMPATIENT)


def test_speech_that_takes_longer_than_any_limit_is_whole_if_its_chunks_come_in_time():
    async def test(pool, script):
        np.testing.assert_array_equal(await ask(pool).whole(), SOUND[:48_000])

    chunks = tuple(np.split(SOUND[:48_000], 10))
    served(test, Answer(chunks, 0.25), limits=Limits(first_chunk_s=2.0, gap_s=2.0))


def test_a_server_that_speaks_without_end_is_cut_off():
    async def test(pool, script):
        sink = ask(pool)
        assert "went on for 2 s" in (await sink.failure()).message
        assert sink.samples.size <= 2 * RATE

    served(test, Answer((SOUND[:12_000],) * 400, 0.001), longest_s=2)


def test_the_longest_speech_itself_is_allowed():
    async def test(pool, script):
        assert (await ask(pool).whole()).size == 2 * RATE

    served(test, Answer((SOUND[:24_000],) * 2), longest_s=2)


def test_a_full_server_is_given_the_time_it_asks_for():
    async def test(pool, script):
        loop = asyncio.get_running_loop()
        begin = loop.time()
        np.testing.assert_array_equal(await ask(pool).whole(), SOUND)
        assert loop.time() - begin >= 1.0 and len(script.asked) == 2
        assert pool.stats.servers[0].failures == 0, "being full is no fault"

    served(test, Answer(status=429, headers={"Retry-After": "1"}), Answer.whole(SOUND))


def test_a_rest_that_outlasts_the_request_is_told_as_such_and_not_waited_for():
    async def test(pool, script):
        loop = asyncio.get_running_loop()
        begin = loop.time()
        error = await ask(pool).failure()
        assert "HTTP 429" in error.message and error.retry_after == 20
        assert loop.time() - begin < 10.0 and len(script.asked) == 1

    full = Answer(status=429, headers={"Retry-After": "20"})
    served(test, full, full, limits=Limits(first_chunk_s=10.0))


def test_a_longer_rest_than_listeners_wait_for_is_told_with_the_time_to_come_back():
    async def test(pool, script):
        error = await ask(pool).failure()
        assert "HTTP 429" in error.message and error.retry_after == 60
        with pytest.raises(Busy) as refused:
            ask(pool)
        assert 55 < refused.value.retry_after <= 60 and len(script.asked) == 1
        assert pool.ready == 0 and "left alone" in pool.progress.sentence

    served(test, Answer(status=429, headers={"Retry-After": "60"}))


# ---------------------------------------------------------------- cancel, order, places


def test_a_cancel_is_silent_at_once_and_the_server_sees_it_within_a_chunk():
    async def test(pool, script):
        async def seen_s() -> float:
            sink, before = ask(pool), len(script.heard)
            await sink.started.wait()
            heard = len(sink.chunks)
            sink.ticket.cancel()
            loop = asyncio.get_running_loop()
            begin = loop.time()
            await script.until(lambda: script.heard[before:] == ["cut"])
            took_s = loop.time() - begin
            assert len(sink.chunks) == heard and not sink.over.is_set()
            assert pool.stats.cancelled == before + 1 and pool.stats.busy == 0
            return took_s

        await soon(seen_s, 0.5)  # which a chunk takes

    served(test, Answer((SOUND[:48_000],) * 50, 0.5))


@pytest.mark.parametrize("turns", range(6))
def test_a_cancel_at_any_moment_gives_the_place_back(turns):
    async def test(pool, script):
        sink = ask(pool)
        for _ in range(turns):
            await asyncio.sleep(0)
        sink.ticket.cancel()
        np.testing.assert_array_equal(await ask(pool).whole(), SOUND)
        assert pool.stats.busy == 0 and not sink.over.is_set()

    served(test, Answer.whole(SOUND), parallel=1)


def test_no_more_requests_run_at_once_than_the_server_may_have_and_first_clauses_overtake():
    async def test(pool, script):
        sinks = [ask(pool, text, first=text.isupper()) for text in "abCdE"]
        assert pool.waiting == 4
        for sink in sinks:
            await sink.whole()
        assert "".join(one["input"] for one in script.asked) == "aCEbd" and script.most == 1

    served(test, Answer.whole(SOUND[:24_000]), parallel=1)


def test_one_request_too_many_is_refused_as_busy():
    async def test(pool, script):
        sinks = [ask(pool) for _ in range(3)]
        with pytest.raises(Busy):
            ask(pool)
        for sink in sinks:
            sink.ticket.cancel()
        await script.until(lambda: script.busy == 0)

    served(test, HANG, parallel=1, limits=Limits(queue=2))


def test_fifty_streams_at_once_never_hear_each_other():
    async def test(pool, script):
        sinks = [ask(pool, str(number)) for number in range(50)]
        await script.until(lambda: script.busy == 16)
        gate.set()
        for sink in sinks:
            samples = await sink.whole()
            assert samples.size == 24_000 and (samples == samples[0]).all()
        assert len({int(sink.samples[0]) for sink in sinks}) == 50 and script.most == 16

    gate = asyncio.Event()
    answers = [Answer((np.full(12_000, n, np.int16),) * 2, 0.005, gate) for n in range(50)]
    served(test, *answers, parallel=16)


def test_stop_faults_what_is_under_way():
    async def test(pool, script):
        sinks = [ask(pool) for _ in range(3)]
        await script.until(lambda: script.busy == 1)
        await pool.stop()
        for sink in [*sinks, ask(pool)]:
            assert type(await sink.failure()) is EngineLost

    served(test, HANG, parallel=1)
