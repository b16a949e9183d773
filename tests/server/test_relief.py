"""What new streams do without while the process is short of power, by measures of processors and loop."""

import pytest

from abr_tts.control.policy_file import preset
from abr_tts.engine.base import Voice
from abr_tts.errors import Busy
from abr_tts.server.load.easing import LOWER_START, ONE_RUNG, WHOLE_SPEECH, eased
from abr_tts.server.load.relief import BEGINS, CHEAP, CLOSED, ENDS_BELOW, LATE_S, LOW, WHOLE, Relief, cpu_s
from abr_tts.server.speech.reception import Accepted
from abr_tts.sim.replay import replay
from abr_tts.stream.terms import Terms
from abr_tts.wire import messages as m

from .harness import eventually, peer, serving
from .test_adaptive import trace_of
from .test_resume import cut, lost

CODECS = ("opus", "pcm16", "ulaw")


class Machine:
    """A process of two cores that is used and late as told, looked at ten times a second."""

    def __init__(self) -> None:
        self.relief, self.now, self.cpu_s = Relief(2), 0.0, 0.0

    def run(self, seconds: float, cpu: float = 0.0, lag_s: float = 0.0) -> int:
        for _ in range(round(seconds * 10)):
            self.now += 0.1
            self.cpu_s += cpu * 2 * 0.1
            self.relief.look(self.cpu_s, lag_s, self.now)
        return self.relief.step


@pytest.mark.parametrize(
    ("cpu", "step"), [(0.0, 0), (0.7, 0), (0.8, CHEAP), (0.9, LOW), (1.0, WHOLE), (3.0, WHOLE)]
)
def test_the_busier_the_processors_the_less_new_streams_get_but_they_are_not_refused(cpu, step):
    assert Machine().run(20, cpu) == step


@pytest.mark.parametrize(("late", "step"), [(0.7, 0), (0.8, CHEAP), (0.9, LOW), (1.5, WHOLE), (2.1, CLOSED)])
def test_the_later_the_loop_the_less_and_at_last_nothing(late, step):
    assert Machine().run(20, lag_s=late * LATE_S) == step


def test_one_late_turn_of_the_loop_is_no_crowd():
    machine = Machine()
    machine.run(5)
    assert machine.run(0.1, lag_s=0.5) == 0


def test_a_step_ends_only_well_below_where_it_began():
    machine = Machine()
    assert machine.run(20, BEGINS[CHEAP] + 0.01) == CHEAP
    assert machine.run(20, BEGINS[CHEAP] - ENDS_BELOW + 0.01) == CHEAP
    assert machine.run(20, BEGINS[CHEAP] - ENDS_BELOW - 0.01) == 0


def test_the_time_of_this_process_grows():
    before = cpu_s()
    sum(range(1_000_000))
    assert cpu_s() > before


def accepted(**terms) -> Accepted:
    made = Terms(CODECS, 22_050, 1, **(terms or {"policy": preset("default")}))
    return Accepted(Voice("tone", (), 22_050, ""), made, made.first)


def test_at_first_new_streams_get_what_they_would():
    for step in (0, CHEAP):
        assert eased(accepted(), step) == (accepted(), "")


def test_then_they_begin_at_the_next_lower_rung_and_may_still_climb():
    got, how = eased(accepted(), LOW)
    assert (how, got.first.name, got.terms.policy is not None) == (LOWER_START, "opus16", True)
    assert accepted().first.name == "opus24"


def test_then_they_stay_at_it():
    for step in (WHOLE, CLOSED):
        got, how = eased(accepted(), step)
        assert (how, got.terms.rung.name, got.terms.policy) == (ONE_RUNG, "opus16", None)


def test_a_rung_that_was_asked_for_is_had():
    fixed = accepted(rung=accepted().terms.best)
    assert eased(fixed, CLOSED) == (fixed, "")
    assert eased(fixed, CLOSED, patient=True) == (fixed, WHOLE_SPEECH)


@pytest.mark.parametrize("step", [0, CHEAP, LOW, WHOLE, CLOSED])
def test_what_comes_whole_comes_at_the_lower_rung_at_any_step(step):
    got, how = eased(accepted(), step, patient=True)
    assert (how, got.terms.rung.name, got.terms.policy) == (WHOLE_SPEECH, "opus16", None)


# ---- over a real connection


def strained(server, step: int) -> None:
    """As if it had been measured: no test may need a machine that is used up."""
    server._relief.step = step
    server._relief._next = lambda: step


async def test_a_stream_under_strain_is_told_what_it_goes_without_and_comes_whole():
    async with serving() as server, peer(server.url) as client:
        for step, how, rung in ((LOW, LOWER_START, "opus16"), (WHOLE, WHOLE_SPEECH, "opus16")):
            strained(server, step)
            started = await client.start("x" * 30)
            told = await client.first(m.Error, stream=started.stream)
            assert (told.code, told.scope, told.detail) == ("reduced", "nothing", {"how": how})
            assert started.rung == rung
            end = await client.first(m.StreamEnd, stream=started.stream)
            assert end.length == 30 * 1323
        assert server.metrics.eased.labels(WHOLE_SPEECH)._value.get() == 1


async def test_speech_whose_text_still_comes_is_not_kept_back():
    async with serving() as server, peer(server.url) as client:
        strained(server, WHOLE)
        started = await client.start("x" * 30 + ". ", open=True)
        assert (await client.first(m.Error, stream=started.stream)).detail == {"how": ONE_RUNG}
        await client.first(m.Audio, stream=started.stream)


