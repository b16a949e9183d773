"""Bytes of an answer become the samples that were meant, wherever they are cut; what is no PCM is refused."""

import numpy as np
import pytest

from abr_tts.engine.remote.body import MOST_HEADER, Body
from abr_tts.errors import EngineError

from .fakes import RATE, speech, wav

SOUND = speech(0.02)
RAW = SOUND.tobytes()


def read(*pieces):
    body = Body(RATE)
    return np.concatenate([*(body.push(piece) for piece in pieces), body.end()])


@pytest.mark.parametrize("whole", [RAW, wav(SOUND), wav(SOUND, size=0), wav(SOUND, tags=b"fact\4\0\0\0abcd")])
def test_every_cut_gives_the_same_samples(whole):
    for cut in range(80):
        np.testing.assert_array_equal(read(whole[:cut], whole[cut : cut + 1], whole[cut + 1 :]), SOUND)


def test_what_follows_the_sound_in_a_wav_file_is_not_played():
    np.testing.assert_array_equal(read(wav(SOUND) + b"LIST\4\0\0\0tags"), SOUND)


@pytest.mark.parametrize("begin", [b"RIFF1234WAVX", b"RIFX", b"OggT", b"ID", b"I", b"R"])
def test_pcm_that_begins_like_a_header_is_played_from_its_first_byte(begin):
    whole = begin + RAW[: 2 - len(begin) % 2]
    assert read(*(bytes([byte]) for byte in whole)).tobytes() == whole[: len(whole) & ~1]


@pytest.mark.parametrize("texts", range(16))
def test_sound_whose_first_bytes_could_be_letters_is_played_whole(texts):
    whole = b"A" * texts + b"\0" + RAW
    for cut in range(20):
        assert read(whole[:cut], whole[cut:]).tobytes() == whole[: len(whole) & ~1]


def test_a_half_sample_at_the_end_is_dropped():
    np.testing.assert_array_equal(read(RAW + b"\1"), SOUND)


def test_a_header_without_sound_is_given_up_at_its_limit():
    body = Body(RATE)
    head = b"RIFF\0\0\0\0WAVELIST\xff\xff\xff\x7f"
    assert body.push(head + bytes(MOST_HEADER - len(head))).size == 0
    with pytest.raises(EngineError, match="without sound"):
        body.push(b"\0")


@pytest.mark.parametrize(
    ("whole", "words"),
    [
        (wav(SOUND, bits=24), "24 bits"),
        (wav(SOUND, 48_000), "sends 48000 Hz"),
        (b"RIFF\0\0\0\0WAVEdata\0\0\0\0", "does not say its format"),
        (b"fLaC" + RAW, "sent FLAC"),
        (b"<!DOCTYPE html>", "sent HTML"),
        (b"\r\n  <HTML><body>Bad gateway</body></HTML>", "sent HTML"),
        (b'{"error": "quota exceeded"}', "sent JSON"),
        (b"[]", "sent JSON"),
        (b"upstream timed out", "sent text"),
        (b"RIFF", "sent text"),
    ],
)
def test_what_would_be_noise_is_refused(whole, words):
    for cut in range(1, 6):
        with pytest.raises(EngineError, match=words):
            read(whole[:cut], whole[cut:])
