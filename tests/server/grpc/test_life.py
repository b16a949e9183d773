"""How the door opens and closes: certificates, health, reflection, drain, clients that vanish or are deaf."""

import asyncio
import re
import signal

import numpy as np
import pytest
import trustme

from abr_tts.audio.pcm import decode_pcm16
from abr_tts.demo.relay import Relay
from abr_tts.engine.tone import Options, expected
from abr_tts.server.app import Server
from abr_tts.server.config import load
from abr_tts.sim.scenario import steady

from ..harness import TONE, WAIT_S, eventually, held_python
from ..test_reload import running
from .outsider import (
    calling,
    grpc,
    health_pb2,
    health_pb2_grpc,
    pb,
    reflection_pb2,
    reflection_pb2_grpc,
    services,
    serving_grpc,
)

STATUS = grpc.StatusCode
REAL_TIME = {"rate": 22_050, "rtf": 1.0}
STATES = health_pb2.HealthCheckResponse
SERVICE = "abr_tts.v1.Speech"


def heard(call, handle: int) -> np.ndarray:
    found = call.packets(handle)
    return np.concatenate([decode_pcm16(found[place]) for place in sorted(found)])


# ---- certificates


def write(folder, authority) -> dict[str, str]:
    cert = authority.issue_cert("127.0.0.1")
    cert.cert_chain_pems[0].write_to_path(str(folder / "cert.pem"))
    cert.private_key_pem.write_to_path(str(folder / "key.pem"))
    return {"tls__cert_file": str(folder / "cert.pem"), "tls__key_file": str(folder / "key.pem")}


def trusting(authority):
    return grpc.ssl_channel_credentials(authority.cert_pem.bytes())


async def test_speech_comes_over_tls_and_without_it_nothing(tmp_path):
    authority = trustme.CA()
    async with serving_grpc(**write(tmp_path, authority)) as server:
        async with calling(server.grpc_target, credentials=trusting(authority)) as call:
            started = await call.start("hello over tls", rung="pcm22")
            await call.first("stream_end")
        assert len(heard(call, started.stream)) >= 22_050 * 0.06 * 14
        for credentials in (None, trusting(trustme.CA())):
            async with calling(server.grpc_target, hello=False, credentials=credentials) as call:
                assert (await call.ended())[0] == STATUS.UNAVAILABLE


async def test_a_renewed_certificate_is_the_next_handshakes_as_on_the_web_socket(tmp_path):
    old, new = trustme.CA(), trustme.CA()
    async with (
        serving_grpc(**write(tmp_path, old), rollout__check_s=0) as server,
        calling(server.grpc_target, credentials=trusting(old)) as before,
    ):
        given = server._certificate.pem
        write(tmp_path, new)
        server.reload()
        await eventually(lambda: server._certificate.pem is not given)
        async with calling(server.grpc_target, credentials=trusting(new)) as after:
            await after.start("hello")
        await before.start("and the old one speaks on")


# ---- health and reflection


async def state(target: str, service: str = ""):
    async with grpc.aio.insecure_channel(target) as channel:
        check = health_pb2_grpc.HealthStub(channel).Check
        return (await check(health_pb2.HealthCheckRequest(service=service))).status


async def test_health_says_what_readyz_says_for_the_server_and_the_service_and_needs_no_key():
    async with serving_grpc(auth__keys=("a-key",)) as server:
        assert await state(server.grpc_target) == STATES.SERVING
        assert await state(server.grpc_target, SERVICE) == STATES.SERVING
        with pytest.raises(grpc.aio.AioRpcError, match="NOT_FOUND"):
            await state(server.grpc_target, "other.Service")
        async with grpc.aio.insecure_channel(server.grpc_target) as channel:
            watching = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest())
            assert (await watching.read()).status == STATES.SERVING
            await server.drain()
            assert await state(server.grpc_target) == STATES.NOT_SERVING
            async with asyncio.timeout(WAIT_S):
                assert (await watching.read()).status == STATES.NOT_SERVING


