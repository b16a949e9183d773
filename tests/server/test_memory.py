"""What the server tells of its memory: who may ask, what it says, and that nothing is traced unasked."""

import asyncio
import json
import logging
import re
import sys
import tracemalloc

import aiohttp
import pytest

from abr_tts.audio import pcm
from abr_tts.server.watching.heap import Heap, find_trim
from abr_tts.server.watching.memory import TOP, _place
from abr_tts.wire import messages as m

from .harness import WAIT_S, eventually, peer, serving

ADMIN, CLIENT = "an-admins-key", "a-clients-key"
KEYS = {"admin__keys": (ADMIN,), "auth__keys": (CLIENT,)}


async def look(server, key: str = ADMIN) -> tuple[int, dict]:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    async with (
        aiohttp.ClientSession() as http,
        http.get(f"{server.http_url}/debug/memory", headers=headers) as answer,
    ):
        told = await answer.text()
        return answer.status, json.loads(told) if told.startswith("{") else {}


async def test_it_is_not_there_by_default_and_nothing_is_traced():
    async with serving(**KEYS) as server:
        assert (await look(server))[0] == 404
        assert not tracemalloc.is_tracing()


@pytest.mark.parametrize("key", ["", CLIENT, ADMIN + "x"])
async def test_only_an_admin_key_opens_it(key):
    async with serving(**KEYS, debug__memory=True) as server:
        assert (await look(server, key))[0] == 401
        assert (await look(server))[0] == 200


async def test_it_tells_the_lines_that_hold_most_and_what_they_have_grown_without_folders_of_the_machine():
    async with serving(**KEYS, debug__memory=True) as server:
        _, first = await look(server)
        kept = [bytes(1000) for _ in range(2000)]
        _, then = await look(server)
        assert 0 < len(then["top"]) == len(first["top"]) <= TOP
        sizes = [one["bytes"] for one in then["top"]]
        assert sizes == sorted(sizes, reverse=True) and then["traced_bytes"] >= sum(sizes)
        ours = next(one for one in then["top"] if "test_memory.py" in one["where"])
        assert ours["grown_bytes"] >= len(kept) * 1000 and ours["blocks"] >= len(kept)
        assert all(re.fullmatch(r"[^/]\S*:\d+", one["where"]) for one in then["top"])
    assert not tracemalloc.is_tracing(), "a server that stops traces no more"


def test_a_line_of_ours_is_told_from_the_name_of_the_package_on():
    assert _place(pcm.__file__, 12) == "abr_tts/audio/pcm.py:12"
    assert _place(aiohttp.__file__, 3) == "aiohttp/__init__.py:3"
    assert _place(json.__file__, 4) == "json/__init__.py:4"


async def test_it_tells_nothing_that_was_said():
    protocols = ("abr-tts.v1", f"abr-tts.key.{CLIENT}")
    async with serving(**KEYS, debug__memory=True) as server, peer(server.url, protocols=protocols) as client:
        await client.start("mellifluous", open=True)
        await client.first(m.StreamStarted)
        told = json.dumps((await look(server))[1])
        assert "mellifluous" not in told and ADMIN not in told and CLIENT not in told


async def test_it_is_logged_as_often_as_it_is_set_and_cannot_be_asked_then(caplog):
    caplog.set_level(logging.INFO, "abr_tts.server.watching.memory")
    async with serving(**KEYS, debug__memory_s=0.05) as server:
        await eventually(lambda: len(caplog.records) >= 2)
        assert (await look(server))[0] == 404
    assert re.match(r"memory: \d+ bytes traced; most at \S+:\d+ \d+ \(\+\d+\), ", caplog.messages[0])


async def test_freed_memory_is_given_back_again_and_again():
    times = []
    task = asyncio.ensure_future(Heap(0.01, lambda pad: times.append(pad) or 1).run())
    await eventually(lambda: len(times) >= 3)
    task.cancel()
    await asyncio.wait([task])
    assert set(times) == {0} and not task.cancelled()


@pytest.mark.parametrize(("every_s", "trim"), [(0.0, lambda pad: pytest.fail("it is off")), (0.01, None)])
async def test_it_is_not_given_back_where_that_is_off_or_cannot_be(every_s, trim):
    await asyncio.wait_for(Heap(every_s, trim).run(), WAIT_S)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc is Linux'")
def test_the_c_library_gives_memory_back_when_it_is_called():
    trim = find_trim()
    if trim is None:
        pytest.skip("another C library than glibc")
    assert trim(0) in (0, 1)
