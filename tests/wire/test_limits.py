"""Limits check themselves and are told to the client."""

import dataclasses

import pytest

from abr_tts.wire.limits import DEFAULT, Limits


@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(Limits)])
def test_a_limit_of_nothing_is_refused_by_name(name):
    with pytest.raises(ValueError, match=name):
        Limits(**{name: 0})


def test_255_streams_fit_the_wire_and_one_more_does_not():
    assert Limits(streams=255).streams == 255
    with pytest.raises(ValueError, match="255"):
        Limits(streams=256)


def test_public_limits_are_integers_in_bytes_characters_and_milliseconds():
    assert DEFAULT.public() == {
        "message_bytes": 1_048_576,
        "text_chars": 200_000,
        "streams": 16,
        "messages_per_s": 500,
        "message_burst": 1_000,
        "uplink_ms": 30_000,
        "hello_ms": 10_000,
        "idle_ms": 90_000,
    }
