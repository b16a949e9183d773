"""The header of a WAV: with its true length where that is known, and endless where it is not."""

import io
import struct
import wave

import pytest

from abr_tts.audio.wav import UNKNOWN, header


@pytest.mark.parametrize("rate", [8_000, 24_000, 48_000])
def test_a_whole_file_is_one_that_another_reader_takes(rate):
    with wave.open(io.BytesIO(header(rate, 5) + bytes(10))) as file:
        assert (file.getframerate(), file.getnframes(), file.getnchannels(), file.getsampwidth()) == (
            rate,
            5,
            1,
            2,
        )


def test_a_stream_claims_the_longest_length_in_both_places():
    made = header(24_000)
    assert len(made) == 44
    assert struct.unpack("<I", made[4:8])[0] == struct.unpack("<I", made[40:44])[0] == UNKNOWN


def test_more_than_32_bits_can_say_is_refused():
    most = (UNKNOWN - 36) // 2
    assert len(header(8_000, most)) == 44
    with pytest.raises(ValueError, match="more than a WAV file can hold"):
        header(8_000, most + 1)
