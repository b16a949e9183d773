"""Turns at the engine: who has begun goes on, who is new waits, and is told where it stands."""

import pytest

from abr_tts.server.load.turns import (
    FORGET_S,
    IDLE_S,
    PATIENCE_S,
    SHORT_S,
    TELL_AFTER_S,
    TELL_AGAIN_S,
    Speed,
    Turns,
)


class Stream:
    """A stream that notes what it is told."""

    def __init__(self, turns: Turns, *, patient: bool = False) -> None:
        self.turns, self.begun, self.told, self.patient = turns, 0, [], patient
        self.lead_s = 100.0

    def take(self, now: float = 0.0) -> None:
        self.turns.take(self, self.begin, lambda place, s: self.told.append(place), now, begun=self.begun > 0)

    def begin(self) -> None:
        self.begun += 1


def turns(factor: float | None, workers: int = 1, share: float = 1.0, most: int = 10) -> Turns:
    speed = Speed()
    if factor is not None:
        speed.add(factor * 10, 10.0)
    return Turns(share, most, lambda: workers, speed)


def streams(made: Turns, count: int) -> list[Stream]:
    one_by_one = [Stream(made) for _ in range(count)]
    for stream in one_by_one:
        stream.take()
    made.look(TELL_AFTER_S)
    return one_by_one


@pytest.mark.parametrize(
    ("factor", "workers", "share", "room"),
    [(None, 2, 1.0, 2), (0.25, 1, 1.0, 4), (0.25, 2, 0.75, 6), (0.3, 1, 1.0, 3), (2.0, 3, 1.0, 3),
     (0.0, 1, 1.0, 9)],
)  # fmt: skip
def test_as_many_are_spoken_as_the_engine_carries_and_not_one_more(factor, workers, share, room):
    made = turns(factor, workers, share)
    taken = streams(made, 9)
    assert [stream.begun for stream in taken] == [1] * room + [0] * (9 - room)
    assert (made.speaking, made.waiting) == (room, 9 - room)


def test_who_waits_begins_in_the_order_of_arrival_and_is_told_each_place():
    made = turns(1.0)
    first, second, third = streams(made, 3)
    assert (second.told, third.told) == ([1], [2])
    made.rest(first, 1.0)
    assert (second.begun, third.begun, third.told) == (1, 0, [2, 1])
    made.rest(second, 2.0)
    assert third.begun == 1


def crowd(took_s: float, leads: list[float], workers: int = 2) -> Turns:
    """Streams with so much to hear, of an engine that carries any number, with clauses of so long."""
    speed = Speed()
    speed.add(took_s, 1000.0)
    made = Turns(1.0, 10, lambda: workers, speed)
    for lead_s in leads:
        stream = Stream(made)
        stream.lead_s = 1e9
        stream.take()
        stream.lead_s = lead_s
    return made


@pytest.mark.parametrize(
    ("leads", "begun"),
    [([], 1), ([0.0], 1), ([0.0, 0.0], 0), ([0.0, 2.9], 0), ([0.0, 3.0], 1), ([0.0, 9.0, 9.0, 3.9], 0),
     ([0.0, 9.0, 9.0, 5.0], 1)],
)  # fmt: skip
def test_a_new_stream_waits_while_each_worker_is_needed_by_one_that_could_run_dry(leads, begun):
    made = crowd(2.0, leads)
    new = Stream(made)
    new.take()
    assert new.begun == begun


def test_where_the_operator_lets_streams_stall_nobody_waits():
    speed = Speed()
    speed.add(2.0, 2.0)
    made = Turns(100, 10, lambda: 1, speed)
    taken = [Stream(made) for _ in range(5)]
    for stream in taken:
        stream.lead_s = 0.0
        stream.take()
    assert [stream.begun for stream in taken] == [1] * 5


def test_a_queue_that_is_shorter_than_what_players_hold_endangers_nobody():
    made = crowd(SHORT_S / 3.1, [0.0] * 5)
    new = Stream(made)
    new.take()
    assert new.begun == 1


def test_waiting_is_told_when_it_has_lasted():
    made = turns(1.0)
    _, second = Stream(made), Stream(made)
    _.take()
    second.take()
    made.look(TELL_AFTER_S - 0.01)
    assert second.told == []
    made.look(TELL_AFTER_S)
    made.look(TELL_AFTER_S + 1)
    assert second.told == [1]


def test_of_a_flood_nobody_is_told_more_than_each_time_that_its_place_has_halved():
    made = turns(1.0, most=64)
    taken = streams(made, 65)
    for number, stream in enumerate(taken[:-1]):
        made.rest(stream, 0.3 + number * 0.05)
    assert taken[-1].told == [64, 32, 16, 8, 4, 2, 1]
    assert max(len(stream.told) for stream in taken) == 7


def test_a_slow_queue_is_told_of_now_and_then_and_ever_more_seldom():
    made = turns(1.0, most=64)
    taken = streams(made, 65)
    last, now = taken[-1], TELL_AFTER_S
    for number, stream in enumerate(taken[:31]):
        now = TELL_AFTER_S + (number + 1) * (TELL_AGAIN_S + 0.1)
        made.rest(stream, now)
    assert last.told == [64, 63, 61, 57, 49, 33], "after 5, 10, 20, 40 and 80 s more"
    made.look(now + 1000)
    assert last.told[-1] == 33, "where nothing changes nothing is told"


def whole(made: Turns, name: str, log: list[str], clauses: int) -> "Whole":
    stream = Whole(made, name, log, clauses)
    stream.ask(0.0)
    return stream


