"""Records survive the pipe however it chops them up, and what is no record is refused."""

import msgpack
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from abr_tts.engine import ipc
from abr_tts.engine.base import CONVERTED_RATE, CONVERTED_S

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
    ipc.Convert(9, bytes(range(256)), "anna", 1.0),
    ipc.Say(10, "x", "anna", None, 1.0, "gladly"),
    ipc.Loading("reading the model", 0.25),
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


def test_the_longest_speech_that_may_be_converted_fits_into_one_frame():
    record = ipc.Convert(1, bytes(2 * round(CONVERTED_S * CONVERTED_RATE)), "v" * 200, 1.0)
    assert ipc.Frames().feed(ipc.encode(record)) == [record]


def test_sound_is_shown_where_it_lies_and_a_frame_in_pieces_is_joined_once():
    sound = np.arange(16_000, dtype="<i2")
    frame = ipc.pcm_head(7, sound.nbytes) + sound.tobytes()
    (whole,) = ipc.Frames().feed(frame)
    assert whole == ipc.Pcm(7, sound.tobytes()) == ipc.Frames().feed(ipc.encode(whole))[0]
    assert np.shares_memory(np.frombuffer(whole.data, "<i2"), np.frombuffer(frame, np.uint8))
    frames, pieces = ipc.Frames(), [frame[:3], frame[3:20_000], frame[20_000:] + frame]
    assert frames.feed(pieces[0]) == frames.feed(pieces[1]) == []
    first, second = (np.frombuffer(record.data, "<i2") for record in frames.feed(pieces[2]))
    assert np.array_equal(first, sound) and np.array_equal(second, sound)
    assert first.base.obj is second.base.obj, "one joining for both"


def test_what_was_fed_long_ago_is_not_kept():
    frames = ipc.Frames()
    small = ipc.encode(ipc.Pong(1))
    assert frames.feed(ipc.encode(ipc.Pcm(1, bytes(100_000))) + small[:2])
    assert frames.feed(small[2:]) == [ipc.Pong(1)]
    assert frames._held == []
