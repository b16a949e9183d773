"""Whatever a listener, a kernel or a clock claims, the controller stays sane."""

import json
import math
import random

import pytest

from abr_tts.control.adaptive import Adaptive
from abr_tts.control.controller import BANK, UPGRADE
from abr_tts.control.estimator import Estimate
from abr_tts.control.policy_file import PRESETS, parse, preset

from .looks import seen

WIDE = parse(
    'name = "odd"\nbank_rung = "opus8"\n[[rung]]\nname = "opus12"\n[[rung]]\nname = "opus8"\n', "odd.toml"
)
"""A ladder whose best rung sends ten frames a message."""


@pytest.mark.parametrize("name", [*PRESETS, "odd"])
@pytest.mark.parametrize("seed", range(6))
def test_claims_of_any_kind_lead_to_decisions_within_bounds(name, seed):
    rng = random.Random(seed)
    policy = (WIDE if name == "odd" else preset(name)).for_listener(["opus", "pcm16"], 22_050)
    remembered = rng.choice([None, Estimate(1e-9, 0.0, 0.0), Estimate(1e9, 60.0, 9.0)])
    controller = Adaptive(policy, remembered=remembered)
    now, sent, head, bank, up, rung, bank_rung = 10.0, 0, 0.0, 0.0, 0.0, None, policy.bank_rung
    for _ in range(800):
        now += rng.choice([0.0, 0.001, 0.05, 3.0, 3_600.0]) if rng.random() < 0.2 else 0.02
        size = rng.randrange(1, 20_000)
        sent += size
        controller.on_sent(size, rng.random() < 0.8, now)
        total = rng.choice([0, sent, sent // 2, 10**12, sent - size])
        controller.on_received(total, rng.choice([-1.0, 0.0, 50.0, 60_000.0]), now)
        controller.on_kernel(rng.choice([0, size, 10**9]), rng.choice([-1.0, 0.0, 0.1, 5_000.0]), now)
        head += rng.random() * 0.04
        what = seen(
            now, head, max(bank, head), max(bank, head) + rng.choice([0.0, 0.02, 5.0]), up, rung, bank_rung,
            ended=rng.random() < 0.1, outstanding=rng.randrange(100_000), paused=rng.random() < 0.05,
            eager=rng.random() < 0.02,
        )  # fmt: skip
        decision = controller.decide(what)
        assert math.isfinite(controller.link.kbps)
        assert controller.link.kbps > 0.0
        assert 0 < decision.outstanding_bytes <= policy.most_outstanding_bytes
        assert decision.again_at is None or decision.again_at > now
        assert decision.rung in policy.rungs
        for reason in (decision.plan.bank_reason, decision.plan.upgrade_reason):
            json.dumps(reason.values, allow_nan=False)
            assert reason.sentence
        if decision.send and decision.rank == UPGRADE:
            assert decision.until > decision.pts >= what.layers[UPGRADE].next_pts
            assert decision.pts >= what.head - 960 * 25
            up, rung = min(decision.until, decision.pts + 4_800) / 48_000, decision.rung.name
        elif decision.send and decision.rank == BANK:
            assert decision.pts == what.layers[BANK].next_pts
            bank, bank_rung = decision.pts / 48_000 + 0.1, decision.rung.name


def test_the_same_claims_twice_lead_to_the_same_decisions():
    def decisions():
        rng, controller = random.Random(4), Adaptive(preset("default"))
        for step in range(300):
            now = step / 25
            controller.on_sent(rng.randrange(1, 5_000), True, now)
            controller.on_received(rng.randrange(step * 2_500 + 1), 40.0, now)
            controller.on_kernel(rng.randrange(9_000), 40.0, now)
            yield controller.decide(seen(now, step / 25, step / 25 + 2, step / 25 + 4))

    assert list(decisions()) == list(decisions())
