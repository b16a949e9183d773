"""The tree of errors, and protocol/errors.json, which says the same to other languages."""

import inspect
import json
from pathlib import Path

import pytest

from abr_tts import errors
from abr_tts.errors import AbrError, ConnectionFault, LocalError, Notice, StreamError

PATH = Path(__file__).parents[1] / "protocol" / "errors.json"
LISTED = json.loads(PATH.read_text(encoding="utf-8"))["errors"]


def family(root):
    """`root` and all classes beneath it."""
    return [root] + [found for child in root.__subclasses__() for found in family(child)]


TOLD = [error for error in family(AbrError) if "code" in vars(error) and error is not AbrError]


def described(error):
    """A class as errors.json writes it."""
    return {
        "code": error.code,
        "scope": error.scope,
        "close": error.close if error.scope == "connection" else None,
        "meaning": " ".join(inspect.getdoc(error).split()),
    }


def test_errors_json_lists_every_error_that_the_wire_can_tell():
    assert sorted(LISTED, key=str) == sorted(map(described, TOLD), key=str)


def test_a_code_names_one_error():
    codes = [error.code for error in TOLD]
    assert len(codes) == len(set(codes))


def test_every_error_says_what_it_ends():
    scopes = {ConnectionFault: "connection", StreamError: "stream", Notice: "nothing"}
    for root, scope in scopes.items():
        assert {error.scope for error in family(root)} == {scope}


@pytest.mark.parametrize("error", family(ConnectionFault), ids=lambda error: error.__name__)
def test_what_ends_a_connection_has_a_close_code_of_the_protocol(error):
    assert error.close in (1008, 1009, 1011, 1012, 1013)


def test_an_error_carries_words_for_people_and_values_for_programs():
    error = errors.Busy("no worker is free", retry_after=1.5, waiting=7)
    assert (str(error), error.message) == ("no worker is free", "no worker is free")
    assert (error.retry_after, error.detail) == (1.5, {"waiting": 7})


def test_local_errors_never_reach_the_wire():
    assert not any(issubclass(error, AbrError) for error in family(LocalError))
