"""Bodies that are not what their request says: told in JSON, and no fault of the server's."""

import asyncio
import logging

import aiohttp
import pytest

from .harness import WAIT_S, eventually, serving
from .openai_world import SPEECH

KEY, ADMIN = "a-client-key", "an-admin-key"
SETTINGS = {"auth__keys": (KEY,), "admin__keys": (ADMIN,), "openai__enabled": True}
DECODED = "the body cannot be read: Can not decode content-encoding: "


async def posted(server, path: str, **headers: str) -> tuple[int, str, bytes]:
    """Status, type and body of the answer to five bytes."""
    bearer = {"Authorization": f"Bearer {ADMIN if path.startswith('/admin') else KEY}"}
    async with (
        asyncio.timeout(WAIT_S),
        aiohttp.ClientSession(server.http_url) as http,
        http.post(path, data=b"hello", headers=bearer | headers) as answer,
    ):
        return answer.status, answer.content_type, await answer.read()


async def quiet(caplog) -> None:
    """The log tells of a body that is none in a line for those who look for it, and in no other way."""
    await eventually(lambda: any("no HTTP: ContentEncodingError (400)" in line for line in caplog.messages))
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []
    assert [record.getMessage() for record in caplog.records if record.exc_info] == []


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
@pytest.mark.parametrize("path", ["/v1/tickets", "/admin/policy/rollback"])
async def test_a_body_that_is_not_compressed_as_it_says_is_refused_in_words_and_no_error_is_logged(
    path, encoding, caplog
):
    caplog.set_level(logging.DEBUG, "abr_tts")
    async with serving(**SETTINGS) as server:
        status, kind, told = await posted(server, path, **{"Content-Encoding": encoding})
        assert (status, kind) == (400, "application/json")
        assert told.decode() == f'{{"error": "{DECODED}{encoding}"}}'
        await quiet(caplog)


async def test_nor_is_one_of_the_openai_door(caplog):
    caplog.set_level(logging.DEBUG, "abr_tts")
    async with serving(**SETTINGS) as server:
        status, kind, told = await posted(server, SPEECH, **{"Content-Encoding": "gzip"})
        assert (status, kind) == (400, "application/json")
        assert f'"message":"{DECODED}gzip"' in told.decode()
        await quiet(caplog)


@pytest.mark.parametrize(("path", "status"), [("/healthz", 405), ("/nothing-here", 404)])
async def test_nor_is_one_that_nobody_reads(path, status, caplog):
    caplog.set_level(logging.DEBUG, "abr_tts")
    async with serving(**SETTINGS) as server:
        assert (await posted(server, path, **{"Content-Encoding": "gzip"}))[0] == status
        await quiet(caplog)


async def test_a_body_that_does_not_come_is_refused_in_json_as_well():
    async with serving(**SETTINGS, limits__hello_timeout_s=0.2) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        head = f"POST /v1/tickets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\n"
        writer.write(f"{head}Content-Length: 9\r\n\r\n{{".encode())
        async with asyncio.timeout(WAIT_S):
            answer = (await reader.read(-1)).decode()
        assert answer.startswith("HTTP/1.1 408") and "application/json" in answer
        assert answer.endswith('{"error": "the body was not here within 0.2 s"}')
        writer.close()
