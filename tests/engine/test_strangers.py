"""A process that is no worker, or one of another version: what it says harms nobody and hangs nobody."""

import asyncio
import sys
from pathlib import Path

import pytest

from abr_tts.engine.pool import Limits
from abr_tts.errors import EngineError, EngineLost

from .pools import running, speak

ROOT = Path(__file__).resolve().parent.parent.parent

STRANGER = """
import os, socket, sys
from abr_tts.engine import ipc
sock = socket.socket(fileno=int(sys.argv[sys.argv.index("--fd") + 1]))
READY = ipc.encode(ipc.Ready(24_000, (("tone", ("en",), 24_000, ""),), {"engine": "tone"}))
def say(*parts):
    sock.recv(65_536)
    for part in parts:
        sock.sendall(part if isinstance(part, bytes) else ipc.encode(part))
"""

NEVER_READY = {
    "noise": 'say(b"\\xff\\xff\\xff\\x7f" + os.urandom(64))',
    "a page": 'say(b"<html>no worker here</html>")',
    "zeros": "say(bytes(4_096))",
    "half a frame": "say(READY[:9])",
    "other abilities": 'say(ipc.Ready(24_000, (), {"engine": "tone", "sings": True}))',
    "other voices": 'say(ipc.Ready(24_000, (("tone", "en"),), {"engine": "tone"}))',
    "a rate in words": 'say(ipc.Ready("high", (), {"engine": "tone"}))',
}

ASTRAY = {
    "ready again": "say(READY)",
    "half a sample": 'say(ipc.Pcm(1, b"abc"))',
    "sound of another request, and its end": 'say(ipc.Pcm(9, b"abcd"), ipc.End(9, 2, 0))',
    "a level that is none": 'say(ipc.Log("loud", "words"))',
    "samples that are no number": 'say(ipc.End(1, "many", 0))',
    "noise": 'say(b"\\xff" * 64)',
}


def stranger(folder, *acts):
    """An interpreter that does `acts`, each after something was said to it, and then waits."""
    script, python = folder / "stranger.py", folder / "python"
    script.write_text("\n".join([STRANGER, *acts, "import time\ntime.sleep(600)"]))
    python.write_text(f'#!/bin/bash\nPYTHONPATH={ROOT} exec {sys.executable} {script} "${{@:3}}"\n')
    python.chmod(0o755)
    return str(python)


SHORT = Limits(load_s=1.0, first_chunk_s=1.0, gap_s=0.5, backoff_s=(0.01, 0.05))


@pytest.mark.parametrize("act", NEVER_READY.values(), ids=NEVER_READY)
def test_what_is_no_worker_never_becomes_ready_and_the_reason_is_told(tmp_path, act):
    async def main():
        with pytest.raises(
            EngineError, match=r"no tone engine starts: (it does not speak|the engine did not load)"
        ):
            async with running(python=stranger(tmp_path, act), limits=SHORT):
                pass

    asyncio.run(main())


@pytest.mark.parametrize("act", ASTRAY.values(), ids=ASTRAY)
def test_a_worker_that_goes_astray_costs_its_request_in_time_and_is_replaced(tmp_path, act, caplog):
    async def main():
        async with running(python=stranger(tmp_path, "say(READY)", act), limits=SHORT) as pool:
            assert isinstance(await speak(pool, "abc").failure(), EngineLost | EngineError)
            await pool.until(lambda: pool.stats.lost == 1 and pool.ready == 1)

    asyncio.run(main())
    assert not [record for record in caplog.records if record.name == "asyncio"], (
        "nothing was raised at large"
    )
