"""A listener rests: the link is probed, by pings with padding, and the next stream knows what they told."""

import asyncio

import pytest

from abr_tts.control.estimate import Estimate
from abr_tts.control.policy_file import preset
from abr_tts.server.access.auth import Caller
from abr_tts.server.rollout.policies import LinkMemory
from abr_tts.server.sending.rest import Rest
from abr_tts.wire import messages as m

from .harness import peer, serving
from .test_adaptive import TEXT, hear_out, trace_of
from .virtual_loop import VirtualLoop


def probes(client):
    return [ping for ping in client.of(m.Ping) if ping.padding]


async def first_probe(client) -> m.Ping:
    return (await client.until(lambda: probes(client)))[0]


async def test_after_speech_a_padded_ping_comes_and_its_answer_is_known_to_the_next_stream(tmp_path):
    async with serving(record__dir=tmp_path) as server, peer(server.url) as client:
        first = await hear_out(client)
        ping = await first_probe(client)
        assert len(ping.padding) == 1_200
        sent = [type(message) for message in client.messages]
        assert sent.index(m.Ping) > sent.index(m.StreamEnd)
        await client.send(m.Pong(ping.value))
        second = await hear_out(client)
        learned = (await trace_of(tmp_path, second)).header["remembered"]
        told = [entry.record["now"] for entry in (await trace_of(tmp_path, first)).entries if entry.is_input]
        assert learned["at"] > told[-1] + 0.4


async def test_a_probe_without_an_answer_bounds_what_is_believed_and_gives_nobody_up(tmp_path):
    async with serving(record__dir=tmp_path, limits__idle_timeout_s=90) as server, peer(server.url) as client:
        before = await trace_of(tmp_path, await hear_out(client))
        await first_probe(client)
        await asyncio.sleep(0.4)  # time is what a silent link tells by
        second = await hear_out(client)
        learned = (await trace_of(tmp_path, second)).header["remembered"]
        assert before.header["remembered"] is None
        assert learned["kbps"] < 60


@pytest.mark.parametrize("setting", ["idle_probe_bytes = 0", 'memory_key = "none"'])
async def test_no_probe_is_sent_where_the_policy_wants_none_or_keeps_nothing(tmp_path, setting):
    policy = tmp_path / "quiet.toml"
    policy.write_text(setting + "\n")
    async with (
        serving(stream__policy=str(policy)) as quiet, serving() as loud,
        peer(quiet.url) as one, peer(loud.url) as other,
    ):  # fmt: skip
        await hear_out(one)
        await hear_out(other)
        await first_probe(other)
        await one.send(m.Ping(5))
        await one.first(m.Pong, value=5)
        assert not probes(one)


async def test_a_stream_of_a_fixed_rung_is_followed_by_no_probe_and_the_next_speech_ends_them():
    async with serving() as server, peer(server.url) as client, peer(server.url) as other:
        await hear_out(client, rung="opus24")
        await hear_out(other)
        ping = await first_probe(other)
        await other.send(m.Pong(ping.value))
        assert not probes(client)
        await other.start(TEXT, open=True)
        await other.until(lambda: len(other.of(m.Audio)) > 8)
        assert len(probes(other)) == 1


# ---------------------------------------------------------------- in virtual time


class Sender:
    """In place of a connection: it notes when probes go out, or has no room for one."""

    def __init__(self, loop) -> None:
        self._loop, self.at, self.room = loop, [], True

    def send(self, padding: int) -> tuple[int, int]:
        if not self.room:
            return 0, 0
        self.at.append(self._loop.time())
        return len(self.at), padding + 30


def resting(story):
    """What the coroutine function `story` finds, given a rest that begins at 0 and its sender."""
    loop, policy, caller = VirtualLoop(), preset("default"), Caller(key_digest="anna", session="s")

    async def told():
        memory, sender = LinkMemory(), Sender(loop)
        memory.keep(policy, caller, Estimate(300.0, 0.05, 0.0))
        rest = Rest(sender.send, memory, caller)
        rest.begin(policy)
        await story(rest, sender)
        return memory.recall(policy, caller, loop.time()), sender.at

    found = loop.run_until_complete(told())
    assert not loop.faults
    loop.close()
    return found


def test_probes_that_are_answered_go_out_for_a_while():
    async def story(rest, sender):
        for value in range(1, 20):
            await asyncio.sleep(1.0)
            rest.answered(min(value, len(sender.at)))
        rest.end()

    learned, at = resting(story)
    assert at == [0.5, 2.5, 4.5, 6.5, 8.5, 10.5]
    assert 10.5 < learned.at < 12.0


def test_one_that_is_not_answered_is_the_last_and_bounds_the_rate():
    async def story(rest, sender):
        await asyncio.sleep(9.0)
        rest.end()

    learned, at = resting(story)
    assert at == [0.5]
    assert learned.kbps < 20


def test_none_goes_out_after_the_rest_nor_while_something_is_under_way():
    async def story(rest, sender):
        sender.room = False
        await asyncio.sleep(2.0)
        sender.room = True
        await asyncio.sleep(1.0)
        rest.answered(1)
        rest.end()
        rest.answered(1)
        await asyncio.sleep(9.0)

    _, at = resting(story)
    assert at == [2.5]
