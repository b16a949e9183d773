"""The client's clips: against a real server, and against one that is slow, silent or strange."""

import asyncio

import numpy as np
import pytest
from aiohttp import web

from abr_tts import errors
from abr_tts.audio.pcm import to_int16
from abr_tts.client import Client
from abr_tts.client.room import UNSENT_BYTES
from abr_tts.engine.references import References
from abr_tts.engine.tone import Options, converted, expected, pitch
from abr_tts.wire import messages as m
from abr_tts.wire.codec import decode, encode

from ..server.clips import noise, sine
from ..server.harness import eventually, serving_in_a_thread
from .scripted import Scripted, scripted

OPTIONS = {"rate": 16_000, "converts": True, "instructs": True}
TONE = Options(rate=16_000)
TEXT = "A voice that was made."


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("voices")


@pytest.fixture(scope="module")
def server(folder):
    settings = {"engine__options": OPTIONS, "engine__voices_dir": str(folder), "engine__workers": 2}
    with serving_in_a_thread(**settings) as made:
        yield made


def kept(folder, name: str) -> np.ndarray:
    return References(folder).get(name).read()


async def pieces(samples: np.ndarray, size: int):
    for at in range(0, len(samples), size):
        yield samples[at : at + size]


# ---- voices


@pytest.mark.parametrize("rate", [8_000, 16_000, 22_050, 24_000, 44_100, 48_000])
@pytest.mark.parametrize("codec", ["opus", "pcm16"])
async def test_a_voice_of_any_rate_is_kept_and_speaks(server, folder, codec, rate):
    name = f"{codec}-{rate}"
    async with Client(server.url) as client:
        seconds = await client.add_voice(
            name, sine(700, 1.5, rate), rate, consent=True, text="hm", codec=codec
        )
        assert seconds == pytest.approx(1.5, abs=0.04)
        heard = await client.speak(TEXT, voice=name, rung="pcm16k").read()
    assert pitch(kept(folder, name)) == 700
    np.testing.assert_array_equal(heard, expected(TEXT, options=Options(rate=16_000, hz=700)))


async def test_two_channels_floats_and_pieces_are_one_and_the_same(server, folder):
    sound = noise(60)
    stereo = np.stack([sound, sound], axis=1)
    floats = sound.astype(np.float32) / 32_768
    async with Client(server.url) as client:
        for name, samples in (("two", stereo), ("float", floats), ("pieces", pieces(sound, 333))):
            await client.add_voice(name, samples, 16_000, consent=True, codec="pcm16")
            np.testing.assert_array_equal(kept(folder, name), sound)


async def test_what_the_server_refuses_is_raised_as_what_it_is(server):
    async with Client(server.url) as client:
        for wanted, name, seconds, consent in (
            (errors.NoConsent, "anna", 1.5, False),
            (errors.BadField, "../anna", 1.5, True),
            (errors.VoiceTaken, "tone", 1.5, True),
            (errors.BadAudio, "anna", 0.5, True),
            (errors.AudioTooLong, "anna", 30.1, True),
        ):
            with pytest.raises(wanted):
                await client.add_voice(name, sine(500, seconds), 16_000, consent=consent)
        with pytest.raises(ValueError, match="want int16 or float"):
            await client.add_voice("anna", np.zeros(16_000, np.int32), 16_000, consent=True)
        assert await client.add_voice("anna", sine(500, 30.0), 16_000, consent=True) == 30.0


async def test_samples_that_fail_raise_their_own_error_and_nothing_is_kept(server, folder):
    async def broken():
        yield noise(60)
        raise LookupError("the microphone is gone")

    async with Client(server.url) as client:
        with pytest.raises(LookupError, match="microphone"):
            await client.add_voice("broken", broken(), 16_000, consent=True)
        assert await client.speak("x", rung="pcm16k").read() is not None
    await eventually(lambda: server._admission.streams == 0)
    assert References(folder).get("broken") is None


async def test_a_voice_that_is_given_up_is_not_kept_and_the_client_goes_on(server, folder):
    begun = asyncio.Event()

    async def slow():
        yield noise(60)
        begun.set()
        await asyncio.Event().wait()

    async with Client(server.url) as client:
        adding = asyncio.ensure_future(client.add_voice("given-up", slow(), 16_000, consent=True))
        await begun.wait()
        adding.cancel()
        with pytest.raises(asyncio.CancelledError):
            await adding
        await eventually(lambda: server._admission.streams == 0)
        assert await client.speak("x", rung="pcm16k").read() is not None
    assert References(folder).get("given-up") is None


# ---- conversion


async def test_a_conversion_is_heard_to_the_sample(server):
    sound = noise(100)
    async with Client(server.url) as client:
        speech = client.convert(sound, 16_000, codec="pcm16", rung="pcm16k")
        heard = await speech.read()
    np.testing.assert_array_equal(heard, converted(sound, options=TONE))
    assert speech.stats.complete and speech.stats.voice == "tone"


async def test_speech_is_converted_as_it_is_spoken(server):
    sound = noise(100)
    async with Client(server.url) as client:
        speech = client.convert(pieces(sound, 480), 16_000, speed=0.8, codec="pcm16", rung="pcm16k")
        np.testing.assert_array_equal(await speech.read(), converted(sound, 0.8, TONE))


