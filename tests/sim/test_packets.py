"""Modelled packets are as large as real ones, and depend on the speech alone."""

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

from abr_tts.control.ladder import FULL, opus
from abr_tts.sim.packets import OPUS, SpeechSizes, sizes

ROOT = Path(__file__).resolve().parents[2]


def test_pcm_and_mu_law_are_exact():
    model = SpeechSizes("a", 10)
    names = ("pcm22", "pcm16k", "pcm24", "ulaw22", "ulaw16k")
    assert [model.bytes_of(FULL[name], 3) for name in names] == [882, 640, 960, 441, 320]


@pytest.mark.parametrize("kbps", OPUS)
def test_a_long_speech_has_about_its_bitrate(kbps):
    model = SpeechSizes("a", 20_000)
    mean = statistics.fmean(model.bytes_of(opus(kbps), frame) for frame in range(20_000))
    assert mean == pytest.approx(kbps * 2.5, rel=0.07)


def test_a_frame_weighs_the_same_whatever_was_sent_before():
    one, other = SpeechSizes("a", 500), SpeechSizes("a", 500)
    forwards = [one.bytes_of(FULL["opus24"], frame) for frame in range(500)]
    backwards = [other.bytes_of(FULL["opus24"], frame) for frame in reversed(range(500))]
    assert forwards == backwards[::-1]
    assert forwards != [SpeechSizes("b", 500).bytes_of(FULL["opus24"], frame) for frame in range(500)]


def test_heavy_frames_are_heavy_at_every_rung():
    model = SpeechSizes("a", 2_000)
    low, high = (
        [model.bytes_of(FULL[name], frame) for frame in range(2_000)] for name in ("opus12", "opus48")
    )
    assert statistics.correlation(low, high) > 0.7


def test_preroll_and_padding_weigh_as_a_pause():
    model = SpeechSizes("a", 10)
    last = len(model)
    assert model.bytes_of(FULL["opus24"], -1) == model.bytes_of(FULL["opus24"], last) == round(OPUS[24].pause)


def test_any_bitrate_lies_between_its_neighbours_of_the_same_family():
    assert OPUS[24].speech < sizes(28).speech < OPUS[32].speech
    assert sizes(56).pause < 0.7 * sizes(56).speech  # hybrid, beyond its last line
    assert sizes(72).pause > 0.85 * sizes(72).speech  # CELT
    assert sizes(128).speech == pytest.approx(OPUS[96].speech * 128 / 96)


def test_the_table_is_what_espeak_and_libopus_give():
    pytest.importorskip("espeakng_loader")
    script = ROOT / "tools" / "bench" / "packet_sizes.py"
    command = [sys.executable, str(script), "--json", "--sentences", "2", "--kbps", "12", "24", "64"]
    ran = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    for kbps, row in json.loads(ran.stdout).items():
        table = OPUS[int(kbps)]
        assert row["speech"] == pytest.approx(table.speech, rel=0.05)
        assert row["speech_sd"] == pytest.approx(table.speech_sd, rel=0.25)
        assert row["pause"] == pytest.approx(table.pause, rel=0.15)
