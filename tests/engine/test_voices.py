"""A voice by name, by language, or by the script of the text."""

import pytest

from abr_tts.engine.base import Abilities, Voice
from abr_tts.engine.voices import Catalogue
from abr_tts.errors import UnknownVoice

VOICES = [
    Voice("en-us", ("en", "en-us"), 22_050, "English"),
    Voice("cmn", ("cmn", "zh-cmn", "zh"), 22_050, "Mandarin"),
    Voice("pt-br", ("pt-br", "pt"), 22_050, "Portuguese"),
    Voice("ru", ("ru",), 22_050, "Russian"),
]
ABILITIES = Abilities(
    "x", scripts=("Latin", "Han", "Cyrillic"), defaults={"": "en-us", "Han": "cmn", "Cyrillic": "ru"}
)
CATALOGUE = Catalogue(VOICES, ABILITIES)


@pytest.mark.parametrize(
    ("voice", "language", "text", "name"),
    [
        ("ru", "en", "Hello", "ru"),
        ("EN-US", None, "你好", "en-us"),
        (None, "zh", "Hello", "cmn"),
        (None, "zh-Hans-CN", "Hello", "cmn"),
        (None, "en_GB", "你好", "en-us"),
        (None, "pt-AO", "x", "pt-br"),
        (None, None, "Hello", "en-us"),
        (None, None, "你好，world", "cmn"),
        (None, None, "Приветствую", "ru"),
        (None, None, "3.14", "en-us"),
        (None, None, "བཀྲ", "en-us"),
        ("", "", "", "en-us"),
    ],
)
def test_a_voice_is_found_by_name_then_language_then_script(voice, language, text, name):
    assert CATALOGUE.choose(voice, language, text).name == name


@pytest.mark.parametrize(("voice", "near"), [("en-uk", "en-us"), ("zh", "cmn"), ("r", "ru"), ("?", "en-us")])
def test_an_unknown_voice_is_refused_with_names_to_choose_from(voice, near):
    with pytest.raises(UnknownVoice) as refused:
        CATALOGUE.choose(voice, None, "x")
    assert near in refused.value.message and near in refused.value.detail["voices"]


def test_a_language_that_nobody_speaks_is_refused():
    with pytest.raises(UnknownVoice, match="no voice speaks 'tlh'"):
        CATALOGUE.choose(None, "tlh", "x")


def test_a_name_of_any_length_makes_a_short_sentence():
    for arguments in [("x" * 10_000, None), (None, "x-" * 5_000)]:
        with pytest.raises(UnknownVoice) as refused:
            CATALOGUE.choose(*arguments, "x")
        assert len(refused.value.message) < 300


def test_scripts_that_nobody_reads_are_named():
    assert CATALOGUE.unspeakable("Hello 你好 3.14 😀", VOICES[0]) is None
    assert CATALOGUE.unspeakable("Hello བཀྲ ខ្មែរ", VOICES[0]) == "Tibetan, Khmer"
    assert Catalogue(VOICES, Abilities("x")).unspeakable("བཀྲ", VOICES[0]) is None


@pytest.mark.parametrize(
    ("count", "words"), [(0, "there are none"), (1, "there is a0"), (2, "there are a0, a1"), (13, "a11, …")]
)
def test_the_voices_there_are_are_told_in_a_sentence_however_many_they_are(count, words):
    catalogue = Catalogue([Voice(f"a{n}", ("en",), 24_000) for n in range(count)], Abilities("x"))
    for ask in (("zzz", None), (None, "tlh")):
        with pytest.raises(UnknownVoice, match=f"; .*{words}$"):
            catalogue.choose(*ask, "hello")
