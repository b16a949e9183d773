"""
Arms of a comparison: who decides in a session, and what is remembered from utterance to utterance.

An arm makes the controller of one utterance. `play` gives it a session, as a server would: the
listener's link is remembered. Equal seeds meet equal speech, packets and networks, whatever the arm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..control.controller import Controller
from ..control.estimator import Estimate
from ..control.idle_probe import IdleProbe
from ..control.memory import Memory, Remembers
from ..control.policy import Policy
from ..stream.terms import Terms
from .result import Result
from .run import World, run
from .scenario import Scenario

Arm = Callable[[Policy, Estimate | None], Controller]
"""Makes the controller of one utterance from a policy that is fitted to listener and engine, and from
what an earlier utterance learned of the link."""

CODECS = ("opus", "pcm16", "ulaw")
"""What the simulated listener decodes: everything."""

LISTENER = "listener"
"""The one client of a session, by the name under which its link is remembered."""


def adaptive(policy: Policy, remembered: Estimate | None = None) -> Controller:
    """The policy's own controller, made as the server makes it; the policy is already fitted."""
    # The server fits the policy itself, to the engine's rate: that of its best PCM, else it is all the same.
    rate = max((rung.sample_rate for rung in policy.rungs if rung.codec != "opus"), default=24_000)
    return Terms(CODECS, rate, policy=policy, remembered=remembered).controller()


def play(
    scenario: Scenario,
    arm: Arm,
    policy: Policy,
    *,
    world: World | None = None,
    utterances: Iterable[tuple[float, float]] | None = None,
    until_s: float | None = None,
    seed: int = 1,
    probing: bool = True,
) -> Result:
    """
    A session of one listener with one arm; the other arguments are those of `run`.

    Args:
        probing: whether the link is probed in rests, as the policy says; who does so is our server alone.

    Raises:
        NoCommonFormat: nothing of the policy's ladder can be made of the engine's speech.
    """
    world = world or World()
    fitted = policy.for_listener(CODECS, world.engine.rate)
    memory = Memory(policy.memory_s)

    def make(now: float) -> Controller:
        return arm(fitted, memory.recall(LISTENER, now))

    def learned(controller: Controller, now: float) -> None:
        if isinstance(controller, Remembers) and policy.memory_key != "none":
            memory.keep(LISTENER, controller.estimate(now))

    def resting(now: float) -> IdleProbe | None:
        return IdleProbe.begin(fitted, memory.recall(LISTENER, now), now) if probing else None

    def rested(probe: IdleProbe, now: float) -> None:
        memory.keep(LISTENER, probe.estimate(now))

    return run(
        scenario, make, learned=learned, resting=resting, rested=rested,
        world=world, utterances=utterances, until_s=until_s, seed=seed,
    )  # fmt: skip
