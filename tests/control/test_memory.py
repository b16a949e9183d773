"""What was learned of each client's link: bounded, and not for ever."""

from abr_tts.control.estimator import Estimate
from abr_tts.control.memory import Memory


def test_an_estimate_is_recalled_for_its_own_client_until_it_is_too_old():
    memory = Memory(keep_s=60.0)
    memory.keep("a", Estimate(400.0, 0.05, 100.0))
    assert memory.recall("a", 150.0) == Estimate(400.0, 0.05, 100.0)
    assert memory.recall("b", 150.0) is None
    assert memory.recall("a", 161.0) is None
    assert len(memory) == 0


def test_the_client_that_was_told_of_longest_ago_is_forgotten_first():
    memory = Memory(keep_s=60.0, most=2)
    for name in ("a", "b", "a", "c"):
        memory.keep(name, Estimate(1.0, 0.0, 0.0))
    assert [name for name in "abc" if memory.recall(name, 1.0)] == ["a", "c"]


def test_nothing_learned_or_nothing_to_be_kept_leaves_no_trace():
    memory = Memory(keep_s=60.0)
    memory.keep("a", None)
    never = Memory(keep_s=0.0)
    never.keep("a", Estimate(1.0, 0.0, 0.0))
    assert (len(memory), len(never)) == (0, 0)
