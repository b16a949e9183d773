"""The DashScope door of a real server, over real sockets: who comes in, what is heard, how all ends."""

import asyncio
import ssl
import sys

import aiohttp
import numpy as np
import pytest
import trustme

from abr_tts.audio.wav import header
from abr_tts.engine.tone import CHAR_S
from abr_tts.server.dashscope.door import PATH

from ..harness import eventually, peer, serving
from .client import OTHER, TASK, finish, go_on, run
from .raw import address, raw

STORY = "A long story is told here, again and again. " * 60


def counted(server, name: str, **labels: str) -> float:
    """A counter of the server's metrics."""
    return server.metrics.registry.get_sample_value(f"abr_tts_{name}_total", labels) or 0.0


def all_of(server, name: str) -> float:
    """A counter of the server's metrics, whatever its labels."""
    families = [family for family in server.metrics.registry.collect() if family.name == name]
    return sum(one.value for family in families for one in family.samples if one.name.endswith("_total"))


async def native(server, text: str, **fields) -> np.ndarray:
    """The same text by the native door at its own rate's PCM rung."""
    async with peer(server.url) as client:
        started = await client.start(text, rung="pcm22", **fields)
        return await client.whole_pcm(started.stream)


async def test_speech_is_the_native_one_and_every_event_of_sound_has_its_sound_behind_it():
    async with serving() as server, raw(server) as client:
        await client.send(run())
        await client.event("task-started")
        await client.send(go_on("One sentence. "), go_on("And another one."), finish())
        finished = await client.event("task-finished")
        for at, name in enumerate(client.names):
            assert (name == "sentence-synthesis") == (client.names[at + 1 : at + 2] != [] and
                                                      isinstance(client.heard[at + 1], bytes))  # fmt: skip
        said = ["One sentence.", "And another one."]
        assert client.sentences() == client.sentences("sentence-end") == said
        assert finished["payload"]["usage"] == {"characters": 30}
        wanted = await native(server, "One sentence. And another one.")
        assert np.array_equal(np.frombuffer(client.audio, "<i2"), wanted)


async def test_one_connection_speaks_twice_in_different_formats():
    async with serving() as server, raw(server) as client:
        for task_id, form in ((TASK, "pcm"), (OTHER, "wav")):
            await client.send(run(task_id, format=form), go_on("Hello.", task_id), finish(task_id))
            await client.event("task-finished", task_id)
        pcm, wav = client.audio[:15_876], client.audio[15_876:]
        assert wav == header(22_050, None) + pcm
        assert (
            counted(server, "connections_opened") == 1
            and counted(server, "streams_ended", reason="done") == 2
        )


async def test_a_cancel_ends_engine_and_sound_at_once():
    async with serving(engine__options={"rate": 22_050, "rtf": 0.5}) as server, raw(server) as client:
        await client.send(run(), go_on(STORY))
        await client.until(lambda: client.audio)
        await client.send(finish(directive="cancel"))
        finished = await client.event("task-finished")
        assert client.heard[-1] is finished
        assert counted(server, "streams_ended", reason="cancelled") == 1
        await eventually(lambda: server.pool.stats.busy == 0, 2.0)
        await client.send(run(OTHER), go_on("Next.", OTHER), finish(OTHER))
        await client.event("task-finished", OTHER)


async def test_a_new_task_takes_the_place_of_the_one_that_runs():
    async with serving(engine__options={"rate": 22_050, "rtf": 0.5}) as server, raw(server) as client:
        await client.send(run(), go_on(STORY))
        await client.until(lambda: client.audio)
        await client.send(run(OTHER), go_on("Next.", OTHER), finish(OTHER))
        await client.event("task-started", OTHER)
        begun = next(
            at for at, one in enumerate(client.heard) if isinstance(one, dict)
            and (one["header"]["event"], one["header"]["task_id"]) == ("task-started", OTHER)
        )  # fmt: skip
        await client.event("task-finished", OTHER)
        rest = b"".join(one for one in client.heard[begun:] if isinstance(one, bytes))
        assert np.array_equal(np.frombuffer(rest, "<i2"), await native(server, "Next."))
        assert "task-failed" not in client.names and client.names.count("task-finished") == 1
        assert counted(server, "streams_ended", reason="aborted") == 1


