"""A sentence's edges are faded, and no sample is lost, however it is cut into pieces."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from abr_tts.engine.cosyvoice.guards import Guards

RATE = 24_000
RISE, FALL = 480, 960


def spoken(pieces, fade_in_ms=20.0, tail_ms=40.0):
    guards = Guards(RATE, fade_in_ms, tail_ms)
    out = [guards.push(piece) for piece in pieces]
    return np.concatenate([*out, guards.end()])


def test_a_sentence_rises_from_nothing_and_falls_to_nothing_and_is_itself_between():
    out = spoken([np.ones(24_000, np.float32)])
    assert out.size == 24_000 and out.dtype == np.float32
    assert 0 < out[0] < 1e-4 and 0 < out[-1] < 1e-4
    assert np.all(np.diff(out[:RISE]) > 0) and np.all(np.diff(out[-FALL:]) < 0)
    np.testing.assert_array_equal(out[RISE:-FALL], 1)


@given(st.lists(st.integers(0, 3_000), max_size=8))
def test_pieces_sound_like_the_whole(sizes):
    whole = np.linspace(-1, 1, sum(sizes), dtype=np.float32)
    pieces = np.split(whole, np.cumsum(sizes)[:-1]) if sizes else []
    np.testing.assert_allclose(spoken(pieces), spoken([whole]), atol=1e-6)
    assert spoken(pieces).size == whole.size


def test_the_noise_at_the_end_is_lowered_by_what_a_fade_lowers():
    """The last 40 ms of white noise lose 4.3 dB, its last 10 ms 23.5 dB: mean of the squared fade."""
    noise = np.random.default_rng(1).normal(size=24_000).astype(np.float32)
    out = spoken([noise])
    for samples, decibels in ((960, 4.3), (240, 23.5)):
        lost = 10 * np.log10(np.mean(noise[-samples:] ** 2) / np.mean(out[-samples:] ** 2))
        assert lost == pytest.approx(decibels, abs=1.5)


def test_the_next_sentence_is_guarded_like_the_first():
    guards = Guards(RATE, 20.0, 40.0)
    ones = np.ones(4_800, np.float32)
    first = np.concatenate([guards.push(ones), guards.end()])
    second = np.concatenate([guards.push(ones), guards.end()])
    np.testing.assert_array_equal(first, second)


def test_only_the_tail_is_held_back():
    guards = Guards(RATE, 0.0, 40.0)
    assert guards.push(np.ones(24_000, np.float32)).size == 24_000 - FALL
    assert guards.push(np.ones(24_000, np.float32)).size == 24_000
    assert guards.end().size == FALL


def test_without_fades_nothing_changes_and_nothing_is_held_back():
    guards = Guards(RATE, 0.0, 0.0)
    piece = np.full(100, 1.07, np.float32)
    np.testing.assert_array_equal(guards.push(piece), piece)
    assert guards.end().size == 0


def test_the_model_s_own_samples_are_left_alone():
    piece = np.ones(2_000, np.float32)
    Guards(RATE, 20.0, 40.0).push(piece)
    np.testing.assert_array_equal(piece, 1)
