"""Four times as many streams as the engine carries: each is answered, and none that runs is hurt."""

import asyncio
import uuid
from collections import Counter

from abr_tts.server.app import Server
from abr_tts.units import FRAME_TICKS, ticks_to_seconds
from abr_tts.wire import messages as m

from .harness import Peer, eventually, peer, serving

START_S = 0.2
"""What players hold before they begin (protocol/SPEC.md, The player)."""

RTF, WORKERS, SHARE, QUEUE, WHOLE = 0.25, 2, 0.8, 12, 2
CARRIED = 6
"""Streams that this engine carries: 2 workers · 0.8 / 0.25, rounded down."""

ENGINE = {
    "engine__options": {"rate": 22_050, "rtf": RTF}, "engine__workers": WORKERS, "engine__clause_chars": 12,
    "engine__first_clause_chars": 12, "limits__engine_share": SHARE, "limits__waiting_streams": QUEUE,
    "limits__whole_streams": WHOLE,
}  # fmt: skip

TEXT = "one two, three four, five six, seven eight."


class Ear:
    """When each piece of each stream came, as a listener that begins at 200 ms would need it."""

    def __init__(self, client: Peer) -> None:
        self.came: dict[int, list[tuple[float, float, float]]] = {}
        self._loop, self._report = asyncio.get_running_loop(), client._report
        client._report = self.hear

    async def hear(self, message: m.Message) -> None:
        if isinstance(message, m.Audio):
            begin = ticks_to_seconds(max(0, message.pts))
            end = ticks_to_seconds(max(0, message.pts + len(message.packets) * FRAME_TICKS))
            self.came.setdefault(message.stream, []).append((self._loop.time(), begin, end))
        await self._report(message)

    def latest_s(self, stream: int) -> float:
        """By how much the latest piece was too late; below 0: none was."""
        pieces = self.came[stream]
        held = next((at for at, _, end in pieces if end >= START_S), pieces[-1][0])
        return max((at - (held + begin) for at, begin, _ in pieces if at > held), default=-START_S)


async def answered(client: Peer, stream_id: str) -> m.StreamStarted | m.Error:
    """What a request got: a start, or a refusal."""
    found = await client.until(
        lambda: (
            client.of(m.StreamStarted, stream_id=stream_id)
            or client.of(m.Error, stream_id=stream_id, scope="stream")
        )
    )
    return found[0]


WARM = 8
"""Speeches at most until the engine's speed is known as it is: one that a machine delays tells another."""

CROWDS = 5
"""Of which one must be in time throughout: a machine that stands still makes any server late."""


async def test_four_times_what_the_engine_carries_is_spoken_in_turn_or_whole_or_refused_and_nobody_stalls():
    found = []
    for _ in range(CROWDS):
        async with (
            serving(**ENGINE) as server,
            peer(server.url) as first,
            peer(server.url) as one,
            peer(server.url) as two,
        ):
            found.append(await crowd(server, (first, one, two)))
        if not found[-1]:
            return
    raise AssertionError(f"each time: {found}")


