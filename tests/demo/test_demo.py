"""`abr-tts demo` as people run it, over a short link with a tunnel in it; the engine is the tone."""

import json
import os
import re
import signal
import subprocess
import sys
import wave
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from abr_tts import cli
from abr_tts.demo.report import FILES
from abr_tts.demo.run import Show
from abr_tts.demo.story import FIXED_LEAD_S, LINK
from abr_tts.engine.tone import Options, expected
from abr_tts.errors import ConfigError
from abr_tts.sim.replay import replay
from abr_tts.trace import read

ROOT = Path(__file__).resolve().parent.parent.parent
RATE = 22_050
TONE = {"ABR_TTS_ENGINE__KIND": "tone", "ABR_TTS_ENGINE__OPTIONS__RATE": str(RATE)}
TEXT = "m" * 55  # 3.3 s of tone
UP = {"rate": [[0, 2000]], "delay_ms": 10}
TUNNEL = {
    "format": "tts-netem/1",
    "name": "tunnel",
    "duration_s": 60,
    "down": {"rate": [[0, 2000], [1.0, 0], [2.8, 2000]], "delay_ms": 10},
    "up": UP,
}
NEVER = TUNNEL | {"name": "never", "down": {"rate": [[0, 2000], [1.5, 0], [50, 1]], "delay_ms": 10}}
ARM_KEYS = [
    "first_audio_ms", "stalls", "stall_ms", "switches", "played_seconds", "bytes", "lost_samples",
]  # fmt: skip
WAIT_S = 60
MOST_MS = 2_200
"""What the tunnel costs who does not bank, at most."""

ATTEMPTS = 3


def shown(folder: Path, link: dict, *more: str, text: str = TEXT) -> subprocess.CompletedProcess:
    scenario = folder / "link.json"
    scenario.write_text(json.dumps(link))
    arguments = ["--link", str(scenario), "--text", text, "--out", str(folder / "out"), *more]
    return subprocess.run(
        [sys.executable, "-m", "abr_tts", "demo", *arguments],
        cwd=ROOT, env=os.environ | TONE, capture_output=True, text=True, timeout=WAIT_S,
    )  # fmt: skip


def sound(path: Path) -> np.ndarray:
    with wave.open(str(path)) as file:
        assert (file.getnchannels(), file.getsampwidth(), file.getframerate()) == (1, 2, RATE)
        return np.frombuffer(file.readframes(file.getnframes()), "<i2")


@pytest.fixture(scope="module")
def ride(tmp_path_factory) -> Iterator[tuple[dict, Path, str]]:
    """
    Through the tunnel, once for all: the JSON, the folder, what was told meanwhile. A ride that stalls is
    made again: a machine that stands still stalls any listener.
    """
    for _ in range(ATTEMPTS):
        folder = tmp_path_factory.mktemp("tunnel")
        done = shown(folder, TUNNEL, "--json")
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)
        if told["adaptive"]["stalls"] == 0 and told["fixed"]["stall_ms"] <= MOST_MS:
            break
    yield told, folder / "out", done.stderr


