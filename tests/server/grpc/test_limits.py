"""Who may call and how much: keys, tickets, every limit at its value and one past it, what statuses say."""

import asyncio
import contextlib
import time

import aiohttp
import pytest

from ..harness import WAIT_S, eventually
from .outsider import calling, error_details_pb2, grpc, pb, rpc_status, services, serving_grpc

STATUS = grpc.StatusCode


async def refusal(call) -> tuple:
    """Status, the wire's code, and seconds after which to come back, as Google's details have them."""
    code, words = await call.ended()
    trailing = await call.call.trailing_metadata()
    (packed,) = [value for key, value in trailing if key == "grpc-status-details-bin"]
    told = rpc_status.status_pb2.Status.FromString(packed)
    assert (told.code, told.message) == (code.value[0], words)
    info, retry = error_details_pb2.ErrorInfo(), error_details_pb2.RetryInfo()
    after = None
    for detail in told.details:
        detail.Unpack(info)
        if detail.Unpack(retry):
            after = retry.retry_delay.ToTimedelta().total_seconds()
    assert info.domain == "abr-tts"
    return code, info.reason, after


# ---- keys


async def test_a_call_without_a_key_is_unauthenticated_and_one_with_it_speaks():
    async with serving_grpc(auth__keys=("anna:a-key", "other")) as server:
        for metadata in ({}, {"authorization": "Bearer wrong"}, {"authorization": "a-key"}):
            async with calling(server.grpc_target, hello=False, metadata=metadata) as call:
                assert await refusal(call) == (STATUS.UNAUTHENTICATED, "unauthorized", None)
        async with calling(server.grpc_target, metadata={"authorization": "Bearer a-key"}) as call:
            await call.start("hello")
            (session,) = server.door.sessions
            assert (session.caller.key_name, session.caller.address) == ("anna", "127.0.0.1")
        await eventually(lambda: server._admission.connections == 0)


async def test_a_key_that_is_taken_away_ends_the_calls_that_it_opened(tmp_path):
    keys = tmp_path / "keys"
    keys.write_text("a-key\nb-key\n")
    async with (
        serving_grpc(auth__keys_file=str(keys), auth__revoke=True, rollout__check_s=0) as server,
        calling(server.grpc_target, metadata={"authorization": "Bearer a-key"}) as call,
    ):
        keys.write_text("b-key\n")
        server.reload()
        assert (await refusal(call))[:2] == (STATUS.UNAUTHENTICATED, "unauthorized")


async def test_behind_a_trusted_proxy_the_callers_own_address_counts():
    metadata = {"x-forwarded-for": "203.0.113.7"}
    async with (
        serving_grpc(server__trusted_proxies=("127.0.0.1",)) as server,
        calling(server.grpc_target, metadata=metadata),
    ):
        (session,) = server.door.sessions
        assert session.caller.address == "203.0.113.7"


async def test_calls_beyond_those_of_a_connection_wait_for_their_turn_and_get_it():
    async with (
        serving_grpc(grpc__calls_per_connection=10) as server,
        grpc.aio.insecure_channel(server.grpc_target) as channel,
    ):
        speak = services.SpeechStub(channel).Speak

        async def greet() -> tuple:
            call = speak()
            with contextlib.suppress(grpc.aio.AioRpcError):
                await call.write(pb.ClientMessage(hello={"level": 0}))
                await call.read()
                await call.done_writing()
            return await call.code(), await call.details()

        told = await asyncio.wait_for(asyncio.gather(*(greet() for _ in range(200))), WAIT_S)
        assert set(told) == {(STATUS.OK, "")}


async def test_another_key_may_not_take_a_stream():
    async with serving_grpc(auth__keys=("one", "two")) as server:
        async with calling(server.grpc_target, level=2, metadata={"authorization": "Bearer one"}) as first:
            started = await first.start("x" * 50)
        async with calling(server.grpc_target, level=2, metadata={"authorization": "Bearer two"}) as second:
            await second.send(attach={"stream_id": started.stream_id, "token": started.token})
            assert (await second.first("error")).code == "resume_refused"


async def test_a_ticket_opens_one_call():
    async with serving_grpc(auth__keys=("a-key",)) as server:
        headers = {"Authorization": "Bearer a-key"}
        async with (
            aiohttp.ClientSession() as http,
            http.post(server.http_url + "/v1/tickets", headers=headers, json={"streams": 1}) as answer,
        ):
            ticket = (await answer.json())["ticket"]
        async with calling(server.grpc_target, metadata={"ticket": ticket}) as call:
            await call.start("hello")
            assert (await call.refused("again")).code == "too_many_streams"
        async with calling(server.grpc_target, hello=False, metadata={"ticket": ticket}) as call:
            assert (await refusal(call))[:2] == (STATUS.UNAUTHENTICATED, "unauthorized")


