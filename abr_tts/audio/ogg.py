"""
Ogg-Opus: packets of 20 ms in, pages out at once (RFC 3533, RFC 7845), one logical stream, mono.

Our own, because common muxers hold back one to two seconds to fill a page. Knows packets and
pages; it must not know who encodes, nor when a page is wanted.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence

from ..units import FRAME_TICKS

PAGE_PACKETS = 10
"""Packets of 20 ms in one page at most: 200 ms. A player may wait for a whole page."""

CONTINUED, BEGINS, ENDS = 1, 2, 4
"""Flags of a page (RFC 3533 section 6, header_type_flag)."""

_HEAD = struct.Struct("<4sBBqIIIB")
"""Capture pattern, version, flags, granule position, serial, sequence, checksum, segments."""

_CRC_AT = 22
"""Where the checksum stands in a page."""

_MIRRORED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))
"""Each byte with its bits the other way round."""


class OggOpus:
    """
    The pages of one stream: `begin`, then `pages` any number of times, the last with `end`.

    Args:
        serial: 32 bits that no other stream of the file has.
        pre_skip: ticks at the start that decoders throw away: the packets before pts 0, and the
            encoder's delay where packets are not advanced by it.
        input_rate: Hz before encoding, which players may show; it changes no sample.
        gain_db: that decoders apply, -128 to 127.99 in steps of 1/256 (RFC 7845 section 5.1, output gain).
        vendor: who encoded.
    """

    def __init__(
        self,
        serial: int,
        *,
        pre_skip: int = FRAME_TICKS,
        input_rate: int = 24_000,
        gain_db: float = 0.0,
        vendor: str = "abr-tts",
    ) -> None:
        self._gain = round(256 * gain_db)
        self._serial, self._pre_skip, self._input_rate, self._vendor = serial, pre_skip, input_rate, vendor
        self._sequence = self._granule = 0
        self.ended = False
        """The last page was made."""

    def begin(self) -> bytes:
        """The two pages of headers (RFC 7845 section 5)."""
        head = struct.pack("<8sBBHIhB", b"OpusHead", 1, 1, self._pre_skip, self._input_rate, self._gain, 0)
        vendor = self._vendor.encode()
        tags = struct.pack("<8sI", b"OpusTags", len(vendor)) + vendor + bytes(4)
        return self._page([head], 0, BEGINS) + self._page([tags], 0, 0)

    def pages(self, packets: Sequence[bytes], end: int | None = None) -> bytes:
        """
        The next packets, each 20 ms and 1 to 1275 bytes.

        Args:
            end: these are the last, and the whole is so many ticks long, pre-skip not counted; what
                the last packet holds beyond is thrown away by players (RFC 7845 section 4.4).

        Raises:
            ValueError: after the end, or an end that does not lie within the last packet.
        """
        if self.ended:
            raise ValueError("the stream has ended")
        made = [
            self._some(
                packets[first : first + PAGE_PACKETS], end if first + PAGE_PACKETS >= len(packets) else None
            )
            for first in range(0, len(packets), PAGE_PACKETS)
        ]
        return b"".join(made)

    def finish(self) -> bytes:
        """The end where no packet came with it: an empty page. Nothing, if it was told."""
        if self.ended:
            return b""
        self.ended = True
        return self._page([], self._granule, ENDS)

    def _some(self, packets: Sequence[bytes], end: int | None) -> bytes:
        before, self._granule = self._granule, self._granule + len(packets) * FRAME_TICKS
        if end is None:
            return self._page(packets, self._granule, 0)
        last = self._pre_skip + end
        if not before < last <= self._granule:
            raise ValueError(f"an end at {last} is not within the packets up to {self._granule}")
        self.ended = True
        return self._page(packets, last, ENDS)

    def _page(self, packets: Sequence[bytes], granule: int, flags: int) -> bytes:
        lacing = b"".join(b"\xff" * (len(one) // 255) + bytes([len(one) % 255]) for one in packets)
        head = _HEAD.pack(b"OggS", 0, flags, granule, self._serial, self._sequence, 0, len(lacing))
        self._sequence += 1
        page = bytearray(head + lacing + b"".join(packets))
        struct.pack_into("<I", page, _CRC_AT, checksum(page))
        return bytes(page)


def checksum(page: bytes | bytearray) -> int:
    """
    The checksum of a page whose own field is 0 (RFC 3533 section 6): polynomial 0x04c11db7, begun with 0.

    zlib's has the same polynomial mirrored, begun with ones and inverted; so both are mirrored here.
    """
    mirrored = zlib.crc32(page.translate(_MIRRORED), 0xFFFF_FFFF) ^ 0xFFFF_FFFF
    return int.from_bytes(mirrored.to_bytes(4, "little").translate(_MIRRORED), "big")
