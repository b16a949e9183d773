"""The page of limits says what is so: settings, defaults, codes, labels, tests; each is counted once met."""

import json
import re
from pathlib import Path

import pytest

from abr_tts.control.policy_file import preset
from abr_tts.server.config import describe
from abr_tts.server.load.hits import NAMES
from abr_tts.wire import messages as m

from .harness import eventually, peer, serving
from .test_watching import table

ROOT = Path(__file__).resolve().parents[2]
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in (ROOT / "docs" / "security.md").read_text("utf-8").splitlines()
    if re.search(r"\| `tests/", line)
]
IN_CODE = re.compile(r"`([^`]+)`")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[1])
def test_a_row_names_what_there_is(row):
    _, settings, defaults, told, counted, tests = row
    known = {one.name: one.default for one in describe()}
    known["most_outstanding_bytes"] = preset("default").most_outstanding_bytes
    names = IN_CODE.findall(settings)
    assert [str(known[name]) for name in names] == defaults.split(", ")
    codes = json.loads((ROOT / "protocol" / "errors.json").read_text("utf-8"))["errors"]
    assert set(IN_CODE.findall(told)) <= {one["code"] for one in codes}
    (label,) = IN_CODE.findall(counted)
    assert label in NAMES or label in table()
    for path in IN_CODE.findall(tests):
        words = (ROOT / path).read_text("utf-8").lower()
        about = {name.rpartition(".")[2] for name in names} | set(IN_CODE.findall(told))
        assert any(word in words for word in about), path


def test_every_limit_of_a_client_stands_on_the_page():
    settings = {name for row in ROWS for name in IN_CODE.findall(row[1])}
    of_limits = {one.name for one in describe() if one.name.startswith("limits.")}
    no_bounds = {  # what a server does, not what a client may
        "limits.engine_share", "limits.relief", "limits.retry_after_s", "limits.ping_s", "limits.hint_ms",
        "limits.close_timeout_s", "limits.stream_ids", "limits.stream_ids_s", "limits.uplink_kbps",
    }  # fmt: skip
    assert of_limits - settings == no_bounds
    told = {label for row in ROWS for label in IN_CODE.findall(row[4])} | {"cpu", "ticket"}
    of_doors = {one.name.rpartition(".")[2] for one in describe() if not one.name.startswith("limits.")}
    assert NAMES - told <= of_doors


def hits(server, limit: str) -> float:
    return server.metrics.limits_hit.labels(limit)._value.get()


async def test_a_text_a_stream_and_a_message_too_many_are_counted_once_each():
    settings = {"limits__text_chars": 20, "limits__streams_per_connection": 2, "limits__message_bytes": 1024}
    async with serving(**settings) as server, peer(server.url) as client:
        await client.start("x" * 20, open=True)
        assert (await client.refused("x" * 21)).code == "text_too_long"
        await client.start("x", open=True)
        assert (await client.refused("x")).code == "too_many_streams"
        assert [hits(server, name) for name in ("text_chars", "streams_per_connection")] == [1, 1]
        await client.socket.send_bytes(bytes(1025))
        assert await client.closed() == 1009
        assert hits(server, "message_bytes") == 1


async def test_silence_before_and_after_the_hello_is_counted_once_each():
    settings = {"limits__hello_timeout_s": 1.0, "limits__ping_s": 0.1, "limits__idle_timeout_s": 0.2}
    async with serving(**settings) as server:
        async with peer(server.url, hello=False) as client:
            assert await client.closed() == 1008
        async with peer(server.url) as client:
            assert await client.closed() == 1008
        assert [hits(server, name) for name in ("hello_timeout_s", "idle_timeout_s")] == [1, 1]


async def test_an_engine_that_waits_for_a_listener_is_counted_each_time_that_it_begins_to():
    short = {"stream__max_ahead_s": 1, "engine__clause_chars": 12, "engine__first_clause_chars": 12}
    async with serving(**short) as server, peer(server.url, hints=False) as client:
        started = await client.start("xxxxxxxxx. ", open=True, rung="pcm22")
        await client.first(m.Audio)
        assert hits(server, "max_ahead_s") == 0
        for _ in range(5):
            await client.send(m.Text(started.stream, "xxxxxxxxx. "))
        await eventually(lambda: hits(server, "max_ahead_s") == 1)
        for _ in range(5):
            await client.send(m.Text(started.stream, "xxxxxxxxx. "))
        await client.send(m.Ping(1))
        await client.first(m.Pong)
        assert hits(server, "max_ahead_s") == 1
        await client.hint(started.stream, 48_000)
        await eventually(lambda: hits(server, "max_ahead_s") == 2)