# ---- how many


async def test_calls_up_to_the_limit_and_not_one_more():
    async with serving_grpc(limits__connections=2, limits__retry_after_s=3) as server:
        async with calling(server.grpc_target), calling(server.grpc_target):
            async with calling(server.grpc_target, hello=False) as third:
                assert await refusal(third) == (STATUS.UNAVAILABLE, "overloaded", 3.0)
            assert server._admission.connections == 2
        await eventually(lambda: server._admission.connections == 0)
        async with calling(server.grpc_target):
            pass


async def test_calls_of_a_key_up_to_the_limit_and_not_one_more():
    metadata = {"authorization": "Bearer a-key"}
    async with (
        serving_grpc(auth__keys=("a-key", "b-key"), limits__connections_per_key=1) as server,
        calling(server.grpc_target, metadata=metadata),
    ):
        async with calling(server.grpc_target, hello=False, metadata=metadata) as second:
            code, reason, after = await refusal(second)
            assert (code, reason) == (STATUS.RESOURCE_EXHAUSTED, "overloaded") and after > 0
        async with calling(server.grpc_target, metadata={"authorization": "Bearer b-key"}):
            pass


async def test_streams_of_a_call_up_to_the_limit_and_not_one_more():
    async with serving_grpc(limits__streams_per_connection=2) as server, calling(server.grpc_target) as call:
        await call.start(open=True)
        await call.start(open=True)
        told = await call.refused(open=True)
        assert (told.code, told.scope, told.detail["limit"]) == ("too_many_streams", "stream", 2)
        await call.send(text={"stream": 1, "text": "hello"}, text_end={"stream": 1})
        await call.first("stream_end", stream=1)


async def test_text_up_to_the_limit_and_not_one_character_more():
    async with serving_grpc(limits__text_chars=10) as server, calling(server.grpc_target) as call:
        started = await call.start("é" * 10)
        await call.first("stream_end", stream=started.stream)
        assert (await call.refused("é" * 11)).code == "text_too_long"


@pytest.mark.parametrize("beyond", [1, 100_000])
async def test_a_message_as_large_as_may_be_is_taken_and_a_larger_one_ends_the_call(beyond):
    limit = 4_096
    async with serving_grpc(limits__message_bytes=limit) as server, calling(server.grpc_target) as call:
        started = await call.start(open=True)
        most = pb.ClientMessage(text={"stream": started.stream, "text": "x" * 4_085})
        most.text.text += "x" * (limit - most.ByteSize())
        assert most.ByteSize() == limit
        await call.write(most)
        await call.send(ping={"value": 7})
        await call.first("pong", value=7)
        most.text.text += "x" * beyond
        await call.write(most)
        assert (await call.ended())[0] == STATUS.RESOURCE_EXHAUSTED
        if beyond == 1:
            assert call.of("error")[-1].detail["limit"] == limit
            assert (await refusal(call))[1] == "message_too_big"


async def test_messages_up_to_the_burst_are_taken_and_then_the_call_ends():
    limits = {"limits__message_burst": 20, "limits__messages_per_s": 1}
    async with serving_grpc(**limits) as server, calling(server.grpc_target) as call:
        for value in range(19):
            await call.send(ping={"value": value})
        await call.first("pong", value=18)
        assert not call.of("error")
        for value in range(19, 25):  # the time since then may have given some; none is written past the end
            await call.send(ping={"value": value})
            await call.until(lambda last=value: call.of("pong", value=last) or call.of("error"))
            if call.of("error"):
                break
        code, reason, after = await refusal(call)
        assert (code, reason) == (STATUS.RESOURCE_EXHAUSTED, "rate_limited") and after == 20.0


async def test_requests_of_a_key_beyond_its_burst_end_their_stream_alone():
    limits = {"limits__requests_per_s": 0.1, "limits__request_burst": 1}
    async with serving_grpc(**limits) as server, calling(server.grpc_target) as call:
        started = await call.start("one")
        told = await call.refused("two")
        assert (told.code, told.scope) == ("rate_limited", "stream") and 9 < told.retry_after <= 10
        await call.first("stream_end", stream=started.stream)


# ---- what is wrong


