"""POST /v1/audio/speech and its neighbours, over real sockets: what is asked for is what comes."""

import asyncio
import json
import struct

import aiohttp
import numpy as np
import pytest

from abr_tts.audio.pcm import to_float
from abr_tts.audio.resample import convert
from abr_tts.engine.base import Voice
from abr_tts.errors import ConfigError
from abr_tts.server.config import load
from abr_tts.server.load.idlers import LOOKS
from abr_tts.server.openai.voices import NAMES, meant
from abr_tts.units import convert_length
from abr_tts.wire import messages as m

from .doors.world import SAID_S, SAYING, counted
from .harness import WAIT_S, eventually, peer, soon
from .openai_world import (
    SPEECH,
    asking,
    carried,
    decoded,
    difference_db,
    events,
    packets_of,
    pages,
    pcm,
    said,
    wish,
)

DELAY = {"mp3": 1_105, "aac": 1_024, "flac": 0}
"""Samples before the sound (audio.encoded)."""


async def native(server, **fields) -> np.ndarray:
    """What the native door sends, float at the engine's rate."""
    async with peer(server.url) as client:
        started = await client.start(SAYING, **fields)
        return to_float(await client.whole_pcm(started.stream))


# The sound is the native stream's


@pytest.mark.parametrize("rate", [None, 8_000, 16_000, 22_050, 44_100, 48_000])
async def test_pcm_is_the_native_stream_at_the_rate_that_is_asked_for(rate):
    async with asking() as (server, http):
        heard = pcm(await said(http, **({"sample_rate": rate} if rate else {})))
        there = convert(await native(server, rung="pcm22"), 22_050, rate or 24_000)
        assert difference_db(to_float(heard), there) < -60


async def test_pcm_of_an_engine_at_24_khz_is_the_native_stream_bit_for_bit():
    async with asking(engine__options={"rate": 24_000}) as (server, http):
        heard = pcm(await said(http))
        assert np.array_equal(to_float(heard), await native(server, rung="pcm24"))


async def test_wav_has_one_endless_header_and_no_trailer():
    async with asking() as (_, http):
        body, plain = await said(http, response_format="wav"), await said(http)
        assert body[:4] == b"RIFF" and body.count(b"RIFF") == 1
        assert struct.unpack("<I", body[4:8])[0] == struct.unpack("<I", body[40:44])[0] == 0xFFFFFFFF
        assert struct.unpack("<IHHIIHH", body[16:36]) == (16, 1, 1, 24_000, 48_000, 2, 16)
        assert body[44:] == plain


@pytest.mark.parametrize("name", ["mp3", "aac", "flac"])
async def test_another_reader_hears_the_native_stream_without_a_click(name):
    pytest.importorskip("av")
    async with asking() as (server, http):
        body = await said(http, response_format=name)
        there = convert(await native(server, rung="pcm22"), 22_050, 24_000)
    sound, rate = decoded(body, name)
    found = sound[DELAY[name] :][: len(there)]
    assert rate == 24_000 and len(found) == len(there)
    middle = slice(480, -480)  # a tone that begins at once rings in any codec
    loudest = np.abs(np.diff(there[middle], 2)).max()
    assert np.abs(np.diff(found[middle], 2)).max() < 1.1 * loudest, "a click"
    if name == "flac":
        assert difference_db(found, there) < -60
    else:
        assert difference_db(found[middle], there[middle]) < -20


async def test_opus_that_comes_whole_is_the_native_stream_packet_for_packet():
    async with asking() as (server, http):
        body = await said(http, response_format="opus", stream=False)
        async with peer(server.url, level=0) as client:
            started = await client.start(SAYING, rung="opus48")
            await client.first(m.StreamEnd, stream=started.stream)
            sent = [one for audio in client.of(m.Audio, stream=started.stream) for one in audio.packets]
        assert packets_of(body) == sent


