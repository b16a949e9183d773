"""
The body of an answer: bytes as they arrive, to samples.

Raw 16-bit PCM, cut anywhere. Some servers put a WAV header before it, whatever was asked: it is
read and dropped. What is no PCM at all (an MP3, an error page) must never be played as noise.
Pure.
"""

from __future__ import annotations

import struct
from typing import Optional

import numpy as np

from ...audio.pcm import ByteJoiner
from ...errors import EngineError
from ..base import Samples

MAGIC = {b"OggS": "Ogg", b"fLaC": "FLAC", b"ID3": "MP3"}
"""First bytes of what is no PCM → its name. MP3 without a tag looks like loud PCM: the content type tells."""

TEXT = frozenset(b"\t\n\r" + bytes(range(0x20, 0x7F)))
"""Bytes of a text: an error in JSON or HTML, a page of a proxy."""

TEXT_BYTES = 16
"""A body that begins with so many of them is a text. As sound they were eight samples between a quarter and
full scale, all positive: no speech begins like that."""

RIFF_HEAD = 12
"""Bytes of "RIFF", a length and "WAVE", with which a WAV file begins."""

CHUNK_HEAD = 8
"""Bytes of a chunk's name and length."""

MOST_HEADER = 64 * 1024
"""Longest WAV header that is looked through for sound; writers put a few hundred bytes of tags. A guess."""

ENDLESS = 0x7FFF_0000
"""Lengths from here on, like 0, are those of a writer that did not know how long it would become."""


class Body:
    """
    One answer's body.

    Args:
        rate: Hz that the samples must have; a WAV header that says otherwise is refused, because
            speech at the wrong rate is worse than none.
    """

    def __init__(self, rate: int) -> None:
        self._rate = rate
        self._joiner = ByteJoiner()
        self._head: Optional[bytes] = b""
        """What came before the first sample is known; None: samples come now."""
        self._left: Optional[int] = None
        """Bytes of sound that a WAV header has announced; None: all that comes."""

    def push(self, data: bytes) -> Samples:
        """
        Any bytes → the whole samples that they complete, int16, shape (n,).

        Raises:
            EngineError: it is not 16-bit mono PCM of the rate that was agreed.
        """
        if self._head is not None:
            self._head += data
            data = self._begin(self._head)
        if self._left is not None:
            data = data[: self._left]
            self._left -= len(data)
        return self._joiner.push(data)

    def end(self) -> Samples:
        """
        What was held back because it might have become a header: the last samples of a very short body.

        Raises:
            EngineError: that was text.
        """
        held, self._head = self._head, None
        if held and TEXT.issuperset(held):
            raise EngineError(f"the engine's server sent {_named(held)}, not PCM")
        return self._joiner.push(held) if held else np.zeros(0, np.int16)

    def _begin(self, head: bytes) -> bytes:
        """The sound in `head`, or b"" as long as it may still be a header."""
        for magic, name in MAGIC.items():
            if head.startswith(magic):
                raise EngineError(f"the engine's server sent {name}, not PCM")
        if not (head.startswith(b"RIFF"[: len(head)]) and head[8:12] == b"WAVE"[: len(head[8:12])]):
            if len(head) < 4 and any(magic.startswith(head) for magic in MAGIC):
                return b""
            if TEXT.issuperset(head[:TEXT_BYTES]):
                if len(head) >= TEXT_BYTES:
                    raise EngineError(f"the engine's server sent {_named(head)}, not PCM")
                return b""
            self._head = None
            return head
        if len(head) < RIFF_HEAD:
            return b""
        begin = self._header(head)
        if begin is None:
            if len(head) > MOST_HEADER:
                raise EngineError(f"the engine's server sent a WAV header without sound in {len(head)} bytes")
            return b""
        self._head = None
        return head[begin:]

    def _header(self, head: bytes) -> Optional[int]:
        """Where the sound begins, once the header is whole; notes how long it is."""
        at, known = RIFF_HEAD, False
        while len(head) >= at + CHUNK_HEAD:
            name, size = struct.unpack_from("<4sI", head, at)
            at += CHUNK_HEAD
            if name == b"data":
                if not known:
                    raise EngineError("the engine's server sent a WAV header that does not say its format")
                self._left = None if size == 0 or size >= ENDLESS else size
                return at
            if name == b"fmt ":
                if len(head) < at + 16:
                    return None
                self._check(head, at)
                known = True
            at += size + size % 2
        return None

    def _check(self, head: bytes, at: int) -> None:
        coding, channels, rate, _, _, bits = struct.unpack_from("<HHIIHH", head, at)
        # 0xFFFE is the extensible form, in which PCM is the rule at 16 bits.
        if coding not in (1, 0xFFFE) or channels != 1 or bits != 16:
            raise EngineError(
                f"the engine's server sent WAV of coding {coding}, {channels} channels, {bits} bits,"
                " not 16-bit mono PCM"
            )
        if rate != self._rate:
            raise EngineError(
                f"the engine's server sends {rate} Hz, but engine.options.sample_rate is {self._rate}"
            )


def _named(text: bytes) -> str:
    """What kind of text this is the beginning of."""
    first = text.lstrip()[:1]
    return {b"<": "HTML", b"{": "JSON", b"[": "JSON"}.get(first, "text")
