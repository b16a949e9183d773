"""The operator's door: who may open it, and what can be asked for there."""

import aiohttp
import pytest

from abr_tts.errors import ConfigError
from abr_tts.server.app import Server
from abr_tts.server.config import load

from .harness import TONE, eventually, serving

CLIENT, ADMIN = "a-clients-key", "an-admins-key"
OLD, NEW = "upgrade_lead_s = 3\n", "upgrade_lead_s = 4\n"


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


async def ask(server, path: str = "", key: str = ADMIN, method: str = "POST", **more) -> tuple[int, dict]:
    async with (
        aiohttp.ClientSession() as http,
        http.request(method, f"{server.http_url}/admin/policy{path}", headers=bearer(key), **more) as answer,
    ):
        return answer.status, await answer.json() if "json" in answer.content_type else {}


async def status(server) -> dict[str, dict]:
    code, told = await ask(server, method="GET")
    assert code == 200
    return {one["setting"]: one for one in told["settings"]}


def guarded(tmp_path, **settings):
    (tmp_path / "own.toml").write_text(OLD)
    given = {"stream__policy": str(tmp_path / "own.toml"), "rollout__check_s": 0}
    return serving(**given | {"admin__keys": (ADMIN,), "auth__keys": (CLIENT,)} | settings)


async def deploy(server, path, text: str) -> None:
    """Write the file, and have the server read it."""
    taken = server.metrics.registry.get_sample_value
    before = taken("abr_tts_policy_reloads_total", {"outcome": "applied"})
    path.write_text(text)
    server.reload()
    await eventually(lambda: taken("abr_tts_policy_reloads_total", {"outcome": "applied"}) > before)


@pytest.mark.parametrize(("method", "path"), [("GET", ""), ("POST", "/rollback"), ("POST", "/canary")])
async def test_only_an_admin_key_opens_the_door_not_a_clients_and_not_coming_from_this_machine(
    tmp_path, method, path
):
    async with guarded(tmp_path) as server:
        for key in ("", CLIENT, "wrong"):
            assert (await ask(server, path, key, method))[0] == 401
        assert (await ask(server, path, ADMIN, method))[0] != 401
        async with aiohttp.ClientSession() as http:
            assert (await http.request(method, f"{server.http_url}/admin/policy{path}")).status == 401
            refused = await http.get(f"{server.http_url}/v1/stream", headers=bearer(ADMIN))
            assert refused.status == 401, "nor does an admin's key speak"


async def test_without_any_admin_key_the_door_is_shut_to_everybody(tmp_path):
    async with guarded(tmp_path, admin__keys=(), auth__keys=()) as server:
        code, told = await ask(server, "/rollback", "")
        assert code == 403 and "admin.keys_file" in told["error"]


async def test_a_rollback_is_one_call_and_says_what_it_did(tmp_path):
    path = tmp_path / "own.toml"
    async with guarded(tmp_path) as server:
        before = (await status(server))["stream.policy"]
        await deploy(server, path, NEW)
        assert (await status(server))["stream.policy"]["earlier"] == [{"name": "own", "hash": before["hash"]}]
        code, told = await ask(server, "/rollback")
        assert code == 200 and told["setting"] == "stream.policy" and before["hash"] in told["words"]
        now = (await status(server))["stream.policy"]
        assert (now["hash"], now["can_roll_back"]) == (before["hash"], False) and "rolled back" in now[
            "fault"
        ]
        value = server.metrics.registry.get_sample_value
        assert value("abr_tts_policy_reloads_total", {"outcome": "rolled_back"}) == 1
        assert value("abr_tts_policy_faults") == 1
        assert await ask(server, "/rollback") == (
            409, {"error": "nothing to roll back: no policy has an earlier version, and no canary is in use"},
        )  # fmt: skip


async def test_a_named_setting_alone_is_rolled_back(tmp_path):
    async with guarded(tmp_path, canary__policy="thrifty") as server:
        await deploy(server, tmp_path / "own.toml", NEW)
        code, told = await ask(server, "/rollback", json={"setting": "canary.policy"})
        assert (code, told["setting"]) == (200, "canary.policy")
        assert (await status(server))["canary.policy"]["name"] is None
        assert (await status(server))["stream.policy"]["can_roll_back"]
        assert (await ask(server, "/rollback", json={"setting": "no.such"}))[0] == 409


async def test_the_canarys_share_is_set_while_the_server_runs(tmp_path):
    async with guarded(tmp_path, canary__policy="thrifty") as server:
        code, told = await ask(server, "/canary", json={"share": 0.5})
        assert (code, told["canary_share"]) == (200, 0.5)
        assert server.metrics.registry.get_sample_value("abr_tts_canary_share") == 0.5


async def test_a_share_of_no_canary_is_refused(tmp_path):
    async with guarded(tmp_path) as server:
        code, told = await ask(server, "/canary", json={"share": 0})
        assert code == 409 and "no canary" in told["error"]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/canary", b'{"share": 1.5}'),
        ("/canary", b'{"share": NaN}'),
        ("/canary", b'{"share": true}'),
        ("/canary", b'{"share": "0.5"}'),
        ("/canary", b""),
        ("/canary", b"[0.5]"),
        ("/canary", b"{"),
        ("/canary", b"[" * 100_000),
        ("/canary", b"\xff"),
        ("/rollback", b'{"setting": 3}'),
        ("/rollback", b"nonsense"),
    ],
)
async def test_a_request_that_makes_no_sense_is_told_and_changes_nothing(tmp_path, path, body):
    async with guarded(tmp_path, canary__policy="thrifty") as server:
        before = await status(server)
        code, told = await ask(server, path, data=body)
        assert code == 400 and told["error"]
        assert await status(server) == before
        assert server.metrics.registry.get_sample_value("abr_tts_canary_share") == 0.1


async def test_an_admin_key_that_is_an_api_key_too_is_refused_at_the_start(tmp_path):
    with pytest.raises(ConfigError, match=r"admin\.keys: one of them is an API key too"):
        Server(load(overrides=TONE | {"admin.keys": ("one", "two"), "auth.keys": ("anna:two",)}))
    with pytest.raises(ConfigError, match=r"admin\.keys_file: cannot read"):
        Server(load(overrides=TONE | {"admin.keys_file": str(tmp_path / "none")}))
