"""Policy files that change under a server that speaks: real files, signals, sockets and traces."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
from prometheus_client.parser import text_string_to_metric_families

from abr_tts.control.policy_file import parse
from abr_tts.server.rollout.slots import HASH_CHARS, fingerprint
from abr_tts.sim.replay import replay
from abr_tts.wire import messages as m

from .harness import eventually, peer, serving
from .test_adaptive import trace_of
from .test_watch import ConfigMap

OLD, NEW, BAD = "upgrade_lead_s = 3\n", "upgrade_lead_s = 4\n", "upgrade_led_s = 5\n"
WAIT_S = 20.0
TEXT = "one two three four five six seven. "


def hash_of(text: str) -> str:
    return fingerprint(parse(text, "own.toml"))


class Process:
    """`abr-tts serve` as people run it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process, self.url = process, ""
        self.log: list[str] = []

    async def read(self, word: str) -> str:
        """The next line of its log with this word."""
        async with asyncio.timeout(WAIT_S):
            while line := (await self.process.stderr.readline()).decode():
                self.log.append(line)
                if word in line:
                    return line
        raise AssertionError(f"it ended without {word!r}: {self.log}")

    @property
    def http_url(self) -> str:
        return self.url.replace("ws://", "http://").removesuffix("/v1/stream")