class TestATunnel:
    def test_the_json_has_exactly_the_promised_keys(self, ride):
        figures, _, _ = ride
        assert list(figures) == ["adaptive", "fixed"]
        assert [list(arm) for arm in figures.values()] == [ARM_KEYS, ARM_KEYS]
        for switch in figures["adaptive"]["switches"]:
            assert list(switch) == ["at_ms", "from", "to", "reason"]
            assert switch["reason"] and switch["from"] != switch["to"]

    def test_the_adaptive_listener_does_not_notice_and_the_fixed_one_waits(self, ride):
        figures, _, _ = ride
        adaptive, fixed = figures["adaptive"], figures["fixed"]
        assert (adaptive["stalls"], adaptive["stall_ms"]) == (0, 0)
        assert fixed["stalls"] >= 1
        assert 400 <= fixed["stall_ms"] <= MOST_MS
        assert set(fixed["played_seconds"]) == {"pcm22"}

    def test_nothing_is_lost_on_either_side(self, ride):
        figures, _, _ = ride
        for arm in figures.values():
            assert arm["lost_samples"] == 0
            assert sum(arm["played_seconds"].values()) == pytest.approx(len(TEXT) * 0.06, abs=0.03)

    def test_the_fixed_wave_is_the_engines_own_with_silence_where_the_listener_waited(self, ride):
        figures, out, _ = ride
        heard, own = sound(out / "fixed.wav"), expected(TEXT, options=Options(rate=RATE))
        silence = round(figures["fixed"]["stall_ms"] / 1000 * RATE)
        assert len(heard) == len(own) + silence
        fade = RATE // 200
        before = np.flatnonzero(heard[: len(own)] != own)[0]  # where it fades out
        assert before > RATE and np.array_equal(heard[len(heard) - RATE // 2 :], own[len(own) - RATE // 2 :])
        if figures["fixed"]["stalls"] == 1:
            begin = before + fade
            assert not heard[begin : begin + silence - 2 * fade].any()

    def test_the_adaptive_wave_has_no_silence_and_the_true_length(self, ride):
        _, out, _ = ride
        heard = sound(out / "adaptive.wav")
        assert len(heard) == len(expected(TEXT, options=Options(rate=RATE)))
        loudness = np.abs(heard[: len(heard) // 220 * 220].reshape(-1, 220)).max(axis=1)
        assert loudness[5:-5].min() > 4_000  # the tone is at half of full scale

    def test_every_decision_replays(self, ride):
        _, out, err = ride
        with open(out / "decisions.jsonl", encoding="utf-8") as file:
            trace = read(file, "decisions.jsonl")
        assert replay(trace).difference is None
        assert "replay bit for bit" in err

    def test_all_files_are_there_and_the_picture_shows_both(self, ride):
        _, out, _ = ride
        assert sorted(path.name for path in out.iterdir()) == sorted(FILES)
        words = " ".join(ElementTree.parse(out / "demo.svg").getroot().itertext())
        assert "abr-tts, policy classic" in words and "22 kHz PCM, paced 1 s ahead" in words
        assert "tunnel" in words and "no stall" in words

    def test_progress_names_time_link_and_both_arms(self, ride):
        _, _, err = ride
        assert re.search(r"^ +\d+\.\d s  link 2000 kbit/s \| adaptive .* \| fixed ", err, re.M)


def test_a_fixed_stream_that_the_link_never_carries_is_cut_off_and_said_so(tmp_path, capsys, monkeypatch):
    for name, value in TONE.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("abr_tts.demo.run.PATIENCE_S", 0.5)
    (tmp_path / "never.json").write_text(json.dumps(NEVER))
    arguments = ["--link", str(tmp_path / "never.json"), "--text", "m" * 60, "--out", str(tmp_path / "out")]
    assert cli.main(["demo", *arguments]) == 0
    out, _ = capsys.readouterr()
    assert re.search(r"22 kHz PCM, paced 1 s ahead: .*cut off after \d s of speech", out)
    assert re.search(r"^samples lost +0 +0$", out, re.M)


def test_ctrl_c_ends_quietly_with_130_and_leaves_no_files(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-m", "abr_tts", "demo", "--text", TEXT * 9, "--out", str(tmp_path / "out")],
        cwd=ROOT, env=os.environ | TONE | {"TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    assert process.stderr is not None
    assert "link 2000 kbit/s" in process.stderr.readline()
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=WAIT_S)
    assert (process.returncode, out, err) == (130, "", "")
    assert [path.name for path in tmp_path.rglob("*")] == ["out"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--text", "  "], "the text is empty"),
        (["--link", "{dir}/none.json"], "none.json cannot be read: No such file"),
        (["--link", "{dir}/bad.json"], "is no scenario"),
        (["--link", "{dir}/typo.json"], "typo.json: down.rat: unknown key; did you mean rate?"),
        (["--policy", "clasic"], "did you mean classic?"),
        (["--out", "{dir}/bad.json"], "bad.json cannot be made"),
    ],
)
def test_what_is_wrong_is_told_in_one_sentence_before_anything_starts(tmp_path, capsys, arguments, sentence):
    (tmp_path / "bad.json").write_text("[1, 2")
    typo = TUNNEL | {"down": {"rat": [[0, 1]], "delay_ms": 1}}
    (tmp_path / "typo.json").write_text(json.dumps(typo))
    given = [one.format(dir=tmp_path) for one in arguments]
    assert (
        cli.main(["demo", *(["--out", str(tmp_path / "out")] if "--out" not in given else []), *given]) == 1
    )
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1
    assert sentence in err


def test_both_servers_get_the_environments_engine_and_settings_of_their_own(tmp_path):
    show = Show("hello", LINK, "classic", TONE | {"ABR_TTS_STREAM__MAX_LEAD_S": "99", "PATH": "x"})
    adaptive, fixed = show.arms(tmp_path)
    assert adaptive.settings.engine.kind == fixed.settings.engine.kind == "tone"
    assert (adaptive.rung, adaptive.settings.stream.policy) == (None, "classic")
    assert (fixed.rung, fixed.settings.stream.max_lead_s) == ("pcm22", FIXED_LEAD_S)
    assert adaptive.settings.stream.max_lead_s == 30
    with pytest.raises(ConfigError, match="KIND"):
        Show("hello", LINK, "classic", {"ABR_TTS_ENGINE__KIND": "spoon"}).arms(tmp_path)
