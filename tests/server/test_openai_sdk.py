"""
Clients of OpenAI, unmodified, at a real server: its Python and its npm package, and LiveKit's plugin.

A test of a client that is not installed is skipped (extras `sdk-test` and `formats`); `npm` fetches its own,
and must where CI is set.
"""

import asyncio
import base64
import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from abr_tts.audio.pcm import to_float
from abr_tts.audio.resample import convert

from .doors.world import SAYING
from .harness import peer, serving_in_a_thread
from .openai_world import carried, decoded, difference_db, events, pages, pcm

IN_CI = bool(os.environ.get("CI"))
KEY = "a-key-of-thirty-two-characters-or-so"
SCRIPT = Path(__file__).parents[1] / "js" / "openai_sdk.mjs"
NPM_PACKAGE = "openai@6"
sdk = pytest.importorskip
BURST = 8
"""Requests that the key may make at once: the script asks for six, and then for twelve."""


@pytest.fixture(scope="module")
def server():
    """Without keys, with a tone at 22 050 Hz: espeak-ng never says the same twice in the same samples."""
    with serving_in_a_thread() as server:
        yield server


@pytest.fixture(scope="module")
def native(server):
    """What the native door sends of the same text: float, and its rate."""

    async def hear():
        async with peer(server.url) as client:
            started = await client.start(SAYING, rung="pcm22")
            return to_float(await client.whole_pcm(started.stream)), started.sample_rate

    return asyncio.run(hear())


@pytest.fixture
def client(server):
    openai = sdk("openai")
    with openai.OpenAI(base_url=f"{server.http_url}/v1", api_key="none", max_retries=0) as client:
        yield client


def wish(**fields):
    return {"model": "tts-1", "voice": "alloy", "input": SAYING} | fields


def streamed(client, **fields) -> tuple[bytes, int, dict]:
    """A body as it comes: all of it, the pieces, the headers."""
    with client.audio.speech.with_streaming_response.create(**wish(**fields)) as answer:
        pieces = list(answer.iter_bytes())
        return b"".join(pieces), len(pieces), answer.headers


# OpenAI's Python package


def test_pcm_streams_as_the_native_stream_at_24_khz(client, native):
    body, _, headers = streamed(client, response_format="pcm")
    assert headers["x-audio-sample-rate"] == "24000"
    assert difference_db(to_float(pcm(body).astype(np.int16)), convert(native[0], native[1], 24_000)) < -60


def test_wav_streams_and_is_the_native_stream(client, native):
    body, _, _ = streamed(client, response_format="wav")
    assert (
        difference_db(to_float(pcm(body[44:]).astype(np.int16)), convert(native[0], native[1], 24_000)) < -60
    )


def test_opus_streams_in_short_pages_and_another_reader_hears_all_of_it(client, native):
    sdk("av")
    body, _, _ = streamed(client, response_format="opus")
    sound, rate = decoded(body, "ogg")
    there = convert(native[0], native[1], 48_000)
    assert rate == 48_000 and len(sound) == len(there)
    assert max(len(packets) for _, packets in pages(body)) <= 10
    assert (
        difference_db(sound[960:-960], there[960:-960]) < -8
    )  # the codec's own, of speech at 24 to 48 kbit/s


@pytest.mark.parametrize("name", ["mp3", "aac", "flac"])
def test_every_other_format_is_one_that_another_reader_takes(client, native, name):
    sdk("av")
    body, _, headers = streamed(client, response_format=name)
    sound, rate = decoded(body, name)
    assert rate == 24_000 and headers["content-type"] == {"mp3": "audio/mpeg"}.get(name, f"audio/{name}")
    assert len(sound) >= len(convert(native[0], native[1], 24_000))


def test_a_file_is_written_whole(client, tmp_path):
    client.audio.speech.create(**wish(response_format="wav")).write_to_file(tmp_path / "a.wav")
    with client.audio.speech.with_streaming_response.create(**wish(response_format="wav")) as answer:
        answer.stream_to_file(tmp_path / "b.wav")
    assert (tmp_path / "a.wav").read_bytes() == (tmp_path / "b.wav").read_bytes()


