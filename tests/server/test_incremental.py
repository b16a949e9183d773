"""Text from a model and a listener who interrupts, over a real socket, with a real engine process."""

import asyncio
from statistics import median

import numpy as np
import pytest

from abr_tts.engine.tone import Options, expected
from abr_tts.wire import messages as m

from .harness import eventually, peer, serving, serving_in_a_thread

RATE = 22_050


@pytest.fixture(scope="module")
def server():
    with serving_in_a_thread(engine__workers=2, engine__text_idle_s=0.2) as made:
        yield made


def tone(*texts: str) -> np.ndarray:
    return np.concatenate([expected(text, options=Options(rate=RATE)) for text in texts])


def spoken(client, text: str) -> list[str]:
    return [text[mark.begin : mark.end] for mark in client.of(m.Mark)]


# ---- text that comes slowly


async def test_a_sentence_whose_model_pauses_is_spoken_without_waiting_for_more(server):
    async with peer(server.url) as client:
        started = await client.start("", open=True, rung="pcm22")
        loop = asyncio.get_running_loop()
        for token in ("Let", " me", " look", " that", " up", "."):
            await client.send(m.Text(started.stream, token))
        asked = loop.time()
        await client.first(m.Audio)
        assert loop.time() - asked < 5.0, "0.2 s, and a busy machine's; no more text comes before"
        await client.send(m.Text(started.stream, " Here it is."), m.TextEnd(started.stream))
        heard = await client.whole_pcm(started.stream)
        assert np.array_equal(heard, tone("Let me look that up.", "Here it is."))


async def test_a_paragraphs_end_has_all_of_it_spoken_at_once():
    async with serving(engine__text_idle_s=0) as server, peer(server.url) as client:
        text = "Let me check the weather\n\n"
        started = await client.start(text, open=True, rung="pcm22")
        await client.first(m.Audio)
        assert spoken(client, text) == ["Let me check the weather"]
        await client.send(m.TextEnd(started.stream))
        assert np.array_equal(await client.whole_pcm(started.stream), tone("Let me check the weather"))


async def test_a_number_is_not_cut_however_long_its_model_pauses(server):
    async with peer(server.url) as client:
        started = await client.start("The price of it is now 3.", open=True, rung="pcm22")
        await client.first(m.Mark)
        await client.send(m.Text(started.stream, "14 euros."), m.TextEnd(started.stream))
        heard = await client.whole_pcm(started.stream)
        assert np.array_equal(heard, tone("The price of it is now", "3.14 euros."))


async def test_marks_count_code_points_whatever_way_the_text_came(server):
    text = "😀 One. 𠮷野家。 Two 👍🏽 three. ¥1,299.00 four."
    units = text.encode("utf-16-le")
    async with peer(server.url) as client:
        started = await client.start("", open=True, rung="pcm22")
        for at in range(0, len(units), 2):
            half = units[at : at + 2].decode("utf-16-le", "surrogatepass")
            await client.send(m.Text(started.stream, half))
        await client.send(m.TextEnd(started.stream))
        await client.first(m.StreamEnd)
        assert spoken(client, text) == ["😀 One.", "𠮷野家。", "Two 👍🏽 three.", "¥1,299.00 four."]


# ---- a listener who interrupts


async def test_after_a_cancel_nothing_but_the_end_is_handed_on_and_the_engine_is_free_within_a_chunk():
    options = {"rate": RATE, "rtf": 0.5, "chunks": [RATE // 5]}  # 0.2 s of sound in 0.1 s
    async with serving(engine__options=options) as server, peer(server.url) as client:
        loop, silent, free = asyncio.get_running_loop(), [], []
        for _ in range(5):
            started = await client.start("x" * 160, rung="opus24")
            await client.until(lambda handle=started.stream: len(client.of(m.Audio, stream=handle)) > 3)
            asked = loop.time()
            await client.send(m.Cancel(started.stream))
            await client.until(lambda handle=started.stream: client.of(m.StreamEnd, stream=handle))
            silent.append(loop.time() - asked)
            await eventually(lambda: server.pool.stats.busy == 0)
            free.append(loop.time() - asked)
            await client.send(m.Ping(1))
            await client.until(lambda: isinstance(client.messages[-1], m.Pong))
            assert isinstance(client.messages[-2], m.StreamEnd)
        assert median(silent) < 0.5, "milliseconds, and a busy machine's; tools/bench/barge_in.py measures"
        assert median(free) < 1.0, "a chunk's 0.1 s, of the 4.8 s that the clause takes"
        told = server.metrics.registry.get_sample_value
        assert told("abr_tts_cancel_seconds_count") == told("abr_tts_engine_freed_seconds_count") == 5
        assert 0 < told("abr_tts_engine_freed_seconds_sum") < 5.0


async def test_a_cancelled_stream_leaves_no_timer_that_speaks(server):
    said = server.pool.stats.said
    async with peer(server.url) as client:
        started = await client.start("Nobody hears this.", open=True, rung="pcm22")
        await client.send(m.Cancel(started.stream))
        await client.first(m.StreamEnd, reason="cancelled")
        next_one = await client.start("Next.", open=True, rung="pcm22")
        await client.first(m.Mark, stream=next_one.stream)  # its time came, and the first one's before
    assert server.pool.stats.said == said + 1


async def test_a_speech_that_was_played_to_its_end_counts_as_no_cancel(server):
    def cancels():
        return server.metrics.registry.get_sample_value("abr_tts_cancel_seconds_count")

    before = cancels()
    async with peer(server.url) as client:
        await client.start("Short.", rung="pcm22")
        await client.first(m.StreamEnd, reason="done")
    assert cancels() == before