async def test_opus_comes_in_pages_of_200_ms_at_most_and_has_the_true_length():
    async with asking() as (_, http):
        body = await said(http, response_format="opus")
        found = pages(body)
    assert body.count(b"OpusHead") == body.count(b"OpusTags") == 1
    assert max(len(packets) for _, packets in found) <= 10
    assert found[-1][0] == 960 + round(SAID_S * 48_000)


async def test_another_reader_hears_opus_at_its_place_without_a_click():
    pytest.importorskip("av")
    async with asking() as (server, http):
        body = await said(http, response_format="opus")
        there = convert(await native(server, rung="pcm22"), 22_050, 48_000)
    sound, rate = decoded(body, "ogg")
    assert rate == 48_000 and len(sound) == len(there)
    middle = slice(960, -960)
    loudest = np.abs(np.diff(there[middle], 2)).max()
    assert np.abs(np.diff(sound[middle], 2)).max() < 1.2 * loudest, "a click"
    lags = {lag: difference_db(np.roll(sound, lag)[middle], there[middle]) for lag in range(-20, 21)}
    best = min(lags, key=lags.get)
    assert abs(best) <= 3 and lags[best] < -12, (
        best,
        lags[best],
    )  # of a tone, whose waveform Opus does not keep


# How it comes


async def test_the_first_byte_comes_as_soon_as_from_the_native_door():
    loop = asyncio.get_running_loop()
    async with (
        asking(engine__options={"rate": 24_000, "rtf": 0.05}) as (server, http),
        peer(server.url) as client,
    ):

        async def later() -> float:
            ours, theirs = [], []
            for _ in range(9):
                begun = loop.time()
                started = await client.start("Quick.", rung="pcm24")
                await client.first(m.Audio, stream=started.stream)
                theirs.append(loop.time() - begun)
                await client.first(m.StreamEnd, stream=started.stream)
                begun = loop.time()
                async with http.post(SPEECH, json=wish("Quick.")) as answer:
                    await answer.content.readany()
                    ours.append(loop.time() - begun)
                    await answer.read()
            return np.median(ours) - np.median(theirs)

        await soon(later, 0.020)


async def test_events_carry_the_same_file_and_end_with_what_was_used():
    async with asking() as (_, http):
        async with http.post(SPEECH, json=wish(stream_format="sse")) as answer:
            assert answer.content_type == "text/event-stream"
            told = events(await answer.read())
        assert carried(told) == await said(http)
    assert {one["type"] for one in told[:-1]} == {"speech.audio.delta"}
    frames = round(SAID_S * 50)
    used = {"input_tokens": len(SAYING), "output_tokens": frames, "total_tokens": len(SAYING) + frames}
    assert told[-1] == {"type": "speech.audio.done", "usage": used}


@pytest.mark.parametrize("name", ["pcm", "wav", "opus"])
async def test_without_a_stream_the_answer_has_its_length(name):
    async with asking() as (_, http):
        async with http.post(SPEECH, json=wish(response_format=name, stream=False)) as answer:
            body = await answer.read()
            assert int(answer.headers["Content-Length"]) == len(body)
        if name == "wav":
            assert struct.unpack("<I", body[40:44])[0] == len(body) - 44
            assert body[44:] == await said(http)


@pytest.mark.parametrize(
    ("name", "content_type", "rate"),
    [("pcm", "audio/pcm", "24000"), ("wav", "audio/wav", "24000"), ("opus", "audio/ogg", "48000")],
)
async def test_headers_say_what_it_is_and_that_no_proxy_may_hold_it_back(name, content_type, rate):
    async with asking() as (_, http), http.post(SPEECH, json=wish(response_format=name)) as answer:
        assert answer.content_type == content_type
        assert answer.headers["X-Audio-Sample-Rate"] == rate
        assert answer.headers["X-Accel-Buffering"] == "no"
        assert answer.headers["Transfer-Encoding"] == "chunked"
        assert answer.headers["x-request-id"].startswith("req_")