def test_the_sound_comes_before_it_is_all_spoken():
    openai = sdk("openai")
    with serving_in_a_thread(engine__options={"rate": 24_000, "rtf": 1.0}) as server:
        client = openai.OpenAI(base_url=f"{server.http_url}/v1", api_key="none")
        with client.audio.speech.with_streaming_response.create(**wish(response_format="pcm")) as answer:
            first = next(answer.iter_bytes())
            assert len(first) < 48_000 and server.pool.stats.busy == 1


def test_events_carry_the_same_sound(client):
    body, _, headers = streamed(client, response_format="pcm", stream_format="sse")
    told = events(body)
    assert headers["content-type"] == "text/event-stream"
    assert carried(told) == streamed(client, response_format="pcm")[0]
    assert told[-1]["usage"]["total_tokens"] > 0


@pytest.mark.parametrize("name", ["pcm", "opus", "mp3"])
def test_speech_is_as_long_and_as_loud_in_every_format(name):
    openai, _, _ = sdk("openai"), sdk("espeakng_loader"), sdk("av")
    with serving_in_a_thread(engine__kind="espeak", engine__options={}) as server:
        client = openai.OpenAI(base_url=f"{server.http_url}/v1", api_key="none")
        plain = to_float(pcm(streamed(client, response_format="pcm")[0]).astype(np.int16))
        body, pieces, _ = streamed(client, response_format=name)
    sound, rate = (plain, 24_000) if name == "pcm" else decoded(body, {"opus": "ogg"}.get(name, name))
    assert pieces > 1 and len(plain) > 24_000
    assert len(sound) / rate == pytest.approx(len(plain) / 24_000, abs=0.15)
    loudness = [10 * np.log10(np.mean(one**2)) for one in (sound, plain)]
    assert loudness[0] == pytest.approx(loudness[1], abs=1.0)


def test_extras_go_with_the_body(client, native):
    body, _, _ = streamed(client, response_format="pcm", extra_body={"sample_rate": native[1]})
    assert np.array_equal(to_float(pcm(body).astype(np.int16)), native[0])
    whole = client.audio.speech.create(**wish(response_format="pcm", extra_body={"stream": False}))
    assert int(whole.response.headers["content-length"]) == len(whole.content)


def test_models_are_listed(client):
    openai = sdk("openai")
    assert {"tts-1", "tts-1-hd", "gpt-4o-mini-tts"} == {model.id for model in client.models.list()}
    assert client.models.retrieve("tts-1").object == "model"
    with pytest.raises(openai.NotFoundError) as told:
        client.models.retrieve("whisper-1")
    assert told.value.code == "model_not_found"


@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({"voice": "nobody"}, "voice"),
        ({"speed": 5}, "speed"),
        ({"input": ""}, "input"),
        ({"input": "a" * 4097}, "input"),
    ],
)
def test_what_is_wrong_is_the_error_that_its_users_catch(client, change, param):
    openai = sdk("openai")
    with pytest.raises(openai.BadRequestError) as told:
        client.audio.speech.create(**wish(**change))
    assert told.value.param == param and told.value.type == "invalid_request_error"
    assert told.value.request_id.startswith("req_")


def test_a_key_is_asked_for_and_a_refused_request_is_made_again():
    openai = sdk("openai")
    settings = {"auth__keys": (KEY,), "limits__request_burst": 2, "limits__requests_per_s": 0.25}
    with serving_in_a_thread(engine__options={"rate": 24_000}, **settings) as server:
        url = f"{server.http_url}/v1"
        with pytest.raises(openai.AuthenticationError) as told:
            openai.OpenAI(base_url=url, api_key="wrong").models.list()
        assert told.value.code == "invalid_api_key"
        once = openai.OpenAI(base_url=url, api_key=KEY, max_retries=0)
        for _ in range(2):
            once.audio.speech.create(**wish(response_format="pcm", input="Hi."))
        with pytest.raises(openai.RateLimitError) as told:
            once.audio.speech.create(**wish(response_format="pcm", input="Hi."))
        assert told.value.response.headers["retry-after"] in ("1", "2", "3", "4")
        again = openai.OpenAI(base_url=url, api_key=KEY, max_retries=1)
        assert again.audio.speech.create(**wish(response_format="pcm", input="Hi.")).content