async def test_flush_speaks_what_waits_for_the_end_of_its_sentence():
    async with serving(engine__text_idle_s=0) as server, raw(server) as client:
        await client.send(run(), go_on("No end in sight"), go_on(flush=True))
        await client.until(lambda: client.audio)
        assert client.sentences() == ["No end in sight"]
        await client.send(go_on(" and on."), finish())
        await client.event("task-finished")
        assert client.sentences() == ["No end in sight", "and on."]


@pytest.mark.parametrize(("volume", "gain"), [(0, 0.0), (25, 0.5), (50, 1.0), (100, 2.0)])
async def test_volume_is_linear_and_clips_at_full_scale(volume, gain):
    options = {"rate": 22_050, "amplitude": 0.75}
    async with serving(engine__options=options) as server, raw(server) as client:
        await client.send(run(volume=volume), go_on("Hello."), finish())
        await client.event("task-finished")
        heard = np.frombuffer(client.audio, "<i2").astype(float)
        wanted = np.clip((await native(server, "Hello.")) * gain, -32_768, 32_767)
        assert np.abs(heard - wanted).max() <= 1


async def test_rate_is_the_speed_of_speech():
    async with serving() as server, raw(server) as client:
        await client.send(run(rate=2.0), go_on("Hello, hello."), finish())
        await client.event("task-finished")
        wanted = await native(server, "Hello, hello.", speed=2.0)
        assert np.array_equal(np.frombuffer(client.audio, "<i2"), wanted)


async def test_clients_may_use_other_names_for_voices():
    async with serving(dashscope__voices={"longxiaochun": "tone-length"}) as server, raw(server) as client:
        await client.send(run(voice="longxiaochun"), go_on("Hello."), finish())
        await client.event("task-finished")
        wanted = await native(server, "Hello.", voice="tone-length")
        assert np.array_equal(np.frombuffer(client.audio, "<i2"), wanted)


async def test_speech_comes_over_tls_as_well(tmp_path):
    authority = trustme.CA()
    certificate = authority.issue_cert("127.0.0.1")
    certificate.private_key_pem.write_to_path(tmp_path / "key.pem")
    certificate.cert_chain_pems[0].write_to_path(tmp_path / "cert.pem")
    context = ssl.create_default_context()
    authority.configure_trust(context)
    files = {"tls__cert_file": str(tmp_path / "cert.pem"), "tls__key_file": str(tmp_path / "key.pem")}
    async with serving(**files) as server, raw(server, tls=context) as client:
        await client.send(run(), go_on(STORY), finish())
        await client.event("task-finished")
        spoken = "".join(client.sentences())
        assert len(client.audio) == pytest.approx(2 * 22_050 * CHAR_S * len(spoken), abs=2)


# What fails


@pytest.mark.parametrize(
    ("parameters", "text", "code"),
    [
        ({"voice": "nobody"}, None, "InvalidParameter"),
        ({"instruction": "Whisper."}, None, "InvalidParameter"),
        ({"voice": "tone-refuse"}, "Hello there.", "InternalError.Algo"),
        ({}, " … ", "InvalidParameter"),
    ],
)
async def test_a_task_fails_in_words_then_the_connection_closes_and_nothing_is_left(parameters, text, code):
    async with serving() as server, raw(server) as client:
        await client.send(run(**parameters), *([] if text is None else [go_on(text), finish()]))
        failed = await client.event("task-failed")
        assert failed["header"]["error_code"] == code and failed["header"]["error_message"]
        assert failed["header"]["task_id"] == TASK and client.heard[-1] is failed
        assert await client.closed() == 1000
        await eventually(lambda: server.pool.stats.busy == 0)
        assert all_of(server, "abr_tts_errors") == 1, "each error is counted once"


async def test_a_refusal_for_want_of_room_says_throttling():
    async with serving(limits__streams=1) as server, raw(server) as first, raw(server) as second:
        await first.send(run(), go_on("Something"))
        await first.event("task-started")
        await second.send(run())
        assert (await second.event("task-failed"))["header"]["error_code"] == "Throttling"
        assert counted(server, "limits_hit", limit="streams") == 1


