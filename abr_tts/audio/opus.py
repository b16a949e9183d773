"""
Opus, one 20 ms frame of mono speech at a time: our own small face of libopus.

Settings are those of the house and not for callers to choose: `audio` application (`voip`
turns phases by up to 42°), signal `voice`, VBR, no DTX (it pops at sentence ends), and no FEC
unless a transport loses packets, which TCP does not. Knows frames and packets; it must not know
tracks or pts. One object belongs to one thread at a time; different objects run in parallel,
because ctypes lets go of the GIL.
"""

from __future__ import annotations

import ctypes
import math
import weakref
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import OpusError
from ..units import frame_samples, ticks_to_samples
from .libopus import Library, load

__all__ = [
    "CELT_FROM_KBPS",
    "Decoder",
    "Encoder",
    "Library",
    "load",
    "mode_of",
    "track_lookahead",
]

CELT_FROM_KBPS = 64
"""At and above this bitrate the encoder is held to CELT, below it to SILK and hybrid: libopus'
own choice for 24 kHz voice at complexity 9, made firm, since a change of mode inside a track
would shift its sound by a sample."""

LOOKAHEAD_TICKS = {"hybrid": 310, "celt": 312}
"""Ticks by which the decoded sound lags the encoder's input. libopus says 312 at 48 kHz
(OPUS_GET_LOOKAHEAD, RFC 7845 section 4.2); for SILK and hybrid 310 aligns best, measured by
cross-correlation on speech, tone and sweep in tests/audio/test_opus_alignment.py."""

PACKET_BYTES = 1276
"""Room for a packet: 1275 bytes of one 20 ms frame and its first byte (RFC 6716 section 3.4)."""

LONGEST_PACKET = 6
"""Frames of 20 ms in the longest legal packet: 120 ms (RFC 6716 section 3.2.5)."""

KBPS_RANGE = (6, 510)
"""Bitrates that libopus takes for one frame (opus_defines.h, OPUS_SET_BITRATE)."""

RATES = (8_000, 12_000, 16_000, 24_000, 48_000)
"""Sample rates that libopus takes, Hz (opus.h)."""

MEDIUM_BELOW_KBPS = 10
"""Below this bitrate the bandwidth is set to SILK's medium (6 kHz). Left alone, libopus falls to
narrow (4 kHz), which sounds worse here (PESQ-WB 2.0 against 2.2 at 8 kbit/s on espeak-ng)
and, resampled from 8 kHz inside SILK, lags by 4 ticks more than its siblings."""

SET_FORCE_MODE = 11002
FORCED_MODE = {"hybrid": 1000, "celt": 1002}
"""Numbers of opus_private.h, in every libopus since 1.0. SILK_ONLY (1000) becomes hybrid by
itself wherever the bandwidth is more than SILK's 8 kHz."""

INVALID_PACKET = -4
"""OPUS_INVALID_PACKET of opus_defines.h."""


def family(kbps: int) -> str:
    """`hybrid` or `celt`: bitrates of one family share a track."""
    return "celt" if kbps >= CELT_FROM_KBPS else "hybrid"


def track_lookahead(kbps: int, rate: int = 24_000) -> int:
    """
    Samples at `rate` by which the timeline is advanced before it is encoded.

    155 for SILK and hybrid and 156 for CELT at 24 kHz: packet k then decodes to exactly frame k.
    """
    return ticks_to_samples(LOOKAHEAD_TICKS[family(kbps)], rate)


def mode_of(packet: bytes) -> str:
    """
    `silk`, `hybrid` or `celt`: the mode a packet says it is in (RFC 6716 section 3.1).

    Raises:
        ValueError: an empty packet.
    """
    if not packet:
        raise ValueError("an empty packet has no mode")
    config = packet[0] >> 3
    return "silk" if config < 12 else "hybrid" if config < 16 else "celt"


