"""What an operator is shown: who may look, what is in it, and that nobody's words are."""

import json

import aiohttp
import pytest

from abr_tts.server.watching.ops import MOST_STREAMS, Ops
from abr_tts.wire import messages as m

from .harness import eventually, peer, serving

ADMIN, CLIENT = "an-admins-key", "a-clients-key"
KEYS = {"admin__keys": (ADMIN,), "auth__keys": (CLIENT,)}
SPEAKS = {"protocols": ("abr-tts.v1", f"abr-tts.key.{CLIENT}")}
TEXT = "one two three four five six seven eight. "


async def look(server, key: str = ADMIN) -> tuple[int, dict]:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    async with (
        aiohttp.ClientSession() as http,
        http.get(f"{server.http_url}/admin/live", headers=headers) as answer,
    ):
        assert answer.status != 200 or answer.headers["Cache-Control"] == "no-store"
        return answer.status, json.loads(await answer.text())


@pytest.mark.parametrize("key", ["", CLIENT, ADMIN + "x"])
async def test_only_an_admin_key_opens_it(key):
    async with serving(**KEYS) as server:
        assert (await look(server, key))[0] == 401
        assert (await look(server))[0] == 200


async def test_a_server_without_an_admin_key_shows_it_to_nobody():
    async with serving() as server:
        for key in ("", ADMIN):
            code, told = await look(server, key)
            assert code == 403 and "admin.keys_file" in told["error"]


async def test_a_live_stream_is_told_without_its_text_or_who_hears_it():
    async with serving(**KEYS) as server, peer(server.url, **SPEAKS) as listener:
        started = await listener.start(TEXT * 3, open=True)
        await listener.first(m.Audio)
        _, told = await look(server)
        (one,) = told["streams"]
        assert one["id"] == started.stream_id[:8] and one["state"] == "speaking"
        assert one["voice"] == started.voice and one["policy"] == "default" and len(one["hash"]) == 12
        assert one["bank"] == "opus24" and one["age_s"] >= 0 and one["outstanding_bytes"] >= 0
        words = json.dumps(told)
        for secret in ("three", CLIENT, ADMIN, "127.0.0.1", started.stream_id, started.token):
            assert secret not in words


async def test_what_is_heard_is_counted_by_stream_and_for_the_server():
    async with serving(**KEYS) as server, peer(server.url, hints=False, **SPEAKS) as listener:
        started = await listener.start(TEXT * 2, rung="pcm22")
        await listener.until(lambda: listener.received > 20_000)  # 0.45 s
        hint = m.BitRateHint(
            started.stream, listener.received, 19_200, 1500, rtt_ms=42.0, stalls=2, stall_ms=600
        )
        await listener.send(hint)
        await eventually(lambda: any(one["stalls"] for one in server.door.told()))
        _, told = await look(server)
        (one,) = told["streams"]
        assert one["played_s"]["pcm22"] > 0 and one["policy"] == "fixed" and one["upgrade"] is None
        assert (one["bank_s"], one["rtt_ms"], one["stalls"], one["stalled_s"]) == (1.5, 42, 2, 0.6)
        assert told["played_s"]["pcm22"] == pytest.approx(one["played_s"]["pcm22"], abs=0.01)
        assert (told["stalls"], told["stalled_s"]) == (2, pytest.approx(0.6))
        assert told["streams_started"] == told["streams_live"] == told["connections"] == 1


async def test_a_stream_that_is_over_is_gone_and_stays_counted():
    async with serving(**KEYS) as server:
        async with peer(server.url, **SPEAKS) as listener:
            started = await listener.start(TEXT)
            await listener.first(m.StreamEnd, stream=started.stream)
        await eventually(lambda: not list(server.door.told()))
        _, told = await look(server)
        assert told["streams"] == [] and told["streams_live"] == 0 and told["streams_started"] == 1
        assert sum(told["sent_s"].values()) > 1


async def test_policies_canary_and_engine_are_told():
    async with serving(**KEYS, canary__policy="thrifty", canary__share=0.25, engine__workers=2) as server:
        await eventually(lambda: server.pool.ready == 2)
        _, told = await look(server)
        assert told["policies"]["policy"]["name"] == "default"
        assert told["policies"]["canary"].items() >= {"name": "thrifty", "share": 0.25}.items()
        assert told["policies"]["policy_faults"] == []
        assert (told["engine"]["size"], told["engine"]["ready"], told["engine"]["busy"]) == (2, 2, 0)


async def test_switches_are_counted_by_reason_and_errors_by_code():
    async with serving(**KEYS) as server, peer(server.url, **SPEAKS) as listener:
        started = await listener.start(TEXT * 4)
        await listener.first(m.Switch, stream=started.stream)
        await listener.refused("x", policy="no such")
        _, told = await look(server)
        assert sum(told["switches"].values()) >= 1 and all(" " not in reason for reason in told["switches"])
        assert told["errors"] == {"unknown_policy": 1}


@pytest.mark.parametrize(("live", "shown"), [(MOST_STREAMS, MOST_STREAMS), (MOST_STREAMS + 1, MOST_STREAMS)])
async def test_the_youngest_streams_are_told_one_by_one_and_all_are_counted(live, shown):
    async with serving() as server:
        streams = [{"age_s": float(n), "id": str(n)} for n in reversed(range(live))]
        ops = Ops(lambda: streams, server.pool, server.metrics, _Open(), _Policies(), lambda: 7.0)
        told = ops.told()
        assert (told["streams_live"], len(told["streams"])) == (live, shown)
        assert [one["id"] for one in told["streams"][:2]] == ["0", "1"] and told["up_s"] == 0


class _Open:
    connections = 0


class _Policies:
    def summary(self):
        return {}
