"""What one key may ask for: at each limit and one past it, in numbers and over a real connection."""

import aiohttp
import pytest

from abr_tts.errors import Overloaded, RateLimited, TextTooLong, TooManyStreams
from abr_tts.server.access.auth import Caller
from abr_tts.server.access.tickets import Grant
from abr_tts.server.config import LimitSettings, describe
from abr_tts.server.load.hits import NAMES, OF_CODE, limit_of
from abr_tts.server.load.quotas import LOW, Bucket, Quotas
from abr_tts.wire import messages as m

from .harness import eventually, peer, serving

ANNA, BERT, NOBODY = Caller(key_digest="anna"), Caller(key_digest="bert"), Caller(session="one")


def quotas(**settings) -> Quotas:
    return Quotas(LimitSettings(**settings))


def test_a_bucket_gives_what_it_holds_and_then_what_comes():
    bucket = Bucket(2.0, 4.0, 0.0)
    bucket.take(4, 0.0)
    assert bucket.wait_s(1, 0.0) == 0.5
    assert bucket.wait_s(1, 0.5) == 0.0
    assert bucket.level(100.0) == 4.0


def test_connections_of_a_key_up_to_the_limit_and_not_one_more():
    made = quotas(connections_per_key=2)
    made.connect(ANNA)
    made.connect(ANNA)
    with pytest.raises(Overloaded) as caught:
        made.connect(ANNA)
    assert (caught.value.detail["limit"], limit_of(caught.value)) == (2, "connections_per_key")
    made.connect(BERT)
    made.disconnect(ANNA, 0.0)
    made.connect(ANNA)


def test_callers_without_a_key_are_not_taken_for_one():
    made = quotas(connections_per_key=1)
    for _ in range(10):
        made.connect(NOBODY)


def test_requests_of_a_key_up_to_its_burst_and_not_one_more_whatever_the_connection():
    made = quotas(requests_per_s=2.0, request_burst=3)
    one, other = made.meter(ANNA, 0.0), made.meter(ANNA, 0.0)
    for meter in (one, other, one):
        meter.request(1, 0.0)
    with pytest.raises(RateLimited) as caught:
        other.request(1, 0.0)
    assert (caught.value.retry_after, limit_of(caught.value)) == (0.5, "requests_per_s")
    made.meter(BERT, 0.0).request(1, 0.0)
    other.request(1, 0.5)


def test_text_of_a_key_up_to_its_burst_and_not_one_character_more():
    meter = quotas(chars_per_s=100.0, chars_burst=200, text_chars=200).meter(ANNA, 0.0)
    meter.request(150, 0.0)
    meter.text(50, 0.0)
    with pytest.raises(RateLimited) as caught:
        meter.text(1, 0.0)
    assert (caught.value.retry_after, limit_of(caught.value)) == (0.01, "chars_per_s")
    meter.text(100, 1.0)


def test_a_refused_request_costs_nothing():
    meter = quotas(chars_per_s=100.0, chars_burst=200, text_chars=200, request_burst=1).meter(ANNA, 0.0)
    with pytest.raises(RateLimited):
        meter.request(201, 0.0)
    meter.request(200, 0.0)


def test_a_ticket_narrows_its_connection_and_no_other():
    made = quotas()
    narrow = made.meter(Caller(key_digest="anna", grant=Grant("", "anna", streams=1, chars=5)), 0.0)
    narrow.request(3, 0.0)
    with pytest.raises(TooManyStreams):
        narrow.request(1, 0.0)
    with pytest.raises(TextTooLong):
        narrow.text(3, 0.0)
    narrow.text(2, 0.0)
    made.meter(ANNA, 0.0).request(1000, 0.0)


def test_a_client_near_its_limits_is_told_once_a_second():
    meter = quotas(requests_per_s=10.0, request_burst=8).meter(ANNA, 0.0)
    for _ in range(6):
        meter.request(1, 0.0)
    assert meter.slow_down(0.0) is None
    meter.request(1, 0.0)
    assert meter.slow_down(0.0) == (10.0, pytest.approx((LOW * 8 - 1) / 10))
    assert meter.slow_down(0.01) is None
    assert meter.slow_down(10.0) is None
    assert meter.slow_down(10.0, message_room=0.2) == (10.0, 1.0)


def test_keys_that_left_are_forgotten_when_their_buckets_are_full_again():
    made = quotas(requests_per_s=1.0, request_burst=10)
    for number in range(100):
        caller = Caller(key_digest=str(number))
        made.connect(caller)
        made.meter(caller, 0.0).request(1, 0.0)
        made.disconnect(caller, 0.0)
    assert len(made) == 100
    for _ in range(100):
        made.connect(BERT)
        made.disconnect(BERT, 60.0)
    assert len(made) == 0