async def crowd(server: Server, clients: tuple[Peer, ...]) -> str:
    """
    Four times too many at once, each answered as it must be; what was amiss that a machine may cause which
    stands still.
    """
    ears = {client: Ear(client) for client in clients}
    for _ in range(WARM):
        warm = await clients[0].start("x" * 10, rung="opus24")
        await clients[0].first(m.StreamEnd, stream=warm.stream)
        if CARRIED <= server._turns.room < CARRIED + 1:
            break
    else:
        return "the engine is slower than it says"
    asked = [(clients[number % 3], str(uuid.uuid4())) for number in range(4 * CARRIED)]
    for client, stream_id in asked:
        await client.send(m.StreamStart(stream_id, TEXT, rung="opus24"))
    answers = [(client, await answered(client, stream_id)) for client, stream_id in asked]
    refused = [answer for _, answer in answers if isinstance(answer, m.Error)]
    assert QUEUE + WHOLE <= len(asked) - len(refused) <= CARRIED + QUEUE + WHOLE
    told = [told for client in clients for told in client.of(m.Error, code="reduced")]
    assert [one.detail["how"] for one in told] == ["whole"] * WHOLE
    assert all(answer.code == "busy" and answer.retry_after >= 1.0 for answer in refused)
    late = []
    for client, answer in answers:
        if isinstance(answer, m.StreamStarted):
            await client.first(m.StreamEnd, stream=answer.stream)
            late.append(ears[client].latest_s(answer.stream))
    queued = [told for client in clients for told in client.of(m.Error, code="queued")]
    places = {told.detail["position"] for told in queued}
    assert places <= set(range(1, QUEUE + WHOLE + 1))
    assert all(told.scope == "nothing" for told in queued)
    often = Counter((client, told.stream) for client in clients for told in client.of(m.Error, code="queued"))
    assert len(late) + len(refused) == len(asked)
    assert server.metrics.limits_hit.labels("whole_streams")._value.get() == len(refused)
    await eventually(lambda: (server._turns.speaking, server._turns.waiting) == (0, 0))
    if not {1, 2, 3, 4, 5} <= places:
        return f"only the places {places} were told"
    if max(often.values()) > 6:
        return "more was told than of 14 places each half"
    return f"somebody stalled for {max(late)} s" if max(late) > 0 else ""


async def test_without_turns_the_same_crowd_stalls():
    """The control: what the turns are for."""
    everybody = ENGINE | {"limits__engine_share": 100}
    async with serving(**everybody) as server, peer(server.url) as client, peer(server.url) as other:
        ears = {one: Ear(one) for one in (client, other)}
        started = [(one, await one.start(TEXT, rung="opus24")) for _ in range(12) for one in (client, other)]
        for one, answer in started:
            await one.first(m.StreamEnd, stream=answer.stream)
        assert max(ears[one].latest_s(answer.stream) for one, answer in started) > 0.5


async def test_a_stream_that_waits_can_be_cancelled_and_makes_way():
    slow = {"engine__options": {"rate": 22_050, "rtf": 1.0}}
    async with serving(**slow) as server, peer(server.url) as client:
        await client.start("x" * 40, rung="pcm22")
        second = await client.start("waits", rung="pcm22")
        third = await client.start("x" * 3, rung="pcm22")
        await client.first(m.Error, stream=third.stream, code="queued")
        await client.send(m.Cancel(second.stream))
        end = await client.first(m.StreamEnd, stream=second.stream)
        assert (end.reason, end.length) == ("cancelled", 0)
        told = await client.until(lambda: client.of(m.Error, stream=third.stream, code="queued")[1:])
        assert told[0].detail["position"] == 1
        assert len(await client.whole_pcm(third.stream)) == 3 * 1323


async def test_a_connection_that_is_lost_while_its_streams_wait_leaves_nothing():
    slow = {"engine__options": {"rate": 22_050, "rtf": 1.0}}
    async with serving(**slow) as server, peer(server.url) as client:
        await client.start("x" * 60, rung="pcm22")
        async with peer(server.url) as leaving:
            for _ in range(3):
                await leaving.start("waits", rung="pcm22")
            assert server._turns.waiting == 3
        await client.first(m.StreamEnd)
        await eventually(lambda: (server._turns.speaking, server._turns.waiting) == (0, 0))


async def test_an_open_stream_without_words_keeps_nobody_waiting():
    slow = {"engine__options": {"rate": 22_050, "rtf": 1.0}}
    async with serving(**slow) as server, peer(server.url) as client:
        opened = await client.start("", open=True, rung="pcm22")
        await client.send(m.Text(opened.stream, "Hello there. "))
        await client.first(m.Audio, stream=opened.stream)
        other = await client.start("x" * 3, rung="pcm22")
        assert len(await client.whole_pcm(other.stream)) == 3 * 1323
        await client.send(m.Text(opened.stream, "Good night. "), m.TextEnd(opened.stream))
        await client.first(m.StreamEnd, stream=opened.stream)
