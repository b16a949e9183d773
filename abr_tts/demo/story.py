"""What is told, and over what: the text of the demonstration and the link that fails under it."""

from __future__ import annotations

from ..sim.scenario import Direction, Scenario

TEXT = (
    "You are listening to a voice on a train. "
    "The network is good, and every sentence arrives in full quality. "
    "Now we leave the city. The hills come closer, and the signal grows weak. "
    "A plain stream begins to fall behind; this one takes a smaller form. "
    "Soon we are in the forest, where hardly anything gets through. "
    "All of this was sent earlier, while the road was still wide. "
    "This is the tunnel: nothing at all. "
    "Still you hear me, because these words came in while the sun was shining. "
    "There is the light again, and the full sound of the voice. "
    "No word was lost, and you never had to wait."
)
"""About 40 s of speech by espeak-ng, written so that it tells what the link does while it does it."""

ROUND_S = 600.0
"""Seconds of the link's schedule: longer than any listener takes."""

LINK = Scenario(
    name="train",
    duration_s=ROUND_S,
    down=Direction(
        rate=((0.0, 2000.0), (8.0, 350.0), (18.0, 40.0), (26.0, 0.0), (29.0, 2000.0)),
        delay_s=0.03,
        jitter_s=0.003,
    ),
    up=Direction(rate=((0.0, 2000.0),), delay_s=0.03, jitter_s=0.003),
    note="a link that collapses in three steps, dies for 3 s, and is back",
)
"""2 Mbit/s, 350 kbit/s, 40 kbit/s, nothing, 2 Mbit/s; a round trip of 60 ms, as on a mobile network."""

POLICY = "classic"
"""Policy of the adaptive arm: 22 kHz PCM, 16 kHz PCM, Opus."""

FIXED_RUNG = "pcm22"
"""Rung of the plain arm: what a server without a codec would send."""

FIXED_LEAD_S = 1.0
"""Seconds that the plain arm is sent ahead of the listener: the usual way is to pace speech at the
speed at which it is heard, with a little to spare."""
