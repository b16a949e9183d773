"""The benchmark of cuts in CI's size: a hundred of them, and none is heard. Without resuming, all are."""

import asyncio

import numpy as np
import resume
from resume import Trial, right

SOUND = np.arange(100, dtype=np.int16)


def test_after_a_hundred_cuts_at_random_bytes_every_listener_has_heard_all_of_it():
    told = asyncio.run(resume.run(100, 7, ("plain",), clauses=1, at_once=16))
    assert told["kills"] >= 100
    assert told["identical"] == told["kills"], told["faults"]
    # Stalls are the benchmark's to tell: here a busy machine may take a second to connect.
    assert min(told["fixed_rung_kills"], told["kills"] - told["fixed_rung_kills"]) > 25


def test_where_streams_are_not_kept_the_same_cuts_are_heard():
    told = asyncio.run(resume.run(5, 7, ("plain",), clauses=1, **{"resume.window_s": 0}))
    assert told["identical"] < told["kills"]
    assert any("ResumeLost" in fault for fault in told["faults"])


def test_each_fault_counts():
    assert right(Trial("pcm22", heard=SOUND), SOUND)
    assert not right(Trial("pcm22", heard=SOUND[:-1]), SOUND), "one sample is lost"
    assert not right(Trial("pcm22", heard=np.roll(SOUND, 1)), SOUND), "at a fixed rung every sample counts"
    assert right(Trial(None, heard=np.roll(SOUND, 1)), SOUND), "upgrades depend on time"
    assert not right(Trial(None, heard=SOUND, same_bytes=False), SOUND)
    assert not right(Trial(None, heard=SOUND, fault="ResumeLost"), SOUND)
