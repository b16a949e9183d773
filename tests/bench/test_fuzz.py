"""A piece of the million spoilt messages of `tools/bench/fuzz.py`; and that it sees what it looks for."""

import asyncio
import base64
import contextlib
import hashlib
import json
from pathlib import Path

import pytest

import abr_tts
from abr_tts.errors import AbrError, BadMessage
from abr_tts.wire import messages as m
from abr_tts.wire.codec import encode

PIECES = {"codec": 40_000, "server": 30_000, "client": 15_000, "live": 5_000}
"""Messages of each part: some twelve seconds in all."""


@pytest.fixture(autouse=True)
def same_package(monkeypatch):
    """Servers that benchmarks start are of the package that is tested, installed or not."""
    monkeypatch.setenv("PYTHONPATH", str(Path(abr_tts.__file__).parents[1]))


@pytest.mark.parametrize("part", PIECES)
def test_spoilt_messages_are_refused_by_code_and_hurt_nothing(part):
    import fuzz

    told = fuzz.run(part, PIECES[part], seed=1)
    assert told["faults"] == 0, json.dumps(told)
    assert told["messages"] == PIECES[part]
    assert {"bad_message", "bad_field"} <= set(told["refused"])


def test_the_same_seed_gives_the_same_messages_and_another_one_others():
    from fuzz_messages import Maker

    first, again, other = ([Maker(seed, "client").message() for _ in range(3)] for seed in (1, 1, 2))
    assert first == again != other


def test_most_kinds_of_messages_are_met_in_order_and_in_every_state_of_a_stream():
    import fuzz

    told = fuzz.run("server", 20_000, seed=2)
    assert told["taken"] > 4_000
    wanted = {
        "wrong_state", "unknown_type", "unknown_stream", "duplicate_stream", "text_after_end", "empty_text",
        "bad_audio",
    }  # fmt: skip
    assert wanted <= set(told["refused"])


# What it must see


def untold():
    """An error of the tree whose code nobody has listed."""
    error = AbrError("x")
    error.code = "no_such_code"
    return error


@pytest.mark.parametrize(
    ("fault", "seen"),
    [(KeyError("x"), "KeyError"), (untold(), "has no code"), (BadMessage(""), "no words")],
)
def test_an_exception_outside_the_tree_or_without_a_code_is_seen(monkeypatch, fault, seen):
    import fuzz

    def decode(data, side):
        raise fault

    monkeypatch.setattr(fuzz.codec, "decode", decode)
    told = fuzz.run("codec", 50, seed=1)
    assert told["faults"] >= 50 and seen in told["first_faults"][0]


def test_a_message_that_takes_much_memory_or_long_is_seen(monkeypatch):
    import fuzz

    monkeypatch.setattr(fuzz, "MESSAGE_KB", 0)
    monkeypatch.setattr(fuzz, "SLOW_MS", 0.0)
    told = fuzz.run("codec", 2_000, seed=1)
    assert any("kB" in fault for fault in told["first_faults"])
    monkeypatch.setattr(fuzz, "MESSAGE_KB", 10**6)
    assert "took" in fuzz.run("codec", 200, seed=1)["first_faults"][-1]


def test_a_connection_that_tells_no_error_is_seen(monkeypatch):
    import fuzz

    monkeypatch.setattr(fuzz.Connection, "data_to_send", lambda self: [])
    told = fuzz.run("server", 300, seed=1)
    assert told["faults"] and "told []" in told["first_faults"][0]


class Mute:
    """A server that greets and then does one thing: nothing, or close with a code, after `said`."""

    def __init__(self, code, said=()):
        self.code, self.said = code, said

    async def serve(self, reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        key = b"dGhlIHNhbXBsZSBub25jZQ==258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        accepted = base64.b64encode(hashlib.sha1(key).digest())
        writer.write(b"HTTP/1.1 101 x\r\nSec-WebSocket-Accept: " + accepted + b"\r\n\r\n")
        for message in self.said:
            data = encode(message)
            writer.write(bytes((0x82, len(data))) + data)
        if self.code:
            writer.write(bytes((0x88, 2)) + self.code.to_bytes(2, "big"))
        with contextlib.suppress(ConnectionError):
            await reader.read()  # until who asks has had enough
        writer.close()


@pytest.mark.parametrize(
    ("server", "seen"),
    [
        (Mute(0), "hangs"),
        (Mute(1011), "closed with 1011, told []"),
        (Mute(0, [m.Error("internal", "x", "stream")]), "told internal"),
        (Mute(0, [m.Error("no_such_code", "x", "nothing")]), "told no_such_code"),
    ],
    ids=["no answer", "no word", "its own fault", "a code of its own"],
)
def test_a_server_that_hangs_or_fails_is_seen(monkeypatch, server, seen):
    import fuzz
    import fuzz_live

    monkeypatch.setattr(fuzz_live, "ANSWER_S", 1.5)
    result = fuzz_live.Result()

    async def play():
        async with await asyncio.start_server(server.serve, "127.0.0.1", 0) as listening:
            url = f"ws://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1/stream"
            hostile = fuzz_live.Hostile(url, fuzz_live.Maker(1, "client"), fuzz.CODES, result)
            await hostile.play(fuzz_live.Plan([(fuzz_live.BINARY, encode(m.Hello()))]))

    asyncio.run(play())
    assert any(seen in fault for fault in result.faults), result.faults


def test_a_listener_that_hears_other_samples_is_seen(monkeypatch):
    import fuzz
    import fuzz_live

    monkeypatch.setattr(fuzz_live, "RATE", 24_000)
    monkeypatch.setattr(fuzz_live, "LISTENERS", 1)
    told = fuzz_live.run(60, 1, fuzz.CODES)
    assert any("other samples" in fault for fault in told["first_faults"])
