"""
The compact messages: arrays whose first element is their kind. Audio, its uplink, and the hint.

This is the hot path: one of these passes for every 100 ms of every stream. Reports come from
clients of any quality, so numbers out of bounds are brought back and counted, not refused.
"""

from __future__ import annotations

import math
from typing import Any

from ..errors import BadField
from ..units import FRAME_TICKS
from .checks import SAFE, shortest
from .forms import LAST_TICK, PREROLL_MOST
from .messages import Audio, BitRateHint, UplinkAudio

AUDIO, HINT, UPLINK = 1, 2, 3
"""The kinds."""

PACKETS_MOST = 11
"""Packets in one message: with the four elements before them the array header stays one byte."""
PACKET_BYTES_MOST = 16_384
"""Bytes of one packet: 60 ms of 16-bit stereo at 48 kHz are 11 520."""
FIRST_TICK = -PREROLL_MOST * FRAME_TICKS
"""The earliest pts: pre-roll of a track that starts at 0."""
HIGHEST_MOST = 16
"""Tracks in one hint: two are live at once; a switch that is under way adds two."""
HINT_ELEMENTS = 14
"""Elements of a hint that has all of them; what follows is of a later version and ignored."""


def _audio_fault(kind: str, message: Audio | UplinkAudio, lowest: int) -> BadField | None:
    """What is wrong with packets that the quick look did not like, if anything is."""
    pts, packets = message.pts, message.packets
    track = getattr(message, "track", 0)
    if type(message.stream) is not int or not 1 <= message.stream <= 255:
        return BadField(f"{kind}.stream must be an integer from 1 to 255", type=kind, field="stream")
    if type(track) is not int or not 0 <= track <= 65_535:
        return BadField(f"{kind}.track must be an integer from 0 to 65535", type=kind, field="track")
    if type(pts) is not int or not lowest <= pts <= LAST_TICK or pts % FRAME_TICKS:
        bounds = f"from {lowest} to {LAST_TICK}, a multiple of {FRAME_TICKS}"
        return BadField(f"{kind}.pts must be an integer {bounds}", type=kind, field="pts")
    if not 1 <= len(packets) <= PACKETS_MOST:
        return BadField(f"{kind}.packets must be 1 to {PACKETS_MOST}", type=kind, field="packets")
    for packet in packets:
        if type(packet) is not bytes or not 1 <= len(packet) <= PACKET_BYTES_MOST:
            wanted = f"binary of 1 to {PACKET_BYTES_MOST} bytes"
            return BadField(f"every packet of {kind} must be {wanted}", type=kind, field="packets")
    return None


def audio_values(message: Audio) -> list[Any]:
    """The array of an `Audio` record. Raises BadField."""
    fault = _audio_fault("audio", message, FIRST_TICK)
    if fault:
        raise fault
    return [AUDIO, message.stream, message.track, message.pts, *message.packets]


def uplink_values(message: UplinkAudio) -> list[Any]:
    """The array of an `UplinkAudio` record. Raises BadField."""
    fault = _audio_fault("uplink_audio", message, 0)
    if fault:
        raise fault
    return [UPLINK, message.stream, message.pts, *message.packets]


def read_audio(values: list[Any]) -> Audio:
    """The `Audio` record of an array of kind 1. Raises BadField."""
    if len(values) < 4:
        raise BadField("audio needs stream, track, pts and packets", type="audio", field="packets")
    message = Audio(values[1], values[2], values[3], tuple(values[4:]))
    fault = _audio_fault("audio", message, FIRST_TICK)
    if fault:
        raise fault
    return message


def read_uplink(values: list[Any]) -> UplinkAudio:
    """The `UplinkAudio` record of an array of kind 3. Raises BadField."""
    if len(values) < 3:
        raise BadField("uplink_audio needs stream, pts and packets", type="uplink_audio", field="packets")
    message = UplinkAudio(values[1], values[2], tuple(values[3:]))
    fault = _audio_fault("uplink_audio", message, 0)
    if fault:
        raise fault
    return message


_UNKNOWN = -1.0
"""What stands for "not known" in a hint's rtt, jitter and goodput."""

_NUMBERS: tuple[tuple[int, str, int, float, type[int] | type[float]], ...] = (
    (2, "received", SAFE, 0, int),  # bytes
    (3, "played", LAST_TICK, 0, int),  # ticks
    (4, "buffer_ms", 3_600_000, 0, int),  # an hour
    (6, "rtt_ms", 60_000, _UNKNOWN, float),
    (7, "goodput_kbps", 10_000_000, _UNKNOWN, float),
    (8, "jitter_ms", 60_000, _UNKNOWN, float),
    (9, "loss", 1, 0.0, float),
    (10, "stalls", 1_000_000, 0, int),  # events
    (11, "stall_ms", 86_400_000, 0, int),  # a day
)
"""The numbers of a hint: element, name, most (least is 0), what is meant by less or NaN, type."""