async def test_health_says_no_while_the_engine_loads(tmp_path):
    with held_python(tmp_path) as (python, go_on):
        held = {"grpc.enabled": True, "grpc.port": 0, "engine.python": python}
        server = Server(load(overrides=TONE | held))
        starting = asyncio.ensure_future(server.start())
        try:
            await server.listening.wait()
            assert await state(server.grpc_target, SERVICE) == STATES.NOT_SERVING
            go_on()
            await starting
            assert await state(server.grpc_target, SERVICE) == STATES.SERVING
        finally:
            await server.stop()


async def ask_reflection(target: str, **wish):
    async with grpc.aio.insecure_channel(target) as channel:
        asked = reflection_pb2_grpc.ServerReflectionStub(channel).ServerReflectionInfo()
        await asked.write(reflection_pb2.ServerReflectionRequest(**wish))
        return await asked.read()


async def test_reflection_lists_the_services_and_gives_the_proto():
    async with serving_grpc() as server:
        listed = (await ask_reflection(server.grpc_target, list_services="")).list_services_response
        names = {one.name for one in listed.service}
        assert {SERVICE, "grpc.health.v1.Health"} <= names
        for name in names:
            told = await ask_reflection(server.grpc_target, file_containing_symbol=name)
            assert told.file_descriptor_response.file_descriptor_proto, name
        told = await ask_reflection(server.grpc_target, file_containing_symbol=SERVICE)
        files = told.file_descriptor_response.file_descriptor_proto
        assert pb.DESCRIPTOR.serialized_pb in files or any(b"abr_tts.proto" in one for one in files)


async def test_reflection_may_be_left_out():
    async with serving_grpc(grpc__reflection=False) as server:
        with pytest.raises(grpc.aio.AioRpcError, match="UNIMPLEMENTED"):
            await ask_reflection(server.grpc_target, list_services="")


# ---- stopping


async def test_a_stop_lets_running_streams_finish_takes_no_call_and_ends_with_unavailable():
    async with serving_grpc(engine__options=REAL_TIME) as server, calling(server.grpc_target) as call:
        started = await call.start("x" * 12, rung="pcm22")
        await call.first("audio")
        draining = asyncio.ensure_future(server.drain())
        await call.first("going_away")
        assert (await call.refused("too late")).code == "busy"
        async with calling(server.grpc_target, hello=False) as late:
            assert await late.ended() == (STATUS.UNAVAILABLE, "the server is stopping")
        end = await call.first("stream_end")
        wanted = expected("x" * 12, options=Options(rate=22_050))
        np.testing.assert_array_equal(heard(call, started.stream)[: end.length], wanted)
        await draining
        await asyncio.gather(server.stop(), call.task)
        assert await call.ended() == (STATUS.UNAVAILABLE, "the server is stopping")


async def test_sigterm_ends_the_program_within_its_time_with_everything_said():
    settings = ("--set", "grpc.enabled=true", "--set", "grpc.port=0", "--set", "server.drain_s=10")
    async with running(*settings) as server:
        (port,) = re.findall(r"gRPC listens on port (\d+)", "".join(server.log))
        async with calling(f"127.0.0.1:{port}") as call:
            started = await call.start("x" * 40, rung="pcm22")
            await call.first("audio")
            server.process.send_signal(signal.SIGTERM)
            await call.first("going_away")
            end = await call.first("stream_end", stream=started.stream)
            assert end.length == 40 * 1440
            assert (await call.ended())[0] == STATUS.UNAVAILABLE
        assert await asyncio.wait_for(server.process.wait(), 10.0) == 0


# ---- clients that are gone, or do not read


async def gone(server) -> None:
    """Nothing is left of the call: engine, session, counts."""
    await eventually(lambda: server.pool.stats.busy == 0 and server.pool.stats.cancelled == 1)
    await eventually(lambda: not server.door.sessions)
    await eventually(lambda: server._admission.connections == 0)
    await eventually(lambda: server._admission.streams == 0)
    assert server.pool.stats.samples < 22_050 * 10  # of 24 s


