"""What a listener has heard, by rung, from what was sent and what it reports."""

from abr_tts.server.speech.heard import Heard
from abr_tts.units import FRAME_TICKS


def frames(count: float) -> int:
    return round(count * FRAME_TICKS)


def bank(heard: Heard, position: int, pts: float, count: int, rung: str = "opus24") -> None:
    heard.sent(position, 0, frames(pts), count, rung)


def upgrade(heard: Heard, position: int, pts: float, count: int, rung: str = "pcm22") -> None:
    heard.sent(position, 1, frames(pts), count, rung)


def test_what_is_played_is_of_the_rung_that_was_sent():
    heard = Heard()
    bank(heard, 100, 0, 10)
    assert heard.report(100, frames(4)) == {"opus24": frames(4)}
    assert heard.report(100, frames(10)) == {"opus24": frames(6)}
    assert heard.report(100, frames(10)) == {}


def test_the_higher_rank_is_heard_where_it_is_held():
    heard = Heard()
    bank(heard, 100, 0, 10)
    upgrade(heard, 200, 4, 3)
    assert heard.report(200, frames(10)) == {"opus24": frames(7), "pcm22": frames(3)}


def test_an_upgrade_that_has_not_arrived_is_not_heard():
    heard = Heard()
    bank(heard, 100, 0, 10)
    upgrade(heard, 200, 4, 6)
    assert heard.report(199, frames(6)) == {"opus24": frames(6)}
    assert heard.report(200, frames(10)) == {"pcm22": frames(4)}


def test_where_tracks_of_a_layer_overlap_the_newer_one_is_heard():
    heard = Heard()
    bank(heard, 100, 0, 5, "pcm22")
    bank(heard, 200, 4, 5, "opus24")
    assert heard.report(200, frames(9)) == {"pcm22": frames(4), "opus24": frames(5)}


def test_packets_before_the_first_frame_are_never_heard():
    heard = Heard()
    bank(heard, 100, -1, 3)
    assert heard.report(100, frames(2)) == {"opus24": frames(2)}


def test_the_last_frame_counts_as_far_as_it_sounds():
    heard = Heard()
    bank(heard, 100, 0, 2)
    assert heard.report(100, frames(1.5)) == {"opus24": frames(1.5)}
    assert heard.report(100, frames(2)) == {"opus24": frames(0.5)}


def test_a_listener_who_claims_too_much_is_believed_as_far_as_it_can_be():
    heard = Heard()
    bank(heard, 100, 0, 10)
    assert heard.report(10**15, 2**32 - 1) == {"opus24": frames(10)}
    assert heard.report(10**15, 2**32 - 1) == {}
    assert heard.report(0, 0) == {}


def test_what_was_heard_is_forgotten():
    heard = Heard()
    for number in range(1000):
        bank(heard, number, number * 5, 5)
        upgrade(heard, number, number * 5, 5)
        heard.report(number, frames(number * 5))
    assert sum(map(len, heard._held)) < 10 and not heard._on_the_way


def test_at_another_connection_the_bank_that_was_under_way_counts_and_the_upgrade_does_not():
    heard = Heard()
    bank(heard, 100, 0, 20)
    upgrade(heard, 200, 0, 10)
    upgrade(heard, 300, 10, 10)
    assert heard.report(200, frames(5)) == {"pcm22": frames(5)}
    heard.moved()
    bank(heard, 50, 15, 5)  # told again
    bank(heard, 60, 20, 5)
    assert heard.report(60, frames(25)) == {"pcm22": frames(5), "opus24": frames(15)}
    assert not any(heard._held) and not heard._on_the_way
