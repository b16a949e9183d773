"""
What a page decodes is what the server's own libopus decodes, sample by sample: every rung, seconds
of it, and an encoder retuned along the way. tests/js holds the rest, with recorded packets.
"""

from __future__ import annotations

import base64
import json
import subprocess
import sys

import numpy as np
import pytest
from numpy.typing import NDArray

from abr_tts.audio.libopus import Library, load
from abr_tts.audio.opus import Decoder, Encoder, mode_of
from abr_tts.audio.pcm import to_float

from ..signals import speech_like, sweep
from .node import JS, ROOT, needs_node, node

BUILD = ROOT / "tools" / "opus_wasm" / "build.py"

RATE, FRAME = 24_000, 480

ROUNDING = 1e-6
"""Largest difference of CELT. The server's libopus adds in the order of SSE, WebAssembly one by one."""

RETUNED = (48, 12, 24, 16, 32, 12)
"""One encoder's bitrates, kbit/s, half a second each: hybrid and SILK in one track."""

Packets = list[bytes]


@pytest.fixture(scope="module")
def library() -> Library:
    return load()


def encoded(library: Library, sound: NDArray[np.int16], *rungs: int) -> Packets:
    encoder, pcm = Encoder(library, kbps=rungs[0]), to_float(sound)
    packets = []
    for number, at in enumerate(range(0, len(pcm), FRAME)):
        encoder.retune(rungs[number * len(rungs) * FRAME // len(pcm)])
        packets.append(encoder.encode(pcm[at : at + FRAME]))
    return packets


def by_server(library: Library, packets: Packets) -> NDArray[np.float32]:
    decoder = Decoder(library)
    return np.concatenate([decoder.decode(packet) for packet in packets])


def by_page(streams: list[Packets]) -> list[NDArray[np.float32]]:
    """Each stream by a decoder of its own, all at once, in Node."""
    asked = json.dumps([[base64.b64encode(packet).decode() for packet in stream] for stream in streams])
    told = json.loads(node(JS / "opus_decode.mjs", text=asked))
    return [np.frombuffer(base64.b64decode(samples), "<f4") for samples in told]


@needs_node
def test_a_page_decodes_every_rung_as_the_server_does_and_silk_to_the_bit(library):
    sounds = {"speech": speech_like(RATE, 3), "sweep": sweep(RATE, 3, 50, 11_000)}
    names = [(name, (kbps,)) for name in sounds for kbps in (8, 12, 16, 24, 32, 48, 64, 96)]
    names += [(name, RETUNED) for name in sounds]
    streams = [encoded(library, sounds[name], *rungs) for name, rungs in names]
    silk = 0
    for stream, pcm, name in zip(streams, by_page(streams), names, strict=True):
        expected, modes = by_server(library, stream), {mode_of(packet) for packet in stream}
        assert len(pcm) == len(expected), name
        assert np.abs(pcm - expected).max() <= (0 if modes == {"silk"} else ROUNDING), (name, modes)
        silk += modes == {"silk"}
    assert silk >= 4


@needs_node
def test_the_comparison_would_see_one_wrong_bit_in_one_packet(library):
    packets = encoded(library, speech_like(RATE, 1), 12)
    spoilt = [*packets[:20], bytes([*packets[20][:8], packets[20][8] ^ 1, *packets[20][9:]]), *packets[21:]]
    assert not np.array_equal(by_page([spoilt])[0], by_server(library, packets))


def test_the_build_takes_no_other_source_than_the_one_it_names(tmp_path):
    other, made = tmp_path / "opus.tar.xz", tmp_path / "opus.wasm"
    other.write_bytes(b"not libopus")
    command = [sys.executable, str(BUILD), "--source", str(other), "--output", str(made)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "opus_1.6.1.orig.tar.xz: its SHA-256 is" in done.stderr
    assert not made.exists()
