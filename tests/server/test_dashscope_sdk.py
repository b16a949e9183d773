"""
DashScope's own Python SDK, as its makers ship it, against a real server: one URL changed, nothing else.

Sound is held to the native door's: of pcm and wav the samples, of mp3 and opus the very bytes that the codec
makes of them.
"""

import asyncio
import io
import json
import re
import statistics
import time
from contextlib import contextmanager

import numpy as np
import pytest

from abr_tts.audio.resample import convert
from abr_tts.server.doors import formats
from abr_tts.wire import messages as m

from .dashscope.client import finish, go_on, run
from .dashscope.raw import address, raw
from .harness import eventually, peer, serving, serving_in_a_thread, soon

dashscope = pytest.importorskip("dashscope", reason="the DashScope SDK is not installed")
av = pytest.importorskip("av", reason="PyAV, of the extra formats, is not installed")
tts_v2 = pytest.importorskip("dashscope.audio.tts_v2")
AudioFormat = tts_v2.AudioFormat

KEY = "sdk-key"
TEXT = "The first sentence is short. The second one follows it without a gap."
STORY = "A long story is told here, again and again. " * 40
RESIDUAL_DB = -60.0
FIRST_S = 0.020


@pytest.fixture(scope="module")
def server():
    with serving_in_a_thread(auth__keys=(KEY,)) as running:
        dashscope.api_key, dashscope.base_websocket_api_url = KEY, address(running)
        yield running


@contextmanager
def another(**settings):
    """A server of a test's own."""
    before = dashscope.base_websocket_api_url
    with serving_in_a_thread(**settings) as running:
        dashscope.base_websocket_api_url = address(running)
        try:
            yield running
        finally:
            dashscope.base_websocket_api_url = before


def synthesizer(form=AudioFormat.PCM_22050HZ_MONO_16BIT, voice="tone", **more):
    return tts_v2.SpeechSynthesizer(model="cosyvoice-v2", voice=voice, format=form, **more)


def native(server, text: str = TEXT, rung: str = "pcm22") -> tuple[np.ndarray | list[bytes], int]:
    """The same by the native door: samples of a PCM rung or packets of an Opus one, and the true length."""

    async def ask():
        async with peer(server.url, headers={"Authorization": f"Bearer {KEY}"}) as client:
            started = await client.start(text, rung=rung)
            if rung.startswith("pcm"):
                pcm = await client.whole_pcm(started.stream)
                return pcm, len(pcm)
            end = await client.first(m.StreamEnd, stream=started.stream)
            audio = client.of(m.Audio, stream=started.stream)
            return [packet for message in audio for packet in message.packets], end.length

    return asyncio.run(ask())


def residual_db(heard: np.ndarray, wanted: np.ndarray) -> float:
    """Power of the difference, over the wanted's."""
    assert len(heard) == len(wanted)
    heard, wanted = heard.astype(float), wanted.astype(float)
    return 10 * np.log10(max(np.mean((heard - wanted) ** 2), 1e-12) / np.mean(wanted**2))


def at(pcm: np.ndarray, rate: int) -> np.ndarray:
    """Samples of the engine's rate at another."""
    return pcm if rate == 22_050 else convert(pcm.astype(np.float32), 22_050, rate)


def decoded(data: bytes) -> tuple[np.ndarray, int]:
    """Samples as FFmpeg decodes them, and their rate."""
    with av.open(io.BytesIO(data)) as file:
        frames = [frame.to_ndarray().reshape(-1) for frame in file.decode(audio=0)]
        samples = np.concatenate(frames)
        rate = file.streams.audio[0].rate
    return samples * (32_768.0 if samples.dtype.kind == "f" else 1.0), rate


# What is heard


@pytest.mark.parametrize("rate", [8_000, 16_000, 22_050, 24_000, 44_100, 48_000])
@pytest.mark.parametrize("kind", ["PCM", "WAV"])
def test_a_call_gives_the_samples_of_the_native_door(server, kind, rate):
    data = synthesizer(AudioFormat[f"{kind}_{rate}HZ_MONO_16BIT"]).call(TEXT)
    if kind == "WAV":
        assert (data[:4], data[4:8], data[40:44]) == (b"RIFF", b"\xff" * 4, b"\xff" * 4)
        assert int.from_bytes(data[24:28], "little") == rate
        data = data[44:]
    pcm, _ = native(server)
    assert residual_db(np.frombuffer(data, "<i2"), at(pcm, rate)) < RESIDUAL_DB


@pytest.mark.parametrize(
    ("form", "rate"), [(AudioFormat.DEFAULT, 22_050), (AudioFormat.MP3_48000HZ_MONO_256KBPS, 48_000)]
)
def test_mp3_is_what_one_encoder_makes_of_the_native_samples(server, form, rate):
    data = synthesizer(form).call(TEXT)
    pcm, _ = native(server)
    encoder = formats.make("mp3", 22_050, rate)
    wanted = encoder.begin() + encoder.push(pcm) + encoder.finish()
    (heard, heard_rate), (whole, _) = decoded(data), decoded(wanted)
    assert heard_rate == rate
    assert residual_db(heard, whole) < RESIDUAL_DB
    assert residual_db(heard[1_105:][: len(at(pcm, rate))], at(pcm, rate)) < -20  # it is that speech


