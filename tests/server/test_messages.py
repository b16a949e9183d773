"""One message in, the right answer out: bad input, limits, refusals, the life of a connection."""

import asyncio
import contextlib
import uuid

import msgpack
import pytest

from abr_tts.wire import messages as m

from .harness import peer, serving, serving_in_a_thread


@pytest.fixture(scope="module")
def server():
    with serving_in_a_thread(limits__text_chars=50_000, limits__streams_per_connection=4) as made:
        yield made


@pytest.fixture
def url(server):
    return server.url


def still_works(client):
    return client.start("still here", rung="pcm22")


NESTED = b"\x91" * 10_000 + b"\xc0"
DUPLICATE_KEY = b"\x82" + b"\xa4type\xa4ping" + b"\xa4type\xa4ping"
HUGE_INTEGER = b"\x82\xa4type\xa4ping\xa5value\xcf" + b"\xff" * 8


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"\x00garbage\xc1", "bad_message"),
        (b"", "bad_message"),
        (msgpack.packb({"type": "ping", "value": 1})[:-2], "bad_message"),
        (msgpack.packb({"type": "ping", "value": 1}) + b"\x00", "bad_message"),
        (NESTED, "bad_message"),
        (DUPLICATE_KEY, "bad_message"),
        (HUGE_INTEGER, "bad_field"),
    ],
    ids=["garbage", "empty", "truncated", "trailing", "nested", "duplicate key", "2^64-1"],
)
async def test_what_is_no_message_is_told_and_closes_with_1008(url, data, code):
    async with peer(url) as client:
        await client.socket.send_bytes(data)
        told = await client.first(m.Error)
        assert (told.code, told.scope) == (code, "connection")
        assert await client.closed() == 1008


async def test_a_text_frame_is_told_and_closes_with_1008(url):
    async with peer(url) as client:
        await client.socket.send_str('{"type": "ping"}')
        assert (await client.first(m.Error)).code == "bad_message"
        assert await client.closed() == 1008


@pytest.mark.parametrize("extra", [1, 200_000])
async def test_one_byte_more_than_a_mebibyte_closes_with_1009(url, extra):
    async with peer(url) as client:
        await client.socket.send_bytes(bytes(1_048_576 + extra))
        assert await client.closed() == 1009
        told = client.of(m.Error)
        assert [error.code for error in told] == (["message_too_big"] if extra == 1 else [])


async def test_a_mebibyte_is_read(url):
    padding = msgpack.packb({"type": "ping", "value": 7, "unheard of": b""})
    room = 1_048_576 - len(padding) - 3
    async with peer(url) as client:
        data = msgpack.packb({"type": "ping", "value": 7, "unheard of": bytes(room)})
        assert len(data) == 1_048_576
        await client.socket.send_bytes(data)
        assert (await client.first(m.Pong)).value == 7


async def test_an_unknown_type_ends_nothing(url):
    async with peer(url) as client:
        await client.socket.send_bytes(msgpack.packb({"type": "sing"}))
        told = await client.first(m.Error)
        assert (told.code, told.scope) == ("unknown_type", "nothing")
        assert await still_works(client)


async def test_speech_before_hello_closes_with_1008(url):
    async with peer(url, hello=False) as client:
        await client.socket.send_bytes(msgpack.packb({"type": "ping", "value": 1}))
        assert (await client.first(m.Error)).code == "wrong_state"
        assert await client.closed() == 1008


async def test_ten_thousand_messages_a_second_are_cut_off():
    limits = {"limits__messages_per_s": 100.0, "limits__message_burst": 200}
    async with serving(**limits) as server, peer(server.url) as client:
        with contextlib.suppress(ConnectionError):  # it is cut off in the middle
            await client.send(*(m.Ping(value) for value in range(10_000)))
        told = await client.first(m.Error)
        assert (told.code, told.scope) == ("rate_limited", "connection")
        assert await client.closed() == 1008
        assert len(client.of(m.Pong)) <= 300