@pytest.mark.parametrize("how", ["cancel", "half-close", "lost line"])
async def test_a_client_that_leaves_in_mid_speech_has_its_engine_stopped(how, caplog):
    async with serving_grpc(engine__options=REAL_TIME) as server:
        relay = Relay(steady(2000.0, delay_ms=1), "127.0.0.1", int(server.grpc_target.rpartition(":")[2]))
        await relay.start()
        channel = grpc.aio.insecure_channel(f"127.0.0.1:{relay.port}")
        call = services.SpeechStub(channel).Speak()
        start = {"stream_id": "0f0f0f0f-0000-4000-8000-000000000001", "text": "x" * 400, "rung": "pcm22"}
        for message in ({"hello": {}}, {"stream_start": start}):
            await call.write(pb.ClientMessage(**message))
        while not (await call.read()).HasField("audio"):
            pass
        if how == "cancel":
            call.cancel()
        elif how == "half-close":
            await call.done_writing()
        else:
            await relay.stop()
        await gone(server)
        await channel.close()
        await relay.stop()
    assert not [record for record in caplog.records if record.levelname in ("WARNING", "ERROR")]


async def test_a_client_that_does_not_read_costs_little_pauses_the_engine_and_is_cut_off():
    """Reports would open the way for more; this client lies, and takes nothing off its window."""
    async with serving_grpc(
        stream__max_ahead_s=5, limits__close_timeout_s=0.3, limits__idle_timeout_s=1.0, limits__ping_s=0.3
    ) as server:
        options = [("grpc.http2.lookahead_bytes", 65_535), ("grpc.http2.bdp_probe", 0)]
        async with grpc.aio.insecure_channel(server.grpc_target, options) as channel:
            call = services.SpeechStub(channel).Speak()
            start = {
                "stream_id": "0f0f0f0f-0000-4000-8000-000000000002",
                "text": "x " * 2_000,
                "rung": "pcm22",
            }
            for message in ({"hello": {}}, {"stream_start": start}):
                await call.write(pb.ClientMessage(**message))
            await eventually(lambda: server._admission.streams == 1)
            (session,) = server.door.sessions
            for _ in range(40):
                lie = {"stream": 1, "received": 10**9, "played": 0, "buffer_ms": 0}
                await call.write(pb.ClientMessage(bit_rate_hint=lie))
                await asyncio.sleep(0)
            await eventually(lambda: server.pool.stats.busy == 0)
            assert session._sent_bytes < 400_000, "what HTTP/2 takes, though it says that all has arrived"
            assert sum(len(entry.data) for entry in session._outbox._waiting) <= 9_000
            await eventually(lambda: not server.door.sessions)
            await eventually(lambda: server._admission.streams == 0)
            call.cancel()
            await eventually(lambda: server._admission.connections == 0)


async def test_calls_that_come_and_go_leave_no_task_behind():
    async def visit() -> None:
        async with calling(server.grpc_target) as call:
            await call.start("come and go", rung="pcm22")

    async with serving_grpc() as server:
        await visit()
        await eventually(lambda: server._admission.connections == 0)
        before = len(asyncio.all_tasks())
        for _ in range(6):
            async with asyncio.TaskGroup() as group:
                for _ in range(5):
                    group.create_task(visit())
        await eventually(lambda: server._admission.connections == 0)
        await eventually(lambda: len(asyncio.all_tasks()) <= before)
        await eventually(lambda: (server._admission.streams, server.pool.stats.busy) == (0, 0))


async def test_many_calls_share_one_channel():
    async with serving_grpc() as server, grpc.aio.insecure_channel(server.grpc_target) as channel:
        stub = services.SpeechStub(channel)
        calls = [stub.Speak() for _ in range(5)]
        for call in calls:
            await call.write(pb.ClientMessage(hello={}))
        sessions = {(await call.read()).welcome.session for call in calls}
        assert len(sessions) == 5 == server._admission.connections
