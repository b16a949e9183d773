"""The gRPC door's benchmark: its listener says what the other one says, its table is what it claims to be."""

import pytest

from abr_tts.wire import messages as m

pytest.importorskip("grpc")
grpc_door = pytest.importorskip("grpc_door")
listener = pytest.importorskip("grpc_listener")
codec = pytest.importorskip("abr_tts.server.grpc.codec")

STREAM_ID = "0f0f0f0f-0000-4000-8000-000000000001"


@pytest.mark.parametrize(
    "record",
    [
        m.Hello(client="bench"),
        m.StreamStart(STREAM_ID, "hello", voice="en-us"),
        m.BitRateHint(1, 5_000, 960, 20, goodput_kbps=33.5, highest=((0, 960),)),
        m.BitRateHint(1, 5_000, 960, 20, rtt_ms=2.5, jitter_ms=1.0),
        m.Ping(0),
    ],
)
def test_what_its_listener_says_is_read_as_the_same(record):
    assert codec.decode(listener.written(record), "client") == record


@pytest.mark.parametrize(
    "record",
    [
        m.StreamStarted(1, STREAM_ID, "token", "voice", 22_050, 1, "opus", "opus24"),
        m.Audio(1, 0, -960, (b"one", b"two")),
        m.StreamEnd(1, 22_050, 22_050, 1, "opus"),
        m.Pong(3),
    ],
)
def test_what_it_hears_is_what_was_said(record):
    assert listener.read(codec.encode(record)) == record
    assert listener.read(codec.encode(m.Welcome(1, "session"))) is None


def result(scale: float) -> dict:
    first = {"mean": 10 * scale, "p50": 5 * scale, "p99": 50 * scale}
    return {
        "first_audio_ms": first, "cpu_s_per_audio_s": scale, "door_cpu_s_per_audio_s": scale,
        "peak_pss_mb": 100 * scale, "door_rss_mb": 80 * scale, "machine_ms": {"p99": 1.0},
        "ok": 10, "requests": 10, "seconds": scale,
    }  # fmt: skip


def test_the_table_has_medians_of_the_rounds_and_the_ratio_of_the_doors():
    results = {"websocket": [result(1), result(2), result(30)], "grpc": [result(1), result(1), result(9)]}
    lines = grpc_door.table(results).splitlines()
    assert "| first sound, mean (ms) | 20 | 10 | 0.50 |" in lines
    assert "| answered (of all) | 1 | 1 | 1.00 |" in lines
    assert len(lines) == 2 + len(grpc_door.ROWS)