async def test_opus_both_ways_is_the_same_sound_upside_down(server):
    sound = sine(440, 2.0, 48_000)
    async with Client(server.url) as client:
        heard = await client.convert(sound, 48_000, rung="opus64", out_rate=48_000).read()
    inner = slice(4_800, 90_000)
    # Hybrid Opus leads by 2 samples at 48 kHz (`opus.LOOKAHEAD_TICKS`): 7 degrees of this tone.
    assert np.corrcoef(heard[inner], sound[inner])[0, 1] < -0.98


async def test_a_conversion_is_refused_or_stopped_like_a_speech(server):
    async def endless():
        while True:
            yield noise(5)
            await asyncio.sleep(0)

    async with Client(server.url) as client:
        with pytest.raises(errors.UnknownVoice):
            await client.convert(noise(50), 16_000, voice="nobody").read()
        with pytest.raises(errors.AudioTooLong):
            await client.convert(endless(), 16_000, codec="pcm16").read()
        stopped = client.convert(endless(), 16_000, codec="pcm16")
        stopped.cancel()
        assert len(await stopped.read()) == 0
        await eventually(lambda: server._admission.streams == 0)
        assert not client._line.pump._uplinks


async def test_words_on_how_to_speak_are_sent(server):
    async with Client(server.url) as client:
        heard = await client.speak(TEXT, rung="pcm16k", instruct="softly").read()
    np.testing.assert_array_equal(heard, expected(TEXT, options=Options(rate=16_000, amplitude=0.25)))


# ---- the pace


async def take(server: Scripted, **flow) -> m.AudioStart:
    """Greet, and take a reference."""
    await server.greet()
    request = await server.until(m.AudioStart)
    await server.send(m.StreamStarted(1, request.stream_id, "", "anna", 16_000, 1, "pcm16", "uplink"))
    return request


async def test_a_rate_of_nothing_holds_a_clip_back_until_another_is_named():
    async def play(server: Scripted) -> None:
        await server.greet()
        request = await server.until(m.AudioStart)
        started = m.StreamStarted(1, request.stream_id, "", "anna", 16_000, 1, "pcm16", "uplink")
        await server.send(started, m.FlowControl(0, stream=1), m.Ping(1))
        await server.until(m.Pong)
        await server.send(m.Ping(2))  # a client that did not obey would have sent by now
        await server.until(m.Pong, lambda pong: pong.value == 2)
        assert not [message for message in server.seen if isinstance(message, m.UplinkAudio)]
        await server.send(m.FlowControl(100_000, stream=1))
        await server.until(m.TextEnd)
        clip = [message for message in server.seen if isinstance(message, m.UplinkAudio)]
        assert [message.pts for message in clip] == [at * 960 for at in range(0, 100, 10)]
        await server.send(m.StreamEnd(1, 32_000, 16_000, 1, ""))

    async with scripted(play) as url, Client(url) as client:
        assert await client.add_voice("anna", noise(100), 16_000, consent=True, codec="pcm16") == 2.0


async def test_a_clip_takes_as_long_as_the_servers_rate_says():
    times = []

    async def play(server: Scripted) -> None:
        await take(server)
        await server.send(m.FlowControl(512, stream=1))  # 64 000 bytes a second: half of them at once
        await server.until(m.UplinkAudio)
        times.append(asyncio.get_running_loop().time())
        await server.until(m.TextEnd)
        times.append(asyncio.get_running_loop().time())
        await server.send(m.StreamEnd(1, 48_000, 16_000, 1, ""))

    async with scripted(play) as url, Client(url) as client:
        # 3 s of PCM at 16 kHz: 96 kB, of which 64 kB may go at once
        await client.add_voice("anna", noise(150), 16_000, consent=True, codec="pcm16")
    assert times[1] - times[0] >= 0.4


async def test_no_more_than_64_kb_wait_for_a_server_that_does_not_read():
    go_on, taken = asyncio.Event(), []

    async def handler(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(protocols=("abr-tts.v1",))
        await socket.prepare(request)
        await socket.send_bytes(encode(m.Welcome(1, "s")))
        async for message in socket:
            taken.append(decode(message.data, "client"))
            if isinstance(taken[-1], m.AudioStart):
                started = m.StreamStarted(1, taken[-1].stream_id, "", "anna", 16_000, 1, "pcm16", "uplink")
                await socket.send_bytes(encode(started))
                await go_on.wait()
            elif isinstance(taken[-1], m.TextEnd):
                await socket.send_bytes(encode(m.StreamEnd(1, 16_000, 16_000, 1, "")))
        return socket

    runner = web.ServerRunner(web.Server(handler), shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    sound = np.tile(to_int16(sine(500, 1.0, 48_000)), 30)  # 2.9 MB
    try:
        async with Client(f"ws://127.0.0.1:{runner.addresses[0][1]}") as client:
            room, most = client._line.pump._room, 0
            adding = asyncio.ensure_future(
                client.add_voice("anna", sound, 48_000, consent=True, codec="pcm16")
            )
            still = 0
            while still < 20:  # until nothing has moved for a tenth of a second
                before = room.unsent
                await asyncio.sleep(0.005)
                most = max(most, room.unsent)
                still = still + 1 if room.unsent == before and before > UNSENT_BYTES // 2 else 0
            assert not adding.done()
            assert UNSENT_BYTES // 2 < most <= UNSENT_BYTES + 1_000  # heads of frames, a report
            go_on.set()
            await adding
        clip = [message for message in taken if isinstance(message, m.UplinkAudio)]
        assert sum(len(message.packets) for message in clip) == 1_500
    finally:
        await runner.cleanup()
