"""Policy files: every fault names file, line, key and reason, and the nearest valid key."""

# ruff: noqa: E501 -- the table of faults keeps one line for each

import pytest

from abr_tts.control.ladder import FULL
from abr_tts.control.policy import Policy
from abr_tts.control.policy_file import PRESETS, line_of, parse, preset, preset_text, read
from abr_tts.errors import ConfigError

RUNGS = '[[rung]]\nname = "opus24"\n'


def test_a_file_says_what_differs_from_a_preset(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('extends = "classic"\nheadroom = 1.5\n')
    policy, classic = read(path), preset("classic")
    assert (policy.headroom, policy.upgrade_lead_s) == (1.5, 2.0)
    assert (policy.rungs, policy.utilities) == (classic.rungs, classic.utilities)
    assert policy.name == "mine"


def test_a_file_that_extends_nothing_extends_the_default():
    assert parse('name = "x"', "x.toml").rungs == preset("default").rungs


def test_any_ladder_can_be_written():
    policy = parse(
        'name = "wide"\nbank_rung = "low"\n'
        '[[rung]]\nname = "best"\ncodec = "pcm16"\nsample_rate = 48000\nutility = 1\n'
        '[[rung]]\nname = "ulaw16k"\n'
        '[[rung]]\nname = "low"\ncodec = "opus"\nkbps = 20\n',
        "wide.toml",
    )
    best, ulaw, low = policy.rungs
    assert (best.sample_rate, best.kbps, policy.utility(best)) == (48_000, 768.0, 1.0)
    assert ulaw == FULL["ulaw16k"]
    assert (low.family, low.sample_rate) == ("opus-hybrid", 24_000)
    assert 0.82 < policy.utility(low) < 0.90
    assert policy.bank == low


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_read_as_a_file_is_the_preset(name):
    policy = parse(preset_text(name), f"{name}.toml")
    assert isinstance(policy, Policy)
    assert policy == preset(name)


FAULTS = {
    "an unknown key": ("\nupgrade_lead = 2", "p.toml:2: upgrade_lead: unknown key; did you mean upgrade_lead_s"),
    "a key like none": ("zzz = 1", "p.toml:1: zzz: unknown key"),
    "too small": ("# x\nprobe_s = 0", "p.toml:2: probe_s is 0, but must be at least 0.5"),
    "no number": ('headroom = "much"', "p.toml:1: headroom must be a number, not 'much'"),
    "not whole": ("opening_bytes = 6000.5", "p.toml:1: opening_bytes must be a whole number"),
    "a word of none": ('memory_key = "cookie"', "p.toml:1: memory_key is 'cookie', but must be one of client"),
    "a relation": ("safe_lead_s = 9", "p.toml:1: safe_lead_s is 9, but must not be above outage_lead_s"),
    "the other end of one": ("\nbank_lead_s = 2", "p.toml:2: safe_lead_s is 3, but must not be above bank_lead_s"),
    "a relation to what was not written": ('extends = "default"\n\nbank_lead_s = 5', r"p.toml:3: upgrade_lead_s is 6, but must not be above bank_lead_s \(5\); upgrade_lead_s comes from the preset default$"),
    "a ladder that was not written": ('extends = "opus"\nbank_rung = "pcm22"', "p.toml:2: bank_rung is 'pcm22'.*; the ladder comes from the preset opus$"),
    "no such bank": ('bank_rung = "opus20"', "p.toml:1: bank_rung is 'opus20', which is not in the ladder"),
    "a ladder without the bank": ('\n[[rung]]\nname = "opus12"', "p.toml:2: bank_rung is 'opus24'"),
    "no such preset": ('extends = "clasic"', "p.toml:1: extends: no preset 'clasic'; .* did you mean classic?"),
    "not TOML": ("a = 1\nb = = 2", "p.toml:2: not TOML"),
    "tables without end": ("[" * 5_000 + "\n" + "[" * 5_000 + "\n", "p.toml:1: has 5000 characters, but a line may have 4096"),
    "arrays without end": ("a = " + "[" * 4_000, "p.toml: not TOML that can be read: nested too deeply"),
    "a number of 4 000 digits": ("headroom = " + "9" * 4_000, "p.toml:1: headroom is 99999999999999999999, but must be at most"),
    "a file beyond the limit": ("# 34567\n" * 32_768 + "\n", "p.toml: has 262145 characters, but may have 262144"),
    "TOML that breaks off": ("a = 1\nb = [", "p.toml:2: not TOML"),
    "an unknown key of a rung": (RUNGS + "kpbs = 3", "p.toml:3: rung.kpbs: unknown key; did you mean kbps?"),
    "a rung without a name": (RUNGS + '[[rung]]\ncodec = "opus"', "p.toml:3: rung.name must be"),
    "a rung unknown": (RUNGS + '[[rung]]\nname = "mp3"', "p.toml:3: rung.codec must be one of pcm16"),
    "a codec misspelt": ('[[rung]]\nname = "a"\ncodec = "opsu"', "p.toml:3: rung.codec .* did you mean opus?"),
    "Opus at no bitrate": ('[[rung]]\nname = "a"\ncodec = "opus"', "p.toml:1: rung.kbps must be a whole number"),
    "Opus at another rate": (RUNGS + "sample_rate = 16000", "p.toml:3: rung.sample_rate of Opus must be 24000"),
    "PCM at an odd rate": (
        '[[rung]]\nname = "a"\ncodec = "pcm16"\nsample_rate = 11111', "p.toml:4: rung.sample_rate must be",
    ),
    "PCM with another bitrate": ('[[rung]]\nname = "pcm22"\nkbps = 300', "p.toml:3: rung.kbps of pcm16 .* 352.8"),
    "a utility of two": (RUNGS + "utility = 2", "p.toml:3: rung.utility must be a number from 0 to 1, not 2"),
    "a rung twice": (RUNGS + RUNGS, "p.toml:1: rung opus24 stands in the ladder twice"),
    "a rung that is no table": ("rung = 3", "p.toml:1: rung: each rung is a table of its own"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_told_in_one_sentence_with_its_line(name):
    text, sentence = FAULTS[name]
    with pytest.raises(ConfigError, match=sentence) as error:
        parse(text, "p.toml")
    assert "\n" not in str(error.value)


def test_a_file_that_is_not_there_or_is_no_text_is_told(tmp_path):
    with pytest.raises(ConfigError, match=r"none\.toml: there is no such policy file"):
        read(tmp_path / "none.toml")
    (tmp_path / "bytes.toml").write_bytes(b"# tea\n# caf\xe9")
    with pytest.raises(ConfigError, match=r"bytes\.toml:2: is not UTF-8"):
        read(tmp_path / "bytes.toml")


def test_an_unknown_preset_is_refused_with_those_that_there_are():
    with pytest.raises(ConfigError, match=r"no preset 'opsu'; there are default.*did you mean opus\?"):
        preset("opsu")


def test_the_line_of_a_key_is_found_in_its_own_table():
    text = 'name = "x"\n\n[[rung]]\nname = "a"\n[[rung]]\n"name" = "b"\nkbps=3\n'
    assert [line_of(text, "name"), line_of(text, "name", 0), line_of(text, "name", 1)] == [1, 4, 6]
    assert line_of(text, "kbps", 0) == 3
    assert line_of(text, "headroom") is None