_DEFAULTS: tuple[Any, ...] = (None, None, None, None, None, [], -1, -1, -1, 0, 0, 0, False, False)
"""What an absent element of a hint means; None where it must be there."""


_KINDS = (int, float)
"""What counts as a number; a bool does not."""


def _hint_fault(field: str, wanted: str) -> BadField:
    return BadField(f"bit_rate_hint.{field} must be {wanted}", type="bit_rate_hint", field=field)


def _bounded(values: list[Any]) -> tuple[list[Any], int]:
    """The numbers of a hint in their bounds, and how many had to be brought there. Raises BadField."""
    numbers: list[Any] = []
    clamped = 0
    for index, name, most, below, kind in _NUMBERS:
        value = values[index]
        if type(value) not in _KINDS:
            raise _hint_fault(name, "a number")
        if not 0 <= value <= most and value != below:
            value = most if value > most else below
            clamped += 1
        numbers.append(kind(value))
    return numbers, clamped


def _pairs(value: Any) -> tuple[list[tuple[int, int]], int]:
    """`highest` in its bounds, and how many pairs were changed or left out. Raises BadField."""
    if type(value) is not list:
        raise _hint_fault("highest", "an array")
    clamped = max(0, len(value) - HIGHEST_MOST)
    pairs: list[tuple[int, int]] = []
    for item in value[:HIGHEST_MOST]:
        if type(item) is not list or len(item) != 2:
            raise _hint_fault("highest", "an array of [track, pts]")
        track, pts = item
        if type(track) not in _KINDS or type(pts) not in _KINDS:
            raise _hint_fault("highest", "an array of [track, pts]")
        if not 0 <= track <= 65_535:
            clamped += 1
            continue
        if not FIRST_TICK <= pts <= LAST_TICK:
            pts = LAST_TICK if pts > LAST_TICK else FIRST_TICK
            clamped += 1
        pairs.append((int(track), int(pts)))
    return pairs, clamped


def read_hint(values: list[Any]) -> BitRateHint:
    """
    The `BitRateHint` of an array of kind 2; absent elements have their defaults.

    Raises:
        BadField: an element of the wrong type, or one of the first five is missing.
    """
    if len(values) < HINT_ELEMENTS:
        if len(values) < 5:
            raise _hint_fault("buffer_ms", "there, with stream, received and played before it")
        values = [*values, *_DEFAULTS[len(values) :]]
    stream, hidden, save_data = values[1], values[12], values[13]
    if type(stream) is not int or not 1 <= stream <= 255:
        raise _hint_fault("stream", "an integer from 1 to 255")
    if type(hidden) is not bool or type(save_data) is not bool:
        raise _hint_fault("hidden" if type(hidden) is not bool else "save_data", "true or false")
    numbers, clamped = _bounded(values)
    highest, left_out = _pairs(values[5])
    received, played, buffer_ms, rtt, goodput, jitter, loss, stalls, stall_ms = numbers
    return BitRateHint(
        stream, received, played, buffer_ms, rtt, loss, jitter, goodput, stalls, stall_ms,
        hidden, save_data, tuple(highest), clamped + left_out,
    )  # fmt: skip


def hint_values(hint: BitRateHint) -> list[Any]:
    """
    The array of a hint; defaults at its end are left out.

    Raises:
        BadField: a value that a reader would have to clamp or refuse.
    """
    measures = (hint.rtt_ms, hint.goodput_kbps, hint.jitter_ms, hint.loss)
    if not all(math.isfinite(value) for value in measures):
        raise BadField("bit_rate_hint: a measure must be finite", type="bit_rate_hint", field="rtt_ms")
    values = [
        HINT, hint.stream, hint.received, hint.played, hint.buffer_ms, [list(pair) for pair in hint.highest],
        *[shortest(float(value)) for value in measures],
        hint.stalls, hint.stall_ms, hint.hidden, hint.save_data,
    ]  # fmt: skip
    if read_hint(values).clamped:
        raise BadField("bit_rate_hint: a value is out of its bounds", type="bit_rate_hint", field="received")
    while len(values) > 5 and values[-1] == _DEFAULTS[len(values) - 1]:
        values.pop()
    return values
