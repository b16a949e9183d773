"""Messages on their way out: given to the connection, kept until heard, told again on another connection."""

from collections import deque

import pytest

from abr_tts.control.controller import BANK, UPGRADE, FixedRung
from abr_tts.control.ladder import FULL
from abr_tts.errors import ResumeLost
from abr_tts.stream.outgoing import Outgoing
from abr_tts.stream.outputs import Transmit
from abr_tts.stream.pacer import NOTHING, Cargo
from abr_tts.stream.setup import Attachment
from abr_tts.stream.track import EncodeJob
from abr_tts.units import FRAME_TICKS
from abr_tts.wire.compact import PACKETS_MOST
from abr_tts.wire.messages import Audio, Mark, StreamEnd, Track

RUNG = FULL["pcm22"]


class Way:
    """An `Outgoing` with a bank of one track, and what the connection was given."""

    def __init__(self):
        self.outputs = deque()
        self.outgoing = Outgoing(3, self.outputs)
        self.outgoing.announce([Track(3, 0, BANK, RUNG.name, RUNG.codec, RUNG.sample_rate, 1, 0, 0)])
        self.made = 0

    def make(self, *packets, rank=BANK, track=None):
        number = rank if track is None else track
        job = EncodeJob(number, rank, RUNG, self.made, len(packets), True, None, None)
        self.outgoing.audio(job, list(packets))
        self.made += len(packets) * FRAME_TICKS

    def given(self):
        """Messages since the last time; all are written now."""
        messages = []
        while self.outputs:
            messages.append(self.outputs.popleft().message)
            self.outgoing.written()
        return messages

    def attach(self, wanted, handle=4, played=0, live=0):
        to = Attachment(handle, FixedRung(RUNG), wanted, played)
        return self.outgoing.attach(to, (live, self.made))


def test_what_was_given_out_is_on_its_way_until_it_is_written():
    way = Way()
    way.make(b"one", b"two")
    assert not way.outgoing.idle
    assert way.outgoing.written() == NOTHING
    assert way.outgoing.written() == Cargo(BANK, 2 * FRAME_TICKS, 2 * FRAME_TICKS)
    assert way.outgoing.idle


@pytest.mark.parametrize(("more", "messages"), [(0, 1), (1, 2)])
def test_a_job_is_one_message_unless_that_is_more_than_the_wire_takes(more, messages):
    way = Way()
    way.make(*[b"x"] * (PACKETS_MOST + more))
    audio = way.given()[1:]
    assert len(audio) == messages
    assert sum(len(message.packets) for message in audio) == PACKETS_MOST + more
    assert [message.pts for message in audio] == [n * PACKETS_MOST * FRAME_TICKS for n in range(messages)]


def test_without_a_connection_nothing_is_given_out_and_all_is_kept():
    way = Way()
    way.make(b"one")
    way.outgoing.detach()
    way.outputs.clear()
    way.outgoing.mark(0, 0, 5)
    way.make(b"two")
    way.outgoing.end(882, 22_050, "pcm16", "done")
    assert (list(way.outputs), way.outgoing.idle) == ([], False)
    assert [one.packets for one in way.outgoing.kept.packets] == [(b"one",), (b"two",)]


def test_another_connection_is_told_what_it_lacks_in_the_same_bytes_by_its_own_number():
    way = Way()
    way.make(b"one", b"two")
    way.outgoing.mark(0, 0, 5)
    way.outgoing.end(882, 22_050, "pcm16", "done")
    way.given()
    way.outgoing.detach()
    assert way.attach({0: FRAME_TICKS}) == FRAME_TICKS
    way.outgoing.tell_again(full=False)
    opening = way.given()
    way.outgoing.tell_again(full=False)
    rest = way.given()
    assert [type(message) for message in (*opening, *rest)] == [Mark, Track, Audio, StreamEnd]
    assert {message.stream for message in (*opening, *rest)} == {4}
    assert (rest[0].pts, rest[0].packets) == (FRAME_TICKS, (b"two",))
    assert way.outgoing.idle


def test_of_what_is_told_again_no_sound_goes_while_the_way_is_full():
    way = Way()
    way.make(b"one")
    way.outgoing.detach()
    way.outputs.clear()
    way.attach({})
    for _ in range(2):
        way.outgoing.tell_again(full=True)
    assert [type(message) for message in way.given()] == [Track]
    way.outgoing.tell_again(full=False)
    assert [message.packets for message in way.given()] == [(b"one",)]


def test_what_is_new_of_the_bank_waits_behind_what_is_told_again_and_an_upgrade_does_not():
    way = Way()
    way.make(b"one")
    way.outgoing.detach()
    way.outputs.clear()
    way.attach({})
    way.make(b"two")
    assert way.given() == []
    way.make(b"better", rank=UPGRADE)
    assert [message.packets for message in way.given()] == [(b"better",)]
    told = []
    while way.outgoing.again:
        way.outgoing.tell_again(full=False)
        told += way.given()
    assert [message.packets for message in told if isinstance(message, Audio)] == [(b"one",), (b"two",)]


def test_a_listener_who_lacks_what_is_not_held_changes_nothing():
    way = Way()
    way.make(b"one")
    way.given()
    way.outgoing.kept.forget(FRAME_TICKS, FRAME_TICKS)
    way.outgoing.detach()
    with pytest.raises(ResumeLost):
        way.attach({0: 0})
    assert not way.outgoing.attached
    assert not way.outgoing.again


def test_a_track_that_the_listener_has_let_go_is_not_told_again_though_its_end_is_kept():
    """It has played past that end since its last report, which is all that is forgotten here."""
    way = Way()
    way.make(b"one", b"two")
    way.make(b"three")
    start = way.made
    way.outgoing.announce([Track(3, 2, BANK, RUNG.name, RUNG.codec, RUNG.sample_rate, 1, start, 0)])
    way.make(b"four", b"five", track=2)
    way.outgoing.kept.forget(2 * FRAME_TICKS, way.made)
    way.given()
    with pytest.raises(ResumeLost):
        way.attach({2: way.made}, played=start - 1, live=2)
    assert way.attach({2: start + FRAME_TICKS}, played=start, live=2) == start + FRAME_TICKS
    assert [one.track for one in way.outgoing.again] == [2, 2]


def test_after_a_drop_nothing_is_told_again():
    way = Way()
    way.make(b"one")
    way.outgoing.detach()
    way.outputs.clear()
    way.attach({})
    way.outgoing.drop()
    way.outgoing.end(441, 22_050, "pcm16", "cancelled")
    assert [output.message.reason for output in way.outputs if isinstance(output, Transmit)] == ["cancelled"]
    assert (way.outgoing.kept.packets, list(way.outgoing.again)) == ((), [])
