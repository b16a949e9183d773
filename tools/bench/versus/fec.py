"""Opus for a path that loses packets: each carries a coarse copy of the one before it (RFC 6716 2.1.7)."""

from __future__ import annotations

from abr_tts.audio.libopus import Library
from abr_tts.audio.opus import Encoder
from abr_tts.audio.resample import StreamResampler
from abr_tts.control.ladder import Rung
from abr_tts.stream.coders import Coder
from abr_tts.stream.track import Packetiser, Track

LOSS_PERCENT = 10
"""What the encoder is told to expect: enough for copies of all speech, within the rung's bitrate."""


def track_with_copies(rung: Rung, rate: int, library: Library) -> Track:
    """A bank track as the house makes it, but its packets carry copies."""
    encoder = Encoder(library, kbps=round(rung.kbps), rate=rung.sample_rate, loss_percent=LOSS_PERCENT)
    track = Track(1, 0, rung, 0, rate, library)
    assert isinstance(track._coder, Packetiser)
    track._coder._coder = Coder(encoder, StreamResampler(rate, rung.sample_rate))
    return track
