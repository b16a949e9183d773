"""What every worker does with its engine, whatever process it lives in."""

import os
from importlib import import_module

import numpy as np
import pytest

from abr_tts.engine import ipc, tone, work
from abr_tts.engine.kinds import KINDS
from abr_tts.errors import EngineError, MissingDependency


class Ear:
    """A `work.Hearer` that remembers, and has enough after `most` pieces."""

    def __init__(self, most=1_000):
        self.most, self.data, self.bad = most, [], 0

    def wanted(self, request):
        return len(self.data) < self.most

    def pcm(self, request, data):
        self.data.append(bytes(data))

    def tell_bad(self, count):
        self.bad += count

    @property
    def samples(self):
        return np.frombuffer(b"".join(self.data), "<i2")


@pytest.mark.parametrize("voice", [name for name in tone.VOICES if name not in tone.STOPPING | {"tone-late"}])
def test_whatever_an_engine_hands_out_becomes_the_same_pcm(voice):
    engine, ear = work.make("tone"), Ear()
    engine.load({"chunks": [1, 0, 50_001]})
    out = work.Outlet(ear, 3)
    work.ask(engine, ipc.Say(3, "abcdefgh" * 4, voice, None, 1.0), out)
    wanted = tone.expected("abcdefgh" * 4, voice, options=tone.Options(chunks=[1, 0, 50_001]))
    np.testing.assert_array_equal(ear.samples, wanted)
    assert out.samples == len(wanted) and out.bad == ear.bad and (out.bad > 0) == (voice == "tone-nan")
    assert max(map(len, ear.data)) <= 2 * work.PIECE


def test_an_engine_is_told_at_the_very_piece_after_which_nobody_wants_more():
    ear = Ear(most=2)
    assert not work.Outlet(ear, 1)(np.zeros(3 * work.PIECE, np.int16))
    assert len(ear.data) == 2


@pytest.mark.parametrize("kind", [name for name, kind in KINDS.items() if kind.remote] + ["nobody"])
def test_what_speaks_in_no_worker_is_refused(kind):
    with pytest.raises(EngineError, match=f"no engine '{kind}'; there are espeak"):
        work.make(kind)


def test_libraries_are_kept_from_telling_their_makers_unless_the_operator_wants_it(monkeypatch):
    monkeypatch.delenv("ORT_DISABLE_TELEMETRY", raising=False)
    work.make("tone")
    assert os.environ["ORT_DISABLE_TELEMETRY"] == "1"
    monkeypatch.setenv("ORT_DISABLE_TELEMETRY", "0")
    work.make("tone")
    assert os.environ["ORT_DISABLE_TELEMETRY"] == "0"


@pytest.mark.parametrize(
    ("error", "code", "message", "logged"),
    [
        (MissingDependency("no weights"), "missing_dependency", "no weights", 0),
        (ImportError("no torch"), "missing_dependency", "no torch", 0),
        (EngineError("out of  words"), "engine_failed", "out of words", 0),
        (RuntimeError("boom\nbang"), "engine_failed", "RuntimeError: boom bang", 1),
    ],
)
def test_what_cannot_be_survived_is_a_sentence_and_only_the_unexpected_is_logged(
    error, code, message, logged
):
    log = []
    assert work.fatal(7, error, log.append) == ipc.Fault(7, code, message, fatal=True)
    assert len(log) == logged


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if not kind.remote])
def test_every_engine_says_at_which_rate_it_speaks(name):
    kind = KINDS[name]
    cls = getattr(import_module(f"abr_tts.engine.{kind.module}"), kind.cls)
    assert isinstance(cls.sample_rate, property), "an engine without voices of its own is asked for it too"
