from pathlib import Path

import pytest

from abr_tts.errors import ConfigError
from abr_tts.server.config import (
    SECTIONS,
    LimitSettings,
    ServerSettings,
    Settings,
    TlsSettings,
    describe,
    load,
)


def write(folder: Path, text: str) -> Path:
    path = folder / "abr-tts.toml"
    path.write_text(text, encoding="utf-8")
    return path


def refusal(**sources) -> str:
    with pytest.raises(ConfigError) as caught:
        load(**sources)
    return str(caught.value)


def test_without_any_source_everything_has_its_default_and_only_this_machine_is_served():
    settings = load()
    assert settings == Settings()
    assert (settings.server.host, settings.server.port) == ("127.0.0.1", 8765)


def test_the_environment_beats_the_file_and_flags_beat_both(tmp_path):
    file = write(tmp_path, "[server]\nport = 1\nhost = '0.0.0.0'\n[limits]\nstreams = 7\n")
    environ = {"ABR_TTS_SERVER__PORT": "2", "ABR_TTS_LIMITS__PING_S": "2.5"}
    settings = load(file, environ, {"server.port": 3})
    assert (settings.server.host, settings.server.port) == ("0.0.0.0", 3)
    assert (settings.limits.streams, settings.limits.ping_s) == (7, 2.5)


def test_an_unknown_key_is_refused_with_file_and_key_and_the_nearest_name(tmp_path):
    file = write(tmp_path, "[server]\nprot = 80\n")
    assert (
        refusal(file=file) == f"{file}: server.prot: unknown setting server.prot; did you mean server.port?"
    )


def test_a_key_in_the_wrong_section_is_sent_to_the_right_one():
    assert refusal(overrides={"stream.port": 80}).endswith("did you mean server.port?")


def test_an_unknown_section_is_refused_even_when_it_is_empty(tmp_path):
    assert "unknown setting sever" in refusal(file=write(tmp_path, "[sever]\n"))


def test_an_unknown_variable_is_refused_by_its_name():
    told = refusal(environ={"ABR_TTS_LIMITS__STREEMS": "3"})
    assert told == "ABR_TTS_LIMITS__STREEMS: unknown setting limits.streems; did you mean limits.streams?"


def test_variables_without_a_section_are_not_ours():
    assert load(environ={"ABR_TTS_API_KEY": "k", "PATH": "/bin", "ABR_TTS": "x"}) == Settings()


def test_an_engine_takes_its_own_options_with_their_types(tmp_path):
    file = write(tmp_path, "[engine.options]\nrate = 24000\n")
    assert load(file).engine.options == {"rate": 24000}
    environ = {"ABR_TTS_ENGINE__OPTIONS__RATE": "16000", "ABR_TTS_ENGINE__OPTIONS__MODEL_DIR": "/models"}
    assert load(environ=environ).engine.options == {"rate": 16000, "model_dir": "/models"}
    flags = {"engine.options.rate": "8000", "engine.options.chunks": [441]}
    assert load(overrides=flags).engine.options == {"rate": 8000, "chunks": [441]}
    assert load(file, environ, flags).engine.options == {
        "rate": 8000, "chunks": [441], "model_dir": "/models",
    }  # fmt: skip
    assert "unknown setting server.prot" in refusal(overrides={"server.prot.x": "1"})


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("server.port", "eighty", "port must be a whole number, not 'eighty'"),
        ("server.port", 80.5, "port must be a whole number"),
        ("server.port", True, "port must be a whole number"),
        ("server.port", 65536, "port is 65536, but must be at most 65535"),
        ("server.port", -1, "port is -1, but must be at least 0"),
        ("server.host", 1, "host must be a text"),
        ("limits.ping_s", float("nan"), "ping_s is nan, but must be at least 0.02"),
        ("engine.kind", "tonne", "did you mean tone?"),
        ("engine.options", 3, "options must be a table"),
        ("auth.origins", ["https://a", 3], "origins must be a list of texts"),
        ("tls.cert_file", 3, "cert_file must be a path"),
    ],
)
def test_a_value_of_the_wrong_type_or_range_is_refused(name, value, words):
    told = refusal(overrides={name: value})
    assert told.startswith(f"--{name}: ")
    assert words in told


@pytest.mark.parametrize("origin", ['["https://app.example"]', "app.example", "https://app.example/page", ""])
def test_what_is_no_web_origin_is_refused(origin):
    assert "is no web origin" in refusal(overrides={"auth.origins": [origin]})


def test_bounds_themselves_are_allowed():
    assert load(overrides={"server.port": 0}).server.port == 0
    assert load(overrides={"server.port": 65535}).server.port == 65535


def test_a_section_made_in_python_is_checked_too():
    with pytest.raises(ConfigError, match="port is 70000"):
        ServerSettings(port=70000)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[server\nport = 1", ":1: not TOML: "),
        ("port = 1", ": port: settings stand in sections"),
        ("[server]\nport = 1\nport = 2", ":3: not TOML: "),
    ],
)
def test_a_file_that_is_no_settings_file_is_refused_in_one_sentence(tmp_path, text, words):
    file = write(tmp_path, text)
    told = refusal(file=file)
    assert told.startswith(f"{file}{words}")
    assert "\n" not in told


def test_a_file_that_is_not_there_is_named(tmp_path):
    assert "there is no such settings file" in refusal(file=tmp_path / "none.toml")


def test_settings_at_odds_with_each_other_are_refused():
    with pytest.raises(ConfigError, match=r"tls\.key_file is missing"):
        TlsSettings(cert_file=Path("c.pem"))
    with pytest.raises(ConfigError, match=r"ping_s \(90\) must be below"):
        LimitSettings(ping_s=90.0)


def test_a_key_is_shown_neither_by_an_error_nor_by_repr():
    assert "s3cret" not in refusal(overrides={"auth.keys": {"s3cret": 1}})
    assert "s3cret" not in repr(load(environ={"ABR_TTS_AUTH__KEYS": "s3cret, other"}))


def test_a_list_in_a_variable_is_cut_at_commas():
    assert load(environ={"ABR_TTS_AUTH__KEYS": "a, b"}).auth.keys == ("a", "b")


def test_every_setting_is_described_by_a_sentence_and_its_default_is_what_load_gives():
    settings, names = load(), set()
    for item in describe():
        section, key = item.name.split(".")
        assert getattr(getattr(settings, section), key) == item.default
        assert item.sentence[0].isupper() and item.sentence.endswith("."), item.name
        assert item.variable == f"ABR_TTS_{section.upper()}__{key.upper()}"
        names.add(item.name)
    assert len(names) == sum(len(kind.__dataclass_fields__) for kind in SECTIONS.values())


def test_every_time_and_size_has_its_unit_in_its_name():
    units = ("_s", "_ms", "_bytes", "_chars", "_threads", "_connections", "_kbps")
    counts = {"port", "workers", "connections", "streams", "streams_per_connection", "waiting_clauses",
              "message_burst", "stream_ids", "messages_per_s", "files", "share", "threads",
              "uplinks", "voices", "connections_per_key", "request_burst", "chars_burst", "hint_burst",
              "tickets", "tickets_per_key", "waiting_streams", "whole_streams", "engine_share",
              "calls_per_connection", "parallel"}  # fmt: skip
    for item in describe():
        key = item.name.split(".")[1]
        if isinstance(item.default, int | float) and not isinstance(item.default, bool):
            assert key in counts or key.endswith(units), key
