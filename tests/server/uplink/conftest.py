"""A server that takes clips, for all tests of them, and the folder of its voices."""

import uuid

import pytest

from abr_tts.engine.references import References

from ..clips import OPTIONS
from ..harness import serving_in_a_thread


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("voices")


@pytest.fixture(scope="module")
def server(folder):
    settings = {"engine__options": OPTIONS, "engine__voices_dir": str(folder), "engine__workers": 2}
    with serving_in_a_thread(limits__streams_per_connection=32, limits__uplinks=3, **settings) as made:
        yield made


@pytest.fixture
def url(server):
    return server.url


@pytest.fixture
def voices(folder):
    return References(folder)


@pytest.fixture
def name():
    return f"v-{uuid.uuid4().hex[:12]}"
