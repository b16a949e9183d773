"""
One track on the listening side: its packets in, any of its next frames out as samples.

Packets are decoded in order, each once and as late as possible, so that a decoder's state is
always that of its encoder. It must not know ranks, other tracks or which frames are played.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from ..audio.opus import Decoder, Library
from ..audio.pcm import decode_pcm16, to_float, ulaw_decode
from ..audio.resample import SOXR, Resampler, fit, resample_window
from ..errors import OpusError, PlayoutError
from ..units import FRAME_TICKS, TICKS_PER_SECOND, frame_samples
from ..wire.messages import Track

OPUS_RATE = TICKS_PER_SECOND
"""Hz at which Opus is decoded: its own clock, and that of browsers' sound (rule 2 of the player)."""

Float32 = NDArray[np.float32]


class TrackDecoder:
    """
    Args:
        track: how the track is coded and where it starts.
        library: libopus; only Opus tracks need it.
        out_rate: Hz of the frames that come out.
        resampler: brings the track to it.

    Raises:
        PlayoutError: `bad_format`: a codec, rate or channel count that cannot be played.
    """

    def __init__(
        self, track: Track, library: Library | None, out_rate: int, resampler: Resampler = SOXR
    ) -> None:
        self._opus: Decoder | None = None
        self.rate, self._decode = self._open(track, library)
        self._out_rate, self._resampler = out_rate, resampler
        self._size = frame_samples(self.rate)
        self._duration = track.duration
        self._silence = np.zeros(self._size, np.float32)
        self._packets: deque[bytes] = deque()
        self._frames: deque[Float32] = deque()
        self._first = track.start - track.preroll * FRAME_TICKS
        self.bad_packets = 0
        """Packets that could not be decoded, or were not as long as they should be."""

    def _open(self, track: Track, library: Library | None) -> tuple[int, Callable[[bytes], Float32]]:
        """The rate and the decoder of `track`."""
        try:
            if track.channels != 1:
                raise ValueError(f"{track.channels} channels")
            if track.codec == "opus" and library:
                self._opus = Decoder(library, OPUS_RATE)
                return OPUS_RATE, self._opus.decode
            frame_samples(track.sample_rate)
            return track.sample_rate, _DECODERS[track.codec]
        except (KeyError, ValueError) as fault:
            message = (
                f"track {track.track}, {track.codec} at {track.sample_rate} Hz, cannot be played: {fault}"
            )
            raise PlayoutError(message, "bad_format") from fault

    def push(self, packets: Iterable[bytes]) -> None:
        """The track's next packets, contiguous with those before."""
        self._packets.extend(packets)

    def advance(self, pts: int) -> None:
        """Decode what is here up to the frame at `pts`; forget frames more than two before it."""
        while self._packets and self._decoded <= pts:
            pcm = self._decode_one(self._packets.popleft())
            self._frames.extend(pcm.reshape(self._duration, self._size))
        while self._frames and self._first < pts - 2 * FRAME_TICKS:
            self._frames.popleft()
            self._first += FRAME_TICKS

    def frame(self, pts: int, last: bool) -> Float32:
        """
        The frame at `pts` at the output rate, float32, shape (out_rate // 50,).

        Calls must ask for growing pts. With `last`, silence follows it, whatever was sent, as it
        precedes pts 0. Elsewhere the frame's mirror image stands for a neighbour that is not here:
        silence would ring where two tracks fade, 5 to 12 dB louder (speech, 22.05 to 48 kHz).

        Raises:
            LookupError: its packet is not here, or is gone.
        """
        self.advance(pts + FRAME_TICKS)
        before, here = self._around(pts)
        after = self._silence if last else self._decoded_frame(pts + FRAME_TICKS)
        return self._resampled(before, here, here[::-1] if after is None else after)

    def _around(self, pts: int) -> tuple[Float32, Float32]:
        """The frame before `pts`, or what stands for it, and the one at `pts`."""
        here = self._decoded_frame(pts)
        if here is None:
            raise LookupError(f"no frame at pts {pts}")
        before = self._decoded_frame(pts - FRAME_TICKS)
        if before is None:
            before = here[::-1] if pts else self._silence
        return before, here

    def _resampled(self, before: Float32, here: Float32, after: Float32) -> Float32:
        if self.rate == self._out_rate:
            return here
        return resample_window(before, here, after, self.rate, self._out_rate, self._resampler)

    @property
    def conceals(self) -> bool:
        """Whether it can make up what is missing: only Opus can."""
        return self._opus is not None

    def bridge(self, pts: int, count: int) -> list[Float32]:
        """
        The frame at `pts`, the last one here, and `count` frames that libopus makes up to follow it.

        The decoder itself does not move: what is late is decoded as if nothing had been made up.

        Returns:
            count + 1 arrays as of `frame`.
        """
        assert self._opus is not None, "only Opus conceals"
        self.advance(pts)
        before, here = self._around(pts)
        twin = self._opus.copy()
        made = twin.conceal(count + 1).reshape(count + 1, self._size)
        twin.close()
        sounds = [before, here, *made]
        return [self._resampled(*sounds[at - 1 : at + 2]) for at in range(1, count + 2)]

    def close(self) -> None:
        """Free the decoder."""
        if self._opus:
            self._opus.close()

    @property
    def held_packets(self) -> int:
        """Packets that are not decoded yet."""
        return len(self._packets)

    @property
    def _decoded(self) -> int:
        """The pts after the last frame decoded."""
        return self._first + len(self._frames) * FRAME_TICKS

    def _decoded_frame(self, pts: int) -> Float32 | None:
        index = (pts - self._first) // FRAME_TICKS
        return self._frames[index] if 0 <= index < len(self._frames) else None

    def _decode_one(self, packet: bytes) -> Float32:
        """Samples of one packet, always as many as they should be: silence stands for what is missing."""
        size = self._duration * self._size
        try:
            pcm = self._decode(packet)
        except (OpusError, ValueError):
            pcm = self._silence[:0]
        if len(pcm) != size:
            self.bad_packets += 1
            pcm = fit(pcm, size)
        return pcm


_DECODERS: dict[str, Callable[[bytes], Float32]] = {
    "pcm16": lambda packet: to_float(decode_pcm16(packet)),
    "ulaw": lambda packet: to_float(ulaw_decode(packet)),
}
"""Stateless codecs by their name on the wire."""
