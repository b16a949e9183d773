"""The schema and the codec draw every bound at the same place."""

import json
import re
from pathlib import Path

import msgpack
import pytest
from jsonschema import Draft202012Validator

from abr_tts.errors import BadField
from abr_tts.wire import codec
from abr_tts.wire.forms import BY_NAME
from abr_tts.wire.limits import DEFAULT

from .meaning import bytes_of

FOLDER = Path(__file__).parents[2] / "protocol"
SCHEMA = json.loads((FOLDER / "schema.json").read_text(encoding="utf-8"))
DEFS = SCHEMA["$defs"]
SPEC = (FOLDER / "SPEC.md").read_text(encoding="utf-8")
VECTORS = json.loads((FOLDER / "vectors" / "wire.json").read_text(encoding="utf-8"))["vectors"]
U = "6f1c2b1e-9a4d-4c3b-8e57-0d2f3a4b5c6d"
ODD = [
    None,
    True,
    False,
    -1,
    0,
    1,
    2,
    3,
    255,
    256,
    0.5,
    -0.5,
    "",
    "a",
    "stream",
    "\ud83d",
    U,
    U[:-1],
    [],
    {},
    [1],
    ["a"],
]
COMPACT = ("audio", "uplink_audio", "bit_rate_hint")


def resolved(schema):
    """A schema with what its $ref says beside its own words."""
    return {**resolved(DEFS[schema["$ref"].rpartition("/")[2]]), **schema} if "$ref" in schema else schema


def edges(schema):
    """Values at and just beyond every bound that a schema names, within it first."""
    rules = resolved(schema)
    found = list(ODD)
    for bound in [rules.get("minimum"), rules.get("maximum")]:
        if bound is not None:
            found += [bound - 1, bound, bound + 1, bound - 0.25, bound + 0.25]
    found += (
        [rules["multipleOf"] * n + rest for n in (1, 2) for rest in (0, 1)] if "multipleOf" in rules else []
    )
    for bound in [rules.get("minLength"), rules.get("maxLength")]:
        if bound is not None:
            found += ["é" * max(0, bound + more) for more in (-1, 0, 1)]
    for bound in [rules.get("minItems"), rules.get("maxItems")]:
        if bound is not None and "items" in rules:
            found += [edge_items(rules["items"]) * max(0, bound + more) for more in (-1, 0, 1)]
    for inner in rules.get("anyOf", []):
        found += edges(inner)
    if "items" in rules:
        found += [[value] for value in edges(rules["items"])]
        found += [[pair] for pair in ([0], [0, 0], [0, 0, 0], [-1, 0], [65_536, 0], [0, -2_881], [0, 2**32])]
    return [value for value in found if not (isinstance(value, float) and value.is_integer())]


def edge_items(schema):
    return [{"integer": 1, "string": "a", "array": [0, 0]}[resolved(schema)["type"]]]


def accepted(value, side):
    try:
        message = codec.decode(msgpack.packb(value, unicode_errors="surrogatepass"), side)
    except BadField:
        return False
    return not getattr(message, "clamped", 0)


def allowed(value, name):
    if isinstance(value, dict):
        value = {key: item for key, item in value.items() if item is not None}
    else:
        value = [item.hex() if isinstance(item, bytes) else item for item in value]
    return Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": DEFS}).is_valid(value)


def whole(name):
    """The vector of a message that says the most, decoded, and the side that sends it."""
    found = [v for v in VECTORS if v.get("message", {}).get("type") == name and v.get("canonical", True)]
    vector = max((v for v in found if len(bytes_of(v)) < 4_000), key=lambda v: len(bytes_of(v)))
    return msgpack.unpackb(bytes_of(vector), unicode_errors="surrogatepass"), vector["side"]


def test_the_schema_is_one():
    Draft202012Validator.check_schema(SCHEMA)


def test_the_schema_names_every_message_on_its_side():
    for side in ("client", "server"):
        listed = {entry["$ref"].rpartition("/")[2] for entry in DEFS[f"{side}_message"]["oneOf"]}
        compact = {"audio"} if side == "server" else {"uplink_audio", "bit_rate_hint"}
        assert listed == {name for name, form in BY_NAME.items() if side in form.sides} | compact


@pytest.mark.parametrize("name", BY_NAME)
def test_the_schema_names_every_field_its_default_and_whether_it_must_be_there(name):
    fields = {field.name: field for field in BY_NAME[name].fields}
    properties = {key: item for key, item in DEFS[name]["properties"].items() if key != "type"}
    assert list(properties) == list(fields)
    assert DEFS[name]["required"] == ["type", *[key for key, field in fields.items() if field.required]]
    for key, field in fields.items():
        default = list(field.default) if isinstance(field.default, tuple) else field.default
        assert field.required or properties[key].get("default") == default


@pytest.mark.parametrize("name", BY_NAME)
def test_a_control_message_is_refused_where_the_schema_refuses_it(name):
    base, side = whole(name)
    properties = DEFS[name]["properties"]
    validator_says = []
    for field in properties:
        if field == "type":
            continue
        for value in edges(properties[field]):
            changed = {**base, field: value}
            verdict = allowed(changed, name)
            assert accepted(changed, side) == verdict, (field, value)
            validator_says.append(verdict)
    assert set(validator_says) == {True, False}


@pytest.mark.parametrize("name", COMPACT)
def test_a_compact_message_is_refused_or_clamped_where_the_schema_refuses_it(name):
    base, side = whole(name)
    items = DEFS[name]["prefixItems"]
    for index in range(1, len(items)):
        for value in edges(items[index]):
            cut = name == "bit_rate_hint" and index > 1 and resolved(items[index]).get("type") == "integer"
            if cut and isinstance(value, float):
                continue  # a fraction of a count is cut off, and is no fault
            changed = [*base[:index], value, *base[index + 1 :]]
            assert accepted(changed, side) == allowed(changed, name), (index, value)


def test_a_hint_lists_its_elements_in_the_order_of_the_specification():
    titles = [item.get("title") for item in DEFS["bit_rate_hint"]["prefixItems"][2:]]
    table = SPEC.partition("### bit_rate_hint")[2].partition("\n### ")[0]
    assert titles == re.findall(r"^\| \d+ \| `(\w+)`", table, re.MULTILINE)[2:]


def test_the_specification_has_a_section_for_every_message_and_names_all_its_fields():
    sections = dict(re.findall(r"^### ([\w, ]+)\n(.*?)(?=^##)", SPEC, re.MULTILINE | re.DOTALL))
    told = {name: text for title, text in sections.items() for name in title.split(", ")}
    assert told.keys() >= {*BY_NAME, *COMPACT}
    for name, form in BY_NAME.items():
        assert [field.name for field in form.fields if f"`{field.name}`" not in told[name]] == []


def test_the_specification_names_every_limit_that_welcome_tells():
    table = SPEC.partition("## Limits")[2].partition("\n## ")[0]
    assert [name for name in DEFAULT.public() if f"`{name}`" not in table] == []
    assert f"{DEFAULT.nesting} deep, {DEFAULT.values} in a message" in table


def test_the_specification_tells_the_close_code_of_every_error_that_ends_a_connection():
    listed = json.loads((FOLDER / "errors.json").read_text(encoding="utf-8"))["errors"]
    rows = dict(re.findall(r"^\| (\d{4})[^|]*\| ([^|]*)\|", SPEC, re.MULTILINE))
    for error in listed:
        assert error["close"] is None or f"`{error['code']}`" in rows[str(error["close"])]
