"""Ten streams with a splice of every ordered pair of families: Chromium and Node play the same bits."""

import base64
import hashlib
import itertools
import json
from dataclasses import replace

import pytest

from abr_tts.wire.codec import encode
from abr_tts.wire.messages import Switch

from ..stream import speaking
from ..web.node import JS, needs_node, node

FAMILIES = ("opus24", "opus64", "pcm22", "pcm16k", "ulaw22", "ulaw16k")
"""A rung of each: hybrid and CELT Opus, and every PCM rung, which is a family of its own."""

SPLICES = 3
"""In each stream; 30 ordered pairs in all."""

FRAMES = 16
"""Between two splices."""

STARTED = replace(speaking.STARTED, stream_id="6f1c2b1e-9a4d-4c3b-8e57-0d2f3a4b5c6d")


def walk():
    """Families one after another, each ordered pair once: an Eulerian circuit (Hierholzer)."""
    left = {one: [other for other in FAMILIES if other != one] for one in FAMILIES}
    stack, circuit = [FAMILIES[0]], []
    while stack:
        if left[stack[-1]]:
            stack.append(left[stack[-1]].pop())
        else:
            circuit.append(stack.pop())
    return circuit


PLANS = [walk()[at : at + SPLICES + 1] for at in range(0, len(FAMILIES) * (len(FAMILIES) - 1), SPLICES)]


def recorded(rungs):
    """The messages of a stream, each in base64."""
    pcm = speaking.speech(FRAMES * len(rungs) / 50)
    messages = [STARTED, *speaking.plan(pcm, rungs, FRAMES)]
    wired = [replace(one, target="x") if isinstance(one, Switch) else one for one in messages]
    return [base64.b64encode(encode(message)).decode() for message in wired]


def test_the_plans_have_every_ordered_pair():
    pairs = {pair for plan in PLANS for pair in itertools.pairwise(plan)}
    assert len(PLANS) == 10 and len(pairs) == 30


@pytest.fixture(scope="module")
def untapped(loop, browser, server):
    page = loop.run(browser.page(f"{server.http_url}/page/tap.html"))
    loop.run(page.run("untapped = true"))
    yield page
    loop.run(page.close())
    assert not page.complaints


@needs_node
@pytest.mark.parametrize("rungs", PLANS, ids="-".join)
def test_chromium_and_node_play_the_same_bits(loop, untapped, rungs):
    messages = recorded(rungs)
    for rate in (44_100, 48_000):
        told = json.loads(node(JS / "hear.mjs", text=json.dumps({"outRate": rate, "messages": messages})))
        samples = base64.b64decode(told["samples"])
        given = f"{rate}, {json.dumps(messages)}"
        script = f"import('/page/golden.js').then(({{golden}}) => golden({given}))"
        heard = loop.run(untapped.run(script))
        assert heard["length"] == len(samples) // 4 == FRAMES * len(rungs) * rate // 50
        assert told["meters"]["badPackets"] == 0 and len({frame[1] for frame in told["frames"]}) == len(rungs)
        assert heard["heard"] == hashlib.sha256(samples).hexdigest(), "the core"
        assert heard["played"] == heard["heard"], "the browser's own sound"