class Whole(Stream):
    """A patient stream of some clauses that notes each which begins."""

    def __init__(self, turns: Turns, name: str, log: list[str], clauses: int) -> None:
        super().__init__(turns, patient=True)
        self.name, self.log, self.clauses = name, log, clauses

    def ask(self, now: float) -> None:
        self.turns.take_after(
            self, self.begin, lambda place, s: self.told.append(place), now, begun=self.begun > 0
        )

    def begin(self) -> None:
        super().begin()
        self.log.append(self.name)

    def spoken(self, now: float) -> None:
        """The clause is over, and the next one asked for."""
        self.clauses -= 1
        if self.clauses:
            self.ask(now)
        else:
            self.turns.rest(self, now)


def test_patient_streams_come_after_all_who_wait_and_one_after_the_other():
    made, log = turns(1.0), []
    first, second = streams(made, 2)
    one, two = whole(made, "one", log, 2), whole(made, "two", log, 1)
    made.look(TELL_AFTER_S)
    assert (one.told, two.told) == ([2], [3])
    made.rest(first, 1.0)
    assert (second.begun, log) == (1, [])
    made.rest(second, 2.0)
    one.spoken(3.0)
    one.spoken(4.0)
    assert log == ["one", "one", "two"]
    assert made.patient == 0


def test_who_is_heard_waits_for_one_clause_of_a_patient_stream_at_most():
    made, log = turns(1.0), []
    one = whole(made, "one", log, 3)
    new = Stream(made)
    new.take()
    assert (log, new.begun) == (["one"], 0)
    one.spoken(1.0)
    assert (log, new.begun) == (["one"], 1)
    made.rest(new, 2.0)
    assert log == ["one", "one"]


def test_a_patient_stream_that_has_waited_for_long_waits_no_longer_than_others():
    made, log = turns(1.0, most=100), []
    running = Stream(made)
    running.take()
    whole(made, "one", log, 2)
    for second in range(1, 60):
        new = Stream(made)
        new.take(float(second))
        made.rest(running, float(second))
        began = [new.begun, len(log)]
        assert began == ([1, 0] if second < PATIENCE_S else [0, 1]), second
        if log:
            break
        running = new
    assert second == PATIENCE_S


def test_a_patient_stream_is_never_served_before_others():
    made = crowd(2.0, [])
    log: list[str] = []
    one = whole(made, "one", log, 1)
    one.lead_s = 0.0
    assert log == ["one"] and not made.needy(one)


def test_nothing_patient_begins_while_power_is_short():
    speed, short = Speed(), [True]
    made = Turns(1.0, 10, lambda: 2, speed, 2, lambda: short[0])
    log: list[str] = []
    one = whole(made, "one", log, 1)
    assert (log, made.patient, made.full_of_patient) == ([], 1, False)
    whole(made, "two", log, 1)
    assert made.full_of_patient
    new = Stream(made)
    new.take()
    assert new.begun == 1, "who is heard begins; whether it comes in is not asked here"
    made.rest(one, 1.0)
    assert made.patient == 1
    short[0] = False
    made.look(2.0)
    assert log == ["two"]


def test_who_has_begun_never_waits():
    made = turns(1.0)
    first, second = streams(made, 2)
    made.rest(first, 1.0)
    first.take(2.0)
    assert (first.begun, second.begun, made.speaking) == (2, 1, 2)


def test_who_gives_up_waiting_makes_way_and_is_not_begun():
    made = turns(1.0)
    first, second, third = streams(made, 3)
    made.rest(second, 1.0)
    assert third.told == [2, 1]
    made.rest(first, 2.0)
    assert (second.begun, third.begun) == (0, 1)


def test_asking_again_while_it_waits_changes_nothing():
    made = turns(1.0)
    _, second, third = streams(made, 3)
    second.take()
    assert (made.waiting, second.told, third.told) == (2, [1], [2])


def test_a_queue_is_full_at_its_limit_and_not_before():
    made = turns(1.0, most=2)
    streams(made, 2)
    assert not made.full
    streams(made, 1)
    assert made.full


def test_without_a_queue_a_server_is_full_when_the_engine_is():
    made = turns(1.0, most=0)
    assert not made.full
    streams(made, 1)
    assert made.full


def test_a_faster_engine_lets_in_whoever_waits():
    made = turns(1.0)
    _, second, third = streams(made, 3)
    made.speed.add(0.0, 30.0)  # 10 s of work for 40 s of sound by now
    made.look(1.0)
    assert (second.begun, third.begun) == (1, 1)


def test_a_listener_who_has_enough_for_long_does_not_count():
    made = turns(1.0)
    first, second = streams(made, 2)
    made.idle(first, 5.0)
    made.look(5.0 + IDLE_S - 0.1)
    assert second.begun == 0
    made.look(5.0 + IDLE_S)
    assert second.begun == 1
    first.take(40.0)
    assert first.begun == 2


def test_a_listener_who_hears_on_counts_on():
    made = turns(1.0)
    first, second = streams(made, 2)
    made.idle(first, 5.0)
    first.take(20.0)
    made.look(30.0)
    assert second.begun == 0


def test_the_wait_is_estimated_by_the_length_of_turns():
    made = turns(1.0)
    first, *_ = streams(made, 3)
    assert made.wait_s(2) == 2.0
    made.rest(first, 6.0)
    assert made.wait_s(1) == pytest.approx(2.0)
    assert turns(0.25).wait_s(4) == 1.0


def test_what_was_measured_of_the_engine_long_ago_is_forgotten():
    speed = Speed()
    assert speed.factor is None
    speed.add(10.0, 10.0)
    for _ in range(10):
        speed.add(0.5 * FORGET_S, FORGET_S)
    assert speed.factor == pytest.approx(0.5, abs=0.001)
