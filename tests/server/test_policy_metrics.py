"""Listeners are counted by the version of the policy that they are under, and few versions are kept."""

from dataclasses import replace

import pytest
from prometheus_client import CollectorRegistry

from abr_tts.control.controller import Reason
from abr_tts.control.ladder import FULL
from abr_tts.control.policy_file import preset
from abr_tts.control.utility import measured_utility
from abr_tts.server.rollout.policy_metrics import MOST_VERSIONS, PolicyMetrics
from abr_tts.server.rollout.slots import fingerprint
from abr_tts.server.speech.account import Account
from abr_tts.server.watching.metrics import Metrics
from abr_tts.stream.outputs import Opened, Switched
from abr_tts.wire.messages import Audio, BitRateHint

DEFAULT = preset("default")
OPUS24, OPUS48 = FULL["opus24"], FULL["opus48"]


def version(number: int):
    return replace(DEFAULT, upgrade_lead_s=1 + number / 100)


def streams(registry: CollectorRegistry) -> list[str]:
    """Hashes of the versions that streams are counted by."""
    (family,) = (f for f in registry.collect() if f.name == "abr_tts_policy_streams")
    return [sample.labels["hash"] for sample in family.samples if sample.name.endswith("_total")]


def test_what_a_listener_hears_is_counted_for_its_policy_and_no_other():
    metrics, other = Metrics(), replace(DEFAULT, headroom=2.0)
    account, idle = Account(metrics, 10.0, DEFAULT), Account(metrics, 10.0, other)
    account.opened(Opened(0, 0, OPUS24, 0))
    account.first_chunk(10.1)
    account.carried(3000)
    account.sent(Audio(1, 0, 0, (b"x" * 60,) * 50), 10.2)
    account.report(BitRateHint(1, 3000, 24_000, 500, stalls=1, stall_ms=300))
    account.switched(Switched(0, 0, OPUS24, OPUS48, 48_000, 0, Reason("ample", "the link carries more")))
    account.carried(3000)
    account.sent(Audio(1, 0, 48_000, (b"x" * 120,) * 25), 10.9)
    account.report(BitRateHint(1, 6000, 72_000, 0, stalls=3, stall_ms=1100))
    idle.report(BitRateHint(1, 0, 0, 0))

    def counted(name: str, policy) -> float:
        labels = {"policy": "default", "hash": fingerprint(policy)}
        return metrics.registry.get_sample_value(f"abr_tts_policy_{name}", labels)

    utility = measured_utility(OPUS24) + measured_utility(OPUS48) / 2
    for name, value in {
        "streams_total": 1, "stalled_streams_total": 1, "stalls_total": 3, "stalled_seconds_total": 1.1,
        "played_audio_seconds_total": 1.5, "utility_seconds_total": utility, "switches_total": 1,
        "sent_audio_bytes_total": 6000, "first_sound_seconds_count": 1, "first_sound_seconds_sum": 0.2,
    }.items():  # fmt: skip
        assert counted(name, DEFAULT) == pytest.approx(value), name
        assert counted(name, other) == (name == "streams_total"), name
    assert metrics.registry.get_sample_value("abr_tts_stalls_total") == 3


def test_a_stream_of_a_fixed_rung_is_counted_under_no_policy():
    metrics = Metrics()
    Account(metrics, 0.0)
    assert (
        metrics.registry.get_sample_value("abr_tts_policy_streams_total", {"policy": "fixed", "hash": ""})
        == 1
    )


def test_as_many_versions_are_counted_as_are_said_and_the_one_used_longest_ago_goes():
    registry = CollectorRegistry()
    metrics, policies = PolicyMetrics(registry), [version(number) for number in range(MOST_VERSIONS + 1)]
    for policy in policies[:MOST_VERSIONS]:
        metrics.of(policy).streams.inc()
    metrics.of(policies[0]).streams.inc()
    assert len(streams(registry)) == MOST_VERSIONS
    late = metrics.of(policies[1])
    metrics.of(policies[0])
    metrics.of(policies[-1]).streams.inc()
    assert len(streams(registry)) == MOST_VERSIONS
    assert fingerprint(policies[2]) not in streams(registry)
    assert {fingerprint(policies[0]), fingerprint(policies[1])} <= set(streams(registry))
    late.stalls.inc()


def test_two_objects_of_one_version_are_counted_together_until_both_are_gone():
    registry = CollectorRegistry()
    metrics, one, same = PolicyMetrics(registry), version(0), version(0)
    metrics.of(one).streams.inc()
    metrics.of(same).streams.inc()
    assert streams(registry) == [fingerprint(one)]
    for number in range(1, MOST_VERSIONS):
        metrics.of(version(number))
    assert fingerprint(one) in streams(registry)
    metrics.of(version(MOST_VERSIONS))
    assert fingerprint(one) not in streams(registry)
