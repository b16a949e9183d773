"""A plan of speech: the same utterances, clauses and chunks for a server and for the simulator."""

import asyncio
import json
from dataclasses import replace

import numpy as np
import pytest

from abr_tts.control.controller import FixedRung
from abr_tts.control.ladder import FULL
from abr_tts.engine.text import Clauser
from abr_tts.errors import MissingDependency
from abr_tts.sim.engine import NEURAL
from abr_tts.sim.run import World, run
from abr_tts.sim.scenario import steady

VOICE = np.arange(-500, 500, dtype=np.int16)


@pytest.fixture
def talk():
    import talk

    return talk


@pytest.mark.parametrize("seed", range(1, 6))
def test_a_server_cuts_the_texts_into_the_very_clauses_of_the_plan(talk, seed):
    for planned in talk.seeded(seed, 8, NEURAL, VOICE).utterances:
        clauser = Clauser(talk.CLAUSE_CHARS, talk.FIRST_CLAUSE_CHARS)
        cut = [clause.text for clause in [*clauser.feed(planned.text), *clauser.end()]]
        assert cut == [clause.text for clause in planned.clauses]


def test_the_limits_of_a_clause_are_the_servers_own(talk):
    from abr_tts.server.config import EngineSettings

    settings = EngineSettings()
    assert settings.clause_chars == talk.CLAUSE_CHARS
    assert settings.first_clause_chars == talk.FIRST_CLAUSE_CHARS


def test_no_two_texts_of_a_talk_are_alike(talk):
    texts = [clause.text for one in talk.seeded(1, 12, NEURAL, VOICE).utterances for clause in one.clauses]
    assert len(set(texts)) == len(texts)


def test_the_simulator_says_what_it_would_have_said_by_itself(talk):
    said = talk.seeded(3, 3, NEURAL, VOICE)

    def heard(**more):
        result = run(steady(500), lambda now: FixedRung(FULL["opus24"]), seed=3, until_s=40.0, **more)
        return [(u.audio_s, u.asked_at, u.startup_s) for u in result.utterances][:3]

    own = heard(world=World())
    told = heard(world=World(engine=talk.Recital(said)), utterances=said.plan())
    assert len(told) == 3 and told == own[: len(told)]


def test_a_talk_goes_through_json(talk):
    said = talk.seeded(2, 3, NEURAL, VOICE)
    read = talk.Talk.from_json(json.loads(json.dumps(said.as_json())), VOICE)
    assert read.utterances == said.utterances and read.rate == said.rate


def test_a_text_is_said_as_espeak_says_it_at_the_pace_of_the_model(talk):
    slow = replace(NEURAL, late_s=1.0)
    try:
        said = talk.spoken("One. And then, another one.", slow)
    except MissingDependency:
        pytest.skip("espeak-ng is not installed")
    (planned,) = said.utterances
    first, second = planned.clauses
    assert [clause.text for clause in planned.clauses] == ["One.", "And then, another one."]
    assert first.samples + second.samples == len(said.voice)
    assert first.chunks[-1][0] == pytest.approx(1.0 + 0.3 * first.samples / said.rate)
    assert second.chunks[-1][0] == pytest.approx(0.3 * second.samples / said.rate)


def test_a_text_without_words_is_refused(talk):
    with pytest.raises(ValueError, match="nothing to pronounce"):
        talk.spoken(" … ", NEURAL)


# The server's side of it


class Sink:
    """Keeps what comes, and when the end came."""

    def __init__(self) -> None:
        self.events, self.over = [], asyncio.Event()

    def pcm(self, samples) -> None:
        self.events.append(samples)

    def end(self) -> None:
        self.events.append("end")
        self.over.set()


def small(talk, *chunk_sizes):
    clauses = tuple(
        talk.Clause(f"Clause {index}.", tuple((0.01 * (n + 1), size) for n, size in enumerate(sizes)))
        for index, sizes in enumerate(chunk_sizes)
    )
    return talk.Talk((talk.Planned(clauses, 0.0),), VOICE, 22_050)


def test_the_paced_engine_hands_out_each_clause_whole_and_its_end_last(talk):
    from paced import Paced

    async def main():
        paced = Paced(small(talk, (300, 300), (900, 100)))
        got = []
        for index in range(2):
            sink = Sink()
            paced.say(f"Clause {index}.", None, None, 1.0, sink)
            assert sink.events == []  # never before it returns
            async with asyncio.timeout(10):
                await sink.over.wait()
            *samples, end = sink.events
            assert isinstance(end, str)
            got += samples
        return np.concatenate(got), paced.firsts, asyncio.get_running_loop().time()

    sound, firsts, now = asyncio.run(main())
    assert np.array_equal(sound, np.resize(VOICE, 1600))
    assert list(firsts) == [0] and now - 5 < firsts[0] < now


def test_a_cancelled_clause_says_nothing_more(talk):
    from paced import Paced

    async def main():
        paced = Paced(small(talk, (300, 300), (100,)))
        cancelled, other = Sink(), Sink()
        paced.say("Clause 0.", None, None, 1.0, cancelled).cancel()
        paced.say("Clause 1.", None, None, 1.0, other)
        async with asyncio.timeout(10):
            await other.over.wait()
        return cancelled.events

    assert asyncio.run(main()) == []


def test_a_text_that_is_not_in_the_plan_is_refused(talk):
    from paced import Paced

    async def main():
        Paced(small(talk, (100,))).say("Something else.", None, None, 1.0, Sink())

    with pytest.raises(KeyError):
        asyncio.run(main())
