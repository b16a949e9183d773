"""The JavaScript's player against a real server whose connections are cut, over real WebSockets."""

import asyncio
import base64
import json

import numpy as np

from ..browser.relay import relaying
from ..server.harness import serving
from .node import JS, NODE, needs_node

pytestmark = needs_node

RATE = 48_000
TEXT = "x" * 70
WITHIN_S = 40.0


async def listen(url: str, cut, **wishes) -> dict:
    """What a player hears; `cut` is awaited each time that another half second has sounded."""
    asked = {"url": url, "text": TEXT, "wishes": wishes, "rate": RATE, "every": RATE // 2}
    process = await asyncio.create_subprocess_exec(
        NODE, "--experimental-websocket", JS / "resume.mjs",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=1 << 24,
    )  # fmt: skip
    process.stdin.write(json.dumps(asked).encode() + b"\n")
    try:
        async with asyncio.timeout(WITHIN_S):
            async for line in process.stdout:
                told = json.loads(line)
                if "report" in told:
                    return told
                await cut()
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
    raise AssertionError("the player ended without a word")


def sound(told: dict) -> np.ndarray:
    """From the first sample that is not silent to the last."""
    samples = np.frombuffer(base64.b64decode(told["sound"]), "<f4")
    (there,) = np.nonzero(samples)
    return samples[there[0] : there[-1] + 1]


async def nothing() -> None:
    pass


async def three() -> tuple[dict, dict, dict, float]:
    """An unbroken speech, the same with cuts, one with cuts that adapts; and how often the server resumed."""
    limits = {"stream__max_lead_s": 2, "engine__clause_chars": 100, "engine__first_clause_chars": 100}
    async with serving(engine__workers=2, **limits) as server, relaying(server.port) as relay:
        url = f"ws://127.0.0.1:{relay.port}/v1/stream"
        whole, cut, adaptive = await asyncio.gather(
            listen(url.replace(str(relay.port), str(server.port)), nothing, rung="opus24"),
            listen(url, relay.cut, rung="opus24"),
            listen(url, nothing),
        )
        resumed = server.metrics.registry.get_sample_value("abr_tts_resumes_total", {"result": "resumed"})
    return whole, cut, adaptive, resumed


def test_a_player_whose_connection_is_cut_every_half_second_hears_every_sample():
    whole, cut, adaptive, resumed = asyncio.run(three())
    for told in (whole, cut, adaptive):
        assert told["report"]["complete"] and told["report"]["stalls"] == 0, told["report"]
    assert cut["events"].count("reconnecting") >= 3 and resumed >= 6, "two seconds are sent ahead, of four"
    assert set(cut["events"]) == {"open", "reconnecting"} | ({"closed"} & set(cut["events"]))
    np.testing.assert_array_equal(sound(cut), sound(whole))
    assert abs(len(sound(adaptive)) - len(sound(whole))) < 5
