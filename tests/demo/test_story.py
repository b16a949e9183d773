"""The demonstration's link in virtual time, behind a proxy as the relay is: what the picture will show."""

import pytest

from abr_tts.control.policy_file import preset
from abr_tts.control.strong import Strong
from abr_tts.demo.story import LINK, POLICY
from abr_tts.sim.engine import EMBEDDED
from abr_tts.sim.run import World, run

SPEECH_S = 39.85
"""Seconds that espeak-ng takes for the text."""


def test_the_link_is_the_promised_one():
    assert LINK.down.rate == ((0, 2000), (8, 350), (18, 40), (26, 0), (29, 2000))
    assert LINK.duration_s > 3 * SPEECH_S


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_the_adaptive_listener_never_waits_hears_every_format_and_ends_at_the_best(seed):
    policy = preset(POLICY).for_listener(("opus", "pcm16", "ulaw"), EMBEDDED.rate)
    world = World(engine=EMBEDDED, tls=False, proxied=True)
    played = run(
        LINK, lambda now: Strong(policy), world=world, utterances=[(SPEECH_S, 0.0)], seed=seed
    ).utterances[0]
    assert (played.stalls, played.lost_frames) == (0, 0)
    assert {"pcm22", "pcm16k", "opus24"} <= played.played_s.keys()
    assert played.runs[-1][0] == "pcm22"
