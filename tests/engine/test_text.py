"""Text becomes clauses: nothing pronounceable is lost, nothing is cut where it must not be."""

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abr_tts.engine import boundaries
from abr_tts.engine import text as text_module
from abr_tts.engine.text import MAX_CHARS, Clause, Clauser, main_script, pronounceable, scripts


def clauses(*pieces, **sizes):
    clauser = Clauser(**sizes)
    found = [clause for piece in pieces for clause in clauser.feed(piece)]
    return found + clauser.end()


def texts(*pieces, **sizes):
    return [clause.text for clause in clauses(*pieces, **sizes)]


@pytest.mark.parametrize(
    "text", ["", "   ", "\n", "…", "。。。", "?!", "😀😀", "— “ ”", "\ud800", "\u200b", "***"]
)
def test_what_cannot_be_pronounced_is_no_clause(text):
    assert not pronounceable(text)
    assert clauses(text) == []


@pytest.mark.parametrize(
    "text", ["3.14", "¥1,299.00", "GPT-4o", "a", "字", "7", "１２３", "٣٫١٤", "½", "①", "$", "50%", "№"]
)
def test_numbers_signs_and_single_characters_are_spoken(text):
    assert texts(text) == [text]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Hello. How are you? Fine!", ["Hello.", "How are you?", "Fine!"]),
        ("你好。今天天气很好！走吧？", ["你好。", "今天天气很好！", "走吧？"]),
        ("He said “Stop!” Then he left.", ["He said “Stop!”", "Then he left."]),
        ("他说：“走吧！”然后走了。", ["他说：“走吧！”", "然后走了。"]),
        ("What?! No... Yes.", ["What?!", "No...", "Yes."]),
        ("OK.你好", ["OK.", "你好"]),
        ("यह अच्छा है। हाँ।", ["यह अच्छा है।", "हाँ।"]),
        ("ما اسمك؟ علي.", ["ما اسمك؟", "علي."]),
        ("Title\n\nText goes on", ["Title", "Text goes on"]),
        ("Wrapped\nlines go on.", ["Wrapped\nlines go on."]),
        ("😀! Hello … you", ["Hello … you"]),
        ("Tips:\n- one\n- two\n* three", ["Tips:", "- one", "- two", "* three"]),
        ("Do this:\n1. Be kind.\n2. Be brief", ["Do this:", "1. Be kind.", "2. Be brief"]),
        ("步骤：\n1、打开\n2、关上", ["步骤：", "1、打开", "2、关上"]),
        ("# Title\n| a | b |\n|---|---|\n| 1 | 2 |", ["# Title", "| a | b |", "| 1 | 2 |"]),
        ("It was in\n1999 as he said", ["It was in\n1999 as he said"]),
    ],
)
def test_sentences_end_a_clause_in_many_scripts(text, wanted):
    assert texts(text) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "Pi is 3.14 or so",
        "It costs $1,299.00 now",
        "价格是1,299.00元",
        "现在12：30了",
        "See example.com or a.b/c?x=1",
        "Dr. Smith and Mrs. Jones vs. J. R. Brown",
        "The U.S. Army, No. 5",
        "e.g. this and i.e. that",
        "wait... what",
        "am 3. Oktober war es",
        "it’s, they're",
        "use a.k.a. Python or e.g. Java",
        "on Jan. 5 at p. 12 of Sec. 3",
        "他在U.S.政府工作",
    ],
)
def test_full_stops_inside_numbers_names_and_abbreviations_do_not(text):
    assert texts(text, first_max_chars=240) in ([text], [*re.split(r"(?<=,) ", text)])


def test_the_first_clause_is_short_and_ends_at_a_comma_if_it_can():
    text = "Once upon a time in a village, there lived a miller who had three sons, and a donkey, and a cat."
    assert texts(text)[0] == "Once upon a time in a village,"
    assert texts(text)[1:] == ["there lived a miller who had three sons, and a donkey, and a cat."]


def test_a_long_sentence_is_cut_at_a_pause_else_at_a_space():
    comma = "word " * 20 + "end, " + "word " * 40
    assert texts("Go! " + comma, max_chars=200)[1].endswith("end,")
    space = "word " * 60
    assert all(text.endswith("word") for text in texts(space, max_chars=100))


