"""
A server in a process of its own, with the engine that all arms share.

Run by `versus.py`, not by people: `serve.py SETTINGS KIND FOLDER`. KIND is `ours`, or `plain:RUNG`,
or `rtc:RUNG`; FOLDER holds what is spoken. It prints `{"url": …}` and answers every line of its
standard input with what it has noted: CPU seconds so far, when the engine's first samples of each
clause were there, and how late its event loop was since the last question. It ends with its standard input.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).parents[1]))

from aiohttp import web

from abr_tts.audio.libopus import load as load_opus
from abr_tts.control.ladder import FULL
from abr_tts.server.app import Server
from abr_tts.server.config import load
from versus.paced import Paced
from versus.plain import Plain
from versus.punctual import punctual, watch


def read_sounds(folder: Path) -> Paced:
    """The engine, from the files that `versus.py` wrote."""
    index = json.loads((folder / "sounds.json").read_text("utf-8"))
    with np.load(folder / "sounds.npz") as arrays:
        sounds = {text: arrays[name] for name, text in index["texts"].items()}
    return Paced(sounds, index["rate"])


async def ours(settings: dict[str, Any], paced: Paced) -> tuple[str, Any]:
    """The house's server; (URL, what stops it)."""
    engine = {"engine.kind": "tone", "engine.workers": 1, "engine.options": {"rate": paced.rate}}
    server = Server(load(None, {}, {**settings, **engine}))
    server.pool.say = paced.say  # type: ignore[method-assign, assignment]
    await server.start()
    return server.url, server.stop


async def plain(settings: dict[str, Any], paced: Paced, rung: str) -> tuple[str, Any]:
    """The plain design; likewise."""
    app = web.Application()
    app.router.add_get("/{path:.*}", Plain(paced, FULL[rung], load_opus()).handle)
    return await _site(app, settings["server.host"], "ws")


async def rtc(settings: dict[str, Any], paced: Paced, rung: str) -> tuple[str, Any]:
    """WebRTC; likewise."""
    from versus.rtc_server import Peers

    peers, app = Peers(paced, FULL[rung], load_opus()), web.Application()
    app.router.add_post("/offer", peers.offer)
    app.on_shutdown.append(peers.close)
    return await _site(app, settings["server.host"], "http")


async def _site(app: web.Application, host: str, scheme: str) -> tuple[str, Any]:
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    await web.TCPSite(runner, host, 0).start()
    return f"{scheme}://{host}:{runner.addresses[0][1]}/", runner.cleanup


async def main(settings: dict[str, Any], kind: str, folder: Path) -> None:
    """Serve until standard input ends."""
    paced = read_sounds(folder)
    name, _, rung = kind.partition(":")
    if name == "ours":
        url, stop = await ours(settings, paced)
    else:
        url, stop = await {"plain": plain, "rtc": rtc}[name](settings, paced, rung)
    print(json.dumps({"url": url}), flush=True)
    with punctual():
        await answer(paced)
    await stop()


async def answer(paced: Paced) -> None:
    """Until standard input ends."""
    lags: list[float] = []
    watching = asyncio.ensure_future(watch(lags))
    loop = asyncio.get_running_loop()
    while await loop.run_in_executor(None, sys.stdin.readline):
        noted = {"cpu_s": time.process_time(), "firsts": paced.firsts, "lags": lags}
        print(json.dumps(noted), flush=True)
        lags.clear()
    watching.cancel()


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1]), sys.argv[2], Path(sys.argv[3])))
