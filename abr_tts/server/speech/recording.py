"""
Traces of streams as files: `serve --record`. One file a stream, named by time and stream id.

The event loop only hands over; a thread of its own opens, writes, closes and deletes. What it is
given is bounded, and so is what lies on the disk: a stream whose lines come faster than the disk
takes them, or fill its file, goes on without being recorded. It knows lines, not what they say.
"""

from __future__ import annotations

import logging
import os
import re
import threading
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from queue import SimpleQueue
from typing import BinaryIO, NamedTuple

from ...errors import ConfigError
from ...trace import line
from ..config import RecordSettings

log = logging.getLogger(__name__)

HAND_OVER_BYTES = 32_768
"""Lines of a stream that are handed over together: some seconds' worth, so that the thread wakes seldom."""

MOST_WAITING_BYTES = 33_554_432
"""Of all streams, for a disk that does not keep up; beyond, a stream is recorded no further. A guess."""

OURS = re.compile(r"\d{8}T\d{6}\.\d{3}Z-[0-9a-f-]{36}\.jsonl")
"""Names of the files that are written here, and so may be deleted here."""


class _Piece(NamedTuple):
    recording: Recording
    data: bytes
    last: bool


class Recordings:
    """
    `start()` it before the first stream, `stop()` it after the last.

    Args:
        settings: where, how many and how large.

    Raises:
        ConfigError: there is no such folder, it cannot be made, or nothing can be written there.
    """

    def __init__(self, settings: RecordSettings) -> None:
        assert settings.dir is not None, "whoever records says where"
        self.folder, self._settings = settings.dir, settings
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(f"record.dir: cannot make {self.folder}: {error.strerror or error}") from None
        if not os.access(self.folder, os.W_OK | os.X_OK):
            raise ConfigError(f"record.dir: {self.folder} cannot be written: permission denied")
        self._queue: SimpleQueue[_Piece | None] = SimpleQueue()
        self._waiting, self._lock = 0, threading.Lock()
        self._files: dict[Recording, BinaryIO | None] = {}
        self._thread = threading.Thread(target=self._work, name="recorder", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Write what was handed over, and end."""
        self._queue.put(None)
        if self._thread.is_alive():
            self._thread.join()

    def open(self, stream_id: str) -> Recording:
        """A recording of a stream that starts now."""
        at = datetime.now(UTC)
        name = f"{at:%Y%m%dT%H%M%S}.{at.microsecond // 1000:03}Z-{stream_id.lower()}.jsonl"
        return Recording(self.folder / name, self._settings.file_bytes, self)

    def hand_over(self, recording: Recording, data: bytes, last: bool) -> bool:
        """Write `data` soon; False: too much waits already."""
        with self._lock:
            if self._waiting > MOST_WAITING_BYTES and not last:
                return False
            self._waiting += len(data)
        self._queue.put(_Piece(recording, data, last))
        return True

    # ------------------------------------------------------------ on the thread

    def _work(self) -> None:
        while (piece := self._queue.get()) is not None:
            with self._lock:
                self._waiting -= len(piece.data)
            try:
                self._write(piece)
            except OSError as error:
                log.error("%s cannot be written: %s", piece.recording.path, error.strerror or error)
                self._close(piece.recording)
                self._files[piece.recording] = None
            if piece.last:
                self._close(piece.recording)
                self._files.pop(piece.recording, None)
        for recording in list(self._files):
            self._close(recording)

    def _write(self, piece: _Piece) -> None:
        recording = piece.recording
        if recording not in self._files:
            self._make_room()
            self._files[recording] = open(recording.path, "xb")  # noqa: SIM115 -- closed with its last piece
        file = self._files[recording]
        if file is not None:
            file.write(piece.data)
            file.flush()

    def _close(self, recording: Recording) -> None:
        file = self._files.get(recording)
        if file is not None:
            with suppress(OSError):
                file.close()

    def _make_room(self) -> None:
        """Delete the oldest of our files, but those being written, until one more may be."""
        writing = {recording.path.name for recording in self._files}
        names = sorted(name for name in os.listdir(self.folder) if OURS.fullmatch(name))
        spare = [name for name in names if name not in writing]
        for name in spare[: max(0, len(names) + 1 - self._settings.files)]:
            (self.folder / name).unlink(missing_ok=True)


class Recording:
    """
    The trace of one stream, on the event loop's side.

    Args:
        path: of its file.
        most: bytes that the file may have, about.
        recordings: writes it.
    """

    def __init__(self, path: Path, most: int, recordings: Recordings) -> None:
        self.path = path
        self._most, self._recordings = most, recordings
        self._lines: list[str] = []
        self._size = self._handed = 0
        self._over = False

    def write(self, text: str) -> None:
        """One line; after the end it is dropped."""
        if self._over:
            return
        self._lines.append(text)
        self._size += len(text)
        if self._size + self._handed > self._most:
            self.close("the file is full")
        elif self._size >= HAND_OVER_BYTES and not self._hand_over():
            self._lines.clear()
            self.close("the disk is too slow")

    def close(self, reason: str) -> None:
        """The stream is over, or is recorded no further; twice is once."""
        if not self._over:
            self._over = True
            self._lines.append(line({"end": reason}))
            self._hand_over(last=True)

    def _hand_over(self, last: bool = False) -> bool:
        data = "".join(self._lines).encode("ascii")
        taken = self._recordings.hand_over(self, data, last)
        if taken:
            self._lines.clear()
            self._handed, self._size = self._handed + len(data), 0
        return taken
