"""Whom the door refuses and in what words: OpenAI's, so that its clients understand them and try again."""

import asyncio
import json
from dataclasses import replace

import pytest

from abr_tts import errors
from abr_tts.server.doors.faults import STATUS, retry_after, status_of
from abr_tts.server.openai import door
from abr_tts.server.openai import request as requests
from abr_tts.server.openai.faults import fault_of
from abr_tts.server.openai.models import MOST_CHARS

from .doors.world import SAYING, counted
from .harness import WAIT_S, eventually, peer
from .openai_world import SPEECH, asking, said, wish

KEY = "a-key-of-thirty-two-characters-or-so"
LETTERS = "a" * 4_096


async def refused(http, status: int, body, **headers) -> dict:
    """The error with which a request is answered."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    async with http.post(SPEECH, data=data, headers=headers) as answer:
        assert answer.status == status, await answer.text()
        assert answer.content_type == "application/json"
        assert answer.headers["x-request-id"].startswith("req_")
        told = await answer.json()
    assert set(told) == {"error"} and set(told["error"]) == {"message", "type", "param", "code"}
    return told["error"] | {"headers": dict(answer.headers)}


@pytest.mark.parametrize(
    ("change", "param", "code"),
    [
        ({"model": None}, "model", "invalid_value"),
        ({"model": ""}, "model", "invalid_value"),
        ({"input": ""}, "input", "invalid_value"),
        ({"input": "  \n"}, "input", "empty_text"),
        ({"input": LETTERS + "a"}, "input", "string_above_max_length"),
        ({"input": 7}, "input", "invalid_value"),
        ({"voice": "nobody"}, "voice", "voice_not_found"),
        ({"voice": {"id": ""}}, "voice", "invalid_value"),
        ({"voice": None}, "voice", "invalid_value"),
        ({"instructions": LETTERS + "a"}, "instructions", "string_above_max_length"),
        ({"response_format": "ogg"}, "response_format", "invalid_value"),
        ({"speed": 0.24}, "speed", "invalid_value"),
        ({"speed": 4.01}, "speed", "invalid_value"),
        ({"stream_format": "mp3"}, "stream_format", "invalid_value"),
        ({"sample_rate": 7_999}, "sample_rate", "invalid_value"),
        ({"sample_rate": 48_001}, "sample_rate", "invalid_value"),
        ({"sample_rate": 24_000.5}, "sample_rate", "invalid_value"),
        ({"sample_rate": 24_000, "response_format": "opus"}, "sample_rate", "invalid_value"),
        ({"sample_rate": 23_999, "response_format": "mp3"}, "sample_rate", "invalid_value"),
        ({"stream": False, "stream_format": "sse"}, "stream", "invalid_value"),
        ({"stream": "no"}, "stream", "invalid_value"),
    ],
)
async def test_a_field_that_is_wrong_is_named(change, param, code):
    pytest.importorskip("av")
    async with asking() as (server, http):
        told = await refused(http, 400, wish() | change)
        assert (told["param"], told["code"], told["type"]) == (param, code, "invalid_request_error")
        assert server._admission.streams == 0


@pytest.mark.parametrize("missing", ["model", "input", "voice"])
async def test_a_field_that_is_missing_is_named(missing):
    async with asking() as (_, http):
        told = await refused(http, 400, {key: value for key, value in wish().items() if key != missing})
        assert told["param"] == missing


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"[]", b'"text"', b"\xff\xfe", b'{"model": "\xff"}', b"[" * 10_000,
        b'{"model": ' + b"[" * 10_000 + b"]" * 10_000 + b"}",
    ],
)  # fmt: skip
async def test_what_is_no_json_object_is_refused(body):
    async with asking() as (_, http):
        assert (await refused(http, 400, body))["type"] == "invalid_request_error"


async def test_a_body_that_is_not_compressed_as_it_says_is_refused():
    async with asking() as (server, http):
        told = await refused(http, 400, wish(), **{"Content-Encoding": "gzip"})
        assert told["type"] == "invalid_request_error" and "gzip" in told["message"]
        await eventually(lambda: server._admission.connections == 0)


async def test_the_longest_text_and_the_bounds_of_every_number_are_taken():
    assert len(LETTERS) == MOST_CHARS
    async with asking() as (_, http):
        for change in ({"speed": 0.25}, {"speed": 4}, {"sample_rate": 8_000}, {"sample_rate": 48_000}):
            assert await said(http, "Hi.", **change)
        answer = await http.post(SPEECH, json=wish(LETTERS, instructions=LETTERS))
        assert answer.status == 200
        answer.close()


async def test_a_speed_that_the_engine_does_not_have_is_refused_with_its_range(monkeypatch):
    async with asking() as (server, http):
        monkeypatch.setattr(server.pool, "abilities", replace(server.pool.abilities, speed=(0.5, 2.0)))
        told = await refused(http, 400, wish(speed=2.5))
    assert told["param"] == "speed" and "from 0.5 to 2" in told["message"]


async def test_a_format_that_needs_pyav_names_the_extra(monkeypatch):
    monkeypatch.setattr(requests, "available", lambda: False)
    async with asking() as (_, http):
        for name in ("mp3", "aac", "flac", None):
            told = await refused(http, 400, wish(response_format=name))
            assert told["param"] == "response_format" and "pip install '.[formats]'" in told["message"]
        for name in ("pcm", "wav", "opus"):
            assert await said(http, "Hi.", response_format=name)


async def test_an_answer_in_one_piece_has_a_longest_length(monkeypatch):
    async with asking(engine__options={"rate": 24_000}) as (server, http):
        size = len(await said(http, "Hello."))
        monkeypatch.setattr(door, "MOST_WHOLE_BYTES", size)
        assert len(await said(http, "Hello.", stream=False)) == size
        monkeypatch.setattr(door, "MOST_WHOLE_BYTES", size - 1)
        assert (await refused(http, 400, wish("Hello.", stream=False)))["param"] == "stream"
        await eventually(lambda: server._admission.streams == 0)


async def test_a_request_that_is_refused_is_no_lost_connection():
    async with asking() as (server, http):
        await refused(http, 400, wish(voice="nobody"))
        await eventually(lambda: counted(server, 'abr_tts_connections_closed_total{code="1000"}') == 1)
        assert counted(server, 'abr_tts_connections_closed_total{code="1006"}') == 0


async def test_a_body_that_is_too_large_is_413():
    async with asking() as (_, http):
        assert (await refused(http, 413, b" " * 2_000_000))["code"] == "message_too_big"


async def test_a_body_that_does_not_come_is_408():
    async with asking(limits__hello_timeout_s=0.2, limits__close_timeout_s=0.2) as (server, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(f"POST {SPEECH} HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{{".encode())
        async with asyncio.timeout(WAIT_S):
            assert (await reader.readline()).split()[1] == b"408"
        writer.close()
        await eventually(lambda: server._admission.connections == 0)


@pytest.mark.parametrize("path", ["/v1/readyz", "/v1/audio/nothing", "/v1/models/none"])
async def test_what_there_is_not_is_404(path):
    async with asking() as (_, http), http.get(path) as answer:
        assert answer.status == 404
        if path != "/v1/readyz":
            assert (await answer.json())["error"]["type"] == "invalid_request_error"


async def test_a_method_that_a_path_lacks_is_405_and_the_right_one_is_named():
    async with asking() as (_, http), http.get(SPEECH) as answer:
        assert (answer.status, answer.headers["Allow"]) == (405, "POST")
        assert "error" in await answer.json()


async def test_a_door_that_is_shut_is_not_there():
    async with asking(openai__enabled=False) as (_, http):
        for path in (SPEECH, "/v1/models", "/v1/audio/voices", "/openapi.json"):
            async with http.post(path) as answer:
                assert answer.status == 404


# Keys, pages and limits, as everywhere


async def test_a_key_opens_it_and_nothing_else_does():
    async with asking(auth__keys=(f"anna:{KEY}",)) as (_, http):
        assert (await refused(http, 401, wish()))["code"] == "invalid_api_key"
        assert (await refused(http, 401, wish(), Authorization="Bearer wrong"))[
            "type"
        ] == "invalid_request_error"
        for path in ("/v1/models", "/v1/audio/voices"):
            async with http.get(path) as answer:
                assert answer.status == 401
        async with http.post(SPEECH, json=wish("Hi."), headers={"Authorization": f"Bearer {KEY}"}) as answer:
            assert answer.status == 200


async def test_a_page_of_an_allowed_origin_may_read_the_answer_and_no_other():
    page = "https://example.org"
    async with asking(auth__origins=(page,)) as (_, http):
        async with http.options(
            SPEECH, headers={"Origin": page, "Access-Control-Request-Headers": "authorization"}
        ) as answer:
            assert answer.status == 204
            assert answer.headers["Access-Control-Allow-Headers"] == "authorization"
        async with http.post(SPEECH, json=wish("Hi."), headers={"Origin": page}) as answer:
            assert answer.headers["Access-Control-Allow-Origin"] == page
        told = await refused(http, 403, wish(), Origin="https://elsewhere.org")
        assert "auth.origins" in told["message"] and "Access-Control-Allow-Origin" not in told["headers"]


async def test_a_key_that_asks_too_often_is_told_when_to_come_again():
    settings = {"auth__keys": (KEY,), "limits__request_burst": 1, "limits__requests_per_s": 0.5}
    async with asking(**settings) as (server, http):
        bearer = {"Authorization": f"Bearer {KEY}"}
        async with http.post(SPEECH, json=wish("Hi."), headers=bearer) as answer:
            assert answer.status == 200
            await answer.read()
        told = await refused(http, 429, wish("Hi."), **bearer)
        assert (told["type"], told["code"]) == ("rate_limit_error", "rate_limit_exceeded")
        assert told["headers"]["Retry-After"] in ("1", "2")
        assert counted(server, 'abr_tts_limits_hit_total{limit="requests_per_s"}') == 1


async def test_more_connections_than_a_key_may_have_are_429_and_than_the_server_has_503():
    settings = {"auth__keys": (KEY,), "limits__connections_per_key": 1, "limits__connections": 2}
    async with asking(engine__options={"rate": 24_000, "rtf": 1.0}, **settings) as (server, http):
        bearer = {"Authorization": f"Bearer {KEY}"}
        speaking = await http.post(SPEECH, json=wish(SAYING), headers=bearer)
        assert (await refused(http, 429, wish(), **bearer))["code"] == "overloaded"
        speaking.close()
        await eventually(lambda: server._admission.connections == 0)


async def test_a_crowd_is_503_with_a_time_to_come_again():
    async with asking(limits__streams=1, engine__options={"rate": 24_000, "rtf": 1.0}) as (_, http):
        speaking = await http.post(SPEECH, json=wish(SAYING))
        told = await refused(http, 503, wish())
        assert (told["type"], told["code"]) == ("server_error", "busy")
        assert told["headers"]["Retry-After"] == "1"
        speaking.close()


async def test_a_draining_server_finishes_what_it_speaks_and_takes_nothing_new():
    async with asking(engine__options={"rate": 24_000, "rtf": 0.3}) as (server, http):
        speaking = await http.post(SPEECH, json=wish("Some words to the end."))
        drained = asyncio.ensure_future(server.drain())
        await eventually(lambda: server._draining)
        assert (await refused(http, 503, wish()))["code"] == "shutting_down"
        assert len(await speaking.read()) == 2 * round(22 * 0.06 * 24_000)
        async with asyncio.timeout(WAIT_S):
            await drained


async def test_clients_of_this_door_are_seen_where_all_are():
    async with asking(engine__options={"rate": 24_000, "rtf": 1.0}) as (server, http):
        speaking = await http.post(SPEECH, json=wish(SAYING))
        assert counted(server, "abr_tts_connections") == 1
        assert counted(server, 'abr_tts_streams{state="speaking"}') == 1
        (told,) = server.door.told()
        assert (told["voice"], told["bank"]) == ("tone", "pcm24")
        speaking.close()
        await eventually(lambda: counted(server, 'abr_tts_connections_closed_total{code="1006"}') == 1)


async def test_the_native_door_is_as_before():
    async with asking() as (server, http):
        await said(http)
        async with peer(server.url) as client:
            assert (await client.start(SAYING)).voice == "tone"


# The table


def test_every_error_that_a_client_can_be_told_has_a_status_and_a_word_when_to_come_again():
    kinds = [
        kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.AbrError)
    ]
    assert set(STATUS) <= {kind.code for kind in kinds}
    for kind in kinds:
        error = kind("words", retry_after=1.2)
        assert 400 <= status_of(error) <= 504
        assert (retry_after(error) == "2") == (status_of(error) in (429, 503))
        assert fault_of(error).message == "words"