class _Codec:
    """A libopus object that is destroyed once, when closed or when nobody holds it."""

    def __init__(self, library: Library, kind: str, rate: int, *arguments: int) -> None:
        if rate not in RATES:
            raise ValueError(f"Opus takes {', '.join(map(str, RATES))} Hz, not {rate}")
        self.library, self.rate = library, rate
        handle, result = library.handle, ctypes.c_int()
        create, destroy = getattr(handle, f"opus_{kind}_create"), getattr(handle, f"opus_{kind}_destroy")
        self._control = getattr(handle, f"opus_{kind}_ctl")
        self._state: int | None = create(rate, 1, *arguments, ctypes.byref(result))
        if result.value or not self._state:
            raise library.error(f"cannot make an Opus {kind}", result.value)
        self._destroy = weakref.finalize(self, destroy, self._state)

    def close(self) -> None:
        """Free libopus' memory. Closing twice is no fault."""
        self._state = None
        self._destroy()

    def _open(self) -> int:
        if self._state is None:
            raise ValueError("the codec is closed")
        return self._state

    def _set(self, request: int, value: int) -> None:
        result = self._control(self._open(), request, ctypes.c_int32(value))
        if result:
            raise self.library.error(f"libopus refused setting {request} = {value}", result)

    def _get(self, request: int) -> int:
        value = ctypes.c_int32()
        result = self._control(self._open(), request, ctypes.byref(value))
        if result:
            raise self.library.error(f"libopus refused to tell setting {request}", result)
        return value.value


class Encoder(_Codec):
    """
    Frames of `rate` Hz in, packets of about `kbps` kbit/s out.

    Args:
        library: from `load`.
        kbps: 6 to 510. Its family (below 64, or from 64 on) is kept for life.
        rate: 8, 12, 16, 24 or 48 kHz.
        complexity: 0 to 10. 9 by measurement: 5 loses a quarter of a PESQ point.
        loss_percent: 0 to 100, of packets that the transport loses. Above 0 each packet carries a
            coarse copy of the one before (in-band FEC, RFC 6716 section 2.1.7), as far as the
            bitrate has room for it: the frames themselves get coarser. SILK and hybrid only.

    Raises:
        ValueError: a bitrate, rate, complexity or loss out of range, or FEC from CELT.
        OpusError: libopus refused.
    """

    def __init__(
        self, library: Library, *, kbps: int, rate: int = 24_000, complexity: int = 9, loss_percent: int = 0
    ) -> None:
        _check_kbps(kbps)
        if not 0 <= complexity <= 10:
            raise ValueError(f"complexity {complexity} is not within 0 to 10")
        _check_loss(loss_percent, kbps)
        super().__init__(library, "encoder", rate, library.numbers.APPLICATION_AUDIO)
        self.kbps = kbps
        self._frame = frame_samples(rate)
        self._encode = library.handle.opus_encode_float
        self._pcm = np.zeros(self._frame, np.float32)
        self._packet = ctypes.create_string_buffer(PACKET_BYTES)
        self._view = memoryview(self._packet)
        self._pcm_at, self._packet_at = self._pcm.ctypes.data, ctypes.addressof(self._packet)
        self._set_up(complexity, loss_percent)
        self._tune()

    @property
    def lookahead(self) -> int:
        """Samples at `rate` by which the decoded sound lags the input: `track_lookahead`."""
        return track_lookahead(self.kbps, self.rate)

    @property
    def stated_lookahead(self) -> int:
        """What libopus itself says of its delay, samples at `rate`."""
        return self._get(self.library.numbers.GET_LOOKAHEAD_REQUEST)

    def retune(self, kbps: int) -> None:
        """
        Another bitrate from the next frame on.

        Raises:
            ValueError: out of range, or of the other family, which needs a track of its own.
        """
        _check_kbps(kbps)
        if family(kbps) != family(self.kbps):
            raise ValueError(f"an encoder of {self.kbps} kbit/s cannot be retuned to {kbps}: another family")
        self.kbps = kbps
        self._tune()

    def encode(self, pcm: NDArray[np.float32]) -> bytes:
        """
        Encode one frame.

        Args:
            pcm: float32, shape (rate // 50,), mono, full scale at ±1.0.

        Returns:
            One packet, 1 to 1275 bytes. Its first sample is heard `lookahead` samples late.

        Raises:
            ValueError: wrong shape or dtype, NaN or infinity. Nothing is converted for you.
            OpusError: libopus refused; `.number` is its code.
        """
        if pcm.dtype != np.float32 or pcm.shape != (self._frame,):
            raise ValueError(f"want float32, shape ({self._frame},); got {pcm.dtype}, shape {pcm.shape}")
        if not math.isfinite(np.add.reduce(pcm)):
            raise ValueError("a frame with NaN or infinity would spoil the encoder's state")
        self._pcm[:] = pcm
        state = self._open()
        size: int = self._encode(state, self._pcm_at, self._frame, self._packet_at, PACKET_BYTES)
        if size < 0:
            raise self.library.error("libopus could not encode a frame", size)
        return self._view[:size].tobytes()

    def _set_up(self, complexity: int, loss_percent: int) -> None:
        """The settings that hold for life (see the head of this module)."""
        numbers = self.library.numbers
        self._set(numbers.SET_SIGNAL_REQUEST, numbers.SIGNAL_VOICE)
        self._set(numbers.SET_COMPLEXITY_REQUEST, complexity)
        self._set(numbers.SET_VBR_REQUEST, 1)
        self._set(numbers.SET_DTX_REQUEST, 0)
        self._set(numbers.SET_INBAND_FEC_REQUEST, int(loss_percent > 0))
        self._set(numbers.SET_PACKET_LOSS_PERC_REQUEST, loss_percent)
        self._set(SET_FORCE_MODE, FORCED_MODE[family(self.kbps)])

    def _tune(self) -> None:
        """The settings that follow the bitrate."""
        numbers = self.library.numbers
        medium = self.kbps < MEDIUM_BELOW_KBPS
        self._set(numbers.SET_BITRATE_REQUEST, self.kbps * 1000)
        self._set(numbers.SET_BANDWIDTH_REQUEST, numbers.BANDWIDTH_MEDIUMBAND if medium else numbers.AUTO)


