"""An operator's commands to a running server: status, rollback, canary; by its settings or by its address."""

import argparse
import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from abr_tts.cli import rollback, serve
from abr_tts.cli.failure import Failure
from abr_tts.errors import LocalError
from abr_tts.server.app import Server

from .server.harness import serving_in_a_thread

OLD, NEW = "upgrade_lead_s = 3\n", "upgrade_lead_s = 4\n"


@pytest.fixture
def served(tmp_path) -> Iterator[tuple[Server, Path]]:
    """A server that has just taken a second version, and the settings file that it was started with."""
    policy, keys = tmp_path / "own.toml", tmp_path / "admins"
    policy.write_text(OLD)
    keys.write_text("# the night shift\nops:an-admins-key\nanother-key\n")
    given = {"stream__policy": str(policy), "rollout__check_s": 0, "admin__keys_file": str(keys)}
    with serving_in_a_thread(**given, canary__policy="thrifty", canary__share=0.25) as server:
        policy.write_text(NEW)
        look = server._reloader._rollout
        look.take(look.look(), 0.0, at_once=True)
        config = tmp_path / "abr-tts.toml"
        config.write_text(f"[server]\nport = {server.port}\n[admin]\nkeys_file = {str(keys)!r}\n")
        yield server, config


def run(*arguments: str) -> None:
    parser = argparse.ArgumentParser()
    rollback.add(parser.add_subparsers(required=True))
    parsed = parser.parse_args(arguments)
    assert parsed.run(parsed) == 0


def failed(*arguments: str) -> str:
    with pytest.raises((Failure, LocalError)) as caught:
        run(*arguments)
    told = str(caught.value)
    assert "\n" not in told and "Error(" not in told
    return told


def test_one_command_with_the_servers_settings_rolls_back_and_says_to_what(served, capsys):
    server, config = served
    run("rollback", "--config", str(config))
    told = capsys.readouterr().out
    assert told.startswith("stream.policy: own (") and "was rolled back; own (" in told
    assert server._reloader._rollout._policies.own.version.policy.upgrade_lead_s == 3
    run("rollback", "--config", str(config))
    assert capsys.readouterr().out.startswith("canary.policy: thrifty (")
    assert failed("rollback", "--config", str(config)).startswith("nothing to roll back: no policy has")


def test_status_shows_each_setting_what_was_before_and_what_is_wrong(served, capsys):
    _, config = served
    run("rollback", "canary.policy", "--config", str(config))
    capsys.readouterr()
    run("status", "--config", str(config))
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["stream.policies.classic", "classic"] in [line[:2] for line in lines]
    at = next(index for index, line in enumerate(lines) if line[:2] == ["stream.policy", "own"])
    assert lines[at + 1][:2] == ["before:", "own"]
    at = next(index for index, line in enumerate(lines) if line[0] == "canary.policy")
    assert lines[at] == ["canary.policy", "none,", "0.25", "of", "sessions"]
    assert lines[at + 1][:2] == ["!", "thrifty"]


def test_another_share_for_the_canary(served, capsys):
    server, config = served
    run("canary", "0.5", "--config", str(config), "--json")
    assert json.loads(capsys.readouterr().out)["canary_share"] == 0.5
    assert server.metrics.registry.get_sample_value("abr_tts_canary_share") == 0.5
    run("canary", "0", "--config", str(config))
    assert capsys.readouterr().out.startswith("the canary has 0 of sessions from now on\n")
    assert failed("canary", "1.5", "--config", str(config)) == "a share is a number from 0 to 1, not 1.5"


def test_by_address_with_a_key_from_the_environment(served, capsys, monkeypatch):
    server, _ = served
    monkeypatch.setenv(rollback.KEY_VARIABLE, "another-key\n")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    run("status", "--url", server.http_url)
    run("status", "--url", server.url)
    assert "stream.policy" in capsys.readouterr().out
    assert failed("status", "--url", server.http_url, "--admin-key", "wrong").startswith("an admin key is")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--url", "http://127.0.0.1:9"], "no admin key: give it as ABR_TTS_ADMIN_KEY"),
        (["--url", "127.0.0.1:9", "--admin-key", "k"], "is no address of a server; it looks like http://"),
        (["--url", "http://127.0.0.1:9", "--admin-key", "k"], "no answer from http://127.0.0.1:9: "),
        (["--url", "http://127.0.0.1:x", "--admin-key", "k"], "no answer from http://127.0.0.1:x"),
        (["--url", "http://127.0.0.1:9", "--admin-key", "a\nb"], "the admin key has characters"),
        (
            ["--url", "https://127.0.0.1:9", "--admin-key", "k", "--ca", "/no/such.pem"],
            "--ca /no/such.pem: cannot be read: No such file",
        ),
        (["--config", "/no/such.toml"], "there is no such settings file"),
    ],
)
def test_what_cannot_be_asked_is_told_in_one_sentence(arguments, words, monkeypatch):
    monkeypatch.delenv(rollback.KEY_VARIABLE, raising=False)
    assert words in failed("status", *arguments)


@contextlib.contextmanager
def website(status: int, body: bytes, **headers: str) -> Iterator[tuple[str, list[str]]]:
    """A web server that is none of ours; its address, and the paths that it was asked for."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (404, b"<html>", "the server answers 404"),
        (200, b"<html>", "no answer from"),
        (200, b"[]", "is no server"),
    ],
)
def test_a_server_of_another_kind_is_told(status, body, words):
    with website(status, body) as (url, _):
        assert words in failed("status", "--url", url, "--admin-key", "k")


def test_the_key_does_not_follow_a_redirect_to_another_server():
    with website(200, b"{}") as (other, asked), website(302, b"", Location=f"{other}/x") as (url, _):
        assert "the server answers 302" in failed("status", "--url", url, "--admin-key", "k")
        assert asked == []


def test_serve_takes_a_canary_and_refuses_a_bad_one_before_it_listens(tmp_path):
    (tmp_path / "bad.toml").write_text("\nhedroom = 2\n")
    parser = argparse.ArgumentParser()
    serve.add(parser.add_subparsers(required=True))
    parsed = parser.parse_args(["serve", "--port", "0", "--canary", str(tmp_path / "bad.toml")])
    with pytest.raises(LocalError, match=r"canary\.policy: .*bad\.toml:2: hedroom: unknown key"):
        parsed.run(parsed)
