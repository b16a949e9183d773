"""
The listener: messages of one stream in, samples out.

`Playout` decides what is heard; this turns it into sound at one output rate, rounded to int16
once, at the end. It must not know connections or clocks: whoever calls `render` keeps the time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..audio.opus import Library
from ..audio.pcm import to_int16
from ..audio.resample import SOXR, Resampler
from ..errors import PlayoutError
from ..units import (
    FRAME_TICKS,
    convert_length,
    frame_samples,
    samples_to_ticks,
    ticks_to_ms,
    ticks_to_samples,
    ticks_to_seconds,
)
from ..wire.messages import Audio, Message, StreamEnd, StreamStarted, Switch, Track
from .decoding import TrackDecoder
from .live import Lateness
from .mixing import cross_fade, fade_in, fade_out
from .playout import START_TICKS, Frame, Playout
from .tally import RungTally


class Player:
    """
    Args:
        library: libopus, from `audio.opus.load`; None plays PCM alone.
        out_rate: Hz of what `render` gives; None: the engine's rate, as `StreamStarted` says.
        level: conformance, 0 (one track) or 1 (overlapping tracks).
        start_ticks: sound wanted before the first frame; `playout.AS_FAST_AS_POSSIBLE` for a
            reader without a clock, who calls `render` only while `can_render`.
        resampler: brings tracks to the output rate.

    Raises:
        ValueError: an output rate that does not divide into 20 ms frames.
    """

    def __init__(
        self,
        library: Library | None,
        out_rate: int | None = None,
        level: int = 1,
        *,
        start_ticks: int = START_TICKS,
        resampler: Resampler = SOXR,
    ) -> None:
        self._library, self._resampler = library, resampler
        self.out_rate = out_rate
        if out_rate is not None:
            frame_samples(out_rate)
        self._playout = self._new_playout(start_ticks, level)
        self._decoders: dict[int, TrackDecoder] = {}
        self._tally = RungTally()
        self.frame: Frame | None = None
        """What was rendered last."""
        self._total: int | None = None
        self._bad_packets = 0

    def _new_playout(self, start_ticks: int, level: int) -> Playout:
        """What decides."""
        return Playout(start_ticks=start_ticks, level=level)

    def _opened(self, track: int) -> None:
        """A track is new."""

    # ------------------------------------------------------------ arrivals

    def on_message(self, message: Message) -> None:
        """
        The stream's next message. What does not concern sound (marks, errors) is ignored.

        Raises:
            PlayoutError: it breaks the rules of tracks, or cannot be played. It was ignored;
                the player can go on.
        """
        match message:
            case Audio():
                self._hold(message)
            case Track():
                self._open(message)
            case Switch():
                self._switch(message)
            case StreamStarted():
                self._know_rate(message.sample_rate)
            case StreamEnd():
                self._end(message)
            case _:
                pass

    def _know_rate(self, engine_rate: int) -> int:
        if self.out_rate is None:
            try:
                frame_samples(engine_rate)
            except ValueError as fault:
                raise PlayoutError(str(fault), "bad_format") from fault
            self.out_rate = engine_rate
        return self.out_rate

    def _open(self, message: Track) -> None:
        if self.out_rate is None:
            raise PlayoutError("a track before `stream_started`", "bad_format")
        known = message.track in self._playout.live
        decoder = None if known else TrackDecoder(message, self._library, self.out_rate, self._resampler)
        self._playout.open(message.track, message.rank, message.start, message.preroll, message.duration)
        if decoder:
            self._decoders[message.track] = decoder
            self._tally.open(message.track, message.rung)
            self._opened(message.track)

    def _hold(self, message: Audio) -> None:
        skipped = self._playout.hold(message.track, message.pts, len(message.packets))
        if skipped < len(message.packets):
            self._decoders[message.track].push(message.packets[skipped:])

    def _switch(self, message: Switch) -> None:
        if message.length:
            self._playout.switch(message.track, message.at)
        elif message.track in self._decoders:
            self._tally.retune(message.track, message.at, message.target)

    def _end(self, message: StreamEnd) -> None:
        out_rate = self._know_rate(message.sample_rate)
        ticks = samples_to_ticks(message.length, message.sample_rate)
        total = convert_length(message.length, message.sample_rate, out_rate)
        if (
            message.reason == "cancelled" and self._total is None
        ):  # nothing more comes, however long the speech had become
            here = self._playout.played + self._playout.buffer_ticks()
            ticks, total = min(ticks, here), min(total, ticks_to_samples(here, out_rate))
        self._playout.end(ticks)
        self._total = total

    def pause(self) -> None:
        """The listener pauses: the next frame fades out, then `render` gives None."""
        self._playout.pause()

    def resume(self) -> None:
        """The listener goes on, with the sample after the last."""
        self._playout.resume()

    # ------------------------------------------------------------ sound

    def render(self) -> NDArray[np.int16] | None:
        """
        The next 20 ms.

        Returns:
            int16, shape (out_rate // 50,); the last frame is shorter (it may be empty), so that
            the whole is round(length · out_rate / sample_rate) samples. None for 20 ms of
            silence: before the start, in a stall, in a pause, after the end.
        """
        self.frame = frame = self._playout.render()
        if frame is None:
            return None
        samples = to_int16(self._sound(frame))[: self._length_at(frame.pts)]
        for decoder in self._decoders.values():
            decoder.advance(frame.pts + FRAME_TICKS)
        self._tally.heard(frame.track, frame.pts, self._playout.played - frame.pts)
        self._free()
        return samples

    def _sound(self, frame: Frame) -> NDArray[np.float32]:
        assert self.out_rate is not None, "a track was opened, so the rate is known"
        sound = self._track_sound(frame.track, frame.pts)
        if frame.fade_from is not None:
            sound = cross_fade(self._track_sound(frame.fade_from, frame.pts), sound)
        if frame.fade_in:
            sound = fade_in(sound, self.out_rate)
        if frame.fade_out:
            sound = fade_out(sound, self.out_rate)
        return sound

    def _track_sound(self, track: int, pts: int) -> NDArray[np.float32]:
        return self._decoders[track].frame(pts, last=self._playout.finished)

    def _length_at(self, pts: int) -> int:
        """Samples of the frame at `pts` that lie within the true length."""
        assert self.out_rate is not None, "a track was opened, so the rate is known"
        size = frame_samples(self.out_rate)
        if self._total is None:
            return size
        return max(0, min(size, self._total - pts // FRAME_TICKS * size))

    def _free(self) -> None:
        if len(self._decoders) > len(self._playout.live):
            for track in self._decoders.keys() - set(self._playout.live):
                decoder = self._decoders.pop(track)
                self._bad_packets += decoder.bad_packets
                decoder.close()
                self._tally.forget(track)

    # ------------------------------------------------------------ what may be seen

    @property
    def can_render(self) -> bool:
        """
        Whether `render` would give a frame now that need not fade out for want of the next.

        A reader who renders only then never stalls, and under a fixed rung hears the same
        samples however the messages were grouped.
        """
        return self._playout.can_render

    @property
    def started(self) -> bool:
        """Whether the first frame was rendered."""
        return self._playout.started

    @property
    def finished(self) -> bool:
        """Whether everything was rendered."""
        return self._playout.finished

    @property
    def paused(self) -> bool:
        """Whether the listener paused."""
        return self._playout.paused

    @property
    def played(self) -> int:
        """Ticks rendered so far, for `BitRateHint.played`."""
        return self._playout.played

    @property
    def buffer_ms(self) -> int:
        """Whole milliseconds held without a hole beyond `played`, at any rank."""
        return int(ticks_to_ms(self._playout.buffer_ticks()))

    @property
    def highest(self) -> tuple[tuple[int, int], ...]:
        """(track, pts of the last frame that came) of each live track, for `BitRateHint.highest`."""
        return self._playout.highest

    @property
    def wanted(self) -> tuple[tuple[int, int], ...]:
        """(track, pts of the next packet) of each live track, for `Attach.tracks`."""
        return self._playout.wanted

    @property
    def stalls(self) -> int:
        """Times that the listener waited in mid-speech."""
        return self._playout.stalls

    @property
    def stall_ms(self) -> int:
        """Milliseconds that `render` gave None for those stalls."""
        return int(ticks_to_ms(self._playout.stall_ticks))

    @property
    def lateness(self) -> Lateness:
        """What was heard otherwise than it was sent: nothing, outside live mode."""
        return Lateness()

    def media_at(self, ticks: int) -> int:
        """Where in the speech sound stands of which so much was rendered."""
        return ticks

    @property
    def held_packets(self) -> int:
        """Packets that are here and not decoded yet."""
        return sum(decoder.held_packets for decoder in self._decoders.values())

    @property
    def bad_packets(self) -> int:
        """Packets that could not be decoded and were heard as silence."""
        return self._bad_packets + sum(decoder.bad_packets for decoder in self._decoders.values())

    @property
    def rung_played(self) -> str | None:
        """The rung of the last frame rendered."""
        return self._tally.rung

    @property
    def switches(self) -> int:
        """Changes of the rung heard, retunes among them."""
        return self._tally.switches

    @property
    def seconds_played(self) -> dict[str, float]:
        """Seconds heard of each rung."""
        return {rung: ticks_to_seconds(ticks) for rung, ticks in self._tally.ticks.items()}
