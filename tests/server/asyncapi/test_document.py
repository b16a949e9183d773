"""/asyncapi.json is a document by AsyncAPI's own rules, and what it says is what the doors do."""

import importlib.util
import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import aiohttp
import msgpack
import pytest
from jsonschema import Draft7Validator, Draft202012Validator

from abr_tts.server.asyncapi.document import document
from abr_tts.server.asyncapi.schemas import converted

from ...readme import README
from ...wire.meaning import bytes_of
from ..dashscope.client import OTHER, finish, go_on, run
from ..dashscope.raw import raw
from ..harness import serving

SPEC = json.loads((Path(__file__).parent / "vendor" / "asyncapi-3.0.0.json").read_text("utf-8"))
PROTOCOL = README.parent / "protocol"
CONTRACT = json.loads((PROTOCOL / "schema.json").read_text("utf-8"))
VECTORS = json.loads((PROTOCOL / "vectors" / "wire.json").read_text("utf-8"))["vectors"]


@pytest.fixture(scope="module")
def whole() -> dict:
    return document("tts.example:443", secure=True, dashscope=True)


def validator(document: dict, name: str) -> Draft7Validator:
    """Of a message by its place in `components.messages`."""
    payload = document["components"]["messages"][name]["payload"]
    return Draft7Validator({**payload, "components": document["components"]})


def references(value) -> Iterator[str]:
    """Every $ref in it."""
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for item in value.values():
            yield from references(item)
    elif isinstance(value, list):
        for item in value:
            yield from references(item)


# By AsyncAPI's rules


@pytest.mark.parametrize("dashscope", [True, False])
def test_asyncapi_s_own_schema_takes_it(dashscope):
    faults = list(Draft7Validator(SPEC).iter_errors(document("h:1", False, dashscope)))
    assert faults == []


@pytest.mark.parametrize(
    "spoil",
    [
        lambda made: made.update(asyncapi="2.0.0"),
        lambda made: made["operations"]["stream.send"].update(action="publish"),
        lambda made: made["servers"]["here"].pop("host"),
        lambda made: made["components"]["schemas"].update(bad={"type": "number", "minimum": "low"}),
        lambda made: made.update(something=1),
    ],
)
def test_asyncapi_s_own_schema_refuses_what_is_none(whole, spoil):
    made = json.loads(json.dumps(whole))
    spoil(made)
    assert list(Draft7Validator(SPEC).iter_errors(made))


def test_every_reference_leads_somewhere(whole):
    for reference in references(whole):
        assert reference.startswith("#/")
        found = whole
        for step in reference[2:].split("/"):
            found = found[step]


def test_every_schema_is_one_and_is_used(whole):
    for schema in whole["components"]["schemas"].values():
        Draft7Validator.check_schema(schema)
    used = set(references(whole))
    unused = {name for name in whole["components"]["schemas"] if f"#/components/schemas/{name}" not in used}
    assert unused == set()


# What the doors do


def test_the_native_part_is_the_contract_s():
    tool = README.parent / "tools" / "asyncapi_wire.py"
    spec = importlib.util.spec_from_file_location("asyncapi_wire", tool)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    written = json.loads((README.parent / "abr_tts/server/asyncapi/wire.json").read_text("utf-8"))
    assert written == module.wire(), "python tools/asyncapi_wire.py prints what belongs there"


def shown(value):
    """A decoded value as the contract's schema wants it: binary as hexadecimal, nil dropped from maps."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dict):
        return {key: shown(item) for key, item in value.items() if item is not None}
    return [shown(item) for item in value] if isinstance(value, list) else value


def values() -> Iterator:
    """Side and value of every vector that holds a msgpack value at all, good or bad."""
    for vector in (one for one in VECTORS if "hex" in one):
        with suppress(ValueError, TypeError, msgpack.UnpackException):
            yield pytest.param(vector["side"], shown(msgpack.unpackb(bytes_of(vector))), id=vector["name"])


@pytest.mark.parametrize(("side", "value"), list(values()))
def test_the_document_takes_the_messages_of_the_contract_and_no_others(whole, side, value):
    names = [
        f"wire.{one['$ref'].rpartition('/')[2]}" for one in CONTRACT["$defs"][f"{side}_message"]["oneOf"]
    ]
    allowed = Draft202012Validator({"$ref": f"#/$defs/{side}_message", "$defs": CONTRACT["$defs"]})
    assert any(validator(whole, name).is_valid(value) for name in names) == allowed.is_valid(value)


async def test_what_is_said_at_the_dashscope_door_is_what_the_document_says(whole):
    async with serving() as server, raw(server) as client:
        said = [run(voice="tone", format="wav"), go_on("Hello."), go_on(flush=True), finish(),
                run(OTHER, voice="nobody")]  # fmt: skip
        await client.send(*said[:4])
        await client.event("task-finished")
        await client.send(said[4])
        await client.event("task-failed")
    for message in map(json.loads, said):
        validator(whole, f"dashscope.{message['header']['action']}").validate(message)
    events = [one for one in client.heard if isinstance(one, dict)]
    for event in events:
        validator(whole, f"dashscope.{event['header']['event']}").validate(event)
    assert {event["header"]["event"] for event in events} == {
        "task-started", "result-generated", "task-finished", "task-failed",
    }  # fmt: skip


@pytest.mark.parametrize("wrong", [{"volume": 101}, {"format": "aac"}, {"rate": 0.4}, {"voice": ""}])
def test_what_the_door_refuses_the_document_refuses(whole, wrong):
    assert not validator(whole, "dashscope.run-task").is_valid(json.loads(run(**wrong)))


async def test_it_is_served_to_anybody_and_names_the_server_as_the_client_does():
    async with serving(auth__keys=("secret",)) as server, aiohttp.ClientSession() as http:
        answer = await http.get(server.http_url + "/asyncapi.json")
        assert answer.content_type == "application/json"
        assert await answer.json() == document(f"127.0.0.1:{server.port}", False, True)
    async with serving(dashscope__enabled=False) as server, aiohttp.ClientSession() as http:
        answer = await http.get(server.http_url + "/asyncapi.json")
        assert list((await answer.json())["channels"]) == ["stream"]


# The conversion


@pytest.mark.parametrize(
    ("schema", "wanted"),
    [
        ({"$ref": "#/$defs/a"}, {"$ref": "#/components/schemas/f.a"}),
        (
            {"$ref": "#/$defs/a", "default": 1},
            {"default": 1, "allOf": [{"$ref": "#/components/schemas/f.a"}]},
        ),
        (
            {"prefixItems": [{"const": 1}], "items": {"type": "string"}},
            {"items": [{"const": 1}], "additionalItems": {"type": "string"}},
        ),
        ({"prefixItems": [True]}, {"items": [True]}),
        ({"$schema": "x", "$id": "y", "$defs": {}, "type": "null"}, {"type": "null"}),
    ],
)
def test_what_draft_07_says_otherwise_is_said_so(schema, wanted):
    assert converted(schema, "f") == wanted