def test_mandarin_without_punctuation_is_cut_between_characters_but_not_in_a_number():
    text = "今天" * 30 + "1299.50" + "元" * 30
    found = texts(text, max_chars=240, first_max_chars=244)
    assert "".join(found) == text and len(found) > 1
    assert any("1299.50" in clause for clause in found)


def test_a_character_that_is_a_syllable_counts_as_four_letters():
    found = [len(text) for text in texts("字" * 100, max_chars=80, first_max_chars=40)]
    assert found == [10, 15, 20, 20, 20, 15], "the second may be half as long again as the first"


def test_a_word_longer_than_the_maximum_is_cut_and_an_accent_stays_with_its_letter():
    assert texts("a" * 25, max_chars=10, first_max_chars=10) == ["a" * 10, "a" * 10, "a" * 5]
    found = texts("é" * 9 + "e\u0301" + "é" * 9, max_chars=10, first_max_chars=10)
    assert all(not text.startswith("\u0301") for text in found) and "".join(found).count("\u0301") == 1


def test_mixed_scripts_lose_nothing():
    text = "你好，world! Приветствую"
    assert clauses(text) == [
        Clause("你好，world!", 0, 9, "Han"),
        Clause("Приветствую", 10, 21, "Cyrillic"),
    ]
    assert scripts(text) == ("Han", "Latin", "Cyrillic")


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("Hello", "Latin"),
        ("我用GPT-4o写代码", "Han"),
        ("日本語のテキストです", "Kana"),
        ("안녕하세요 world", "Hangul"),
        ("ＡＢＣ", "Latin"),
        ("𝐇𝐢", "Latin"),
        ("བཀྲ", "Tibetan"),
        ("3.14", None),
    ],
)
def test_the_main_script_weighs_syllables_against_letters(text, script):
    assert main_script(text) == script


def test_a_surrogate_pair_split_between_messages_is_joined_and_a_lone_half_dropped():
    high, low = "\ud83d", "\ude00"
    assert texts("Hi " + high, low + " there.") == ["Hi 😀 there."]
    assert texts("𠮷".encode("utf-16-le").decode("utf-16-le", "replace")) == ["𠮷"]
    found = clauses("a" + high, "b. ", low + "c", high)
    assert found == [Clause("ab.", 0, 4, "Latin"), Clause("c", 6, 7, "Latin")]
    for clause in found:
        clause.text.encode()  # no half is left


@pytest.mark.parametrize(
    "char", ["x", "字", "…", "😀", " ", ".", "'", "\n", "1", "\u0301", "(", "。", "\ue000"]
)
def test_any_number_of_any_character_is_cut_into_bounded_clauses(char):
    count = 200_000 if pronounceable(char) else 40_000
    found = clauses(char * count)
    assert sum(len(clause.text) for clause in found) == (count if pronounceable(char) else 0)
    assert all(len(clause.text) <= 240 for clause in found)


ALPHABET = "ab Z1.,!?…'\"”)(\n。，、“字カ안3-*#|一:;é\u0301😀\ud83d\ude00$ Пи"


@given(st.text(ALPHABET, max_size=120), st.integers(4, 60), st.integers(4, 40))
def test_clauses_cover_everything_pronounceable_in_order_and_within_length(text, longest, first):
    whole = re.sub("\ud83d\ude00", "😀", text)
    at = 0
    for clause in clauses(text, max_chars=longest, first_max_chars=first):
        assert at <= clause.begin < clause.end
        assert not pronounceable(whole[at : clause.begin]), "nothing is skipped"
        assert clause.text == re.sub("[\ud800-\udfff]", "", whole[clause.begin : clause.end])
        assert pronounceable(clause.text) and clause.text.strip() == clause.text
        assert len(clause.text) <= max(longest, first)
        at = clause.end
    assert not pronounceable(whole[at:])


