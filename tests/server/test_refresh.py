"""Files of keys and certificates that change under a server: the good one is taken, a bad one never."""

import asyncio
import os
import signal
import ssl

import aiohttp
import pytest
import trustme

from abr_tts.errors import ConfigError
from abr_tts.server.rollout import refresh as module
from abr_tts.server.rollout.refresh import APPLIED, REFUSED, Kind, Refresh
from abr_tts.server.rollout.watch import SETTLE_S

from .harness import eventually, peer, serving
from .test_reload import running


class Told(list):
    def __call__(self, setting, result):
        self.append(result)


def watching(tmp_path, *texts):
    """A refresh over one kind of as many files, what it took, what it told."""
    paths = tuple(tmp_path / f"{number}" for number in range(len(texts)))
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    taken, told = [], Told()

    def take(said):
        if "bad" in said:
            raise ConfigError("no good")
        taken.append(list(said))
        return "taken"

    return Refresh([Kind("a.file", paths, take)], 5.0, told), paths, taken, told


def look(refresh, now, at_once=False):
    refresh.take([one.look() for one in refresh._watched], now, at_once)


def test_a_file_that_stays_as_it_is_is_not_taken_again(tmp_path):
    refresh, _, taken, _ = watching(tmp_path, "one")
    look(refresh, 0.0, at_once=True)
    assert taken == []


def test_a_change_is_taken_when_it_has_stood_and_at_once_when_asked(tmp_path):
    refresh, (path,), taken, told = watching(tmp_path, "one")
    path.write_text("two")
    look(refresh, 0.0)
    look(refresh, SETTLE_S - 0.01)
    assert taken == []
    look(refresh, SETTLE_S)
    assert taken == [["two"]]
    path.write_text("three")
    look(refresh, 9.0, at_once=True)
    assert taken == [["two"], ["three"]] and told == [APPLIED, APPLIED]


@pytest.mark.parametrize("spoil", [lambda path: path.write_text("bad"), lambda path: path.unlink(),
                                   lambda path: path.write_bytes(b"\xff")])  # fmt: skip
def test_a_bad_file_keeps_the_last_good_one_until_a_good_one_comes(tmp_path, spoil, caplog):
    refresh, (path,), taken, told = watching(tmp_path, "one")
    spoil(path)
    look(refresh, 0.0, at_once=True)
    assert taken == [] and told == [REFUSED] and refresh.stale == 1
    assert "what was there before is in use" in caplog.text
    path.write_text("two")
    look(refresh, 1.0, at_once=True)
    assert taken == [["two"]] and refresh.stale == 0


def test_a_pair_of_files_changes_together(tmp_path):
    refresh, paths, taken, _ = watching(tmp_path, "cert", "key")
    paths[0].write_text("cert 2")
    look(refresh, 0.0)
    paths[1].write_text("key 2")
    look(refresh, SETTLE_S)
    assert taken == []
    look(refresh, 2 * SETTLE_S)
    assert taken == [["cert 2", "key 2"]]


# ---- real servers


async def status(url: str, key: str) -> int:
    async with aiohttp.ClientSession() as http:
        try:
            headers = {"Authorization": f"Bearer {key}"}
            async with http.ws_connect(url, protocols=("abr-tts.v1",), headers=headers):
                return 101
        except aiohttp.WSServerHandshakeError as error:
            return error.status


def reloads(server, result: str, setting: str) -> bool:
    return f'result="{result}",setting="{setting}"' in server.metrics.text().decode()


async def test_a_changed_file_of_keys_comes_into_use_and_connections_of_the_others_stay(tmp_path):
    path = tmp_path / "keys"
    path.write_text("first\nkept\n")
    kept = {"Authorization": "Bearer kept"}
    async with serving(auth__keys_file=str(path)) as server, peer(server.url, headers=kept) as client:
        path.write_text("second\nkept\n")
        server.reload()
        await eventually(lambda: reloads(server, "applied", "auth.keys_file"))
        assert await status(server.url, "second") == 101
        assert await status(server.url, "first") == 401
        await client.start("still here", rung="pcm22")


