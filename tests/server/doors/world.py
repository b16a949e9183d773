"""What tests of doors share: a server with a tone for a voice, a visit, and speeches read to their end."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import numpy as np

from abr_tts.engine import tone
from abr_tts.server.app import Server
from abr_tts.server.doors.asking import Ask
from abr_tts.server.doors.desk import Visit
from abr_tts.server.doors.speech import Packets, Speech

from ..harness import WAIT_S, serving

CLAUSES = ("A speech of a door,", "in two sentences.", "This is the second of them.")
SAYING = " ".join(CLAUSES)
SAID_S = sum(map(len, CLAUSES)) * tone.CHAR_S


@contextlib.asynccontextmanager
async def visiting(**overrides) -> AsyncIterator[tuple[Server, Visit]]:
    """A client at a desk of a new server."""
    async with serving(**overrides) as server:
        with server.desk.enter({}, "127.0.0.1") as visit:
            yield server, visit


async def spoken(visit: Visit, **fields) -> np.ndarray:
    """All samples of a speech."""
    with visit.open(Ask(**fields)) as speech:
        return await samples_of(speech)


async def samples_of(speech: Speech) -> np.ndarray:
    async with asyncio.timeout(WAIT_S):
        pieces = [piece.samples async for piece in speech]
    return np.concatenate(pieces) if pieces else np.zeros(0, np.int16)


async def packets_of(speech: Speech, size=len) -> list[Packets]:
    """All pieces of a speech in Opus, each told as written in `size(piece.packets)` bytes."""
    pieces = []
    async with asyncio.timeout(WAIT_S):
        async for piece in speech:
            pieces.append(piece)
            speech.written(sum(map(len, piece.packets)) if size is len else size(piece))
    return pieces


def counted(server: Server, name: str) -> float:
    """The sum of a metric's samples."""
    lines = server.metrics.text().decode().splitlines()
    return sum(float(line.split()[-1]) for line in lines if line.startswith((name + " ", name + "{")))