def test_the_asyncio_client_speaks_many_at_once(server):
    openai = sdk("openai")

    async def all_of_them() -> list[bytes]:
        url = f"{server.http_url}/v1"
        async with openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=5) as client:
            asked = [client.audio.speech.create(**wish(response_format="pcm")) for _ in range(8)]
            return [answer.content for answer in await asyncio.gather(*asked)]

    bodies = asyncio.run(all_of_them())
    assert len(set(bodies)) == 1 and len(bodies[0]) > 100_000


# OpenAI's npm package


@pytest.fixture(scope="module")
def npm_folder(tmp_path_factory):
    """A folder with the package, as npm installs it."""
    folder = tmp_path_factory.mktemp("npm")
    if not (shutil.which("npm") and shutil.which("node")):
        assert not IN_CI, "CI needs Node.js with npm"
        pytest.skip("no npm here")
    command = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), NPM_PACKAGE]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if done.returncode:
        assert not IN_CI, done.stderr
        pytest.skip("npm cannot fetch the package")
    return folder


def test_the_npm_package_streams_refuses_and_tries_again(npm_folder):
    settings = {"auth__keys": (KEY,), "limits__request_burst": BURST, "limits__requests_per_s": 0.5}
    with serving_in_a_thread(engine__options={"rate": 24_000}, **settings) as server:
        command = ["node", str(SCRIPT), str(npm_folder), f"{server.http_url}/v1", KEY, SAYING]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    sound = {name: base64.b64decode(told[name]["sound"]) for name in ("pcm", "wav", "opus")}
    assert told["pcm"]["rate"] == "24000" and told["opus"]["rate"] == "48000"
    assert sound["pcm"] == base64.b64decode(told["whole"]) == sound["wav"][44:]
    assert sound["pcm"] == carried(events(told["events"].encode()))
    assert pages(sound["opus"])[-1][0] == 960 + len(sound["pcm"])
    assert told["model"] == "tts-1" in told["models"]
    assert (told["voice"]["kind"], told["voice"]["param"]) == ("BadRequestError", "voice")
    assert (told["speed"]["kind"], told["speed"]["param"]) == ("BadRequestError", "speed")
    assert (told["missing"]["kind"], told["missing"]["code"]) == ("NotFoundError", "model_not_found")
    assert (told["key"]["kind"], told["key"]["code"]) == ("AuthenticationError", "invalid_api_key")
    assert (told["often"]["kind"], told["often"]["code"]) == ("RateLimitError", "rate_limit_exceeded")
    assert int(told["often"]["again"]) >= 1
    assert base64.b64decode(told["again"]) == sound["pcm"], "it came again when it was told to"


# LiveKit's plugin


@pytest.mark.parametrize("model", ["tts-1", "gpt-4o-mini-tts"])  # the one by bytes, the other by events
@pytest.mark.parametrize("name", ["pcm", "wav", "opus", "mp3", "aac", "flac"])
def test_livekits_plugin_speaks(server, native, model, name):
    plugin = sdk("livekit.plugins.openai")

    async def hear() -> np.ndarray:
        url = f"{server.http_url}/v1"
        speaker = plugin.TTS(model=model, voice="alloy", base_url=url, api_key="none", response_format=name)
        frames = [event.frame async for event in speaker.synthesize(SAYING)]
        await speaker.aclose()
        assert {frame.sample_rate for frame in frames} == {24_000}
        return np.concatenate([np.frombuffer(frame.data, np.int16) for frame in frames])

    heard, there = asyncio.run(hear()), convert(native[0], native[1], 24_000)
    assert abs(len(heard) - len(there)) < 0.2 * 24_000
    if name in ("pcm", "wav"):
        assert difference_db(to_float(heard[: len(there)].copy()), there) < -60