async def test_neither_door_takes_a_key_of_the_other(tmp_path):
    keys, admin = tmp_path / "keys", tmp_path / "admin"
    keys.write_text("client\n")
    admin.write_text("operator\n")
    files = {"auth__keys_file": str(keys), "admin__keys_file": str(admin)}
    async with serving(**files) as server:
        keys.write_text("client\noperator\n")
        server.reload()
        await eventually(
            lambda: 'result="refused",setting="auth.keys_file"' in server.metrics.text().decode()
        )
        assert await status(server.url, "operator") == 401
        assert await status(server.url, "client") == 101
        assert "abr_tts_files_stale 1.0" in server.metrics.text().decode()


def issue(authority, folder, **kind) -> None:
    cert = authority.issue_cert("127.0.0.1", **kind)
    (folder / "cert.pem").write_bytes(cert.cert_chain_pems[0].bytes())
    (folder / "key.pem").write_bytes(cert.private_key_pem.bytes())


async def serial(port: int, trusting: ssl.SSLContext) -> str:
    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trusting)
    shown = writer.get_extra_info("peercert")["serialNumber"]
    writer.close()
    return shown


@pytest.mark.parametrize("kind", [trustme.KeyType.ECDSA, trustme.KeyType.RSA])
async def test_a_renewed_certificate_is_shown_to_new_connections_whatever_its_kind_of_key(tmp_path, kind):
    authority = trustme.CA()
    issue(authority, tmp_path, key_type=trustme.KeyType.RSA)
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    files = {"tls__cert_file": str(tmp_path / "cert.pem"), "tls__key_file": str(tmp_path / "key.pem")}
    async with serving(**files) as server, peer(server.url, tls=trusting) as client:
        old = await serial(server.port, trusting)
        (tmp_path / "key.pem").write_text("half a file")
        server.reload()
        await eventually(lambda: 'result="refused",setting="tls.cert_file"' in server.metrics.text().decode())
        assert await serial(server.port, trusting) == old
        issue(authority, tmp_path, key_type=kind)
        server.reload()
        await eventually(lambda: 'result="applied",setting="tls.cert_file"' in server.metrics.text().decode())
        assert await serial(server.port, trusting) != old
        await client.start("still here", rung="pcm22")


async def test_sighup_has_the_keys_of_a_program_read_again(tmp_path):
    path = tmp_path / "keys"
    path.write_text("first\n")
    settings = ("--set", f"auth.keys_file={path}", "--set", "rollout.check_s=0")
    async with running(*settings) as server:
        await server.read("the page is")
        path.write_text("second\n")
        os.kill(server.process.pid, signal.SIGHUP)
        assert "1 keys are in use" in await server.read("auth.keys_file")
        assert [await status(server.url, key) for key in ("first", "second")] == [401, 101]


@pytest.mark.parametrize("at_once", [True, False], ids=["in one look", "one after the other"])
def test_files_that_exchange_their_keys_are_both_taken_whichever_is_looked_at_first(tmp_path, at_once):
    """A Kubernetes secret changes all at once; beside the other's old text a file may be wrong."""
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text("a")
    two.write_text("b")
    held = {"one": "a", "two": "b"}

    def take(name, other, text):
        if text == held[other]:
            raise ConfigError("in both")
        held[name] = text
        return "taken"

    kinds = [
        Kind("one", (one,), lambda texts: take("one", "two", texts[0])),
        Kind("two", (two,), lambda texts: take("two", "one", texts[0])),
    ]
    refresh = Refresh(kinds, 5.0, Told())
    one.write_text("b")
    if not at_once:
        look(refresh, 0.0, at_once=True)
        assert (held, refresh.stale) == ({"one": "a", "two": "b"}, 1)
    two.write_text("c")
    look(refresh, 9.0, at_once=True)
    assert held == {"one": "b", "two": "c"}
    assert refresh.stale == 0


@pytest.mark.parametrize(("more", "stale"), [(0, 0), (1, 1)])
def test_a_file_of_keys_may_be_so_long_and_is_stale_one_past_it(tmp_path, monkeypatch, more, stale):
    monkeypatch.setattr(module, "MOST_KEY_BYTES", 200_000)
    refresh, (path,), taken, _ = watching(tmp_path, "k\n" * 50_000)
    path.write_text("k\n" * 99_999 + "kk" + "k" * more)
    look(refresh, 0.0, at_once=True)
    assert (len(taken), refresh.stale) == (1 - stale, stale)


def test_a_file_that_is_too_long_from_the_start_is_stale(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(module, "MOST_KEY_BYTES", 10)
    refresh, *_ = watching(tmp_path, "k" * 11)
    assert refresh.stale == 1
    assert "cannot be seen" in caplog.text
