"""What was heard in a page, as samples, and what a tone in it is like."""

import base64

import numpy as np

QUIET = 1e-3
"""What counts as silence: below the noise of 16 bits and a filter's tail."""


def recorded(loop, page):
    """All that went to the loudspeaker, silence included; float32."""
    return np.frombuffer(base64.b64decode(loop.run(page.run("recorded()"))), np.float32)


def span(samples):
    """From the first sample that is heard to the last."""
    loud = np.nonzero(np.abs(samples) > QUIET)[0]
    assert len(loud), "nothing is heard"
    return samples[loud[0] : loud[-1] + 1]


def amplitude(samples, hz, rate):
    """Of a tone of `hz`."""
    turn = np.exp(-2j * np.pi * hz * np.arange(len(samples)) / rate)
    return 2 * abs(np.mean(samples * turn))


def gaps(samples, shortest):
    """(begin, end) of every run of at least `shortest` zeros."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], (samples == 0).astype(np.int8), [0]))))
    runs = edges.reshape(-1, 2)
    return [(int(begin), int(end)) for begin, end in runs if end - begin >= shortest]


def spoken(samples):
    """
    What is heard from the first sample to the last, less silences of half a millisecond and more.

    A machine that is too busy to run the page in time makes such gaps; they cost time and no sample.
    """
    heard = span(samples)
    keep = np.ones(len(heard), bool)
    for begin, end in gaps(heard, 24):
        keep[begin:end] = False
    return heard[keep]


def sounding(samples):
    """How many samples are not of a silence of half a millisecond or more."""
    return len(samples) - sum(end - begin for begin, end in gaps(samples, 24))


EDGE = 24
"""Samples at the first and the last of a tone that are its own edge, and no click of the player's: the tone
begins and ends without a fade."""


def roughness(samples):
    """The largest second difference: a click in a tone stands out."""
    return float(np.max(np.abs(np.diff(samples, 2))))


def smooth(hz, rate, level=0.5):
    """The `roughness` of a tone."""
    return level * (2 * np.pi * hz / rate) ** 2
