"""A neural engine behind the real server, heard by the real client: 24 kHz all the way."""

from importlib.util import find_spec

import numpy as np
import pytest

from abr_tts.client import Client
from abr_tts.wire import messages as m

from ...server.harness import peer, serving

pytestmark = pytest.mark.skipif(find_spec("hibari") is None, reason="hibari is not installed")

ENGINE = {"engine__kind": "hibari", "engine__options": {}}


async def test_hibari_is_heard_at_its_own_rate_in_pcm_and_in_opus():
    async with serving(**ENGINE) as server, Client(server.url) as client:
        text = "Hello there. This voice came over a socket, and nothing resampled it."
        pcm, opus = client.speak(text, rung="pcm24"), client.speak(text, rung="opus24")
        heard, coded = (await pcm.read()).astype(float), (await opus.read()).astype(float)
    assert pcm.sample_rate == opus.sample_rate == 24_000
    assert 3 < len(heard) / 24_000 < 9 and len(coded) == len(heard), "a text sounds the same twice"
    assert np.sqrt(np.mean(heard**2)) > 1_000
    assert np.corrcoef(heard, coded)[0, 1] > 0.9


async def test_chinese_is_not_dropped_in_silence_where_only_hibari_speaks():
    async with serving(**ENGINE) as server, peer(server.url) as client:
        started = await client.start("Hello there. 你好。Goodbye.")
        await client.first(m.StreamEnd, stream=started.stream)
        warnings = client.of(m.Error)
    assert [warning.code for warning in warnings] == ["unknown_script"]
    assert "Han" in warnings[0].message