@pytest.mark.parametrize(
    ("form", "kbps"),
    [
        (AudioFormat.OGG_OPUS_8KHZ_MONO_16KBPS, 16),
        (AudioFormat.OGG_OPUS_24KHZ_MONO_32KBPS, 32),
        (AudioFormat.OGG_OPUS_48KHZ_MONO_64KBPS, 64),
    ],
)
def test_opus_is_the_native_door_s_packets_in_ogg_pages_of_the_true_length(server, form, kbps):
    data = synthesizer(form).call(TEXT)
    packets, length = native(server, rung=f"opus{kbps}")
    with av.open(io.BytesIO(data)) as file:
        assert [bytes(packet) for packet in file.demux(audio=0) if packet.size] == packets
    heard, rate = decoded(data)
    assert rate == 48_000 and len(heard) == round(length * 48_000 / 22_050)
    assert int.from_bytes(data[data.index(b"OpusHead") + 12 :][:4], "little") == form.sample_rate


# How it is asked for


class Callback(tts_v2.ResultCallback):
    """Keeps what the SDK tells, in its order."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.audio, self.events, self.errors = b"", [], []

    def on_open(self) -> None:
        self.told.append("open")

    def on_complete(self) -> None:
        self.told.append("complete")

    def on_error(self, message) -> None:
        self.told.append("error")
        self.errors.append(json.loads(message))

    def on_close(self) -> None:
        self.told.append("close")

    def on_event(self, message: str) -> None:
        self.events.append(json.loads(message)["payload"]["output"]["type"])
        self.told.append(self.events[-1])

    def on_data(self, data: bytes) -> None:
        self.told.append("data")
        self.audio += data

    def closed(self) -> list[str]:
        """All that was told, to its end: the SDK lets its callers go before it tells the last."""
        asyncio.run(eventually(lambda: "close" in self.told))
        return self.told


def test_a_callback_hears_sound_behind_each_of_its_events_and_then_the_end(server):
    callback = Callback()
    speaking = synthesizer(callback=callback)
    speaking.streaming_call("The first sentence is short. ")
    speaking.streaming_call("The second one follows it without a gap.")
    speaking.streaming_complete()
    pcm, _ = native(server)
    told = callback.closed()
    assert np.array_equal(np.frombuffer(callback.audio, "<i2"), pcm)
    assert told[0] == "open" and told[-2:] == ["complete", "close"]
    kinds = ["sound" if one == "data" else one for one in told]
    assert re.fullmatch(
        "open (sentence-begin (sentence-synthesis sound )+sentence-end ){2}complete close", " ".join(kinds)
    )
    assert speaking.get_response()["payload"]["usage"] == {"characters": len(TEXT)}
    assert speaking.get_last_request_id() == speaking.get_response()["header"]["task_id"]


def test_a_flush_is_heard_before_the_text_goes_on():
    callback = Callback()
    with another(engine__text_idle_s=0):
        speaking = synthesizer(callback=callback)
        speaking.streaming_call("No end in sight")
        speaking.streaming_flush()
        asyncio.run(eventually(lambda: callback.audio))
        speaking.streaming_call(" and on")
        speaking.streaming_complete()
    assert callback.events.count("sentence-begin") == 2


def test_a_call_with_a_callback_does_not_wait(server):
    callback = Callback()
    assert synthesizer(callback=callback).call(TEXT) is None
    callback.closed()
    assert np.array_equal(np.frombuffer(callback.audio, "<i2"), native(server)[0])


def test_a_cancel_is_answered_at_once_and_nothing_is_heard_after_it():
    with another(engine__options={"rate": 22_050, "rtf": 0.5}) as running:
        callback = Callback()
        speaking = synthesizer(callback=callback)
        speaking.streaming_call(STORY)
        asyncio.run(eventually(lambda: callback.audio))
        began = time.monotonic()
        speaking.streaming_cancel()
        assert time.monotonic() - began < 5.0  # of 54 s that the story takes; after 10 the SDK would hang up
        assert callback.closed()[-2:] == ["complete", "close"]
        asyncio.run(eventually(lambda: running.pool.stats.busy == 0))
        assert len(callback.audio) < len(STORY) * 0.06 * 44_100 / 4


def test_a_pool_of_the_sdk_speaks_again_and_again_on_one_connection():
    with another() as running:
        pool = tts_v2.SpeechSynthesizerObjectPool(max_size=1)
        try:
            for form in (AudioFormat.PCM_22050HZ_MONO_16BIT, AudioFormat.WAV_22050HZ_MONO_16BIT):
                callback = Callback()
                speaking = pool.borrow_synthesizer("cosyvoice-v2", "tone", form, callback=callback)
                speaking.streaming_call("Hello.")
                speaking.streaming_complete()
                assert callback.closed()[-2:] == ["complete", "close"] and len(callback.audio) >= 15_876
                pool.return_synthesizer(speaking)
            opened = running.metrics.registry.get_sample_value("abr_tts_connections_opened_total")
            assert opened == 1
        finally:
            pool.shutdown()
            speaking.close()


def test_the_sdk_s_second_generation_speaks_as_well(server):
    v2 = pytest.importorskip("dashscope.v2")
    client = v2.Client(api_key=KEY)
    asked = {"voice": "tone", "format": "pcm", "sample_rate": 22_050, "ws_url": address(server)}
    assert np.array_equal(np.frombuffer(client.audio.tts.synthesize(TEXT, **asked), "<i2"), native(server)[0])
    with client.audio.tts.connect(**asked) as session:
        session.send_text("A text that has no end")
        session.flush()
        assert len(next(session.audio_chunks())) > 0
        session.cancel()
        list(session.audio_chunks())  # until task-finished
        assert session.usage == {"characters": 22}


def test_the_second_generation_runs_task_after_task_on_one_connection(server):
    v2 = pytest.importorskip("dashscope.v2")
    client = v2.Client(api_key=KEY)
    connection = v2.WsConnection(url=address(server), api_key=KEY)
    try:
        for _ in range(2):
            asked = {"voice": "tone", "format": "pcm", "sample_rate": 22_050, "connection": connection}
            with client.audio.tts.connect(**asked) as session:
                session.send_text("Hello.")
                session.stop()
                heard = b"".join(session.audio_chunks())
            assert np.array_equal(np.frombuffer(heard, "<i2"), native(server, "Hello.")[0])
    finally:
        connection.close()


# What fails


def failure(speak) -> Exception:
    with pytest.raises(dashscope.common.error.RequestFailure) as caught:
        speak()
    return caught.value


def test_an_unknown_voice_is_told_in_words_and_at_once(server):
    error = failure(lambda: synthesizer(voice="nobody").call(TEXT))
    assert error.name == "InvalidParameter" and "nobody" in error.message
    callback = Callback()
    failure(lambda: synthesizer(voice="nobody", callback=callback).streaming_call(TEXT))
    assert callback.closed() == ["error", "close"]


def test_an_engine_that_fails_in_mid_speech_is_told_and_not_taken_for_the_end(server):
    error = failure(lambda: synthesizer(voice="tone-refuse").call(TEXT))
    assert error.name == "InternalError.Algo"


@pytest.mark.parametrize(
    "asked", [{"pitch_rate": 1.5}, {"additional_params": {"word_timestamp_enabled": True}}]
)
def test_what_cannot_be_had_is_refused_in_words(server, asked):
    assert failure(lambda: synthesizer(**asked).call(TEXT)).name == "InvalidParameter"


def test_ssml_is_refused_and_the_call_that_merely_allows_it_is_not(server):
    error = failure(lambda: synthesizer().call("<speak>Hello.</speak>"))
    assert error.name == "InvalidParameter" and "SSML" in error.message
    assert synthesizer().call("Hello.")


def test_a_wrong_key_gets_no_connection(server):
    dashscope.api_key = "wrong"
    try:
        with pytest.raises(TimeoutError):  # the SDK's word for every connection that it does not get
            synthesizer().call(TEXT)
    finally:
        dashscope.api_key = KEY


def test_a_server_that_stops_fails_the_call_instead_of_leaving_it():
    callback = Callback()
    with another(engine__options={"rate": 22_050, "rtf": 1.0}):
        synthesizer(callback=callback).call(STORY)
        asyncio.run(eventually(lambda: callback.audio))
    callback.closed()
    assert callback.errors[0]["header"]["error_code"] == "ModelUnavailable"


# How soon


@pytest.mark.parametrize("form", ["pcm", "wav", "mp3", "opus"])
async def test_the_first_byte_comes_as_soon_as_the_native_door_s(form):
    text = "The first sentence is short."
    rung = "opus32" if form == "opus" else "pcm22"
    async with serving() as running:

        async def later() -> float:
            loop, door, own = asyncio.get_running_loop(), [], []
            for _ in range(9):
                async with peer(running.url) as client:
                    began = loop.time()
                    await client.start(text, rung=rung)
                    await client.first(m.Audio)
                    own.append(loop.time() - began)
                async with raw(running) as client:
                    began = loop.time()
                    await client.send(run(format=form, bit_rate=32), go_on(text), finish())
                    await client.until(lambda client=client: client.audio)
                    door.append(loop.time() - began)
            return statistics.median(door) - statistics.median(own)

        await soon(later, FIRST_S)


async def test_connection_and_task_begin_within_the_sdk_s_patience_although_the_engine_is_busy():
    slow = {"rate": 22_050, "rtf": 1.0, "first_delay_s": 1.0}
    async with serving(engine__options=slow) as running, raw(running) as first:
        await first.send(run(), go_on(STORY))
        await first.event("task-started")
        began = asyncio.get_running_loop().time()
        async with raw(running) as second:
            assert asyncio.get_running_loop().time() - began < 5.0  # it waits no longer
            began = asyncio.get_running_loop().time()
            await second.send(run())
            await second.event("task-started")
            assert asyncio.get_running_loop().time() - began < 10.0  # nor for this
