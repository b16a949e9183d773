"""Ogg pages: laid out as RFC 3533 and RFC 7845 say, and read by somebody else's reader."""

import io
import struct

import numpy as np
import pytest

from abr_tts.audio.libopus import load
from abr_tts.audio.ogg import BEGINS, ENDS, PAGE_PACKETS, OggOpus, checksum
from abr_tts.audio.opus import Encoder, track_lookahead

RATE, FRAME = 24_000, 480


def split(data: bytes) -> list[tuple[int, int, int, int, list[int], bytes]]:
    """Pages: flags, granule, serial, sequence, packet sizes, the page itself."""
    pages = []
    while data:
        head, segments = data[:27], data[26]
        magic, version, flags, granule, serial, sequence, crc, _ = struct.unpack("<4sBBqIIIB", head)
        lacing = data[27 : 27 + segments]
        sizes, size = [], 0
        for one in lacing:
            size += one
            if one < 255:
                sizes.append(size)
                size = 0
        page = data[: 27 + segments + sum(lacing)]
        assert (magic, version) == (b"OggS", 0)
        assert crc == checksum(page[:22] + bytes(4) + page[26:])
        pages.append((flags, granule, serial, sequence, sizes, page))
        data = data[len(page) :]
    return pages


def sine(samples: int) -> np.ndarray:
    return (0.4 * np.sin(2 * np.pi * 440 * np.arange(samples) / RATE)).astype(np.float32)


def speech(samples: int, kbps: int = 32) -> tuple[list[bytes], np.ndarray]:
    """Packets as a track has them: one before the first frame, and the timeline fed ahead of itself."""
    encoder, ahead = Encoder(load(), kbps=kbps), track_lookahead(kbps)
    sound = sine(samples)
    frames = -(-samples // FRAME)
    fed = np.concatenate([np.zeros(FRAME - ahead, np.float32), sound, np.zeros(2 * FRAME, np.float32)])
    return [encoder.encode(fed[at * FRAME : (at + 1) * FRAME]) for at in range(frames + 1)], sound


def test_the_checksum_is_that_of_rfc_3533():
    # Bit by bit, as the RFC describes it: 0x04c11db7, begun with 0, nothing mirrored, nothing inverted.
    data, register = b"OggS, and some bytes more \x00\xff\x80", 0
    for byte in data:
        register ^= byte << 24
        for _ in range(8):
            register = (register << 1) ^ (0x04C11DB7 if register & 0x80000000 else 0)
            register &= 0xFFFFFFFF
    assert checksum(data) == register


def test_the_headers_stand_on_a_page_each_and_say_what_is_thrown_away():
    first, second = split(OggOpus(7, pre_skip=960, input_rate=22_050).begin())
    assert (first[0], first[1], first[2], first[3]) == (BEGINS, 0, 7, 0)
    assert first[5][28:] == struct.pack("<8sBBHIhB", b"OpusHead", 1, 1, 960, 22_050, 0, 0)
    assert (second[0], second[1], second[3]) == (0, 0, 1)
    assert second[5][28:].startswith(b"OpusTags\x07\x00\x00\x00abr-tts\x00\x00\x00\x00")


@pytest.mark.parametrize("count", [1, PAGE_PACKETS, PAGE_PACKETS + 1, 3 * PAGE_PACKETS])
def test_no_page_holds_more_than_200_ms(count):
    ogg = OggOpus(1)
    pages = split(ogg.pages([bytes([byte]) * 300 for byte in range(count)]))
    sizes = [size for page in pages for size in page[4]]
    assert sizes == [300] * count
    assert max(len(page[4]) for page in pages) <= PAGE_PACKETS
    assert [page[1] for page in pages] == [
        min(960 * PAGE_PACKETS * n, 960 * count) for n in range(1, len(pages) + 1)
    ]


@pytest.mark.parametrize("size", [1, 254, 255, 256, 510, 1275])
def test_a_packet_of_any_length_is_laced_whole(size):
    (page,) = split(OggOpus(1).pages([b"x" * size]))
    assert page[4] == [size]


def test_the_last_page_says_the_true_length_and_nothing_may_follow():
    ogg = OggOpus(1)
    ogg.begin()
    ogg.pages([b"a"])
    (last,) = split(ogg.pages([b"b", b"c"], end=1_000))
    assert (last[0], last[1]) == (ENDS, 960 + 1_000)
    assert ogg.finish() == b""
    with pytest.raises(ValueError, match="has ended"):
        ogg.pages([b"d"])


@pytest.mark.parametrize("end", [0, 960, 2 * 960 + 1])
def test_an_end_outside_the_last_packets_is_refused(end):
    ogg = OggOpus(1)
    ogg.pages([b"a", b"b"])
    with pytest.raises(ValueError, match="not within"):
        ogg.pages([b"c"], end=end)


def test_a_speech_without_a_sound_ends_on_an_empty_page():
    ogg = OggOpus(1)
    ogg.begin()
    (page,) = split(ogg.finish())
    assert (page[0], page[1], page[4]) == (ENDS, 0, [])


def test_another_reader_hears_the_very_samples_at_the_very_place():
    av = pytest.importorskip("av")
    packets, sound = speech(RATE + 123)
    ogg = OggOpus(0xFFFFFFFF, input_rate=RATE)
    end = 2 * len(sound)
    body = ogg.begin() + ogg.pages(packets[:3]) + ogg.pages(packets[3:], end)
    with av.open(io.BytesIO(body)) as file:
        heard = np.concatenate([frame.to_ndarray()[0] for frame in file.decode(audio=0)])
    assert len(heard) == end
    there = 0.4 * np.sin(2 * np.pi * 440 * np.arange(end) / 48_000)
    middle = slice(4_800, -4_800)
    error = np.sqrt(np.mean((heard[middle] - there[middle]) ** 2))
    assert error < 0.03  # a sample of delay alone would make 0.016, ten of them 0.16; the codec makes 0.01