async def test_speech_that_comes_whole_is_sent_when_the_last_of_it_is_made():
    slow = {"engine__options": {"rate": 22_050, "rtf": 0.3}, "engine__clause_chars": 10,
            "engine__first_clause_chars": 10}  # fmt: skip
    text = "xxxxxxxxx. xxxxxxxxx. xxxxxxxxx."
    async with serving(**slow) as server, peer(server.url) as client:
        strained(server, WHOLE)
        made = []
        server.metrics.engine.spoke = lambda took_s, sound_s: made.append((sound_s, client.of(m.Audio)))
        started = await client.start(text, rung="pcm22")
        assert len(await client.whole_pcm(started.stream)) > 0
        assert len(made) >= 3 and all(sent == [] for _, sent in made)
        marks = client.of(m.Mark, stream=started.stream)
        lengths = [round(sound_s * 48_000) for sound_s, _ in made]
        assert [mark.pts for mark in marks] == [sum(lengths[:number]) for number in range(len(made))]
        assert marks[-1].end == len(text)


async def test_speech_that_comes_whole_outlives_its_connection_and_comes_whole_at_the_next():
    slow = {"engine__options": {"rate": 22_050, "rtf": 0.3}, "engine__clause_chars": 12,
            "engine__first_clause_chars": 12}  # fmt: skip
    async with serving(**slow) as server:
        strained(server, WHOLE)
        listeners, made = [], []
        server.metrics.engine.spoke = lambda *_: made.append([one.of(m.Audio) for one in listeners])
        async with peer(server.url, level=2) as first:
            listeners.append(first)
            started = await first.start("xxxxxxxxx. " * 3, rung="pcm22")
            await cut(first)
        await lost(server)
        async with peer(server.url, level=2) as second:
            listeners.append(second)
            await second.send(m.Attach(started.stream_id, started.token))
            again = await second.first(m.StreamStarted)
            assert len(await second.whole_pcm(again.stream)) > 3 * 9 * 1323
        assert len(made) >= 3 and not any(audio for told in made for audio in told)


async def test_a_trace_of_speech_that_came_whole_replays_bit_for_bit(tmp_path):
    async with serving(record__dir=str(tmp_path)) as server, peer(server.url) as client:
        strained(server, WHOLE)
        started = await client.start("xxxxxxxxx. " * 10)
        assert (await client.first(m.Error)).detail == {"how": WHOLE_SPEECH}
        await client.first(m.StreamEnd, stream=started.stream)
        await client.send(m.Cancel(started.stream))
    assert replay(await trace_of(tmp_path, started.stream_id)).difference is None


async def test_no_more_is_kept_back_than_may_be_ahead_of_a_listener():
    short = {"stream__max_ahead_s": 1, "engine__clause_chars": 12, "engine__first_clause_chars": 12}
    async with serving(**short) as server, peer(server.url, hints=False) as client:
        strained(server, WHOLE)
        started = await client.start("xxxxxxxxx. " * 20, rung="pcm22")
        await client.first(m.Audio, stream=started.stream)
        (session,) = server._front.sessions
        (utterance,) = session._utterances.values()
        assert not utterance._making._hoard.holds
        await eventually(lambda: server.pool.stats.busy == 0)
        assert utterance.core.produced / 22_050 < 1 + 2 * 0.7, "the limit, and a clause beyond it"
        client.hints = True
        await client.hint(started.stream, 0)
        end = await client.first(m.StreamEnd, stream=started.stream)
        assert end.length / 22_050 > 10


async def test_encoders_of_new_streams_work_less_hard_under_strain():
    async with serving() as server, peer(server.url) as client:
        await client.start("x" * 30, open=True, rung="opus24")
        strained(server, CHEAP)
        await client.start("x" * 30, open=True, rung="opus24")
        (session,) = server._front.sessions
        efforts = [u.core._setup.library.complexity for u in session._utterances.values()]
        assert efforts == [9, 5]


async def test_at_the_end_what_may_come_whole_waits_up_to_the_limit_and_one_more_is_refused():
    async with serving(limits__whole_streams=2, limits__retry_after_s=2.0) as server:
        async with peer(server.url) as client:
            running = await client.start("", open=True, rung="pcm22")
            strained(server, CLOSED)
            waiting = [await client.start("x" * 10, rung="pcm22") for _ in range(2)]
            told = await client.refused("one more")
            assert (told.code, told.detail["name"]) == (Busy.code, "whole_streams")
            assert told.retry_after >= 2.0
            await client.send(m.Text(running.stream, "x" * 10), m.TextEnd(running.stream))
            assert len(await client.whole_pcm(running.stream)) == 10 * 1323, "who runs goes on"
            assert [client.of(m.Audio, stream=one.stream) for one in waiting] == [[], []]
            assert server._turns.patient == 2
            strained(server, WHOLE)
            for one in waiting:
                assert len(await client.whole_pcm(one.stream)) == 10 * 1323
            assert server._turns.patient == 0
        assert server.metrics.limits_hit.labels("whole_streams")._value.get() == 1
        assert server.metrics.eased.labels(WHOLE_SPEECH)._value.get() == 2


async def test_where_nothing_may_come_whole_new_streams_are_refused_at_the_end_and_those_that_run_go_on():
    settings = {"limits__whole_streams": 0, "limits__retry_after_s": 2.0}
    async with serving(**settings) as server, peer(server.url) as client:
        running = await client.start("", open=True, rung="pcm22")
        strained(server, CLOSED)
        told = await client.refused("one more")
        assert (told.code, told.retry_after, told.detail["name"]) == (Busy.code, 2.0, "cpu")
        await client.send(m.Text(running.stream, "x" * 10), m.TextEnd(running.stream))
        assert len(await client.whole_pcm(running.stream)) == 10 * 1323
        assert server.metrics.limits_hit.labels("cpu")._value.get() == 1