async def test_a_heartbeat_keeps_a_client_that_says_nothing_else():
    limits = {"limits__idle_timeout_s": 2.0, "limits__ping_s": 0.5}
    async with serving(**limits) as server, peer(server.url) as client:
        assert client.of(m.Welcome)[0].ping_ms == 500
        for value in range(5):  # 2.5 s, which is longer than the silence that is allowed
            assert not await client.closed_within(0.5)
            await client.send(m.Ping(value))
        await client.first(m.Pong, value=4)
        assert await client.closed() == 1008
        assert client.of(m.Error)[0].code == "idle_timeout"


async def test_no_hello_in_time_closes():
    async with serving(limits__hello_timeout_s=0.1) as server, peer(server.url, hello=False) as client:
        assert await client.closed() == 1008
        assert client.of(m.Error)[0].code == "hello_timeout"


# ---- requests that are refused, while the connection lives


@pytest.mark.parametrize("text", ["", "   ", "\n", "…", "。。。", "?!", "😀😀"])
async def test_a_text_with_nothing_to_pronounce_is_told_and_the_connection_lives(url, text):
    async with peer(url) as client:
        told = await client.refused(text)
        assert (told.code, told.scope) == ("empty_text", "stream")
        assert await still_works(client)


async def test_an_open_stream_that_ends_without_a_word_is_told(url):
    async with peer(url) as client:
        started = await client.start("", open=True)
        await client.send(
            m.Text(started.stream, "…"), m.Text(started.stream, "😀"), m.TextEnd(started.stream)
        )
        assert (await client.first(m.Error)).code == "empty_text"
        assert await still_works(client)


async def test_text_end_before_any_text_and_text_after_the_end_are_told(url):
    async with peer(url) as client:
        first = await client.start("", open=True)
        await client.send(m.TextEnd(first.stream))
        assert (await client.first(m.Error, stream=first.stream)).code == "empty_text"
        second = await client.start("one. ", open=True)
        await client.send(m.TextEnd(second.stream))
        await client.send(m.Text(second.stream, "two."))
        told = await client.first(m.Error, stream=second.stream)
        assert (told.code, told.scope) == ("text_after_end", "stream")
        assert await still_works(client)


async def test_a_text_of_the_limit_is_spoken_and_one_character_more_is_told_with_the_limit(url):
    async with peer(url, hints=False) as client:
        started = await client.start("a" * 50_000, rung="opus12")
        await client.first(m.Audio, stream=started.stream)
        told = await client.refused("a" * 50_001)
        assert (told.code, told.detail["limit"]) == ("text_too_long", 50_000)


async def test_one_character_is_spoken(url):
    async with peer(url) as client:
        started = await client.start("a", rung="pcm22")
        assert len(await client.whole_pcm(started.stream)) > 0


@pytest.mark.parametrize(
    ("fields", "code", "words"),
    [
        ({"voice": "nobody"}, "unknown_voice", "nobody"),
        ({"rung": "opus999"}, "unknown_rung", "opus999"),
        ({"policy": "none"}, "unknown_policy", "default"),
        ({"mode": "live"}, "unsupported", "stream"),
        ({"formats": ("flac",)}, "no_common_format", "opus"),
        ({"formats": ("pcm16",), "rung": "opus24"}, "no_common_format", "opus24"),
    ],
)
async def test_a_request_for_what_there_is_not_is_told_by_name_and_its_id_stays_free(
    url, fields, code, words
):
    async with peer(url) as client:
        stream_id = str(uuid.uuid4())
        told = await client.refused("hello", stream_id=stream_id, **fields)
        assert (told.code, told.scope) == (code, "stream")
        assert words in told.message
        assert await client.start("hello", stream_id=stream_id)


async def test_a_client_without_opus_gets_pcm(url):
    async with peer(url, codecs=("pcm16",)) as client:
        assert (await client.start("hello")).codec == "pcm16"