def test_every_code_that_is_a_limits_has_a_setting_or_a_part_of_one():
    settings = {one.name.rpartition(".")[2] for one in describe()}
    beside = {"ticket", "cpu"}
    assert {name for name in NAMES - beside if name not in settings} == set()
    assert set(OF_CODE.values()) <= NAMES


# ---- over a real connection


KEYS = {"auth__keys": ("anna:first-key",)}
FIRST = {"Authorization": "Bearer first-key"}


def hits(server, limit: str) -> float:
    return server.metrics.limits_hit.labels(limit)._value.get()


async def test_one_connection_too_many_of_a_key_is_told_429_and_counted():
    async with serving(**KEYS, limits__connections_per_key=1, limits__retry_after_s=3.0) as server:
        async with peer(server.url, headers=FIRST):
            async with aiohttp.ClientSession() as http:
                with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
                    await http.ws_connect(server.url, protocols=("abr-tts.v1",), headers=FIRST)
            assert (caught.value.status, caught.value.headers["Retry-After"]) == (429, "3")
            assert hits(server, "connections_per_key") == 1
        await eventually(lambda: server._admission.connections == 0)
        async with peer(server.url, headers=FIRST) as client:
            await client.start("hello", rung="pcm22")


async def test_one_request_too_many_ends_that_stream_alone_and_is_warned_of_before():
    limits = {"limits__requests_per_s": 0.05, "limits__request_burst": 4}
    async with serving(**limits) as server, peer(server.url) as client:
        for _ in range(4):
            await client.start("hello", rung="pcm22")
        assert (await client.first(m.FlowControl)).rate == 0.05
        told = await client.refused("one more")
        assert (told.code, told.scope, told.detail["limit"]) == ("rate_limited", "stream", 0.05)
        assert 10.0 < told.retry_after <= 20.0
        assert hits(server, "requests_per_s") == 1
        await client.until(lambda: len(client.of(m.StreamEnd)) == 4)


async def test_text_that_comes_too_fast_ends_its_stream_alone():
    limits = {"limits__chars_per_s": 1.0, "limits__chars_burst": 20, "limits__text_chars": 20}
    async with serving(**limits) as server, peer(server.url) as client:
        other = await client.start("0123456789", rung="pcm22")
        opened = await client.start("", open=True, rung="pcm22")
        await client.send(m.Text(opened.stream, "0123456789"), m.Text(opened.stream, "0123456789"))
        told = await client.first(m.Error)
        assert (told.code, told.scope, told.stream) == ("rate_limited", "stream", opened.stream)
        assert hits(server, "chars_per_s") == 1
        assert client.of(m.FlowControl)
        await client.first(m.StreamEnd, stream=other.stream)


async def test_messages_that_come_too_fast_are_warned_of_before_they_are_cut_off():
    limits = {"limits__messages_per_s": 1.0, "limits__message_burst": 100}
    async with serving(**limits) as server, peer(server.url) as client:
        await client.send(*(m.Ping(value) for value in range(99)))
        assert (await client.first(m.FlowControl)).retry_after == 1.0
        await client.first(m.Pong, value=98)
        await client.send(*(m.Ping(value) for value in range(20)))
        assert (await client.first(m.Error)).code == "rate_limited"
        assert hits(server, "messages_per_s") == 1


async def test_reports_beyond_the_rate_give_way_to_the_newest_and_harm_nothing():
    limits = {"limits__hints_per_s": 2.0, "limits__hint_burst": 5}
    async with serving(**limits) as server, peer(server.url, hints=False) as client:
        started = await client.start("x" * 20, rung="pcm22")
        for _ in range(100):
            await client.hint(started.stream, 0)
        await eventually(lambda: hits(server, "hints_per_s") >= 90)
        (utterance,) = next(iter(server._front.sessions))._utterances.values()
        await client.until(lambda: client.received > 20_000)
        await client.hint(started.stream, 4800)
        await eventually(lambda: utterance.core.played == 4800)
        assert client.of(m.Error) == []


async def test_a_message_that_is_not_even_read_counts_as_one_that_is_too_big():
    async with serving() as server, peer(server.url) as client:
        await client.socket.send_bytes(bytes(1_048_576 + 200_000))
        assert await client.closed() == 1009
        await eventually(lambda: hits(server, "message_bytes") == 1)


async def test_connections_of_the_server_beyond_the_limit_are_counted():
    async with serving(limits__connections=1) as server, peer(server.url):
        async with aiohttp.ClientSession() as http:
            with pytest.raises(aiohttp.WSServerHandshakeError):
                await http.ws_connect(server.url, protocols=("abr-tts.v1",))
        assert hits(server, "connections") == 1