async def test_who_says_nothing_and_who_says_something_else_first_is_told_so():
    async with (
        serving_grpc(limits__hello_timeout_s=0.2) as server,
        calling(server.grpc_target, hello=False) as call,
    ):
        assert (await refusal(call))[:2] == (STATUS.DEADLINE_EXCEEDED, "hello_timeout")
    async with serving_grpc() as server:
        async with calling(server.grpc_target, hello=False) as call:
            await call.send(ping={"value": 1})
            assert (await refusal(call))[:2] == (STATUS.FAILED_PRECONDITION, "wrong_state")
        async with calling(server.grpc_target, hello=False) as call:
            await call.send(hello={"versions": [2]})
            assert (await refusal(call))[:2] == (STATUS.UNIMPLEMENTED, "unsupported_version")


async def test_bytes_that_are_no_message_end_the_call_and_an_unknown_message_ends_nothing():
    async with serving_grpc(limits__close_timeout_s=0.2) as server:
        async with grpc.aio.insecure_channel(server.grpc_target) as channel:
            speak = channel.stream_stream("/abr_tts.v1.Speech/Speak")
            raw = speak()
            await raw.write(pb.ClientMessage(hello={}).SerializeToString())
            await raw.write(b"\xff\xff\xff")
            with pytest.raises(grpc.aio.AioRpcError, match="a message is one ClientMessage"):
                while await raw.read() is not grpc.aio.EOF:
                    pass
            assert await raw.code() == STATUS.INVALID_ARGUMENT
        async with calling(server.grpc_target) as call:
            await call.write(pb.ClientMessage())
            told = await call.first("error", code="unknown_type")
            assert told.scope == "nothing"
            await call.start("and goes on")


async def test_an_error_of_a_stream_leaves_the_call_and_names_the_stream():
    async with serving_grpc() as server, calling(server.grpc_target) as call:
        assert (await call.refused("hello", rung="opus3000")).code == "unknown_rung"
        told = await call.refused("hello", speed=9.0)
        assert (told.code, told.detail["field"]) == ("bad_field", "speed")
        assert (await call.refused("   ")).code == "empty_text"
        await call.start("hello")


async def test_what_is_compressed_is_refused_so_that_little_cannot_become_much():
    async with serving_grpc() as server, grpc.aio.insecure_channel(server.grpc_target) as channel:
        # It says nothing: a write that loses to the status hides it (grpcio makes an error of its own of it).
        call = services.SpeechStub(channel).Speak(compression=grpc.Compression.Gzip)
        async with asyncio.timeout(WAIT_S):
            assert await call.code() == STATUS.UNIMPLEMENTED
            assert "'gzip' is disabled" in await call.details()


async def test_a_json_web_token_is_a_key_and_all_calls_of_its_sub_count_as_one_keys(tmp_path):
    jwt, secret = pytest.importorskip("jwt"), "0123456789abcdef0123456789abcdef"
    (tmp_path / "jwt").write_text(secret)

    def bearer(sub: str, number: int) -> dict[str, str]:
        claims = {"sub": sub, "exp": time.time() + 60, "jti": str(number)}
        return {"authorization": f"Bearer {jwt.encode(claims, secret, 'HS256')}"}

    settings = {"auth__jwt_file": str(tmp_path / "jwt"), "limits__connections_per_key": 1}
    async with serving_grpc(**settings) as server:
        async with calling(server.grpc_target, metadata=bearer("anna", 1)) as call:
            await call.start("hello")
            (session,) = server.door.sessions
            assert session.caller.key_name == "anna"
            async with calling(server.grpc_target, hello=False, metadata=bearer("anna", 2)) as second:
                assert (await refusal(second))[:2] == (STATUS.RESOURCE_EXHAUSTED, "overloaded")
            async with calling(server.grpc_target, metadata=bearer("bert", 1)):
                pass
        async with calling(
            server.grpc_target, hello=False, metadata={"authorization": "Bearer x.y.z"}
        ) as bad:
            assert (await refusal(bad))[:2] == (STATUS.UNAUTHENTICATED, "unauthorized")


async def test_a_ticket_that_is_bound_to_a_page_opens_no_call():
    async with serving_grpc(auth__keys=("a-key",)) as server:
        headers, wish = {"Authorization": "Bearer a-key"}, {"origin": "https://app.example"}
        async with (
            aiohttp.ClientSession() as http,
            http.post(server.http_url + "/v1/tickets", headers=headers, json=wish) as answer,
        ):
            ticket = (await answer.json())["ticket"]
        async with calling(server.grpc_target, hello=False, metadata={"ticket": ticket}) as call:
            assert (await refusal(call))[:2] == (STATUS.UNAUTHENTICATED, "unauthorized")
