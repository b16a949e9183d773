"""The server's policies: found, checked at once, offered to those who may, and whose link is remembered."""

from pathlib import Path

import pytest

from abr_tts.control.estimator import Estimate
from abr_tts.control.policy_file import preset
from abr_tts.errors import ConfigError, UnknownPolicy
from abr_tts.server.access.auth import Caller
from abr_tts.server.config import load
from abr_tts.server.rollout.policies import LinkMemory, Policies

ANYBODY = Caller("192.0.2.7")
ANNA = Caller("192.0.2.7", "anna", "a1")


def policies(keys=(), **overrides) -> Policies:
    return Policies(
        load(overrides={name.replace("__", "."): value for name, value in overrides.items()}), keys
    )


def refusal(keys=(), **overrides) -> str:
    with pytest.raises(ConfigError) as caught:
        policies(keys, **overrides)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def write(folder: Path, text: str, name: str = "mine.toml") -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_without_settings_there_are_the_presets_and_the_default_one_rules():
    made = policies()
    assert made.choose(None, ANYBODY) == preset("default")
    for name in ("default", "classic", "opus", "thrifty"):
        assert made.choose(name, ANYBODY) == preset(name)


def test_a_name_that_is_not_offered_is_refused_with_those_that_are(tmp_path):
    made = policies(stream__policy=write(tmp_path, ""), stream__policies={"small": "thrifty"})
    with pytest.raises(UnknownPolicy) as caught:
        made.choose("classic", ANYBODY)
    assert caught.value.detail == {"policies": ["mine", "small"]}
    assert made.choose("small", ANYBODY) == preset("thrifty")
    assert made.choose("mine", ANYBODY).name == "mine", "what it gets anyway, it may name"


def test_where_none_is_offered_only_the_servers_own_may_be_named():
    made = policies(stream__policies={})
    assert made.choose("default", ANYBODY) == preset("default")
    with pytest.raises(UnknownPolicy):
        made.choose("classic", ANYBODY)


def test_a_file_is_read_and_may_be_called_by_the_name_it_is_offered_under(tmp_path):
    path = write(tmp_path, "upgrade_lead_s = 3.5\n")
    made = policies(stream__policy="quick", stream__policies={"quick": path})
    assert made.choose(None, ANYBODY).upgrade_lead_s == 3.5
    assert made.choose("quick", ANYBODY) == made.choose(None, ANYBODY)


def test_a_key_has_the_policy_of_its_name_and_a_request_may_name_another():
    made = policies({"anna"}, auth__policies={"anna": "thrifty"}, stream__policies={"full": "default"})
    assert made.choose(None, ANNA) == preset("thrifty")
    assert made.choose("thrifty", ANNA) == preset("thrifty")
    assert made.choose("full", ANNA) == made.choose(None, ANYBODY) == preset("default")
    with pytest.raises(UnknownPolicy):
        made.choose("thrifty", ANYBODY)


def test_a_bad_file_is_told_with_setting_file_line_key_and_reason(tmp_path):
    path = write(tmp_path, "\nheadroom = 0.5\n")
    assert refusal(stream__policy=path) == (
        f"stream.policy: {path}:2: headroom is 0.5, but must be at least 1"
    )
    path = write(tmp_path, "hedroom = 2\n")
    told = refusal(stream__policies={"mine": path})
    assert told == f"stream.policies.mine: {path}:1: hedroom: unknown key; did you mean headroom?"


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        ({"stream__policy": "clasic"}, "stream.policy: no policy 'clasic'; there are default, classic,"),
        ({"stream__policy": "clasic"}, "did you mean classic?"),
        ({"stream__policy": "/no/such.toml"}, "stream.policy: /no/such.toml: there is no such policy file"),
        ({"stream__policy": ""}, "stream.policy must be a preset or the path of a policy file, not ''"),
        ({"stream__policies": {"a": 3}}, "stream.policies.a must be a preset or the path"),
        ({"stream__policies": {"a": "b", "b": "classic"}}, "stream.policies.a: no policy 'b'"),
        ({"stream__policies": {"x" * 65: "classic"}}, "1 to 64 characters, not 65"),
        (
            {"auth__policies": {"ana": "thrifty"}},
            "auth.policies: no API key is named 'ana'; did you mean anna?",
        ),
        ({"auth__policies": {"anna": "thriftee"}}, "auth.policies.anna: no policy 'thriftee'"),
    ],
)
def test_a_policy_that_there_is_not_is_told_with_its_setting(overrides, words):
    assert words in refusal({"anna"}, **overrides)


def test_a_folder_is_no_policy(tmp_path):
    assert f"stream.policy: {tmp_path}: cannot be read" in refusal(stream__policy=str(tmp_path))


# ---------------------------------------------------------------- memory

LEARNED = Estimate(500.0, 0.04, 100.0)


@pytest.mark.parametrize(
    ("key", "same_key", "same_address", "another_key"),
    [("client", True, False, False), ("address", True, False, True), ("none", False, False, False)],
)
def test_a_policy_says_whose_link_is_remembered(tmp_path, key, same_key, same_address, another_key):
    policy = policies(stream__policy=write(tmp_path, f'memory_key = "{key}"\n')).choose(None, ANYBODY)
    memory = LinkMemory(600.0)
    memory.keep(policy, ANNA, LEARNED)

    def known(caller: Caller) -> bool:
        return memory.recall(policy, caller, 101.0) == LEARNED

    assert known(ANNA) == same_key
    assert known(Caller("192.0.2.8", "anna", "a1")) == same_address
    assert known(Caller("192.0.2.7", "bert", "b2")) == another_key


def test_a_memory_lasts_as_long_as_any_policy_may_ask_for_since_policies_change(tmp_path):
    patient = policies(stream__policy=write(tmp_path, "memory_s = 86400\n")).choose(None, ANYBODY)
    memory = LinkMemory()
    memory.keep(preset("default"), ANNA, LEARNED)
    assert memory.recall(preset("default"), ANNA, 701.0) is None
    assert memory.recall(patient, ANNA, 100.0 + 86_399.0) == LEARNED
    assert memory.recall(patient, ANNA, 100.0 + 86_401.0) is None


def test_what_is_older_than_the_policy_allows_is_not_believed(tmp_path):
    short = policies(stream__policy=write(tmp_path, "memory_s = 20\n")).choose(None, ANYBODY)
    memory, policy = LinkMemory(600.0), preset("default")
    memory.keep(policy, ANNA, LEARNED)
    assert memory.recall(policy, ANNA, 699.0) == memory.recall(short, ANNA, 119.0) == LEARNED
    assert memory.recall(short, ANNA, 121.0) is None and memory.recall(policy, ANNA, 121.0) == LEARNED
    assert memory.recall(policy, ANNA, 701.0) is None
