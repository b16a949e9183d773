"""The resampler that is set is what streams are sent by; one that is not here is told before it listens."""

import sys

import numpy as np
import pytest

from abr_tts.client import Client
from abr_tts.errors import ConfigError, MissingDependency
from abr_tts.server.config import StreamSettings, load
from abr_tts.stream import coders

from ..torch_here import torchaudio
from .harness import serving

RATE, TEXT = 22_050, "x" * 40


async def heard(rung: str, **settings) -> np.ndarray:
    async with serving(**settings) as server, Client(server.url) as client:
        return await client.speak(TEXT, rung=rung).read()


def test_soxr_is_what_is_used_unless_another_is_set():
    assert (StreamSettings().resampler, StreamSettings().resampler_device) == ("soxr", "auto")
    with pytest.raises(ConfigError, match=r"stream\.resampler.*soxr.*torchaudio"):
        load(overrides={"stream.resampler": "sox"})


@pytest.mark.parametrize("missing", ["torch", "torchaudio"])
async def test_without_torch_the_server_says_how_to_get_it_and_does_not_start(monkeypatch, missing):
    for name in [name for name in sys.modules if name.split(".")[0] == missing]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(MissingDependency, match=r"pip install '\.\[torch\]'"):
        async with serving(stream__resampler="torchaudio"):
            pass


async def test_a_device_that_is_not_here_is_a_fault_of_that_setting():
    torchaudio()
    with pytest.raises(ConfigError, match=r"stream\.resampler_device: torch cannot use .*'cuda:7'"):
        async with serving(stream__resampler="torchaudio", stream__resampler_device="cuda:7"):
            pass


@pytest.mark.parametrize("rung", ["pcm16k", "opus24", "pcm22"])
async def test_speech_by_torchaudio_is_as_long_and_sounds_as_by_soxr(monkeypatch, rung):
    by, made = torchaudio(), []
    theirs = await heard(rung)
    make = coders.make
    monkeypatch.setattr(coders, "make", lambda *kind: made.append(kind[3]) or make(*kind))
    ours = await heard(rung, stream__resampler="torchaudio", stream__resampler_device="cpu")
    assert set(made) == {by}, "no coder was made with soxr"
    assert len(ours) == len(theirs) == round(len(TEXT) * 0.06 * RATE)
    middle = slice(RATE // 10, -RATE // 10)
    noise = (ours.astype(float) - theirs)[middle]
    bound_db = -30 if rung == "opus24" else -80
    assert 10 * np.log10(np.mean(noise**2) / np.mean(theirs[middle].astype(float) ** 2) + 1e-12) < bound_db