@pytest.mark.parametrize(
    ("limit", "settings", "messages"),
    [
        ("continue_chars", {"dashscope__continue_chars": 5}, [go_on("123456")]),
        ("task_chars", {"dashscope__task_chars": 5}, [go_on("123"), go_on("456")]),
        ("text_wait_s", {"dashscope__text_wait_s": 0.05}, []),
        ("chars_per_s", {"limits__chars_burst": 200_000, "limits__chars_per_s": 1}, [go_on("a" * 20_000)] * 10
         + [finish(directive="cancel"), run(OTHER), go_on("a" * 1_000, OTHER)]),
        ("messages_per_s", {"limits__message_burst": 3, "limits__messages_per_s": 1}, [go_on("a")] * 4),
    ],
)  # fmt: skip
async def test_a_limit_that_is_hit_fails_the_task_and_is_counted_once(limit, settings, messages):
    async with serving(**settings) as server, raw(server) as client:
        await client.send(run(), *messages)
        await client.event("task-failed")
        await client.closed()
        assert counted(server, "limits_hit", limit=limit) == 1


async def test_a_connection_without_a_task_is_closed_and_counted():
    async with serving(dashscope__idle_s=0.05) as server, raw(server) as client:
        assert await client.closed() == 1008
        assert counted(server, "limits_hit", limit="idle_s") == 1


async def test_a_message_that_is_too_big_fails_in_words_and_one_far_beyond_closes():
    async with serving(limits__message_bytes=1_024) as server:
        async with raw(server) as client:
            await client.send(" " * 1_025)
            assert (await client.event("task-failed"))["header"]["error_code"] == "InvalidParameter"
            assert await client.closed() == 1009
        async with raw(server) as client:
            await client.send(" " * 100_000)
            assert await client.closed() == 1009
        await eventually(lambda: counted(server, "limits_hit", limit="message_bytes") == 2)


async def test_a_format_without_its_library_is_refused_and_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "av", None)
    async with serving() as server, raw(server) as client:
        await client.send(run(format="mp3"))
        failed = await client.event("task-failed")
        assert ".[formats]" in failed["header"]["error_message"]
        assert server.pool.stats.busy == 0 and counted(server, "streams_ended", reason="unsupported") == 1


# Clients that go, or do not read


async def test_a_client_that_goes_takes_its_speech_with_it():
    async with serving(engine__options={"rate": 22_050, "rtf": 0.5}) as server:
        async with raw(server) as client:
            await client.send(run(), go_on(STORY))
            await client.until(lambda: client.audio)
            client.socket._response.connection.transport.abort()
            await eventually(lambda: counted(server, "streams_ended", reason="lost") == 1)
        await eventually(lambda: server.pool.stats.busy == 0)


async def test_a_client_that_does_not_read_holds_up_the_engine_and_hears_all_in_the_end():
    async with serving(stream__max_ahead_s=2.0, engine__clause_chars=50) as server, raw(server) as client:
        await client.send(run(sample_rate=48_000))
        await client.event("task-started")
        client.stop_reading()
        await client.send(go_on(STORY), finish())
        visit = await eventually(lambda: next(iter(server.door.sessions), None))
        spoken = await eventually(StandingStill(visit))
        assert spoken < len(STORY) * CHAR_S / 2, "the engine went on although nobody listens"
        client.go_on_reading()
        await client.until(lambda: "task-finished" in client.names[-1:], 20.0)
        said = "".join(client.sentences("sentence-end"))
        assert said.replace(" ", "") == STORY.replace(" ", "")
        assert len(client.audio) / 96_000 == pytest.approx(len(said) * CHAR_S, abs=0.02)


class StandingStill:
    """Seconds of speech made, once 20 looks have found the same."""

    def __init__(self, visit) -> None:
        self._visit, self._made, self._looks = visit, 0.0, 0

    def __call__(self) -> float | None:
        told = self._visit.told()
        made = told[0]["spoken_s"] if told else 0.0
        self._looks = self._looks + 1 if made and made == self._made else 0
        self._made = made
        return made if self._looks >= 20 else None


async def test_a_client_that_takes_nothing_for_long_is_given_up():
    async with serving(limits__idle_timeout_s=1.5, limits__ping_s=0.5) as server, raw(server) as client:
        await client.send(run(sample_rate=48_000))
        await client.event("task-started")
        client.stop_reading()
        client.socket._response.connection.transport.pause_reading()
        await client.send(go_on(STORY * 4), finish())
        await eventually(lambda: counted(server, "limits_hit", limit="idle_timeout_s") == 1, 20.0)
        await eventually(lambda: server.pool.stats.busy == 0 and not server.door.sessions)


