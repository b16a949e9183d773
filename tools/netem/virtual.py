"""
The same session in virtual time: the simulator with the very clauses, chunks and sound of a talk.
"""

from __future__ import annotations

from live import TRACE_EVERY_S
from talk import Recital, Talk

from abr_tts.audio.libopus import load
from abr_tts.control.adaptive import Adaptive
from abr_tts.control.controller import Controller
from abr_tts.control.estimator import Estimate
from abr_tts.control.idle_probe import IdleProbe
from abr_tts.control.ladder import FULL
from abr_tts.control.policy import Policy
from abr_tts.sim.result import Result
from abr_tts.sim.run import World, run
from abr_tts.sim.scenario import Scenario
from abr_tts.stream.terms import Terms

CODECS = ("opus", "pcm16", "ulaw")
"""What the real client decodes where there is a libopus."""


class Server:
    """What makes each utterance's controller, and keeps what the last one learned of the link."""

    def __init__(self, policy: Policy, rung: str | None, rate: int) -> None:
        self._policy, self._rung, self._rate = policy, rung, rate
        self._kept: Estimate | None = None

    def controller(self, now: float) -> Controller:
        """A new one, as a server makes it for a client that it knows."""
        kept = self._kept
        if kept is not None and now - kept.at > self._policy.memory_s:
            kept = None
        if self._rung is not None:
            return Terms(CODECS, self._rate, rung=FULL[self._rung]).controller()
        return Terms(CODECS, self._rate, policy=self._policy, remembered=kept).controller()

    def learned(self, controller: Controller, now: float) -> None:
        """The server is through with an utterance."""
        if isinstance(controller, Adaptive) and self._policy.memory_key != "none":
            self._kept = controller.estimate(now) or self._kept

    def resting(self, now: float) -> IdleProbe | None:
        """The listener rests; a server probes only after speech that adapted."""
        return None if self._rung else IdleProbe.begin(self._policy, self._kept, now)

    def rested(self, probe: IdleProbe, now: float) -> None:
        """The next utterance is asked for."""
        self._kept = probe.estimate(now)


def listen(
    scenario: Scenario,
    talk: Talk,
    policy: Policy,
    *,
    rung: str | None = None,
    until_s: float = float("inf"),
    tls: bool = False,
    proxied: bool = False,
    seed: int = 1,
) -> Result:
    """
    Hear it all, in no time.

    Args:
        rung: hold every stream at it; None: adapt by `policy`.
        until_s: no utterance starts after this second.
        tls, proxied: what stands before the server.
        seed: of the network's chances.
    """
    server = Server(policy, rung, talk.rate)
    world = World(
        engine=Recital(talk), tls=tls, proxied=proxied, library=load(), voice=talk.voice,
        trace_every_s=TRACE_EVERY_S,
    )  # fmt: skip
    return run(
        scenario, server.controller, learned=server.learned, resting=server.resting, rested=server.rested,
        world=world, utterances=talk.plan(), until_s=until_s, seed=seed,
    )  # fmt: skip
