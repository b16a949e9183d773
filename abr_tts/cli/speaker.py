"""
Sound through a player that the system has: found on PATH, fed with speech as it arrives.

Python has no sound output of its own, and a package that has one would need the system's
libraries. Knows programs and pipes, and nothing of speech.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass

from ..errors import to_install
from .failure import Failure
from .wav import Int16, WavFile, pcm_bytes, pipe_header


@dataclass(frozen=True, slots=True)
class Program:
    """
    One player.

    Args:
        name: of the program.
        arguments: to play raw int16 mono at a rate from standard input; for a player that
            wants a file the path is put behind them.
        from_file: it plays whole files only, so it starts when the speech is complete.
        header: it wants a WAV header on standard input.
    """

    name: str
    arguments: Callable[[int], list[str]]
    from_file: bool = False
    header: bool = False


PROGRAMS = (
    Program("aplay", lambda rate: ["-q", "-t", "raw", "-f", "S16_LE", "-c", "1", "-r", str(rate), "-"]),
    Program("paplay", lambda rate: ["--raw", "--format=s16le", "--channels=1", f"--rate={rate}"]),
    Program("pw-play", lambda rate: [], from_file=True),
    Program("afplay", lambda rate: [], from_file=True),
    Program("ffplay", lambda rate: ["-nodisp", "-autoexit", "-loglevel", "error", "-i", "-"], header=True),
)
"""In the order tried: ALSA, PulseAudio, PipeWire, macOS, FFmpeg. `pw-play` reads standard input in
new versions only, `afplay` in none."""


NONE = f"no program that plays sound is on PATH ({', '.join(program.name for program in PROGRAMS)})"
"""What is told where there is none."""

HOW_TO_GET = (
    "install one, such as alsa-utils, or write a file with -o out.wav, or say --play, which needs "
    + to_install("live")
)
"""What a person may do then."""


def installed() -> Program | None:
    """The first player on PATH."""
    return next((program for program in PROGRAMS if shutil.which(program.name)), None)


def find() -> Program:
    """
    The first player on PATH.

    Raises:
        Failure: there is none; says what to do.
    """
    program = installed()
    if program is None:
        raise Failure(f"{NONE}: {HOW_TO_GET}")
    return program


class Speaker:
    """An `Output` that is heard; it takes no more than the player's pipe holds."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._process: asyncio.subprocess.Process | None = None
        self._words = tempfile.TemporaryFile()  # noqa: SIM115 -- closed by `abort`
        self._file: WavFile | None = None
        self._path = ""

    async def write(self, samples: Int16, rate: int) -> None:
        """See `Output`."""
        if self._program.from_file:
            await self._keep(samples, rate)
            return
        if self._process is None:
            self._process = await self._start(self._program.arguments(rate))
            if self._program.header:
                self._pipe.write(pipe_header(rate))
        try:
            self._pipe.write(pcm_bytes(samples))
            await self._pipe.drain()
        except (BrokenPipeError, ConnectionResetError):
            await self._finish()

    async def close(self) -> None:
        """Returns when the sound is out."""
        if self._file is not None:
            await self._file.close()
            self._process = await self._start([self._path])
        if self._process is not None:
            self._pipe.close()
            await self._finish()
        self.abort()

    def abort(self) -> None:
        """Silence, now."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
        if self._file is not None:
            self._file.abort()
            os.unlink(self._path)
            self._file = None
        self._words.close()

    @property
    def _pipe(self) -> asyncio.StreamWriter:
        assert self._process is not None and self._process.stdin is not None
        return self._process.stdin

    async def _keep(self, samples: Int16, rate: int) -> None:
        if self._file is None:
            handle, self._path = tempfile.mkstemp(".wav", "abr-tts-")
            os.close(handle)
            self._file = WavFile(self._path)
        await self._file.write(samples, rate)

    async def _start(self, arguments: list[str]) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            self._program.name,
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=self._words,
        )

    async def _finish(self) -> None:
        assert self._process is not None
        if await self._process.wait() != 0:
            self._words.seek(0)
            lines = self._words.read(4096).decode(errors="replace").strip().splitlines()
            reason = lines[-1].strip() if lines else f"exit status {self._process.returncode}"
            raise Failure(
                f"{self._program.name} cannot play ({reason}); write a file with -o out.wav instead"
            )
