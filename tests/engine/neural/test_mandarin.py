"""Mandarin as phonemes: numbers, money and English words are written out, and nothing is passed over."""

import re
from importlib import import_module
from itertools import pairwise

import pytest

from abr_tts.engine.neural.kokoro import GROWTH, LEAST, MOST, pieces
from abr_tts.engine.neural.plain import plain

SPOKEN = {
    "我用GPT-4o写代码。": "wo↓jʊ↘ŋ <GPT-4o> ɕje↓ tai↘ma↓.",
    "3.14": "sa→ntjɛ↓n i→ sɨ↘",
    "¥1,299.00": "i→ʨʰjɛ→n ɚ↘pai↓ʨjou↓ʂɨ↗ʨjou↓ ɥɛ↗n",
    "＄5": "u↓mei↓ɥɛ↗n",
    "１２％": "pai↓fə→nꭧɨ→ʂɨ↗ɚ↘",
    "20°C，5kg": "ɚ↘ʂɨ↗tu↘, u↓ ʨʰjɛ→nkʰɤ↘",
    "3.5GB": "sa→ntjɛ↓n u↓ <GB>",
    "A4纸": "<A4> ꭧɨ↓",
    "「台灣」": "“tʰai↗wa→n”",
    "好……": "xau↓,,",
    "½": "ɚ↘fə→nꭧɨ→i→",
}
"""Text → phonemes; an English word stands in angle brackets."""


@pytest.fixture(scope="module")
def read():
    pytest.importorskip("misaki", reason="misaki is not installed: pip install '.[zh]'")
    from abr_tts.engine.neural.mandarin import Mandarin

    return Mandarin(lambda text: f"<{text}>")


@pytest.mark.parametrize("text", SPOKEN)
def test_text_is_read_as_a_person_reads_it(read, text):
    assert read(text) == SPOKEN[text]


@pytest.mark.parametrize("text", ["12345678901234567890", "9" * 40, "1,234,567", "2024年3月5日", "下午3:30"])
def test_no_number_is_left_in_digits(read, text):
    phonemes = read(text)
    assert phonemes and not re.search(r"[\d,]", phonemes)


@pytest.mark.parametrize("text", ["", " ", "。", "……", "\0", "\ud83d", "ㄋㄧˇ", "こんにちは", "😀"])
def test_text_without_chinese_harms_nothing(read, text):
    assert isinstance(read(text), str)


def test_the_dictionary_cache_of_others_is_not_read(read):
    assert "abr-tts-" in import_module("jieba").dt.tmp_dir


@pytest.mark.parametrize(
    ("text", "same"),
    [("Ｈｅｌｌｏ，ｗｏｒｌｄ！", "Hello, world!"), ("１２３", "123"), ("٣", "3"), ("①", "1"), ("½", "1/2"),
     ("ﬁne", "fine"), ("a\0b\ud83d", "a b"), ("３．１４", "3.14"), ("café", "café")],
)  # fmt: skip
def test_forms_of_characters_become_the_characters(text, same):
    assert plain(text) == same


def test_pieces_end_at_marks_are_neither_short_nor_long_and_lose_nothing():
    sentence = "ʨi→ntʰjɛ→ntʰjɛ→nʨʰi↘ xə↓n xau↓, wo↓mən ʨʰy↘ kʊ→ŋɥɛ↗n wa↗npa. "
    text = "xau↓, " + sentence * 3 + "wo↓mən ʨʰy↘ " * 20 + "."
    cut = pieces(text)
    assert "".join(cut).replace(" ", "") == text.replace(" ", "")
    assert all(len(piece) <= MOST for piece in cut) and len(cut[0]) >= LEAST
    assert sum(piece.endswith((",", ".")) for piece in cut) >= 5
    assert [len(piece) for piece in pieces("x" * 3 * MOST)] == [67, 68, 67, 68]
    assert [len(piece) for piece in pieces("x" * MOST)] == [MOST]
    assert pieces("") == pieces(" , . ") == []


def test_pieces_grow_no_faster_than_they_are_made_while_the_one_before_is_heard():
    sizes = [len(piece) for piece in pieces("xau↓, " * 80)]
    assert sizes[0] < 2 * LEAST < sizes[-1] <= MOST
    assert all(two <= GROWTH * one for one, two in pairwise(sizes[1:]))