async def test_attach_is_answered_with_resume_lost_and_uplink_audio_with_unsupported(url):
    async with peer(url, level=2) as client:
        await client.send(m.Attach(str(uuid.uuid4()), "token"))
        assert (await client.first(m.Error)).code == "resume_lost"
        await client.send(m.AudioStart(str(uuid.uuid4()), "pcm16", 16_000))
        assert (await client.first(m.Error, code="unsupported")).scope == "stream"
        assert await still_works(client)


async def test_one_stream_more_than_a_connection_may_have_is_told(url):
    async with peer(url) as client:
        for _ in range(4):
            await client.start("", open=True)
        told = await client.refused("one more")
        assert (told.code, told.detail["limit"]) == ("too_many_streams", 4)
        await client.send(m.Cancel(client.of(m.StreamStarted)[0].stream))
        await client.first(m.StreamEnd)
        assert await still_works(client)


async def test_one_stream_more_than_the_server_may_have_is_told_to_come_back():
    async with serving(limits__streams=2, limits__retry_after_s=4.0) as server, peer(server.url) as client:
        for _ in range(2):
            await client.start("", open=True)
        told = await client.refused("one more")
        assert (told.code, told.retry_after) == ("busy", 4.0)
        await client.send(m.Cancel(client.of(m.StreamStarted)[0].stream))
        await client.first(m.StreamEnd)
        assert await still_works(client)


# ---- the same id twice


async def test_an_id_is_spoken_once_whatever_the_connection(url):
    stream_id = str(uuid.uuid4())
    async with peer(url) as one, peer(url) as other:
        started = await one.start("only once", stream_id=stream_id, rung="pcm22")
        assert (await other.refused("only once", stream_id=stream_id)).code == "duplicate_stream"
        await one.whole_pcm(started.stream)
        assert (await other.refused("again", stream_id=stream_id)).code == "duplicate_stream"
        assert await still_works(other)


async def test_two_starts_of_one_id_at_the_same_moment_are_one_synthesis(server):
    stream_id = str(uuid.uuid4())
    async with peer(server.url) as one, peer(server.url) as other:
        before = server.pool.stats.said
        await asyncio.gather(
            *(client.send(m.StreamStart(stream_id, "race", rung="pcm22")) for client in (one, other, one))
        )
        await one.until(lambda: one.of(m.StreamEnd) or one.of(m.Error, scope="stream"))
        await other.until(lambda: other.of(m.StreamEnd) or other.of(m.Error, scope="stream"))
        started = one.of(m.StreamStarted) + other.of(m.StreamStarted)
        errors = one.of(m.Error) + other.of(m.Error)
        assert len(started) == 1
        assert {error.code for error in errors} == {"duplicate_stream"}
        assert server.pool.stats.said == before + 1


# ---- reports that cannot be true


BEFORE_NUMBERS = (0, 0, 0, [])
"""Received, played, buffer and highest, as a client says that has nothing yet."""


@pytest.mark.parametrize(
    "values",
    [
        (10**12, 0, 0),
        (0, 2**32 - 1, 0),
        (0, 0, 10**12),
        (-5, -5, -5),
        (float("nan"), float("nan"), float("inf")),
        (0, 0, 0, [[0, 10**9], [65_535, -5]]),
        (*BEFORE_NUMBERS, -1.5, float("nan"), float("-inf"), 7.0, -3, 10**12),
    ],
    ids=["received unsent", "played unsent", "endless buffer", "below zero", "nan", "highest", "network"],
)
async def test_a_report_that_cannot_be_true_is_bounded_and_the_stream_comes_whole(url, values):
    async with peer(url) as client:
        started = await client.start("x" * 60, rung="pcm22")
        await client.socket.send_bytes(msgpack.packb([2, started.stream, *values]))
        assert len(await client.whole_pcm(started.stream)) == 60 * 1323
        assert client.of(m.Error) == []