async def test_one_connection_serves_one_request_after_another():
    async with asking() as (server, http):
        for name in ("pcm", "opus", "wav", "pcm"):
            await said(http, response_format=name)
        assert await said(http) == await said(http)
        assert len(server._connections()) == 1
        await eventually(lambda: server._admission.connections == 0)


async def test_null_is_as_good_as_nothing_and_unknown_fields_are_ignored():
    nothing = dict.fromkeys(("instructions", "speed", "stream_format", "sample_rate", "stream"))
    async with asking() as (_, http):
        assert await said(http, **nothing, lang_code="a", volume=1) == await said(http)


# Who listens no more


async def test_a_client_that_leaves_stops_the_engine_within_a_chunk():
    async with asking(engine__options={"rate": 24_000, "rtf": 1.0}) as (server, http):
        answer = await http.post(SPEECH, json=wish("A sentence that takes seconds to be spoken. " * 8))
        await answer.content.readany()
        assert server.pool.stats.busy == 1
        answer.close()
        await eventually(lambda: server.pool.stats.busy == 0)
        assert server.pool.stats.samples / 24_000 < 6.0  # of 21 s
        await eventually(lambda: server._admission.streams == server._admission.connections == 0)
        assert counted(server, 'abr_tts_streams_ended_total{reason="lost"}') == 1


async def test_a_client_that_reads_nothing_holds_up_the_engine_and_is_cut_in_the_end():
    text = ". ".join(["Forty characters take over two seconds"] * 60)
    asked = json.dumps(wish(text, sample_rate=48_000)).encode()
    settings = {"stream__max_ahead_s": 5.0, "limits__idle_timeout_s": 1.0, "limits__ping_s": 0.5}
    async with asking(**settings) as (server, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=1_024)
        head = f"POST {SPEECH} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(asked)}\r\n\r\n"
        writer.write(head.encode() + asked)
        await reader.readexactly(12)
        await eventually(lambda: server._admission.streams == 1 and server.pool.stats.busy == 0)
        (visit,) = server._front.sessions
        (speech,) = visit.speeches
        assert speech.utterance.core.held_samples / speech.rate < 5.0 + 3.0
        await eventually(lambda: server._admission.streams == 0)
        writer.close()


async def test_who_takes_long_to_read_an_answer_that_comes_whole_gets_all_of_it(monkeypatch):
    text = ". ".join(["Forty characters take over two seconds"] * 60)
    asked = json.dumps(wish(text, sample_rate=48_000, stream=False)).encode()
    async with asking(limits__hello_timeout_s=0.2) as (server, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=1_024)
        head = f"POST {SPEECH} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(asked)}\r\n\r\n"
        writer.write(head.encode() + asked)
        told = (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), WAIT_S)).decode()
        looks, look = [], server._idlers.look
        monkeypatch.setattr(server._idlers, "look", lambda now: looks.append(look(now)))
        await eventually(lambda: len(looks) > 2 * LOOKS)
        length = int(told.split("Content-Length: ")[1].split("\r\n")[0])
        body = await asyncio.wait_for(reader.readexactly(length), WAIT_S)
        assert len(body) == length > 10_000_000
        writer.close()
        await eventually(lambda: server._admission.connections == server._admission.streams == 0)


async def test_a_speech_that_fails_in_the_middle_ends_without_its_end():
    async with asking() as (server, http):
        with pytest.raises(aiohttp.ClientPayloadError):
            await said(http, "Half of this is spoken.", voice="tone-refuse")
        async with http.post(
            SPEECH, json=wish("Half of this.", voice="tone-refuse", stream_format="sse")
        ) as answer:
            *_, last = events(await answer.read())
        assert last["error"]["code"] == "engine_failed"
        await eventually(lambda: server._admission.streams == server._admission.connections == 0)


# Which voice


@pytest.mark.parametrize("name", NAMES)
async def test_every_voice_of_openai_is_one_of_ours(name):
    async with asking() as (_, http):
        assert len(await said(http, "Hi.", voice=name))


