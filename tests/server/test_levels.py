"""What a client's level lets it ask: to go on at another connection is for level 2 (SPEC.md, Levels)."""

import numpy as np
import pytest

from abr_tts.wire import messages as m

from .harness import peer, serving
from .test_resume import LONG, SETTINGS, begun, rest, tone


@pytest.mark.parametrize("level", [0, 1])
async def test_a_client_that_cannot_resume_may_not_attach_and_takes_nothing_from_one_that_can(level):
    async with serving(**SETTINGS) as server, peer(server.url, level=2) as first:
        started = await begun(first, frames=5)
        async with peer(server.url, level=level) as second:
            await second.send(rest(first, started))
            told = await second.first(m.Error)
            assert (told.code, told.scope) == ("resume_refused", "stream") and "level 2" in told.message
            assert len(await second.whole_pcm((await second.start("Hello.", rung="pcm22")).stream))
        assert np.array_equal(await first.whole_pcm(started.stream), tone(LONG))
        assert first.of(m.Error) == []
