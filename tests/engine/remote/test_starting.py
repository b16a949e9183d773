"""How a remote engine starts: its voices, a server that is not there, and options that cannot be."""

import asyncio

import pytest

from abr_tts.engine.build import pool_for
from abr_tts.engine.spec import EngineSpec, Limits
from abr_tts.errors import ConfigError, EngineError

from .asked import IMPATIENT, served
from .fakes import HANG, asking


@pytest.mark.parametrize(
    "listing", [["af", "bm"], [{"id": "af"}, {"name": "bm"}], {"voices": [{"voice_id": "af"}, "bm", 7, {}]}]
)
def test_voices_are_listed_in_any_of_the_forms_that_servers_use(listing):
    async def test(pool, script):
        assert [voice.name for voice in pool.voices] == ["af", "bm"]

    served(test, HANG, http={"listing": listing})


def test_named_voices_are_offered_without_asking():
    async def test(pool, script):
        assert [(voice.name, voice.languages) for voice in pool.voices] == [
            ("nova", ("en", "fr")),
            ("anna", ("de",)),
        ]
        assert pool.choose(None, "de-AT", "x").name == "anna"

    voices = ["nova", {"name": "anna", "languages": ["de"]}]
    served(test, HANG, voices=voices, languages=["en", "fr"])


def test_a_server_that_lists_no_voices_must_have_them_named():
    async def test(pool, script):
        raise AssertionError("it must not start")

    with pytest.raises(EngineError, match="name them in engine"):
        served(test, HANG, http={"listing": {}})


def test_a_server_that_is_not_there_is_told_in_a_sentence_without_its_address(unused_port):
    async def main():
        with pytest.raises(EngineError) as refused:
            async with asking(f"http://127.0.0.1:{unused_port}", limits=IMPATIENT):
                pass
        assert "no openai server can be used" in str(refused.value)
        assert "cannot be reached: connection refused" in str(refused.value)

    asyncio.run(main())


def test_lists_may_be_written_with_commas_as_flags_do():
    table = {"url": "http://a:1, https://b/v1/", "voices": "nova,anna", "languages": "de,EN-gb"}
    options = pool_for(EngineSpec("openai", table), 3, Limits())._options
    assert options.urls == ("http://a:1", "https://b/v1") and options.parallel == 3
    assert [(v.name, v.languages) for v in options.voices] == [(n, ("de", "en-gb")) for n in ("nova", "anna")]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "url is missing"),
        ({"url": "ftp://x"}, "http or https"),
        ({"url": "http://me:secret@x"}, "no password"),
        ({"url": ["http://x", "http://x/"]}, "twice"),
        ({"url": "http://x", "paralel": 2}, "do you mean parallel"),
        ({"url": "http://x", "parallel": 0}, "a whole number from 1 to 1000, not 0"),
        ({"url": "http://x", "parallel": True}, "a whole number"),
        ({"url": "http://x", "sample_rate": 48_001}, "from 8000 to 48000"),
        ({"url": "http://x", "backoff_s": [2, 1]}, "the second is not the smaller"),
        ({"url": "http://x", "voices": [3]}, "names, or tables"),
        ({"url": "http://x", "api_key_file": "/no/such"}, "cannot be read"),
        ({"url": "http://x", "api_key_env": "NO_SUCH_KEY"}, "NO_SUCH_KEY holds no key"),
        ({"url": "http://x", "ca_file": "/no/such"}, "there is no file"),
        ({"url": "http://x", "extra": {"input": "?"}}, "must not set 'input'"),
    ],
)
def test_an_option_that_cannot_be_is_refused_by_name(options, words):
    with pytest.raises(ConfigError, match=words):
        pool_for(EngineSpec("openai", options), 1, Limits())
