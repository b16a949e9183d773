"""What is said when over which networks: the same for every arm, from a seed."""

from itertools import islice

import pytest
from versus import plan
from versus.plan import SENTENCES, clauses_of, draw, read_networks, scheduled, texts, turned

from abr_tts.cli.failure import Failure
from abr_tts.sim.scenario import Direction, Scenario, steady
from abr_tts.sim.study import Case

LENGTHS = {sentence: len(sentence) * 0.06 for sentence in SENTENCES}


def networks(**kinds: int) -> list[Case]:
    return [Case(steady(100, name=f"{kind}{n}"), kind) for kind, count in kinds.items() for n in range(count)]


def stepping(**changes) -> Scenario:
    down = Direction(((0.0, 100.0), (10.0, 50.0), (40.0, 10.0)), 0.05, **changes)
    return Scenario("steps", 60.0, down, Direction(((0.0, 2_000.0),), 0.05))


def count(drawn: list[Case]) -> dict[str, int]:
    kinds = [network.kind for network in drawn]
    return {kind: kinds.count(kind) for kind in sorted(set(kinds))}


def test_each_kind_has_its_share_and_a_rare_one_is_not_left_out():
    assert count(draw(networks(rare=2, some=10, many=28), 12, "1")) == {"many": 8, "rare": 1, "some": 3}
    assert count(draw(networks(rare=1, many=50), 2, "1")) == {"many": 1, "rare": 1}


def test_no_network_is_drawn_twice_and_all_of_them_if_so_many_are_wanted():
    few = networks(a=3, b=2)
    assert sorted(n.scenario.name for n in draw(few, 99, "1")) == ["a0", "a1", "a2", "b0", "b1"]


def test_the_seed_decides_which():
    many = networks(a=50)
    assert draw(many, 5, "1") == draw(many, 5, "1") != draw(many, 5, "2")


@pytest.mark.parametrize("offset", [0, 7, 10, 25, 59])
def test_a_turned_network_is_the_same_one_later(offset):
    before, after = stepping(), turned(stepping(), offset)
    for second in range(60):
        assert after.down.kbps_at(second) == before.down.kbps_at((second + offset) % 60), second
        assert after.up.kbps_at(second) == 2_000
    assert (after.duration_s, after.base_rtt_s) == (before.duration_s, before.base_rtt_s)
    assert all(at < 60 for at, _ in after.down.rate)


def test_windows_turn_too_and_one_that_is_cut_has_two_parts():
    scenario = stepping(drop_windows=((5.0, 8.0), (20.0, 30.0), (50.0, 55.0)))
    assert turned(scenario, 25).down.drop_windows == ((0.0, 5.0), (25.0, 30.0), (40.0, 43.0), (55.0, 60.0))


def test_utterances_follow_one_another_in_the_plans_time():
    clause = clauses_of("The nurse checked the chart.")
    (first, second) = scheduled(
        [("The nurse checked the chart.", 3.0), ("The nurse checked the chart.", 2.0)], {clause[0]: 2.5}
    )
    assert (first.at, first.seconds) == (plan.FIRST_AT_S, 2.5)
    assert second.at == pytest.approx(plan.FIRST_AT_S + plan.START_S + 2.5 + 3.0)
    assert first.text == "The nurse checked the chart."


def test_a_text_is_cut_as_a_server_cuts_it():
    assert clauses_of("Turn left at the second light, then keep to the right. Thank you.") == (
        "Turn left at the second light,", "then keep to the right.", "Thank you.",
    )  # fmt: skip


def test_texts_are_about_as_long_as_a_conversation_and_never_say_a_sentence_twice():
    some = list(islice(texts("1", LENGTHS), 200))
    seconds = sorted(sum(LENGTHS[s] for s in SENTENCES if s in text) for text, _ in some)
    assert 4.5 < seconds[100] < 6.5
    assert all(text.count(s) <= 1 for text, _ in some for s in SENTENCES)
    assert all(2.0 <= rest <= 6.0 for _, rest in some)
    assert some == list(islice(texts("1", LENGTHS), 200))


def test_visits_of_the_same_seed_are_the_same():
    few = networks(a=3)
    told = plan.conversations(few, 4, "1", LENGTHS)
    lengths = {clause: 1.0 for some in told for text, _ in some for clause in clauses_of(text)}
    visits = plan.visits(few, told, "1", lengths)
    assert visits == plan.visits(few, told, "1", lengths)
    assert [len(visit.said) for visit in visits] == [4, 4, 4]
    assert len({visit.offset for visit in visits}) > 1


def test_networks_are_read_by_kind_or_by_name(tmp_path):
    for name in ("lte_a.csv", "lte_b.csv", "fcc_a.csv"):
        (tmp_path / name).write_text("time_s,kbps\n0,100\n10,100\n")
    assert [case.name for case in read_networks(tmp_path, "lte")] == ["lte_a", "lte_b"]
    assert [case.name for case in read_networks(tmp_path, "_a")] == ["fcc_a", "lte_a"]
    with pytest.raises(Failure, match="no network with 'wifi'"):
        read_networks(tmp_path, "wifi")
