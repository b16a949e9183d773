"""The folder of voices: whole or not there, one clip a name, and no name that leads out of it."""

import contextlib
import json
import os
import shutil
import sys
import threading
import time

import numpy as np
import pytest

from abr_tts.engine.base import Abilities, Voice
from abr_tts.engine.references import (
    LISTED_S,
    QUIET,
    STALE_S,
    TEXT_CHARS,
    References,
    checked_name,
    read_wav,
)
from abr_tts.engine.voices import Catalogue
from abr_tts.errors import BadAudio, BadField, TooManyVoices, UnknownVoice, VoiceTaken


def clip(seconds: float = 1.5, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).integers(-9_000, 9_000, round(seconds * 16_000), dtype=np.int16)


@pytest.fixture
def voices(tmp_path):
    return References(tmp_path / "voices")


def test_what_was_added_is_read_back(voices):
    sound = clip()
    added = voices.add("Anna", sound, text="你好", languages=["zh-CN"], consent=True)
    assert added == voices.get("ANNA") == References(voices.folder).get("anna")
    assert (added.name, added.text, added.languages, added.consent) == ("anna", "你好", ("zh-cn",), True)
    assert added.seconds == 1.5 and added.made.endswith("Z")
    np.testing.assert_array_equal(added.read(), sound)


def test_a_voice_that_another_process_added_is_found_and_one_that_it_removed_is_gone(voices):
    other = References(voices.folder)
    assert voices.names() == () and voices.get("anna") is None
    other.add("anna", clip())
    assert voices.names() == ("anna",) and voices.get("anna").text == ""
    other.add("bo", clip())
    assert voices.names() == ("anna", "bo")
    assert other.remove("Anna") and not other.remove("anna")
    assert voices.names() == ("bo",) and voices.get("anna") is None
    assert [entry.name for entry in voices.folder.iterdir()] == ["bo"]


def test_a_name_means_one_clip_until_it_is_removed(voices):
    first = voices.add("anna", clip(seed=1))
    with pytest.raises(VoiceTaken, match="already"):
        voices.add("ANNA", clip(seed=2))
    np.testing.assert_array_equal(voices.get("anna").read(), clip(seed=1))
    voices.remove("anna")
    second = voices.add("anna", clip(seed=2))
    assert second.made != first.made
    np.testing.assert_array_equal(voices.get("anna").read(), clip(seed=2))