def test_names_of_the_settings_go_first_then_the_engines_then_openais():
    voices = [Voice("Nova", ("en",), 24_000), Voice("anna", ("de",), 24_000)]
    aliases = {"Alloy": "anna"}
    assert meant("ALLOY", aliases, voices) == "anna"
    assert meant("nova", aliases, voices) == "nova"
    assert meant("echo", aliases, voices) is None
    assert meant("nobody", aliases, voices) == "nobody"


def test_a_voice_of_the_settings_is_a_name():
    with pytest.raises(ConfigError, match=r"openai.voices: alloy must be the name of a voice"):
        load(overrides={"openai.voices": {"alloy": 7}})


async def test_the_settings_say_whose_voice_a_name_is():
    async with asking(openai__voices={"alloy": "tone-length"}) as (_, http):
        assert await said(http, "Hi.") == await said(http, "Hi.", voice="tone-length")
        assert await said(http, "Hi.") != await said(http, "Hi.", voice={"id": "tone"})


async def test_voices_are_listed_as_objects_and_as_names():
    async with asking(openai__voices={"mine": "tone"}) as (_, http):
        async with http.get("/v1/audio/voices") as answer:
            voices = (await answer.json())["voices"]
        async with http.get("/v1/audio/voices?legacy=true") as answer:
            assert (await answer.json())["voices"] == [voice["id"] for voice in voices]
    assert voices[0]["id"] == voices[0]["name"] == "tone"
    assert {"mine", *NAMES} <= {voice["id"] for voice in voices}


async def test_models_are_listed_and_told_one_by_one():
    async with asking(openai__models=("a", "b")) as (_, http):
        async with http.get("/v1/models") as answer:
            told = await answer.json()
        assert (told["object"], [one["id"] for one in told["data"]]) == ("list", ["a", "b"])
        async with http.get("/v1/models/b") as answer:
            assert await answer.json() == told["data"][1]
        async with http.get("/v1/models/c") as answer:
            assert (answer.status, (await answer.json())["error"]["code"]) == (404, "model_not_found")


# How it is said


@pytest.mark.parametrize("speed", [0.25, 1.0, 4.0])
async def test_speed_is_the_engines(speed):
    async with asking(engine__options={"rate": 24_000}) as (_, http):
        assert len(pcm(await said(http, "Hello.", speed=speed))) == round(6 * 0.06 * 24_000 / speed)


async def test_instructions_are_followed_by_an_engine_that_can_and_ignored_by_others():
    async with asking(engine__options={"rate": 24_000, "instructs": True}) as (_, http):
        loud, low = pcm(await said(http, "Hello.")), pcm(await said(http, "Hello.", instructions="Whisper."))
        assert abs(low).max() < 0.6 * abs(loud).max()
    asked = wish("Hello.", instructions="Whisper.")
    async with asking() as (_, http), http.post(SPEECH, json=asked) as answer:
        assert answer.headers["X-Ignored"] == "instructions"
        assert await answer.read() == await said(http, "Hello.")


async def test_the_length_of_a_resampled_speech_is_exact():
    async with asking() as (_, http):
        heard = pcm(await said(http, "Hello.", sample_rate=16_000))
        assert len(heard) == convert_length(round(6 * 0.06 * 22_050), 22_050, 16_000)
        async with asyncio.timeout(WAIT_S):
            assert len(await said(http, "Hello.", response_format="wav", sample_rate=8_000)) == 44 + 2 * 2_880


async def test_voices_of_the_engine_tell_their_rate_and_other_names_none():
    async with asking(openai__voices={"mine": "tone"}) as (server, http):
        async with http.get("/v1/audio/voices") as answer:
            voices = (await answer.json())["voices"]
        rates = {one["id"]: one["sample_rate"] for one in voices if "sample_rate" in one}
        assert rates == {voice.name: voice.sample_rate for voice in server.pool.voices}
