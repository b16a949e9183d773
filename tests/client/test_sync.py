"""The client without an event loop: the same speech, from an ordinary program."""

import asyncio
import threading

import numpy as np
import pytest

from abr_tts import errors
from abr_tts.client import Reconnecting, sync

from ..server.harness import eventually, serving_in_a_thread
from .test_reconnect import LEAD, LONG, tone


@pytest.fixture(scope="module")
def server():
    with serving_in_a_thread(engine__workers=2, **LEAD) as server:
        yield server


@pytest.fixture(autouse=True)
def _no_thread_stays():
    before = threading.active_count()
    yield
    # At most a worker that reads texts: asyncio tells those to go, and does not wait until they have.
    asyncio.run(eventually(lambda: threading.active_count() <= before + 1))


def test_a_for_loop_hears_the_engines_samples(server):
    frames = list(sync.speak(server.url, LONG, rung="pcm22"))
    assert {len(frame) for frame in frames[:-1]} == {441}
    assert np.array_equal(np.concatenate(frames), tone(LONG))


def test_leaving_the_loop_cancels_and_the_connection_serves_the_next(server):
    with sync.Client(server.url) as client:
        speech = client.speak(LONG, rung="pcm22")
        for _ in speech:
            break
        assert not speech.stats.complete and speech.rest == LONG
        assert np.array_equal(client.speak("abc", rung="pcm22").read(), tone("abc"))


def test_a_generator_may_give_the_text(server):
    with sync.Client(server.url) as client:
        speech = client.speak(iter(["Hel", "lo ", "there."]), rung="pcm22")
        assert np.array_equal(speech.read(), tone("Hello there."))
        assert speech.heard_text == "Hello there."


def test_faults_are_the_same_ones(server):
    with pytest.raises(errors.EmptyText):
        list(sync.speak(server.url, ""))
    with pytest.raises(errors.ConnectFailed), sync.Client("ws://127.0.0.1:9"):
        pass


def test_a_cut_is_survived_here_too(server):
    events = []
    with sync.Client(server.url) as client:
        speech, heard = client.speak(LONG, rung="pcm22", events=events.append), []
        for frame in speech:
            heard.append(frame)
            if len(heard) in (20, 60):
                transport = client._client._line.pump._socket._response.connection.transport
                client._loop.call_soon_threadsafe(transport.abort)
    assert np.array_equal(np.concatenate(heard), tone(LONG))
    assert any(isinstance(event, Reconnecting) for event in events)


def test_a_speech_is_paused_from_one_thread_and_goes_on_from_another(server):
    with sync.Client(server.url) as client:
        speech, heard = client.speak(LONG, rung="pcm22"), []
        for frame in speech:
            heard.append(frame)
            if len(heard) == 20:
                speech.pause()
                assert speech.sample_rate == 22_050 and speech.rung == "pcm22"
                threading.Timer(0.2, speech.resume).start()
    assert len(np.concatenate(heard)) == len(tone(LONG))
    assert speech.heard == len(LONG) and client.welcome is not None


def test_clips_are_sent_by_ordinary_programs_too(tmp_path):
    settings = {"engine__options": {"rate": 16_000, "converts": True}, "engine__voices_dir": str(tmp_path)}
    clip = np.sin(np.arange(24_000) * 2 * np.pi * 700 / 16_000) * 0.5
    with serving_in_a_thread(**settings) as server, sync.Client(server.url) as client:
        assert client.add_voice("anna", clip, 16_000, consent=True) == pytest.approx(1.5, abs=0.04)
        speech = client.convert(clip, 16_000, rung="pcm16k")
        assert len(speech.read()) == pytest.approx(24_000, abs=640)
