"""What is kept of streams without a connection: how long, how many, how much. Each limit at it and past."""

import pytest

from abr_tts.errors import ConfigError
from abr_tts.server.config import ResumeSettings, load
from abr_tts.server.resume.shelf import BYTES, STREAMS, WINDOW, Shelf


class Thing:
    def __init__(self, name: str, size: int = 0) -> None:
        self.name, self.held_bytes = name, size


def shelf(**settings) -> Shelf[Thing]:
    return Shelf(ResumeSettings(**settings))


def put(on: Shelf[Thing], names: str, now: float = 0.0, size: int = 0) -> None:
    for name in names:
        on.put(name, Thing(name, size), now)


def swept(on: Shelf[Thing], now: float) -> list[tuple[str, str]]:
    return [(thing.name, why) for thing, why in on.sweep(now)]


def test_a_stream_lies_there_to_the_end_of_its_window_and_no_longer():
    kept = shelf(window_s=60.0)
    put(kept, "a", now=5.0)
    assert kept.due == 65.0
    assert swept(kept, 64.999) == []
    assert swept(kept, 65.0) == [("a", WINDOW)]
    assert (len(kept), kept.due) == (0, None)


def test_one_stream_too_many_costs_the_one_that_lost_its_connection_first():
    kept = shelf(streams=3)
    put(kept, "abc")
    assert swept(kept, 1.0) == []
    put(kept, "de", now=2.0)
    assert swept(kept, 2.0) == [("a", STREAMS), ("b", STREAMS)]
    assert [name in kept for name in "abcde"] == [False, False, True, True, True]


def test_one_byte_too_many_costs_the_same():
    kept = shelf(held_bytes=2048)
    put(kept, "ab", size=1024)
    assert swept(kept, 1.0) == []
    put(kept, "c", size=1)
    assert swept(kept, 1.0) == [("a", BYTES)]
    assert kept.held_bytes == 1025


def test_what_grows_on_the_shelf_is_seen():
    kept = shelf(held_bytes=2048)
    grown = Thing("a", 10)
    kept.put("a", grown, 0.0)
    put(kept, "b", size=20)
    grown.held_bytes = 2029
    assert swept(kept, 1.0) == [("a", BYTES)]


def test_a_stream_larger_than_all_that_may_be_held_goes_at_once():
    kept = shelf(held_bytes=1024)
    put(kept, "a", size=1025)
    assert swept(kept, 0.0) == [("a", BYTES)]


def test_what_was_taken_is_there_no_more_and_nobody_elses_window_changes():
    kept = shelf(window_s=10.0)
    put(kept, "a")
    put(kept, "b", now=5.0)
    assert kept.take("a").name == "a"
    assert kept.take("a") is None
    assert kept.due == 15.0


@pytest.mark.parametrize("setting", ["resume.window_s", "resume.streams", "resume.held_bytes"])
def test_settings_below_their_bounds_are_refused(setting):
    with pytest.raises(ConfigError, match=setting):
        load(overrides={setting: -1})