# The server stops


async def test_a_server_that_stops_fails_the_task_for_its_client_would_wait_for_ever():
    async with serving(engine__options={"rate": 22_050, "rtf": 1.0}) as server, raw(server) as client:
        await client.send(run(), go_on(STORY))
        await client.until(lambda: client.audio)
        await asyncio.gather(server.stop(), client.closed())
        assert client.heard[-1]["header"]["error_code"] == "ModelUnavailable"
        assert client.socket.close_code == 1012


async def test_a_server_that_drains_ends_what_runs_and_closes_what_idles():
    async with serving() as server, raw(server) as idle, raw(server) as busy:
        await busy.send(run())
        await busy.event("task-started")
        drained = asyncio.ensure_future(server.drain())
        assert await idle.closed() == 1012
        await busy.send(go_on("To its end."), finish())
        await drained
        assert await busy.closed() == 1012
        assert busy.names[-1] == "task-finished"


# Who comes in


async def test_a_door_that_is_not_enabled_is_not_there():
    async with serving(dashscope__enabled=False) as server, aiohttp.ClientSession() as http:
        assert (await http.get(server.http_url + PATH)).status == 404


async def test_a_slash_at_the_end_of_the_path_changes_nothing():
    async with (
        serving() as server,
        aiohttp.ClientSession() as http,
        http.ws_connect(address(server) + "/") as socket,
    ):
        await socket.send_str(run())
        assert "task-started" in await socket.receive_str()


async def test_plain_http_is_told_what_is_wanted():
    async with serving() as server, aiohttp.ClientSession() as http:
        answer = await http.get(server.http_url + PATH)
        assert (answer.status, (await answer.json())["code"]) == (426, "InvalidParameter")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": "Bearer right"}, 101),
        ({"Authorization": "bearer right"}, 101),
        ({"Authorization": "Bearer right", "Origin": "https://dashscope.example"}, 101),
        ({"Origin": "https://evil.example"}, 403),
        ({"Authorization": "Basic cmlnaHQ=", "Origin": "https://evil.example"}, 403),
    ],
)
async def test_a_key_opens_the_door_and_a_page_of_elsewhere_without_one_does_not(headers, status):
    async with serving(auth__keys=("right",)) as server:
        assert await knock(server, headers) == status


@pytest.mark.parametrize("speaks", [True, False])
async def test_a_key_that_is_taken_away_ends_what_it_opened_and_says_so(tmp_path, speaks):
    keys = tmp_path / "keys"
    keys.write_text("a-key\nb-key\n")
    settings = {"auth__keys_file": str(keys), "rollout__check_s": 0}
    async with serving(**settings) as server, raw(server, key="a-key") as client:
        if speaks:
            await client.send(run(), go_on(STORY))
            await client.until(lambda: client.audio)
        keys.write_text("b-key\n")
        server.reload()
        assert await client.closed() == 1008
        if speaks:
            assert client.heard[-1]["header"]["error_code"] == "InvalidApiKey"
            assert counted(server, "errors", code="unauthorized") == 1
        await eventually(lambda: not server.door.sessions)
        assert counted(server, "connections_closed", code="1008") == 1


async def test_a_page_of_elsewhere_does_not_get_in_although_no_key_is_asked_for():
    async with serving() as server:
        assert await knock(server, {"Origin": "https://evil.example"}) == 403
        assert await knock(server, {"Authorization": "Bearer any", "Origin": "https://sdk.example"}) == 101


async def knock(server, headers) -> int:
    """The status with which an upgrade is answered."""
    async with aiohttp.ClientSession() as http:
        try:
            async with http.ws_connect(address(server), headers=headers):
                return 101
        except aiohttp.WSServerHandshakeError as refused:
            return refused.status


async def test_a_key_has_so_many_connections_and_not_one_more():
    async with serving(auth__keys=("right",), limits__connections_per_key=1) as server:
        async with raw(server, key="right"):
            assert await knock(server, {"Authorization": "Bearer right"}) == 429
        await eventually(lambda: not server.door.sessions)
        assert await knock(server, {"Authorization": "Bearer right"}) == 101