def test_of_many_who_add_one_name_at_once_one_wins_and_nothing_is_mixed(voices):
    outcomes = {}

    def add(seed):
        try:
            outcomes[seed] = References(voices.folder).add("anna", clip(seed=seed), text=str(seed))
        except VoiceTaken as error:
            outcomes[seed] = error

    threads = [threading.Thread(target=add, args=[seed]) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (winner,) = [seed for seed, outcome in outcomes.items() if not isinstance(outcome, VoiceTaken)]
    assert voices.get("anna").text == str(winner)
    np.testing.assert_array_equal(voices.get("anna").read(), clip(seed=winner))
    assert [entry.name for entry in voices.folder.iterdir()] == ["anna"]


@pytest.mark.parametrize(
    "name",
    [
        *("", ".", "..", "../anna", "a/b", "a\\b", ".anna", "-anna", "_a", "a b", "a.b", "a\0", "a\n", "a:b"),
        *("a" * 49, "é" * 49, "a\u202e", "~", "*", "\u2028a"),
    ],
)
def test_a_name_that_could_lead_out_or_confuse_is_refused(voices, name):
    with pytest.raises(BadField, match="letters"):
        checked_name(name)
    with pytest.raises(BadField):
        voices.add(name, clip())
    assert voices.get(name) is None
    assert not voices.folder.exists()


@pytest.mark.parametrize("name", ["a", "a" * 48, "小明", "Zoë", "anna-2_b", "9", "नमस्ते"])
def test_a_name_of_any_script_is_taken_and_its_case_says_nothing(voices, name):
    voices.add(name, clip())
    assert voices.get(name.upper()).name == checked_name(name) == voices.names()[0]


def test_a_composed_and_a_decomposed_name_are_one(voices):
    voices.add("Zoe\u0308", clip())
    assert voices.get("Zo\u00eb") is not None


def test_the_name_that_is_kept_is_the_same_name_again_whatever_was_given():
    """Some capitals have no composed form where their small letters have one, and marks change places."""
    marks = [chr(code) for code in (0x301, 0x307, 0x308, 0x30A, 0x30C, 0x316, 0x331, 0x345, 0x5B0, 0x3099)]
    letters = [chr(code) for code in range(sys.maxunicode + 1) if chr(code).lower() != chr(code)]
    for name in (letter + mark + other for letter in letters for mark in marks for other in ("", "\u0323")):
        with contextlib.suppress(BadField):
            kept = checked_name(name)
            assert checked_name(kept) == kept, ascii(name)


def test_a_voice_whose_capital_does_not_compose_is_kept_and_found(voices):
    voices.add("J\u030ca", clip())
    assert voices.names() == ("\u01f0a",)
    assert voices.get("J\u030cA") == voices.get("\u01f0a") is not None


@pytest.mark.parametrize(
    ("seconds", "ok"), [(0.99, False), (1.0, True), (30.0, True), (30 + 1 / 16_000, False)]
)
def test_a_clip_has_one_to_thirty_seconds(voices, seconds, ok):
    if ok:
        assert voices.add("anna", clip(seconds)).seconds == seconds
        return
    with pytest.raises(BadAudio, match="too"):
        voices.add("anna", clip(seconds))
    assert voices.get("anna") is None


def test_silence_and_a_novel_are_refused(voices):
    with pytest.raises(BadAudio, match="silence"):
        voices.add("anna", np.zeros(32_000, np.int16))
    for step in (1, -1):
        with pytest.raises(BadAudio, match="silence"):
            voices.add("anna", np.tile(np.int16([0, step * (QUIET - 1)]), 16_000))
        voices.add(f"quiet{step}", np.tile(np.int16([0, step * QUIET]), 16_000))
    with pytest.raises(BadField, match="transcript"):
        voices.add("anna", clip(), text="x" * (TEXT_CHARS + 1))
    assert voices.add("anna", clip(), text="x" * TEXT_CHARS)


def test_a_full_folder_takes_no_more(tmp_path):
    voices = References(tmp_path, most=2)
    voices.add("a", clip())
    voices.check_free("b")
    voices.add("b", clip())
    for check in (voices.check_free, lambda name: voices.add(name, clip())):
        with pytest.raises(TooManyVoices):
            check("c")


def test_what_a_process_left_that_died_is_no_voice_and_goes_in_time(voices):
    voices.add("anna", clip())
    for name, age in ((".new-young", 0), (".new-old", STALE_S + 1), (".old-old", STALE_S + 1)):
        folder = voices.folder / name
        folder.mkdir()
        (folder / "voice.json").write_text("{}")
        then = time.time() - age
        os.utime(folder, (then, then))
    assert voices.names() == ("anna",)
    voices.add("bo", clip())
    assert sorted(entry.name for entry in voices.folder.iterdir()) == [".new-young", "anna", "bo"]


@pytest.mark.parametrize("kind", ["link", "dangling", "loop", "file"])
def test_what_has_a_voices_name_and_is_none_is_kept_from_and_goes_without_a_trace(voices, tmp_path, kind):
    voices.add("anna", clip())
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(voices.folder / "anna", elsewhere)
    place = voices.folder / "bo"
    if kind == "file":
        place.write_text("no voice")
    else:
        place.symlink_to({"link": elsewhere, "dangling": tmp_path / "none", "loop": place}[kind])
    assert (voices.get("bo") is not None) == (kind == "link"), "a voice may be kept elsewhere"
    for refused in (lambda: voices.check_free("bo"), lambda: voices.add("bo", clip())):
        with pytest.raises(VoiceTaken):
            refused()
    assert voices.remove("bo") and not voices.remove("bo")
    assert [entry.name for entry in voices.folder.iterdir()] == ["anna"]
    np.testing.assert_array_equal(read_wav(elsewhere / "audio.wav"), clip())


def test_a_disk_that_fails_in_the_middle_leaves_nothing(voices, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    voices.add("anna", clip())
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        voices.add("bo", clip())
    assert [entry.name for entry in voices.folder.iterdir()] == ["anna"]


def test_a_voice_that_a_person_put_there_needs_little(voices):
    voices.add("anna", clip(2.0))
    by_hand = voices.folder / "bo"
    by_hand.mkdir()
    (voices.folder / "anna" / "audio.wav").rename(by_hand / "audio.wav")
    (by_hand / "voice.json").write_text(json.dumps({"text": "hello"}))
    found = voices.get("bo")
    assert (found.text, found.languages, found.consent, found.seconds) == ("hello", (), False, 2.0)
    np.testing.assert_array_equal(found.read(), clip(2.0))


def test_a_voice_that_a_person_finishes_later_is_listed_in_time(voices, monkeypatch):
    voices.add("anna", clip())
    by_hand = voices.folder / "bo"
    shutil.copytree(voices.folder / "anna", by_hand)
    (by_hand / "voice.json").unlink()
    long_ago = time.time() - 3_600
    os.utime(voices.folder, (long_ago, long_ago))
    assert voices.names() == ("anna",)
    (by_hand / "voice.json").write_text('{"languages": "fr"}')
    assert voices.get("bo").languages == ("fr",), "it speaks at once"
    now = time.monotonic()
    monkeypatch.setattr("abr_tts.engine.references.time.monotonic", lambda: now + LISTED_S + 1)
    assert voices.names() == ("anna", "bo")


def test_a_folder_whose_name_is_no_voices_is_none(voices):
    voices.add("anna", clip())
    (voices.folder / "anna").rename(voices.folder / "Anna")
    assert voices.names() == () and voices.get("anna") is None


BROKEN = [
    *("", "{", "[]", '{"languages": 3}', '{"seconds": [1]}', "\udcff"),
    *("[" * 100_000, '{"seconds": 1' + "0" * 400 + "}"),
]


@pytest.mark.parametrize("facts", BROKEN, ids=range(len(BROKEN)))
def test_a_broken_file_of_facts_is_no_voice(voices, facts):
    voices.add("anna", clip())
    (voices.folder / "anna" / "voice.json").write_bytes(facts.encode("utf-8", "surrogateescape"))
    assert voices.get("anna") is None


# ---- beside the voices of an engine

OWN = [Voice("en", ("en",), 24_000), Voice("de", ("de",), 24_000)]


def test_an_engine_speaks_with_its_own_voices_and_with_those_of_the_folder(voices):
    catalogue = Catalogue(OWN, Abilities("x", clones=True), voices)
    assert [voice.name for voice in catalogue.voices] == ["en", "de"]
    voices.add("Anna", clip(), languages=["fr"])
    voices.add("en", clip())  # a name of the engine's own means that one
    assert [voice.name for voice in catalogue.voices] == ["en", "de", "anna"]
    assert catalogue.choose("ANNA", None, "") == Voice("anna", ("fr",), 24_000, "made of 2 s of speech")
    assert catalogue.choose("en", None, "").languages == ("en",)
    with pytest.raises(UnknownVoice, match="near it: anna"):
        catalogue.choose("ana", None, "")
    voices.remove("anna")
    with pytest.raises(UnknownVoice):
        catalogue.choose("anna", None, "")


def test_nobodys_own_voice_is_given_to_who_named_none(voices):
    voices.add("anna", clip(), languages=["fr"])
    catalogue = Catalogue(OWN, Abilities("x", clones=True), voices)
    assert catalogue.choose(None, None, "hello").name == "en"
    with pytest.raises(UnknownVoice):
        catalogue.choose(None, "fr", "bonjour")


def test_an_engine_without_voices_of_its_own_has_those_of_the_folder_alone(voices):
    catalogue = Catalogue((), Abilities("x", clones=True), voices, 24_000)
    with pytest.raises(UnknownVoice, match="no voice yet"):
        catalogue.choose(None, None, "hello")
    voices.add("anna", clip(), languages=["fr"])
    assert catalogue.choose(None, None, "hello").name == "anna"
    assert catalogue.choose(None, "fr-ca", "bonjour") == Voice(
        "anna", ("fr",), 24_000, "made of 2 s of speech"
    )
