"""
Speech through the machine's own sound device, by PortAudio (the extra `live`).

Frames go in at the pace of a real-time listener, who fades before it falls silent; what lies between is a
cushion against their coming unevenly. Knows devices and samples, and nothing of speech.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ..errors import MissingDependency, NoSound, to_install

CUSHION_S = 0.1
"""Seconds of silence before the first frame, and after the device ran dry: an event loop is rarely late by
more, and a device whose clock is 100 parts in a million fast takes a quarter of an hour to use it up."""

BUFFER_S = 0.25
"""Seconds that the device is asked to hold: the cushion, and room for a few frames."""

Int16 = npt.NDArray[np.int16]


class Stream(Protocol):
    """What is used of a `sounddevice.RawOutputStream`."""

    def start(self) -> None:
        """Begin."""

    def write(self, data: bytes) -> bool:
        """Hand samples over; waits while there is no room. Whether the device had run dry."""

    def stop(self) -> None:
        """End when all has sounded."""

    def abort(self) -> None:
        """End now."""

    def close(self) -> None:
        """Free it."""


class Loudspeaker:
    """
    ```
    async with Client(url) as client, Loudspeaker() as loudspeaker:
        speech = client.speak("Hello", live=True)  # or realtime=True
        async for frame in speech:
            await loudspeaker.write(frame, speech.sample_rate)
    ```

    Leaving it waits until everything has sounded, after an exception it is silent at once.

    Args:
        device: a part of the device's name, or its number (`python -m sounddevice` lists them); the
            system's own when None.
        opened: opens a stream of so many Hz, int16, mono; PortAudio's when None.

    Raises:
        MissingDependency: sounddevice or PortAudio is not installed; the message says how to get it.
        NoSound: there is no such device, or it cannot play.
    """

    def __init__(
        self, device: str | int | None = None, opened: Callable[[int], Stream] | None = None
    ) -> None:
        self._open = opened or _by_portaudio(device)
        self._stream: Stream | None = None
        self._rate = 0
        self.dry = 0
        """Times that the device had nothing to play between two frames."""

    async def __aenter__(self) -> Loudspeaker:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            await self.close()
        else:
            self.abort()

    async def write(self, frame: Int16, rate: int) -> None:
        """
        Play on; returns when the device has taken it.

        Args:
            frame: int16, shape (n,).
            rate: Hz; another one than before opens the device anew, when all before has sounded.
        """
        if self._stream is None or rate != self._rate:
            await self.close()
            self._rate, self._stream = rate, await asyncio.to_thread(self._opened, rate)
        stream, silence = self._stream, b"\0\0" * round(CUSHION_S * rate)
        if await asyncio.to_thread(_told(stream.write), frame.astype("<i2", copy=False).tobytes()):
            self.dry += 1
            await asyncio.to_thread(_told(stream.write), silence)

    async def close(self) -> None:
        """Returns when all has sounded; the next frame opens the device again."""
        stream, self._stream = self._stream, None
        if stream is not None:
            await asyncio.to_thread(_told(stream.stop))
            stream.close()

    def abort(self) -> None:
        """Silence, now."""
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.abort()
            stream.close()

    def _opened(self, rate: int) -> Stream:
        stream: Stream = _told(self._open)(rate)
        _told(stream.start)()
        _told(stream.write)(b"\0\0" * round(CUSHION_S * rate))
        return stream


def _by_portaudio(device: str | int | None) -> Callable[[int], Stream]:
    """Looks for the device at once, so that its lack is told before anything is asked of a server."""
    try:
        import sounddevice
    except ImportError:
        words = f"sounddevice is not installed, which plays sound: {to_install('live')}"
        raise MissingDependency(words) from None
    except OSError as fault:
        words = f"PortAudio, the library behind sounddevice, is missing ({fault}): apt install libportaudio2"
        raise MissingDependency(words) from None
    _told(sounddevice.check_output_settings)(device=device, channels=1, dtype="int16")

    def opened(rate: int) -> Stream:
        stream: Stream = sounddevice.RawOutputStream(
            samplerate=rate, channels=1, dtype="int16", device=device, latency=BUFFER_S
        )
        return stream

    return opened


def _told(act: Callable[..., Any]) -> Callable[..., Any]:
    """What PortAudio raises, as one sentence."""

    def acting(*arguments: Any, **named: Any) -> Any:
        try:
            return act(*arguments, **named)
        except Exception as fault:
            if type(fault).__name__ != "PortAudioError" and not isinstance(fault, ValueError):
                raise
            words = str(fault.args[0] if fault.args else fault).rstrip(".")
            words = f"no sound device here plays this ({words}); a file can be written instead"
            raise NoSound(words) from None

    return acting
