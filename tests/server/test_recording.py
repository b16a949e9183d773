"""Traces on the disk: complete, bounded in number and size, and never at the cost of speech."""

import builtins
import threading
import uuid
from pathlib import Path

import pytest

from abr_tts.errors import ConfigError
from abr_tts.server.config import RecordSettings
from abr_tts.server.speech import recording as room
from abr_tts.server.speech.recording import HAND_OVER_BYTES, OURS, Recordings

WAIT_S = 10.0


def open_stream(recordings: Recordings):
    return recordings.open(str(uuid.uuid4()))


@pytest.fixture
def recordings(tmp_path):
    made = Recordings(RecordSettings(dir=tmp_path / "deep" / "traces", files=5, file_bytes=65_536))
    made.start()
    yield made
    made.stop()


def written(recordings: Recordings) -> list[Path]:
    recordings.stop()
    return sorted(recordings.folder.iterdir())


def test_each_stream_has_a_file_named_by_time_and_id(recordings):
    one, other = recordings.open("6F1C2B1E-9a4d-4c3b-8e57-0d2f3a4b5c6d"), open_stream(recordings)
    one.write("1\n")
    other.write("2\n")
    one.write("3\n")
    one.close("done")
    other.close("lost")
    files = written(recordings)
    assert {file.read_text() for file in files} == {'1\n3\n{"end":"done"}\n', '2\n{"end":"lost"}\n'}
    assert all(OURS.fullmatch(file.name) for file in files)
    assert any(file.name.endswith("Z-6f1c2b1e-9a4d-4c3b-8e57-0d2f3a4b5c6d.jsonl") for file in files)


def test_a_stream_that_never_ends_is_written_as_it_goes(recordings):
    stream = open_stream(recordings)
    for _ in range(HAND_OVER_BYTES // 10 + 1):
        stream.write("123456789\n")
    (file,) = written(recordings)
    assert file.stat().st_size == HAND_OVER_BYTES // 10 * 10 + 10


def test_after_its_end_nothing_is_written_and_a_second_end_is_none(recordings):
    stream = open_stream(recordings)
    stream.close("done")
    stream.close("lost")
    stream.write("more\n")
    (file,) = written(recordings)
    assert file.read_text() == '{"end":"done"}\n'


def test_a_file_that_is_full_says_so(recordings):
    stream = open_stream(recordings)
    for number in range(10_000):
        stream.write(f"{number:09}\n")
    (file,) = written(recordings)
    lines = file.read_text().splitlines()
    assert lines[-1] == '{"end":"the file is full"}'
    assert lines[:-1] == [f"{number:09}" for number in range(len(lines) - 1)]
    assert 65_000 < file.stat().st_size < 66_000


def test_the_oldest_files_make_room_and_those_of_others_stay(recordings):
    recordings.folder.mkdir(exist_ok=True)
    foreign = recordings.folder / "notes.jsonl"
    foreign.write_text("mine")
    old = recordings.folder / f"20200101T000000.000Z-{uuid.uuid4()}.jsonl"
    old.write_text("old")
    for _ in range(7):
        open_stream(recordings).close("done")
    files = written(recordings)
    assert foreign in files and old not in files
    assert len(files) == 5 + 1


def test_a_file_that_is_being_written_is_not_deleted_for_room(recordings):
    first = open_stream(recordings)
    for _ in range(HAND_OVER_BYTES // 10 + 1):
        first.write("123456789\n")
    for _ in range(8):
        open_stream(recordings).close("done")
    first.close("done")
    assert first.path in written(recordings)


def test_a_disk_that_hangs_holds_nobody_up_and_costs_the_recording_alone(recordings, monkeypatch):
    waiting, go_on = threading.Event(), threading.Event()

    def slow(*arguments):
        waiting.set()
        assert go_on.wait(WAIT_S)
        return builtins.open(*arguments)

    monkeypatch.setattr(room, "open", slow, raising=False)
    monkeypatch.setattr(room, "MOST_WAITING_BYTES", 3 * HAND_OVER_BYTES)
    monkeypatch.setattr(recordings, "_settings", RecordSettings(dir=recordings.folder))
    stream = open_stream(recordings)
    for _ in range(10 * HAND_OVER_BYTES // 10):  # returns, though the disk does not
        stream.write("123456789\n")
    assert waiting.wait(WAIT_S)
    go_on.set()
    (file,) = written(recordings)
    lines = file.read_text().splitlines()
    assert lines[-1] == '{"end":"the disk is too slow"}'
    assert set(lines[:-1]) == {"123456789"} and len(lines) * 10 <= 5 * HAND_OVER_BYTES


def test_a_disk_that_fails_is_logged_once_a_stream_and_the_next_one_is_tried(recordings, monkeypatch, caplog):
    stream, other = open_stream(recordings), open_stream(recordings)

    def full(path, mode):
        if path == stream.path:
            raise OSError(28, "No space left on device")
        return builtins.open(path, mode)

    monkeypatch.setattr(room, "open", full, raising=False)
    for _ in range(3 * HAND_OVER_BYTES // 10):
        stream.write("123456789\n")
    stream.close("done")
    other.close("done")
    assert written(recordings) == [other.path]
    told = [record.getMessage() for record in caplog.records]
    assert told == [f"{stream.path} cannot be written: No space left on device"]


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"record\.dir: cannot make .*file/traces: Not a directory"):
        Recordings(RecordSettings(dir=tmp_path / "file" / "traces"))
