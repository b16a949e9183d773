"""Records survive the pipe however it chops them up, and what is no record is refused."""

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from abr_tts.engine import ipc

RECORDS = [
    ipc.Load("tone", {"rate": 8000, "chunks": [1, 2]}),
    ipc.Say(7, "你好 \ud83d", "cmn", None, 1.5),
    ipc.Say(8, "x", "en-us", "en", 1.0),
    ipc.Cancel(7),
    ipc.Ping(3),
    ipc.Drain(),
    ipc.Ready(22_050, (("en-us", ("en-us", "en"), 22_050, "English"),), {"engine": "espeak"}),
    ipc.Pcm(7, bytes(range(256)) * 64),
    ipc.End(7, 100, 2),
    ipc.Fault(7, "engine_failed", "why", False),
    ipc.Pong(3),
    ipc.Log(30, "a line"),
]


@given(st.integers(1, 5_000))
def test_records_come_back_equal_however_the_bytes_are_cut(size):
    data = b"".join(ipc.encode(record) for record in RECORDS)
    frames, found = ipc.Frames(), []
    for at in range(0, len(data), size):
        found += frames.feed(data[at : at + size])
    found = [
        ipc.Load(r.kind, {**r.options, "chunks": [1, 2]}) if isinstance(r, ipc.Load) else r for r in found
    ]
    assert found == RECORDS


def framed(body):
    return len(body).to_bytes(4, "little") + body


@pytest.mark.parametrize(
    "data",
    [
        b"\xff\xff\xff\xff",
        framed(b"\xc1"),
        framed(b""),
        framed(msgpack.packb(5)),
        framed(msgpack.packb([99])),
        framed(msgpack.packb([1, 2])),
        framed(msgpack.packb(["x", 2])),
        framed(msgpack.packb([3, 1]) + b"\0"),
        framed(b"\x91" * 1_100),
    ],
)
def test_what_is_no_record_is_refused(data):
    with pytest.raises(ipc.IpcError):
        ipc.Frames().feed(data)
