"""The codec and the connection obey every vector of protocol/vectors, and the schema agrees with them."""

import json
from pathlib import Path

import msgpack
import pytest
from jsonschema import Draft202012Validator

from abr_tts import errors
from abr_tts.wire import codec

from .wire.meaning import bytes_of, meaning_of, record_of, spelled
from .wire.sequences import Player

FOLDER = Path(__file__).parents[1] / "protocol" / "vectors"
WIRE = json.loads((FOLDER / "wire.json").read_text(encoding="utf-8"))["vectors"]
CONNECTION = json.loads((FOLDER / "connection.json").read_text(encoding="utf-8"))["vectors"]
SCHEMA = json.loads((FOLDER.parent / "schema.json").read_text(encoding="utf-8"))


def each(vectors):
    return pytest.mark.parametrize("vector", vectors, ids=lambda vector: vector["name"])


@pytest.mark.parametrize("vectors", [WIRE, CONNECTION], ids=["wire", "connection"])
def test_no_two_vectors_have_one_name(vectors):
    names = [vector["name"] for vector in vectors]
    assert len(names) == len(set(names))


@each([vector for vector in WIRE if "message" in vector])
def test_bytes_mean_this_message(vector):
    assert meaning_of(codec.decode(bytes_of(vector), vector["side"])) == spelled(vector["message"])


@each([vector for vector in WIRE if "message" in vector and vector.get("canonical", True)])
def test_this_message_has_these_bytes(vector):
    assert codec.encode(record_of(vector["message"])).hex() == bytes_of(vector).hex()


@each([vector for vector in WIRE if "error" in vector])
def test_these_bytes_are_this_error(vector):
    with pytest.raises(errors.AbrError) as caught:
        codec.decode(bytes_of(vector), vector["side"])
    assert caught.value.code == vector["error"]
    assert caught.value.detail.get("field") == vector.get("field")


def plain(value):
    """A decoded value as the schema describes it: binary as hex, a nil field of the message absent."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value


@each([vector for vector in WIRE if vector.get("error") != "bad_message" and vector.get("schema", True)])
def test_the_schema_says_the_same(vector):
    value = plain(msgpack.unpackb(bytes_of(vector), unicode_errors="surrogatepass"))
    if isinstance(value, dict):
        value = {key: item for key, item in value.items() if item is not None}
    schema = {"$ref": f"#/$defs/{vector['side']}_message", "$defs": SCHEMA["$defs"]}
    valid = Draft202012Validator(schema).is_valid(value)
    assert valid == ("message" in vector)


@each(CONNECTION)
def test_a_connection_does_this(vector):
    player = Player(vector)
    player.play(vector["steps"])
    assert player.connection.closed == any("closed" in step for step in vector["steps"])
