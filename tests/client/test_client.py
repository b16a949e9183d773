"""The client against a real server: real sockets, real engine processes, real codecs."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import numpy as np
import pytest

from abr_tts import errors
from abr_tts.client import Client
from abr_tts.engine.text import Clauser
from abr_tts.engine.tone import Options, expected
from abr_tts.server.app import Server
from abr_tts.server.config import EngineSettings
from abr_tts.units import convert_length
from abr_tts.wire import messages as m

from ..server.harness import WAIT_S, eventually, serving, serving_in_a_thread

RATE = 22_050
TEXT = "A tone of known length, that has no other meaning."
OPTIONS = Options(rate=RATE)


def spoken(text: str, voice: str = "tone", clause_chars: int = EngineSettings.clause_chars) -> np.ndarray:
    """The samples that the tone engine gives for `text`, clause by clause."""
    clauser = Clauser(clause_chars, min(clause_chars, EngineSettings.first_clause_chars))
    clauses = [*clauser.feed(text), *clauser.end()]
    return np.concatenate([expected(clause.text, voice, options=OPTIONS) for clause in clauses])


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving_in_a_thread(engine__workers=2) as server:
        yield server


def quiet(server: Server) -> bool:
    """Whether nothing is left of any stream: no utterance held, no engine at work."""
    sessions = server._front.sessions
    return not any(session._utterances for session in sessions) and server.pool.stats.busy == 0


# ---------------------------------------------------------------- what is heard


async def test_pcm_at_the_engines_rate_is_the_engines_samples_bit_for_bit(server):
    async with Client(server.url) as client:
        speech = client.speak(TEXT, rung="pcm22")
        frames = [frame async for frame in speech]
    assert all(frame.dtype == np.int16 for frame in frames)
    assert {len(frame) for frame in frames[:-1]} == {RATE // 50}
    assert np.array_equal(np.concatenate(frames), spoken(TEXT))


@pytest.mark.parametrize("rung", ["pcm24", "pcm16k", "ulaw22", "opus64", "opus48", "opus24", "opus8"])
async def test_every_rung_gives_the_whole_tone_and_no_sample_more(server, rung):
    async with Client(server.url) as client:
        speech = client.speak(TEXT, rung=rung)
        heard = await speech.read()
    wanted = spoken(TEXT).astype(float)
    assert len(heard) == len(wanted)
    inner = slice(RATE // 10, -RATE // 10)
    assert np.corrcoef(heard[inner], wanted[inner])[0, 1] > 0.97
    assert list(speech.stats.rungs) == [rung]


@pytest.mark.parametrize("out_rate", [8_000, 16_000, 44_100, 48_000])
async def test_at_another_rate_the_length_is_right_to_the_sample(server, out_rate):
    async with Client(server.url) as client:
        speech = client.speak("abc", out_rate=out_rate)
        heard = await speech.read()
    assert len(heard) == convert_length(len(spoken("abc")), RATE, out_rate)
    assert speech.sample_rate == out_rate


async def test_real_speech_in_english_and_mandarin_is_heard():
    async with serving(engine__kind="espeak", engine__options={}) as server, Client(server.url) as client:
        english, mandarin = client.speak("Hello world."), client.speak("你好，世界。")
        for speech, voice in ((english, "en-us"), (mandarin, "cmn")):
            heard = await speech.read()
            assert speech.stats.voice == voice
            assert 0.4 < len(heard) / speech.sample_rate < 4
            assert np.abs(heard.astype(float)).max() > 3000


async def test_figures_are_those_of_the_speech(server):
    async with Client(server.url) as client:
        speech = client.speak(TEXT, rung="pcm22")
        heard = await speech.read()
    stats = speech.stats
    assert stats.complete and stats.voice == "tone" and stats.sample_rate == RATE
    assert stats.seconds == pytest.approx(len(heard) / RATE)
    assert sum(stats.rungs.values()) == pytest.approx(stats.seconds, abs=1e-3)
    assert 0 < stats.first_audio_ms <= stats.first_sound_ms < 2000
    assert 2 * len(heard) < stats.bytes < 2.1 * len(heard)
    assert (stats.stalls, stats.stall_ms, stats.switches) == (0, 0, 0)
    assert stats.as_dict()["rungs"] == {"pcm22": round(stats.seconds, 3)}


async def test_events_come_in_order_and_marks_point_into_the_text(server):
    events: list[object] = []
    text = "One. Two is longer, by far. Three!"
    async with Client(server.url) as client:
        await client.speak(text, events=events.append).read()
    assert isinstance(next(e for e in events if not isinstance(e, m.Mark)), m.Track)
    marks = [event for event in events if isinstance(event, m.Mark)]
    assert "".join(text[mark.begin : mark.end] for mark in marks).replace(" ", "") == text.replace(" ", "")
    assert [mark.pts for mark in marks] == sorted(mark.pts for mark in marks)


# ---------------------------------------------------------------- text that comes in pieces


async def pieces(*texts: str) -> AsyncIterator[str]:
    for text in texts:
        yield text


async def test_text_in_pieces_is_spoken_as_one(server):
    async with Client(server.url) as client:
        heard = await client.speak(pieces("Hel", "lo th", "ere, ", "you."), rung="pcm22").read()
    assert len(heard) == len(spoken("Hello there, you."))


async def test_sound_comes_before_the_text_is_complete(server):
    heard = asyncio.Event()

    async def text() -> AsyncIterator[str]:
        yield "The first sentence is complete. The "
        await asyncio.wait_for(heard.wait(), WAIT_S)
        yield "second comes only now."

    async with Client(server.url) as client:
        async for _ in client.speak(text()):
            heard.set()
    assert heard.is_set()


async def test_a_text_longer_than_a_message_is_spoken_whole_or_told_the_limit(server):
    async with Client(server.url) as client:
        with pytest.raises(errors.TextTooLong, match="200000"):
            await client.speak("词" * 1_000_000).read()
        assert len(await client.speak("still here").read()), "the connection lives"


async def test_what_the_text_raises_is_raised_to_the_listener(server):
    async def text() -> AsyncIterator[str]:
        yield "Some text. "
        raise KeyError("the language model fell over")

    async with Client(server.url) as client:
        with pytest.raises(KeyError, match="fell over"):
            await client.speak(text()).read()
        assert len(await client.speak("still here").read())
        await eventually(lambda: quiet(server))


async def test_half_of_a_surrogate_pair_in_each_piece_is_one_character():
    text = "smile \U0001f600 now".encode("utf-16-le")
    cut = text.index("\U0001f600".encode("utf-16-le")) + 2
    halves = [part.decode("utf-16-le", "surrogatepass") for part in (text[:cut], text[cut:])]
    async with serving() as server, Client(server.url) as client:
        assert len(await client.speak(pieces(*halves)).read())


# ---------------------------------------------------------------- many streams, and their ends


async def test_of_many_streams_none_hears_another(server):
    texts = ["x" * n for n in range(3, 19)]
    async with Client(server.url) as client:
        speeches = [client.speak(text, voice="tone-length", rung="pcm22") for text in texts]
        heard = await asyncio.gather(*(speech.read() for speech in speeches))
    for text, samples in zip(texts, heard, strict=True):
        assert np.array_equal(samples, spoken(text, "tone-length")), text


async def test_leaving_the_loop_cancels_the_stream(server):
    async with Client(server.url) as client:
        speech = client.speak("x" * 5000)
        async for _ in speech:
            break
        await eventually(lambda: quiet(server))
        assert not speech.stats.complete
        assert len(await client.speak("still here").read())


async def test_a_cancelled_stream_ends_for_whoever_listens(server):
    async with Client(server.url) as client:
        speech = client.speak("x" * 5000, realtime=True)
        listener = asyncio.ensure_future(speech.read())
        await eventually(lambda: speech.stats.seconds > 0)
        speech.cancel()
        speech.cancel()
        heard = await listener
        assert 0 < len(heard) < RATE * 10
        await eventually(lambda: quiet(server))


async def test_a_stream_cancelled_before_it_starts_is_never_heard(server):
    async with Client(server.url) as client:
        speech = client.speak(TEXT)
        speech.cancel()
        assert len(await speech.read()) == 0
        assert len(await client.speak("still here").read())
        await eventually(lambda: quiet(server))


async def test_streams_cancelled_and_started_at_random_never_mix(server):
    rng = np.random.default_rng(9)

    async def one(client: Client, length: int) -> None:
        text = "x" * length
        speech = client.speak(text, voice="tone-length", rung="pcm22")
        whole, got = spoken(text, "tone-length"), []
        leave = rng.integers(0, 200)
        async for frame in speech:
            got.append(frame)
            if len(got) == leave:
                break
        heard = np.concatenate(got)
        assert np.array_equal(heard, whole[: len(heard)])

    async with Client(server.url) as client:
        await asyncio.gather(*(one(client, int(n)) for n in rng.integers(3, 60, 12)))
        await eventually(lambda: quiet(server))


async def test_the_server_frees_a_stream_as_soon_as_its_end_was_heard(server):
    async with Client(server.url) as client:
        await client.speak("abc").read()
        await eventually(lambda: quiet(server))  # without the last report it would linger for 30 s


async def test_closing_the_client_cancels_what_runs(server):
    async with Client(server.url) as client:
        speech = client.speak("x" * 5000)
        async for _ in speech:
            break
        client.speak("y" * 5000)
    await eventually(lambda: quiet(server))
    with pytest.raises(RuntimeError, match="not connected"):
        client.speak("too late")
    await client.close()


async def test_a_speech_is_heard_once(server):
    async with Client(server.url) as client:
        speech = client.speak("abc")
        await speech.read()
        with pytest.raises(RuntimeError, match="heard once"):
            await speech.read()


# ---------------------------------------------------------------- faults


@pytest.mark.parametrize(
    ("request_", "fault", "words"),
    [
        ({"text": ""}, errors.EmptyText, "no text"),
        ({"text": " \n "}, errors.EmptyText, "no text"),
        ({"text": "…"}, errors.EmptyText, "nothing to pronounce"),
        ({"text": "a", "voice": "tune"}, errors.UnknownVoice, "'tune'"),
        ({"text": "a", "rung": "opus7"}, errors.UnknownRung, "opus64"),
        ({"text": "a", "language": "tlh"}, errors.UnknownVoice, "tlh"),
    ],
)
async def test_a_refusal_is_raised_as_its_own_class(server, request_, fault, words):
    async with Client(server.url) as client:
        with pytest.raises(fault, match=words):
            await client.speak(**request_).read()
        assert len(await client.speak("still here").read()), "the connection lives"


async def test_a_value_that_the_wire_does_not_carry_is_refused_at_once(server):
    async with Client(server.url) as client:
        with pytest.raises(errors.BadField, match="speed"):
            client.speak("a", speed=99)
        with pytest.raises(ValueError, match="7 Hz"):
            client.speak("a", out_rate=7)
        assert len(await client.speak("still here").read())


async def test_empty_pieces_are_refused(server):
    async with Client(server.url) as client:
        with pytest.raises(errors.EmptyText):
            await client.speak(pieces()).read()


@pytest.mark.parametrize(
    ("voice", "fault"),
    [
        ("tone-die", errors.EngineLost),
        ("tone-refuse", errors.EngineError),
        ("tone-raise", errors.EngineError),
    ],
)
async def test_an_engine_that_fails_in_the_midst_fails_this_speech_and_no_other(server, voice, fault):
    async with Client(server.url) as client:
        other, heard = client.speak("x" * 20, rung="pcm22"), [np.zeros(0, np.int16)]
        with pytest.raises(fault):
            async for frame in client.speak(TEXT, voice=voice, rung="pcm22"):
                heard.append(frame)
        got = np.concatenate(heard)
        assert np.array_equal(got, spoken(TEXT)[: len(got)]), "what came before it was true"
        assert np.array_equal(await other.read(), spoken("x" * 20))
    await eventually(lambda: server.pool.ready == 2)  # for the tests that follow


async def test_an_exception_of_the_event_callback_is_raised_to_the_listener(server):
    def events(event: object) -> None:
        raise ZeroDivisionError("in a callback")

    async with Client(server.url) as client:
        with pytest.raises(ZeroDivisionError):
            await client.speak(TEXT, events=events).read()
        assert len(await client.speak("still here").read())


async def test_when_the_server_stops_every_listener_is_told():
    async with serving() as server, Client(server.url, reconnect_s=0) as client:
        speeches = [client.speak("x" * 5000, realtime=True) for _ in range(3)]
        listeners = [asyncio.ensure_future(speech.read()) for speech in speeches]
        await eventually(lambda: all(speech.stats.seconds > 0 for speech in speeches))
        await server.stop()
        for fault in await asyncio.gather(*listeners, return_exceptions=True):
            assert isinstance(fault, errors.ConnectionLost) and "1012" in str(fault)
        with pytest.raises(errors.ConnectionLost):
            client.speak("nobody there")


# ---------------------------------------------------------------- time


async def test_a_real_time_listener_gets_a_frame_every_20_ms(server):
    loop, times = asyncio.get_running_loop(), []
    async with Client(server.url) as client:
        speech = client.speak("x" * 12, realtime=True)
        async for _ in speech:
            times.append(loop.time())
    seconds = len(spoken("x" * 12)) / RATE
    late = [at - times[0] - n * 0.02 for n, at in enumerate(times)]
    assert min(late) > -0.01, "never early"
    assert len(times) == pytest.approx(seconds / 0.02, abs=1)
    assert late[-1] < 0.2, "lateness is made up"
    assert (speech.stats.stalls, speech.stats.stall_ms) == (0, 0)


async def test_a_slow_engine_stalls_a_real_time_listener_and_nothing_is_lost():
    options = {"rate": RATE, "rtf": 2.0, "chunks": [441]}
    async with serving(engine__options=options) as server, Client(server.url) as client:
        speech = client.speak("x" * 10, rung="pcm22", realtime=True)
        heard = await speech.read()
        assert len(heard) == len(spoken("x" * 10))
        assert speech.stats.stalls >= 1
        # Two seconds of computing for one of sound, of which 0.2 s stand ready at the start.
        assert 150 < speech.stats.stall_ms < 3000


async def test_a_listener_who_does_not_pull_pauses_the_server_and_loses_nothing():
    text = "x" * 200  # 12 s of tone
    limits = {"stream__max_ahead_s": 2, "stream__max_lead_s": 2, "engine__clause_chars": 20}
    heartbeat = {"limits__ping_s": 0.2, "limits__idle_timeout_s": 2.0}
    async with serving(**limits, **heartbeat) as server, Client(server.url) as client:
        speech = client.speak(text, rung="pcm22")
        frames = speech.__aiter__()
        first = [await anext(frames)]
        await eventually(lambda: server.pool.stats.busy == 0)
        lost = asyncio.ensure_future(eventually(lambda: client._line.pump is None))
        done, _ = await asyncio.wait([lost], timeout=3.0)
        assert not done, "pings keep the connection alive"
        assert server.pool.stats.samples < RATE * 6, "the engine waits"
        assert speech.buffer_ms <= 2300
        lost.cancel()
        heard = np.concatenate(first + [frame async for frame in frames])
    assert len(heard) == len(spoken(text, clause_chars=20))


async def test_a_paused_listener_hears_on_from_the_next_sample(server):
    async with Client(server.url) as client:
        speech = client.speak("x" * 10, rung="pcm22", realtime=True)
        heard = []
        async for frame in speech:
            heard.append(frame)
            if len(heard) == 5:
                speech.pause()
                asyncio.get_running_loop().call_later(0.1, speech.resume)
    assert sum(map(len, heard)) == len(spoken("x" * 10))
    assert speech.stats.stalls == 0


# ---------------------------------------------------------------- without Opus


async def test_where_there_is_no_libopus_speech_comes_as_pcm(server, monkeypatch):
    def load(path: str | None = None) -> None:
        raise errors.MissingDependency("no libopus on this machine")

    monkeypatch.setattr("abr_tts.client.client.load", load)
    async with Client(server.url) as client:
        speech = client.speak("abc")
        assert len(await speech.read()) == len(spoken("abc"))
        assert list(speech.stats.rungs) == ["pcm22"]
        with pytest.raises(errors.NoCommonFormat):
            await client.speak("abc", rung="opus24").read()
    with pytest.raises(errors.MissingDependency):
        Client(server.url, opus="/no/such/libopus.so")
