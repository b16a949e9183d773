"""Speech that adapts, through the whole server: what is sent, on whose terms, and how it is remembered."""

import asyncio
from pathlib import Path

import aiohttp
import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families

from abr_tts.client import Client
from abr_tts.errors import NoCommonFormat, UnknownPolicy
from abr_tts.sim.replay import replay
from abr_tts.trace import Trace, read
from abr_tts.units import FRAME_TICKS
from abr_tts.wire import messages as m

from .harness import eventually, peer, serving, serving_in_a_thread

TEXT = "one two three four five six seven eight nine ten eleven twelve. "  # 3.8 s
SECONDS = 0.06 * (len(TEXT) - 1)
BETTER = ("pcm22", "opus64", "opus48", "opus32")
MANY = 8
"""Messages that may be on the way on any link, and tell a rate when they are reported at once: 2.6 kB."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("traces")


@pytest.fixture(scope="module")
def server(folder):
    policy = folder.parent / "pcm.toml"
    policy.write_text('extends = "classic"\nbank_rung = "pcm16k"\n')
    offered = {"classic": "classic", "thrifty": "thrifty", "pcm": str(policy), "opus": "opus"}
    with serving_in_a_thread(engine__workers=3, record__dir=folder, stream__policies=offered) as made:
        yield made


@pytest.fixture
def url(server):
    return server.url


async def trace_of(folder: Path, stream_id: str) -> Trace:
    """The trace of a stream that is over, once the disk has it."""

    def look() -> Trace | None:
        for path in folder.glob(f"*-{stream_id}.jsonl"):
            lines = path.read_text().splitlines(keepends=True)
            trace = read(lines, path.name) if lines else None
            return trace if trace and trace.end else None
        return None

    return await eventually(look)


def tracks(client, handle: int) -> list[tuple[int, str, str]]:
    return [(track.rank, track.rung, track.codec) for track in client.of(m.Track, stream=handle)]


# ---------------------------------------------------------------- heard


async def test_a_listener_hears_all_of_it_soon_better_than_it_was_banked_and_every_decision_replays(
    url, folder
):
    switches = []
    async with Client(url) as client:
        speech = client.speak(TEXT, realtime=True, events=switches.append)
        heard = await speech.read()
    stats = speech.stats
    assert stats.complete and stats.stalls == 0
    assert len(heard) == round(SECONDS * 22_050)
    assert speech.rung in BETTER, "which of them, a machine under load may not show in four seconds"
    assert stats.rungs["opus24"] < SECONDS / 2 and set(stats.rungs) <= {"opus24", *BETTER}
    changes = [event for event in switches if isinstance(event, m.Switch)]
    assert any(change.source == "opus24" and change.target in stats.rungs for change in changes)
    assert all(change.reason for change in changes)
    trace = await trace_of(folder, speech.stream_id)
    assert trace.end == "done"
    replayed = replay(trace)
    assert (replayed.difference, replayed.policy) == (None, "default")
    assert {"decided", "opened", "encode", "switched", "finished", "drained"} <= {
        entry.kind for entry in trace.entries
    }


async def test_a_trace_holds_no_word_of_the_text(url, folder):
    async with peer(url) as client:
        started = await client.start("Rumpelstiltskin spins straw into gold.")
        await client.first(m.StreamEnd)
    await trace_of(folder, started.stream_id)
    (path,) = folder.glob(f"*-{started.stream_id}.jsonl")
    assert "Rumpel" not in path.read_text() and started.token not in path.read_text()


async def test_what_is_started_names_the_rung_of_the_bank(url):
    async with peer(url) as client:
        started = await client.start(TEXT)
        await client.first(m.StreamEnd, stream=started.stream)
    assert (started.codec, started.rung) == ("opus", "opus24")
    rank, rung, codec = tracks(client, started.stream)[0]
    # Better than promised where the link is remembered to carry it with ease; the decoder is the same.
    assert (rank, codec) == (0, "opus") and rung in ("opus24", "opus48")


async def test_speech_to_be_kept_comes_at_one_rung_the_best(url):
    async with Client(url) as client:
        for policy, rung in ((None, "pcm22"), ("thrifty", "opus32")):
            speech = client.speak(TEXT, whole=True, policy=policy)
            await speech.read()
            assert list(speech.stats.rungs) == [rung]


async def test_a_fixed_rung_stays_and_replays(url, folder):
    async with peer(url) as client:
        started = await client.start(TEXT, rung="pcm16k")
        await client.first(m.StreamEnd, stream=started.stream)
    assert tracks(client, started.stream) == [(0, "pcm16k", "pcm16")]
    trace = await trace_of(folder, started.stream_id)
    assert trace.header["policy"] is None
    assert replay(trace).difference is None


# ---------------------------------------------------------------- what clients can do


async def test_a_client_of_one_track_gets_one_in_order_at_rungs_of_one_family(url, folder):
    async with peer(url, level=0) as client:
        started = await client.start(TEXT * 3)
        end = await client.first(m.StreamEnd, stream=started.stream)
        await client.hint(started.stream, round(end.length * 48_000 / 22_050))
        trace = await trace_of(folder, started.stream_id)
    ((rank, rung, codec),) = tracks(client, started.stream)
    assert (rank, codec) == (0, "opus") and rung in ("opus24", "opus48")  # the latter on a known link
    at = -FRAME_TICKS
    for audio in client.of(m.Audio, stream=started.stream):
        assert audio.pts == at
        at += len(audio.packets) * FRAME_TICKS
    assert at / 48_000 >= 3 * SECONDS
    assert all(switch.length == 0 for switch in client.of(m.Switch, stream=started.stream))
    assert trace.header["level"] == 0 and replay(trace).difference is None


async def test_a_client_without_opus_gets_pcm_alone_every_sample_of_it(url):
    async with peer(url, codecs=("pcm16",)) as client:
        started = await client.start(TEXT)
        pcm = await client.whole_pcm(started.stream)
    assert (started.codec, started.rung) == ("pcm16", "pcm22")
    assert len(pcm) == round(SECONDS * 22_050) and np.abs(pcm).max() > 1000


async def test_formats_of_a_request_narrow_what_it_gets(url):
    async with peer(url) as client:
        started = await client.start(TEXT, formats=("pcm16",))
        assert started.codec == "pcm16"
        told = await client.refused(TEXT, formats=("ulaw",))
        assert (told.code, told.scope) == ("no_common_format", "stream")


# ---------------------------------------------------------------- policies


@pytest.mark.parametrize(
    ("policy", "first", "better", "others"),
    [
        ("thrifty", "opus16", (), {"opus32"}),
        ("pcm", "pcm16k", (), {"pcm22"}),
        ("opus", "opus24", ("opus48",), {"opus64", "opus48"}),
    ],
)
async def test_a_request_may_name_one_of_the_policies(url, policy, first, better, others):
    async with peer(url) as client:
        started = await client.start(TEXT, policy=policy)
        end = await client.first(m.StreamEnd, stream=started.stream)
        await client.hint(started.stream, round(end.length * 48_000 / 22_050))
    assert started.rung == first
    opened = tracks(client, started.stream)
    assert opened[0][0] == 0 and opened[0][1] in (first, *better)
    assert {rung for _, rung, _ in opened[1:]} <= others


async def test_an_unknown_policy_is_refused_with_the_names_that_there_are(url):
    async with peer(url) as client:
        told = await client.refused(TEXT, policy="clasic")
        assert (told.code, told.scope) == ("unknown_policy", "stream")
        assert told.detail["policies"] == ["classic", "default", "opus", "pcm", "thrifty"]
        assert (await client.start(TEXT, policy="default")).rung == "opus24"
    async with Client(url) as speaker:
        with pytest.raises(UnknownPolicy):
            await speaker.speak(TEXT, policy="clasic").read()


async def test_a_policy_without_anything_for_the_client_is_refused_and_costs_no_place(url, server):
    async with peer(url, codecs=("pcm16",)) as client:
        told = await client.refused(TEXT, policy="opus")
        assert told.code == NoCommonFormat.code
        await eventually(lambda: server._admission.streams == 0)


async def test_a_key_has_the_policy_of_its_name():
    keys = {"auth__keys": ("anna:secret-1", "secret-2"), "auth__policies": {"anna": "thrifty"}}
    async with serving(**keys) as server:
        for key, rung in (("secret-1", "opus16"), ("secret-2", "opus24")):
            async with peer(server.url, headers={"Authorization": f"Bearer {key}"}) as client:
                assert (await client.start(TEXT)).rung == rung
                assert (await client.start(TEXT, policy="classic")).rung == "opus24"


# ---------------------------------------------------------------- memory


async def hear_out(client, many=MANY, **fields) -> str:
    """
    One speech to a client who knows its round trip, as they soon do; the stream's id.

    It first reports when much has come at once, which tells the server a rate.
    """
    client.rtt_ms, client.hints = 1.0, False
    started = await client.start(TEXT, **fields)
    await client.until(lambda: len(client.of(m.Audio, stream=started.stream)) >= many)
    client.hints = True
    await client.hint(started.stream, 0)
    end = await client.first(m.StreamEnd, stream=started.stream)
    await client.hint(started.stream, round(end.length * 48_000 / 22_050))
    return started.stream_id


async def speak(url: str, key: str = "", **fields) -> str:
    """The same over a connection of its own."""
    async with peer(url, headers={"Authorization": f"Bearer {key}"} if key else None) as client:
        return await hear_out(client, **fields)


async def test_what_was_learned_of_a_link_serves_the_clients_next_stream_on_another_connection(tmp_path):
    async with serving(record__dir=tmp_path) as server:
        first, second = await speak(server.url), await speak(server.url)
        assert (await trace_of(tmp_path, first)).header["remembered"] is None
        trace = await trace_of(tmp_path, second)
        assert trace.header["remembered"]["kbps"] > 100
        assert trace.header["remembered"]["at"] <= trace.header["now"]
        assert replay(trace).difference is None
        fixed = await trace_of(tmp_path, await speak(server.url, rung="opus24"))
        assert fixed.header["remembered"] is None


async def test_a_stream_that_begins_while_another_plays_knows_what_that_one_learned(tmp_path):
    async with serving(record__dir=tmp_path) as server, peer(server.url) as client:
        client.hints = False
        first = await client.start(TEXT * 2, open=True)
        await client.until(lambda: len(client.of(m.Audio, stream=first.stream)) >= MANY)
        client.rtt_ms = 1.0
        await client.hint(first.stream, 0)
        second = await hear_out(client, many=2)  # they share what may be on the way
        assert (await trace_of(tmp_path, second)).header["remembered"]["kbps"] > 100
        assert not client.of(m.StreamEnd, stream=first.stream)


@pytest.mark.parametrize("setting", ['memory_key = "none"', "memory_s = 0"])
async def test_nothing_is_remembered_where_the_policy_says_so(tmp_path, setting):
    policy = tmp_path / "forgetful.toml"
    policy.write_text(setting + "\n")
    async with serving(record__dir=tmp_path, stream__policy=str(policy)) as server:
        for _ in range(2):
            trace = await trace_of(tmp_path, await speak(server.url))
            assert trace.header["remembered"] is None


async def test_clients_with_different_keys_do_not_share_what_was_learned(tmp_path):
    async with serving(record__dir=tmp_path, auth__keys=("one", "two")) as server:
        for key, known in (("one", False), ("two", False), ("one", True)):
            trace = await trace_of(tmp_path, await speak(server.url, key))
            assert (trace.header["remembered"] is not None) == known


# ---------------------------------------------------------------- ends, metrics


async def test_a_cancelled_stream_and_a_lost_one_leave_traces_that_say_so_and_replay(url, folder):
    async with peer(url) as client:
        cancelled = await client.start(TEXT * 20)
        await client.first(m.Audio, stream=cancelled.stream)
        await client.send(m.Cancel(cancelled.stream))
        await client.first(m.StreamEnd, stream=cancelled.stream)
        lost = await client.start(TEXT * 20)
        await client.first(m.Audio, stream=lost.stream)
    for started, end in ((cancelled, "cancelled"), (lost, "lost")):
        trace = await trace_of(folder, started.stream_id)
        assert trace.end == end
        assert replay(trace).difference is None


async def test_many_streams_at_once_each_have_a_trace_that_replays(url, folder):
    async with peer(url) as client:
        started = await asyncio.gather(*(client.start(TEXT) for _ in range(8)))
        for one in started:
            await client.first(m.StreamEnd, stream=one.stream)
    for one in started:
        assert replay(await trace_of(folder, one.stream_id)).difference is None


async def scrape(server) -> dict[tuple[str, ...], float]:
    """(name, values of its labels) → value."""
    async with aiohttp.ClientSession() as http, http.get(server.http_url + "/metrics") as answer:
        families = text_string_to_metric_families(await answer.text())
        return {(s.name, *s.labels.values()): s.value for family in families for s in family.samples}


async def test_metrics_tell_what_was_sent_and_heard_by_rung_switches_bank_and_outstanding():
    async with serving() as server:
        async with Client(server.url) as client:
            speech = client.speak(TEXT, realtime=True)
            await speech.read()
        await eventually(lambda: server._admission.connections == 0)
        seen = await scrape(server)
        heard = {
            key[1]: value for key, value in seen.items() if key[0] == "abr_tts_played_audio_seconds_total"
        }
        sent = {key[1]: value for key, value in seen.items() if key[0] == "abr_tts_sent_audio_seconds_total"}
        assert sum(heard.values()) == pytest.approx(SECONDS, abs=0.02)
        for rung, seconds in speech.stats.rungs.items():
            assert heard[rung] == pytest.approx(seconds, abs=0.5), "as the player counts it, but for a report"
        assert sent["opus24"] == pytest.approx(SECONDS, abs=0.03)
        assert all(sent[rung] >= seconds - 0.03 for rung, seconds in heard.items())
        switches = {key[1:3]: value for key, value in seen.items() if key[0] == "abr_tts_switches_total"}
        assert sum(switches.values()) == speech.stats.switches > 0
        assert next(iter(switches))[0] == "opus24"
        assert seen["abr_tts_bank_seconds_count",] > 10
        assert seen["abr_tts_bank_seconds_sum",] > 0
        by_source = {
            key[1]: value for key, value in seen.items() if key[0] == "abr_tts_stream_outstanding_bytes_count"
        }
        assert by_source["reports"] == seen["abr_tts_bank_seconds_count",] and by_source["kernel"] > 0