class Decoder(_Codec):
    """
    Packets in, samples at `rate` Hz out; any mode, without being told.

    Raises:
        ValueError: a rate that Opus does not know.
        OpusError: libopus refused.
    """

    def __init__(self, library: Library, rate: int = 48_000) -> None:
        super().__init__(library, "decoder", rate)
        self._frame = frame_samples(rate)
        self._room = LONGEST_PACKET * self._frame
        self._pcm = np.zeros(self._room, np.float32)
        self._pcm_at = self._pcm.ctypes.data
        self._decode = library.handle.opus_decode_float

    def decode(self, packet: bytes) -> NDArray[np.float32]:
        """
        Decode one packet of 2.5 to 120 ms.

        Returns:
            float32, shape (n,): rate // 50 for each 20 ms. It may exceed ±1.0; `pcm.to_int16` clips.

        Raises:
            OpusError: not an Opus packet; the decoder can go on with the next one.
        """
        if not packet:
            raise OpusError("an empty packet is not an Opus packet", INVALID_PACKET)
        return self._run(packet, self._room)

    def conceal(self, frames: int = 1) -> NDArray[np.float32]:
        """
        What the decoder makes of `frames` lost frames of 20 ms, 1 to 6.

        Returns:
            float32, shape (frames * rate // 50,).
        """
        if not 1 <= frames <= LONGEST_PACKET:
            raise ValueError(f"can conceal 1 to {LONGEST_PACKET} frames, not {frames}")
        return self._run(None, frames * self._frame)

    def copy(self) -> Decoder:
        """
        Another decoder in the same state, for what may not have been: a state is one block of memory
        that may be copied (opus.h, "OpusDecoder").
        """
        twin = Decoder(self.library, self.rate)
        ctypes.memmove(twin._open(), self._open(), self.library.handle.opus_decoder_get_size(1))
        return twin

    def recover(self, packet: bytes) -> NDArray[np.float32]:
        """
        The lost frame of 20 ms before `packet`, from the copy that `packet` carries (`loss_percent` of
        the encoder); concealed, where it carries none. Decode `packet` itself afterwards.

        Returns:
            float32, shape (rate // 50,).

        Raises:
            OpusError: as `decode`.
        """
        if not packet:
            raise OpusError("an empty packet is not an Opus packet", INVALID_PACKET)
        return self._run(packet, self._frame, fec=True)

    def _run(self, packet: bytes | None, room: int, fec: bool = False) -> NDArray[np.float32]:
        size = len(packet) if packet is not None else 0
        got: Any = self._decode(self._open(), packet, size, self._pcm_at, room, int(fec))
        if got < 0:
            raise self.library.error("libopus could not decode a packet", got)
        return self._pcm[:got].copy()


def _check_loss(loss_percent: int, kbps: int) -> None:
    if not 0 <= loss_percent <= 100:
        raise ValueError(f"a loss of {loss_percent} % is not within 0 to 100")
    if loss_percent and family(kbps) == "celt":
        raise ValueError(f"CELT has no FEC, and {kbps} kbit/s is CELT; it begins at {CELT_FROM_KBPS}")


def _check_kbps(kbps: int) -> None:
    low, high = KBPS_RANGE
    if not low <= kbps <= high:
        raise ValueError(f"{kbps} kbit/s is not within Opus' {low} to {high}")
