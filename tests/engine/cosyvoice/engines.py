"""Helpers of these tests: a pool of CosyVoice workers on the fake, and what the fake says of itself."""

import contextlib
import os
import sys
import threading

import numpy as np

from abr_tts.engine.cosyvoice import CosyVoice

from ..pools import Collector, running

PLAIN = {"fade_in_ms": 0.0, "tail_guard_ms": 0.0, "warm_up": ""}
"""Options without which the sound is the fake's to the sample."""

STEP = 32.768
"""int16 steps in the 1/1000 in which the fake answers."""


@contextlib.asynccontextmanager
async def pool_of(checkout, weights, *, size=1, limits=None, parallel=1, **options):
    """A pool on the fake, its edges unguarded unless told otherwise."""
    options = {**PLAIN, "path": checkout, "model_dir": weights, **options}
    async with running("cosyvoice", size, limits=limits, parallel=parallel, **options) as pool:
        yield pool


def say(pool, text, voice=None, *, speed=1.0, instruct=None):
    """Say `text`; the sink that collects it, with its ticket."""
    sink = Collector(pool.moved)
    sink.ticket = pool.say(text, pool.choose(voice, None, text), None, speed, sink, instruct=instruct)
    return sink


async def state(pool, voice=None):
    """(entries in the dicts, threads of jobs, prompts computed, speakers in the table) of the fake."""
    return tuple(round(sample / STEP) for sample in await say(pool, "state", voice).whole())


async def asked(pool):
    """ "prompt|text" as the fake's model got it last, spoken by the first voice of the pool."""
    return _text(await say(pool, "asked").whole())


def _text(samples):
    return bytes(np.rint(samples / STEP).astype(np.uint8).tolist()).decode()


def loaded(checkout, weights, monkeypatch, **options):
    """The engine in this very process; what loading changes is put back when the test ends."""
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("TQDM_DISABLE", os.environ.get("TQDM_DISABLE", "1"))
    for name, module in list(sys.modules.items()):
        if module and name.split(".")[0] == "cosyvoice":  # None: a test says that it is not installed
            monkeypatch.delitem(sys.modules, name)
    engine = CosyVoice()
    engine.load({**PLAIN, "path": checkout, "model_dir": weights, **options})
    return engine
