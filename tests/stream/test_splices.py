"""
Splices through the shipped path cannot be heard, by the measures of `abr_tts.audio.seam`.

A smaller set of what `tools/bench/seam.py` measures, on syllables made by rule.
"""

from functools import cache

import numpy as np
import pytest

from abr_tts.audio import seam
from abr_tts.audio.libopus import load
from abr_tts.control.ladder import FULL
from abr_tts.stream.mixing import rise
from abr_tts.units import FRAME_TICKS

from ..signals import sweep, tone
from .joins import SPEECH, SWEEP, TONE, TONE_HZ, Case, as_sound, high_energies, measure, row, syllables
from .speaking import track
from .splicing import FAULTS, Alone, Turns, Upgrades, faulty, hear, messages

RATE, SECONDS = 22_050, 6.6
LIBRARY = load()
BOUNDS = seam.Bounds(n=10)
"""Those of the house, for fewer joins."""


@cache
def signal(name: str):
    made = {SPEECH: lambda: syllables(RATE, SECONDS), SWEEP: lambda: sweep(RATE, SECONDS)}
    return made.get(name, lambda: tone(RATE, SECONDS, TONE_HZ))()


def case(name: str, out_rate: int = 48_000) -> Case:
    return Case(name, signal(name), RATE, out_rate)


def sent(name: str, script) -> list:
    return messages(signal(name), RATE, script, LIBRARY)


@cache
def whole_track(name: str, out_rate: int, rung: str):
    return hear(sent(name, Turns([rung])), LIBRARY, out_rate).sound


def rows(script, a: str, b: str, out_rates=(48_000,), tracks=whole_track) -> dict[str, seam.Row]:
    """By target: the worst joins towards it."""
    found = []
    for name in (SPEECH, TONE, SWEEP):
        spoken = sent(name, script)
        for out_rate in out_rates:
            wholes = {rung: tracks(name, out_rate, rung) for rung in (a, b)}
            found += measure(case(name, out_rate), spoken, wholes, LIBRARY)
    return {rung: row(one for one in found if one.join.target == rung) for rung in (a, b)}


@pytest.mark.parametrize(("a", "b"), [
    ("pcm22", "opus24"), ("pcm16k", "opus12"), ("opus64", "opus24"), ("opus64", "opus12"),
])  # fmt: skip
def test_a_splice_within_the_bank_cannot_be_heard(a, b):
    for target, found in rows(Turns([a, b]), a, b).items():
        assert BOUNDS.faults(found) == [], f"to {target}: {found}"


def test_nor_at_another_output_rate():
    for target, found in rows(Turns(["pcm22", "pcm16k"]), "pcm22", "pcm16k", (48_000, 22_050)).items():
        assert BOUNDS.faults(found) == [], f"to {target}: {found}"


@pytest.mark.parametrize("upgrade", ["pcm22", "opus64", "opus48"])
def test_going_up_to_an_upgrade_and_back_to_the_bank_cannot_be_heard(upgrade):
    for target, found in rows(Upgrades("opus24", upgrade), "opus24", upgrade).items():
        assert BOUNDS.faults(found) == [], f"to {target}: {found}"


@pytest.mark.parametrize("rungs", [("opus48", "opus12"), ("opus24", "opus16")])
def test_a_retune_cannot_be_heard(rungs):
    for name in (SPEECH, TONE):
        wholes = {rung: whole_track(name, 48_000, rung) for rung in rungs}
        joins = high_energies(case(name), sent(name, Turns(rungs)), wholes, LIBRARY)
        assert {join.target for join, _ in joins} == set(rungs)
        assert max(high for _, high in joins) <= seam.RETUNE_HF_DB


@pytest.mark.parametrize("rung", ["pcm22", "pcm16k", "ulaw22", "opus64", "opus48", "opus24", "opus12"])
def test_a_whole_track_lies_on_its_source(rung):
    late = seam.lag(case(SPEECH).source, as_sound(whole_track(SPEECH, 48_000, rung)), 48_000)
    assert abs(late) <= seam.lag_bound(FULL[rung].family)


@pytest.mark.parametrize("rung", ["pcm16k", "pcm22"])
def test_a_resampled_track_that_begins_or_ends_in_a_fade_does_not_ring(rung):
    pcm, out_rate = signal(TONE), 48_000
    whole, part = (
        Alone([*track(pcm, 1, rung, 0, start * FRAME_TICKS, frames)], LIBRARY, out_rate)
        for start, frames in ((0, 40), (20, 5))
    )
    expected = [whole.frame(rung, pts * FRAME_TICKS) for pts in range(40)]
    got = [part.frame(rung, pts * FRAME_TICKS) for pts in range(20, 25)]
    ringing = [(got[0] - expected[20]) * rise(960), (got[-1] - expected[24]) * rise(960)[::-1]]
    assert 10 * np.log10(max(np.mean(edge**2) for edge in ringing)) < -112


def test_a_hard_cut_is_seen():
    with faulty("hard_cut"):
        found = rows(Turns(["pcm22", "opus24"]), "pcm22", "opus24")
    for target, worst in found.items():
        assert {"hf_db_max", "d2_max", "d2_sweep_max"} <= set(BOUNDS.faults(worst)), target
        assert worst.hf_db_max > 30


def test_a_missing_lookahead_is_seen_by_tone_and_lag_and_not_by_the_meters_of_clicks():
    with faulty("no_lookahead"):
        tracks = cache(whole_track.__wrapped__)
        found = rows(Turns(["pcm22", "opus24"]), "pcm22", "opus24", tracks=tracks)
        late = seam.lag(case(SPEECH).source, as_sound(tracks(SPEECH, 48_000, "opus24")), 48_000)
    for target, worst in found.items():
        missed = set(BOUNDS.faults(worst))
        assert "tone_amp_dev_max" in missed, target
        assert missed.isdisjoint({"hf_db_max", "d2_max", "d2_sweep_max"}), target
    assert late == pytest.approx(310, abs=2)
    assert late > seam.lag_bound("opus-hybrid")


def test_an_encoder_without_pre_roll_is_seen(monkeypatch):
    monkeypatch.setattr("abr_tts.stream.track.PREROLL_PACKETS", 0)
    assert BOUNDS.faults(rows(Turns(["pcm22", "opus24"]), "pcm22", "opus24")["opus24"])


def test_faults_stand_where_they_are_put_in():
    for name, (module, function, _) in FAULTS.items():
        shipped = getattr(module, function)
        with faulty(name):
            assert getattr(module, function) is not shipped
        assert getattr(module, function) is shipped


def test_joins_are_told_as_they_were_heard():
    heard = hear(sent(SPEECH, Upgrades("opus24", "pcm22", 20)), LIBRARY, 48_000)
    assert [(join.pts // 960, join.target) for join in heard.joins[:4]] == [
        (20, "pcm22"),
        (39, "opus24"),
        (60, "pcm22"),
        (79, "opus24"),
    ]
