"""At the most talkative setting a program logs neither keys nor tickets nor texts."""

import asyncio
import signal
import time

import aiohttp
import jwt
import msgpack

from abr_tts.wire import messages as m

from .harness import peer
from .test_refresh import status
from .test_reload import running

KEY, NEW_KEY, ADMIN = "k3y-of-anna-aaaa", "n3w-of-anna-bbbb", "adm1n-cccc"
JWT_SECRET = "s3cret-that-signs-tokens-dddddddddd"
SPOKEN = ("zebras whisper", "quagga hums", "okapi sings")


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


async def ticket(server) -> str:
    async with (
        aiohttp.ClientSession() as http,
        http.post(server.http_url + "/v1/tickets", headers=bearer(KEY)) as answer,
    ):
        return (await answer.json())["ticket"]


async def misbehave(server, made: str) -> None:
    """What makes a server log: refusals, bad messages, faults of engines, vanishing."""
    assert await status(server.url, "wrong-key-eeee") == 401
    assert await status(f"{server.url}?ticket={made}", KEY) == 401  # it was used
    async with peer(server.url, headers=bearer(KEY)) as client:
        await client.refused(SPOKEN[1], voice="nobody's")
        await client.start(SPOKEN[1], voice="tone-raise")
        await client.first(m.Error, scope="stream", code="engine_failed")
        await client.socket.send_bytes(
            msgpack.packb({"type": "text", "stream": 1, "text": SPOKEN[2], "x": 1})
        )
        await client.socket.send_bytes(SPOKEN[2].encode())
        await client.closed()
    reader, writer = await asyncio.open_connection("127.0.0.1", int(server.url.split(":")[2].split("/")[0]))
    writer.write(f"GET /v1/stream?ticket={made} HTTP/9\r\nAuthorization: Bearer {KEY}\r\n\r\n".encode())
    await reader.read()
    writer.close()


async def test_a_server_that_logs_everything_logs_nothing_secret_or_spoken(tmp_path):
    files = {name: tmp_path / name for name in ("keys", "admin", "jwt")}
    for name, text in (("keys", f"anna:{KEY}\n"), ("admin", f"{ADMIN}\n"), ("jwt", JWT_SECRET)):
        files[name].write_text(text)
    settings = {
        "log.level": "debug", "auth.keys_file": files["keys"], "admin.keys_file": files["admin"],
        "auth.jwt_file": files["jwt"], "rollout.check_s": 0,
    }  # fmt: skip
    flags = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
    token = jwt.encode({"sub": "bert", "exp": time.time() + 60}, JWT_SECRET, "HS256")
    async with running(*flags) as server:
        made = await ticket(server)
        for url, headers in (
            (server.url, bearer(KEY)), (f"{server.url}?ticket={made}", None), (server.url, bearer(token)),
        ):  # fmt: skip
            async with peer(url, headers=headers) as client:
                await client.start(SPOKEN[0], rung="pcm22")
                await client.first(m.StreamEnd)
        await misbehave(server, made)
        for text in (f"anna:{NEW_KEY}\n", f"anna:{KEY}\n{ADMIN}\n", "two words\n"):
            files["keys"].write_text(text)
            server.process.send_signal(signal.SIGHUP)
            await server.read("auth.keys_file")
        server.process.terminate()
        written = "".join(server.log) + (await server.process.stderr.read()).decode()
    assert "DEBUG" in written and "opens from" in written and "wrong" not in written
    for secret in (KEY, NEW_KEY, ADMIN, JWT_SECRET, token, token.rsplit(".")[-1], made, "two words", *SPOKEN):
        assert secret not in written, secret