@given(st.text(ALPHABET, max_size=80), st.data())
def test_the_clauses_do_not_depend_on_how_the_text_arrived(text, data):
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    edges = [0, *cuts, len(text)]
    pieces = [text[begin:end] for begin, end in itertools.pairwise(edges)]
    sizes = {"max_chars": 30, "first_max_chars": 20}
    assert clauses(*pieces, **sizes) == clauses(text, **sizes)
    assert clauses(*text, **sizes) == clauses(text, **sizes)


def test_what_stood_before_a_clause_is_remembered_however_the_text_arrived():
    sizes = {"max_chars": 4, "first_max_chars": 4}
    assert texts("1111．5", **sizes) == ["1111", "．5"], "the full stop is inside a number"
    assert texts(*"1111．5", **sizes) == ["1111", "．5"]


class Work:
    """Counts the characters that clausers look at, and those that they keep."""

    def __init__(self, monkeypatch):
        self.looked = self.kept = 0
        after, word_end = boundaries.after, text_module._word_end

        def counted_after(*arguments):
            self.looked += 1
            return after(*arguments)

        def counted_word_end(text, index, *more):
            end = word_end(text, index, *more)
            self.looked += end - index
            return end

        monkeypatch.setattr(boundaries, "after", counted_after)
        monkeypatch.setattr(text_module, "_word_end", counted_word_end)

    def of(self, text, size):
        """The work of one clauser that is fed `text` in pieces of `size`."""
        before, clauser = self.looked, Clauser()
        for at in range(0, len(text), size):
            clauser.feed(text[at : at + size])
            self.kept = max(self.kept, clauser.held)
        clauser.end()
        return self.looked - before


SHORT = 1_500
UNITS = [
    *"…\u0301 \n.)x字1é😀",
    "x ",
    ". ",
    ").",
    "a" * 300 + " ",
    " " * 239 + "x",
    "Nobody asked, of course. ",
]


@pytest.mark.parametrize("size", [1, 100, 2 * SHORT])
@pytest.mark.parametrize("unit", UNITS)
def test_twice_as_much_text_is_twice_the_work_whatever_it_is_and_in_whatever_pieces(unit, size, monkeypatch):
    work = Work(monkeypatch)
    text = unit * (2 * SHORT // len(unit) + 1)
    once, twice = work.of(text[:SHORT], size), work.of(text[: 2 * SHORT], size)
    assert once <= 6 * SHORT, "each character is looked at a few times"
    assert twice <= 2 * once + 2 * MAX_CHARS, "the last clause may be read once more"
    assert size > 1 or work.kept <= MAX_CHARS + boundaries.BACK, "what is done with is let go"


@given(
    st.lists(st.sampled_from(["3.14", "1,299.00", "12:30", "10％", "a", "字", ",", ". ", "é"]), max_size=30)
)
def test_a_number_is_never_cut(tokens):
    text = " ".join(tokens)
    found = [(clause.begin, clause.end) for clause in clauses(text, max_chars=24, first_max_chars=16)]
    for number in re.finditer(r"[\d.,:]*\d", text):
        inside = [b for b, e in found if b < number.end() and e > number.start()]
        assert len(inside) == 1, f"{number[0]} is in {len(inside)} clauses"


def test_a_clause_must_have_room_for_a_character():
    with pytest.raises(ValueError, match="room"):
        Clauser(max_chars=3)


def test_a_flush_gives_all_there_is_and_the_text_goes_on_behind_it():
    clauser = Clauser()
    assert clauser.feed("No end in sight") == []
    flushed = [(clause.text, clause.begin, clause.end) for clause in clauser.flush()]
    assert flushed == [("No end in sight", 0, 15)]
    assert clauser.flush() == []
    assert clauser.feed(" and on. ") == []
    assert [(clause.text, clause.begin) for clause in clauser.feed("X") + clauser.end()] == [
        ("and on.", 16),
        ("X", 24),
    ]


def test_a_flush_keeps_half_a_surrogate_pair_for_its_other_half():
    clauser = Clauser()
    clauser.feed("a \ud840")
    assert [clause.text for clause in clauser.flush()] == ["a"]
    clauser.feed("\udc00")
    assert [clause.text for clause in clauser.end()] == ["\U00020000"]