@contextlib.asynccontextmanager
async def running(*arguments: str) -> AsyncIterator[Process]:
    command = [sys.executable, "-m", "abr_tts", "serve", "--port", "0", "--engine", "tone", "--workers", "1"]
    process = await asyncio.create_subprocess_exec(
        *command, *arguments, stderr=asyncio.subprocess.PIPE, cwd=Path(__file__).parents[2],
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    made = Process(process)
    try:
        made.url = (await made.read("listening on")).split()[-1]
        yield made
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.communicate()


async def scrape(server) -> dict[tuple[str, ...], float]:
    """(name, values of its labels in the order of their names) → value."""
    async with aiohttp.ClientSession() as http, http.get(server.http_url + "/metrics") as answer:
        families = text_string_to_metric_families(await answer.text())
        return {(s.name, *s.labels.values()): s.value for family in families for s in family.samples}


async def ready(server) -> tuple[int, dict]:
    async with aiohttp.ClientSession() as http, http.get(server.http_url + "/readyz") as answer:
        return answer.status, await answer.json()


async def spoken(client, **fields) -> str:
    started = await client.start(TEXT, **fields)
    await client.first(m.StreamEnd, stream=started.stream)
    await client.send(m.BitRateHint(started.stream, client.received, 10**6, 0))
    return started.stream_id


async def test_on_sighup_new_streams_take_the_new_policy_and_a_running_one_keeps_its_own(tmp_path):
    own, traces = tmp_path / "own.toml", tmp_path / "traces"
    own.write_text(OLD)
    arguments = ("--policy", str(own), "--record", str(traces), "--set", "rollout.check_s=0")
    async with running(*arguments) as server, peer(server.url) as client:
        running_on = await client.start(TEXT + "And", open=True)
        await client.first(m.Audio, stream=running_on.stream)
        own.write_text(NEW)
        server.process.send_signal(signal.SIGHUP)
        assert f"new streams take own ({hash_of(NEW)})" in await server.read("stream.policy")
        fresh = await spoken(client)
        await client.send(m.Text(running_on.stream, " more. " + TEXT), m.TextEnd(running_on.stream))
        end = await client.first(m.StreamEnd, stream=running_on.stream)
        await client.send(m.BitRateHint(running_on.stream, client.received, 48 * end.length, 0))
        for stream_id, text in ((running_on.stream_id, OLD), (fresh, NEW)):
            trace = await trace_of(traces, stream_id)
            assert trace.header["policy_sha256"][:HASH_CHARS] == hash_of(text)
            assert replay(trace).difference is None
        seen = await scrape(server)
        assert seen["abr_tts_policy_info", hash_of(NEW), "own", "server"] == 1
        assert ("abr_tts_policy_info", hash_of(OLD), "own", "server") not in seen
        assert seen["abr_tts_policy_streams_total", hash_of(OLD), "own"] == 1
        assert seen["abr_tts_policy_streams_total", hash_of(NEW), "own"] == 1


async def test_after_a_bad_file_the_server_stays_ready_and_says_so_in_log_metric_and_readyz(tmp_path):
    own = tmp_path / "own.toml"
    own.write_text(OLD)
    async with running("--policy", str(own), "--set", "rollout.check_s=0") as server:
        own.write_text(BAD)
        server.process.send_signal(signal.SIGHUP)
        line = await server.read("stream.policy")
        assert "WARNING" in line and f"{own}:1: upgrade_led_s: unknown key" in line
        status, detail = await ready(server)
        assert status == 200 and detail["ready"]
        assert detail["policy"] == {"name": "own", "hash": hash_of(OLD)}
        assert "own.toml:1: upgrade_led_s: unknown key" in detail["policy_faults"][0]
        seen = await scrape(server)
        assert seen["abr_tts_policy_reloads_total", "refused"] == 1
        assert seen["abr_tts_policy_faults",] == 1
        assert seen["abr_tts_policy_info", hash_of(OLD), "own", "server"] == 1
        async with peer(server.url) as client:
            await spoken(client)
        own.write_text(OLD)
        server.process.send_signal(signal.SIGHUP)
        await server.read("is in use already")
        assert (await scrape(server))["abr_tts_policy_faults",] == 0
        assert (await ready(server))[1]["policy_faults"] == []


async def test_without_a_policy_file_sighup_ends_the_server_as_a_closed_terminal_does():
    async with running() as server:
        server.process.send_signal(signal.SIGHUP)
        async with asyncio.timeout(WAIT_S):
            assert await server.process.wait() == -signal.SIGHUP


async def test_a_config_map_that_is_swapped_is_taken_without_being_asked(tmp_path):
    (tmp_path / "mount").mkdir()
    mount = ConfigMap(tmp_path / "mount", OLD)
    async with serving(stream__policy=str(mount.file), rollout__check_s=0.02) as server:
        value = server.metrics.registry.get_sample_value
        mount.swap(NEW)
        await eventually(lambda: value("abr_tts_policy_reloads_total", {"outcome": "applied"}) == 1)
        mount.swap(BAD)
        await eventually(lambda: value("abr_tts_policy_faults") == 1)
        assert (await ready(server))[1]["policy"]["name"] == "p"


async def test_a_look_that_fails_is_logged_and_the_next_one_is_made(tmp_path, monkeypatch, caplog):
    own = tmp_path / "own.toml"
    own.write_text(OLD)
    async with serving(stream__policy=str(own), rollout__check_s=0) as server:
        rollout = server._reloader._rollout
        with monkeypatch.context() as patched:
            patched.setattr(rollout, "look", lambda: 1 / 0)
            server.reload()
            await eventually(lambda: "could not be looked at" in caplog.text)
        own.write_text(NEW)
        server.reload()
        await eventually(lambda: rollout.summary()["policy"]["hash"] == hash_of(NEW))


async def test_a_share_of_sessions_is_sent_by_the_canary_and_counted_apart(tmp_path):
    own, canary = tmp_path / "own.toml", tmp_path / "b.toml"
    own.write_text(OLD)
    canary.write_text(NEW)
    both = {"stream__policy": str(own), "canary__policy": str(canary), "canary__share": 0.5}
    async with serving(record__dir=tmp_path / "traces", **both) as server:
        sides: dict[str, set[str]] = {}
        for number in range(40):  # half of them each: one chance in 10¹² that one side stays empty
            async with peer(server.url) as client:
                session = client.of(m.Welcome)[0].session
                for _ in range(2 if number < 2 else 1):
                    trace = await trace_of(tmp_path / "traces", await spoken(client))
                    sides.setdefault(session, set()).add(trace.header["policy_sha256"][:HASH_CHARS])
            if number >= 2 and len(set.union(*sides.values())) == 2:
                break
        assert all(len(hashes) == 1 for hashes in sides.values()), "a session stays on its side"
        seen = await scrape(server)
        counted = {key[1:]: value for key, value in seen.items() if key[0] == "abr_tts_policy_streams_total"}
        tried = fingerprint(parse(NEW, "b.toml"))
        assert set(counted) == {(hash_of(OLD), "own"), (tried, "b")}
        assert sum(counted.values()) == len(sides) + 2
        assert seen["abr_tts_policy_info", tried, "b", "canary"] == 1
        assert seen["abr_tts_canary_share",] == 0.5
        assert (await ready(server))[1]["canary"]["share"] == 0.5
