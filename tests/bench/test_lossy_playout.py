"""Playing datagrams: starts, waits, holes, and ends."""

from versus.lossy import COPY, GIVE_UP, GUESS, GUESSED, HEARD, IN_HAND, LossyPlayout, Step


def packet(index: int) -> bytes:
    return bytes([index])


def with_packets(*indices: int, end: int | None = None) -> LossyPlayout:
    playout = LossyPlayout()
    for index in indices:
        playout.arrive(index, packet(index))
    if end is not None:
        playout.end(end)
    return playout


def kinds(playout: LossyPlayout, frames: int) -> list[str]:
    return [step.kind if (step := playout.render()) else "" for _ in range(frames)]


def test_it_starts_with_200_ms_in_hand_and_not_one_frame_earlier():
    playout = with_packets(*range(IN_HAND - 1))
    assert not playout.ready and playout.render() is None and not playout.started
    playout.arrive(IN_HAND - 1, b"x")
    assert playout.ready
    assert playout.render() == Step(HEARD, packet(0))
    assert playout.stalls == playout.silent == 0


def test_a_short_utterance_starts_when_it_is_all_there():
    playout = with_packets(0, 1, end=3)
    assert not playout.ready
    playout.arrive(2, b"x")
    assert kinds(playout, 3) == [HEARD] * 3
    assert playout.finished


def test_where_nothing_is_there_it_waits_and_goes_on_with_the_very_frame():
    playout = with_packets(*range(10))
    assert kinds(playout, 13) == [HEARD] * 10 + [""] * 3
    for index in range(10, 20):
        assert playout.render() is None, "200 ms are wanted to go on"
        playout.arrive(index, packet(index))
    assert playout.render() == Step(HEARD, packet(10))
    assert (playout.stalls, playout.silent, playout.holes) == (1, 13, 0)


def test_a_lost_frame_comes_from_the_copy_behind_it():
    playout = with_packets(*range(5), *range(6, 12))
    assert kinds(playout, 5) == [HEARD] * 5
    assert playout.render() == Step(COPY, packet(6))
    assert playout.render() == Step(HEARD, packet(6))
    assert playout.stalls == 0


def test_of_two_lost_frames_the_first_is_made_up():
    playout = with_packets(*range(5), *range(7, 12))
    assert kinds(playout, 8) == [HEARD] * 5 + [GUESS, COPY, HEARD]


def test_a_packet_for_a_frame_that_is_past_comes_in_vain():
    playout = with_packets(*range(5), *range(7, 12))
    kinds(playout, 7)
    playout.arrive(5, packet(5))
    assert playout.render() == Step(HEARD, packet(7))


def test_a_hole_beyond_60_ms_is_a_stall_though_something_sounds():
    lost = GUESSED + 3
    playout = with_packets(*range(5), *range(5 + lost, 20 + lost))
    assert kinds(playout, 5 + lost) == [HEARD] * 5 + [GUESS] * (lost - 1) + [COPY]
    assert (playout.stalls, playout.silent, playout.holes) == (1, 0, lost - 1 - GUESSED)


def test_a_hole_of_60_ms_is_none():
    playout = with_packets(*range(5), *range(9, 20))
    assert kinds(playout, 9) == [HEARD] * 5 + [GUESS] * GUESSED + [COPY]
    assert (playout.stalls, playout.holes) == (0, 0)


def test_an_end_that_is_lost_is_given_up_after_a_second():
    playout = with_packets(*range(10), end=12)
    assert kinds(playout, 10) == [HEARD] * 10
    assert kinds(playout, GIVE_UP) == [""] * GIVE_UP
    assert kinds(playout, 2) == [GUESS] * 2
    assert playout.finished


def test_while_the_end_is_not_told_it_waits_on():
    playout = with_packets(*range(10))
    kinds(playout, 10)
    assert kinds(playout, 3 * GIVE_UP) == [""] * (3 * GIVE_UP)
    assert not playout.finished
