"""/openapi.json is OpenAPI 3.1, says what the door does, and does what it says."""

import asyncio
import json
import os
import subprocess
import sys

import pytest

from abr_tts.server.openai.document import document
from abr_tts.server.openai.models import SpeechRequest
from abr_tts.server.openai.request import read

from .harness import eventually, serving_in_a_thread
from .openai_world import SPEECH, asking, wish

WITHIN_S = 240
"""Seconds for schemathesis; it takes some 12."""

HOW = (
    *("--phases", "examples,coverage,fuzzing", "--max-examples", "15", "--seed", "1"),
    # What the schema allows and this server cannot say is refused with 400: spaces for a text, a voice that
    # there is not, a rate that the format lacks. And a server without keys asks for none.
    *("--exclude-checks", "positive_data_acceptance,ignored_auth"),
    *("--no-color", "--request-timeout", "60"),
)
UTF_8 = os.environ | {"PYTHONIOENCODING": "utf-8"}


async def test_it_is_served_without_a_key():
    keys = ("a-key-of-thirty-two-characters-or-so",)
    async with asking(auth__keys=keys) as (_, http), http.get("/openapi.json") as answer:
        assert answer.content_type == "application/json"
        assert await answer.json() == json.loads(json.dumps(document()))


def test_it_is_valid_openapi_3_1():
    validator = pytest.importorskip("openapi_spec_validator")
    validator.validate(document())


def test_every_field_of_a_request_is_described_with_its_bounds():
    described = document()["components"]["schemas"]["SpeechRequest"]
    assert set(described["properties"]) == set(SpeechRequest.__struct_fields__)
    assert described["required"] == ["model", "input", "voice"]
    assert described["properties"]["input"]["maxLength"] == 4096
    for name, (low, high) in {"speed": (0.25, 4.0), "sample_rate": (8_000, 48_000)}.items():
        (bounds,) = [one for one in described["properties"][name]["anyOf"] if "minimum" in one]
        assert (bounds["minimum"], bounds["maximum"]) == (low, high)
        for number in (low, high):
            body = {"model": "m", "input": "i", "voice": "v", name: number}
            assert getattr(read(json.dumps(body).encode()), name) == number


def test_a_real_server_does_what_it_says_of_itself(tmp_path):
    pytest.importorskip("schemathesis")
    with serving_in_a_thread(engine__options={"rate": 24_000}) as server:
        url = server.http_url
        command = [sys.executable, "-m", "schemathesis.cli", "run", f"{url}/openapi.json", "--url", url, *HOW]
        done = subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, timeout=WITHIN_S, env=UTF_8
        )
        assert done.returncode == 0, done.stdout[-8_000:] + done.stderr[-2_000:]
        assert "5 selected / 5 total" in done.stdout
        asyncio.run(eventually(lambda: server._admission.streams == 0))


OF_THE_DOOR = ("x-audio-", "x-ignored", "x-request-id", "retry-after")
"""What headers of an answer begin with that are not HTTP's own."""


async def test_the_headers_of_every_answer_are_described_and_those_that_must_be_there_are():
    keys = {"auth__keys": ("a-key",), "limits__requests_per_s": 0.01, "limits__request_burst": 2}
    key = {"Authorization": "Bearer a-key"}
    described = document()["paths"][SPEECH]["post"]["responses"]
    met = set()
    async with asking(**keys) as (server, http):

        async def ask(status: int, headers=key, **fields) -> None:
            async with http.post(SPEECH, json=wish(**fields), headers=headers) as answer:
                assert answer.status == status, await answer.text()
                told = described[str(status)]["headers"]
                sent = {name.lower() for name in answer.headers}
                assert {name.lower() for name, one in told.items() if one["required"]} <= sent
                own = {name for name in sent if name.startswith(OF_THE_DOOR)}
                assert own <= {name.lower() for name in told}
                met.update(own)

        await ask(200, instructions="in a whisper")
        await ask(400, voice="nobody")
        await ask(401, headers={})
        await ask(429)
        server._draining = True
        await ask(503)
    assert met == {"x-audio-sample-rate", "x-ignored", "x-request-id", "retry-after"}
