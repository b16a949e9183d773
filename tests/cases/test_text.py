"""
Faults of text that users of streaming speech servers have reported, against a real server on a real socket:
what cannot be pronounced, digits that vanish, limits that count the wrong thing, characters cut in two.
"""

import numpy as np
import pytest

from abr_tts.engine.tone import Options, expected
from abr_tts.wire import messages as m

from ..server.harness import peer, serving_in_a_thread

RATE = 22_050


@pytest.fixture(scope="module")
def server():
    with serving_in_a_thread(engine__workers=2) as made:
        yield made


@pytest.fixture(scope="module")
def speaking():
    """The URL of a server that really speaks."""
    pytest.importorskip("espeakng_loader", reason="pip install '.[espeak]'")
    with serving_in_a_thread(engine__kind="espeak", engine__options={}, engine__workers=2) as made:
        yield made.url


def tone(text: str) -> np.ndarray:
    return expected(text, options=Options(rate=RATE))


def loud_seconds(pcm: np.ndarray) -> float:
    """Seconds of 20 ms frames above -40 dBFS."""
    frames = pcm[: len(pcm) // 441 * 441].reshape(-1, 441).astype(np.float64)
    return float((np.sqrt((frames**2).mean(axis=1)) > 328).sum()) / 50


async def test_what_cannot_be_pronounced_never_reaches_the_engine(server):
    async with peer(server.url) as client:
        before = server.pool.stats.said
        for text in (
            "",
            " \u3000\n",
            "…",
            "。。。",
            "?!",
            "😀😀",
            "👨\u200d👩\u200d👧",
            "\u200b",
            "\ud83d",
            "\x00",
            "---",
        ):
            told = await client.refused(text)
            assert (told.code, told.scope) == ("empty_text", "stream"), repr(text)
        assert server.pool.stats.said == before


async def test_signs_among_clauses_are_silence_of_no_length_and_the_end_is_normal(server):
    async with peer(server.url) as client:
        started = await client.start("Good day. … 😀😀 ?! Good bye.", rung="pcm22")
        heard = await client.whole_pcm(started.stream)
        assert np.array_equal(heard, np.concatenate([tone("Good day."), tone("Good bye.")]))
        assert client.of(m.StreamEnd)[0].reason == "done"


@pytest.mark.parametrize(
    ("text", "without", "least_s"),
    [
        ("It costs ¥1,299.00 now.", "It costs now.", 1.0),
        ("It is 3.14 now.", "It is now.", 0.5),
        ("圆周率是3.14。", "圆周率是。", 0.5),
        ("Ask GPT-4o now.", "Ask GPT now.", 0.2),
        ("𝟛 dogs and ３ cats", "dogs and cats", 0.3),
    ],
)
async def test_digits_are_never_filtered_out(speaking, text, without, least_s):
    async with peer(speaking) as client:
        lengths = []
        for said in (text, without):
            started = await client.start(said, rung="pcm22")
            lengths.append(loud_seconds(await client.whole_pcm(started.stream)))
        assert lengths[0] > lengths[1] + least_s


async def test_two_hundred_thousand_characters_are_taken_and_one_more_is_told_with_the_limit(server):
    async with peer(server.url, hints=False) as client:
        taken = await client.start("a" * 200_000, rung="opus12")
        await client.first(m.Audio, stream=taken.stream)
        told = await client.refused("a" * 200_001)
        assert (told.code, told.scope, told.detail["limit"]) == ("text_too_long", "stream", 200_000)
        assert "200000" in told.message
        assert client.of(m.Error, stream=taken.stream) == []


async def test_the_limit_counts_all_pieces_of_a_text_together(server):
    async with peer(server.url, hints=False) as client:
        started = await client.start("你" * 100_000, open=True, rung="opus12")
        await client.send(m.Text(started.stream, "好" * 100_000), m.Ping(1))
        await client.first(m.Pong, value=1)
        assert client.of(m.Error) == []
        await client.send(m.Text(started.stream, "a"))
        told = await client.first(m.Error)
        assert (told.code, told.stream, told.detail["limit"]) == ("text_too_long", started.stream, 200_000)


async def test_a_text_cut_into_utf_16_units_sounds_like_the_whole(server):
    text = "smile 😀 and 𝟛 go on. 你好，世界。"
    data = text.encode("utf-16-le")
    units = [data[at : at + 2].decode("utf-16-le", "surrogatepass") for at in range(0, len(data), 2)]
    async with peer(server.url) as client:
        whole = await client.start(text, rung="pcm22")
        cut = await client.start("", open=True, rung="pcm22")
        for unit in units:
            await client.send(m.Text(cut.stream, unit), m.Text(cut.stream, ""))
        await client.send(m.TextEnd(cut.stream))
        heard = await client.whole_pcm(cut.stream)
        assert np.array_equal(heard, await client.whole_pcm(whole.stream))
        places = [
            [(mark.begin, mark.end) for mark in client.of(m.Mark, stream=one.stream)] for one in (whole, cut)
        ]
        assert places[0] == places[1]


async def test_text_for_a_stream_that_was_never_open_ends_that_stream_alone(server):
    async with peer(server.url, hints=False) as client:  # so that it is not over before
        other = await client.start("", open=True, rung="pcm22")
        closed = await client.start("a whole text", rung="opus24")
        await client.send(m.Text(closed.stream, "more"))
        told = await client.first(m.Error)
        assert (told.code, told.scope, told.stream) == ("text_after_end", "stream", closed.stream)
        await client.send(m.TextEnd(closed.stream), m.Text(closed.stream, "more"))
        told = await client.first(m.Error, code="unknown_stream")
        assert told.scope == "nothing"
        await client.send(m.Text(other.stream, "still here"), m.TextEnd(other.stream))
        assert np.array_equal(await client.whole_pcm(other.stream), tone("still here"))
