"""
Text as language models write it, a token at a time: the clauses are those of the whole text, nothing
in them is cut that must not be, and the first one comes early.
"""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abr_tts.engine.text import Clauser, pronounceable

ANSWERS = [
    "Sure! Here's a quick overview of Python 3.12, e.g. the new typing features. The U.S. team likes No. 5.",
    "Visit https://example.com/a,b?c=1.2&d=3:4 or mail john.doe@example.co.uk. It's v2.0.1 at 192.168.0.1.",
    "It costs ¥1,299.00 (about $180.50). Pay by 2024-03-15, 10:30 a.m. sharp, or call +1 (555) 123-4567.",
    "价格是¥1,299.00，涨了1.5倍。时间：2024年3月15日上午10:30。第3.5节讲了什么？“走吧！”他说。",
    "好的，我来帮您查询一下。今天北京的天气是晴，气温25℃，风力3～4级；明天多云……后天有雨。",
    "全角数字１，２９９．５元和３．１４，一共一千二百三十四点五六元。在U.S.政府工作。他说OK.然后走了。",
    "Three tips:\n\n1. **Be kind.** Now.\n2. *Be brief*, do.\n3. Be gone\n\n- one\n- two\n\n# Head\nText",
    "```py\nprint('hi, there. ok')\n```\nIt prints `hi`… and so on... ok? “Quoted.” She said, 'Stop.' So.",
    "I weigh 70 kg and run 5 km in 25 min. That's 3.14 km/h and 10 000 steps, 50% of Dr. Smith's, i.e. half.",
    "Great! 😀👨\u200d👩\u200d👧 Next: 你好，world! 𠮷野家で食べます。 Then é and e\u0301.",
]

TOKEN = re.compile(r" ?[A-Za-z]+|\d{1,3}|[\u3400-\u9fff]{1,3}|\s+|.", re.S)
"""As byte-pair encoders cut: a space goes with the word behind it, digits come by threes."""

WHOLE = re.compile(
    r"https?://\S+|\S+@\S+\w|[¥$]?[\d０-９]+(?:[,.:，．/-][\d０-９]+)*[%℃倍年月日]?|[A-Za-z]+(?:['’.][A-Za-z]+)*"
    r"|[零一二三四五六七八九十百千万点]{2,}"
)
"""What is one word or one number."""


def cut(pieces, **sizes):
    """[(clause, pieces fed when it came)]; the end counts as one more."""
    clauser, found = Clauser(**sizes), []
    for count, piece in enumerate(pieces, 1):
        found += [(clause, count) for clause in clauser.feed(piece)]
    return found + [(clause, len(pieces) + 1) for clause in clauser.end()]


def clauses(pieces, **sizes):
    return [clause for clause, _ in cut(pieces, **sizes)]


@pytest.mark.parametrize("text", ANSWERS)
@pytest.mark.parametrize("sizes", [{}, {"max_chars": 80, "first_max_chars": 30}])
def test_tokens_characters_and_the_whole_text_give_the_same_clauses(text, sizes):
    whole = clauses([text], **sizes)
    assert clauses(TOKEN.findall(text), **sizes) == whole
    assert clauses(list(text), **sizes) == whole
    units = text.encode("utf-16-le")
    halves = [units[at : at + 2].decode("utf-16-le", "surrogatepass") for at in range(0, len(units), 2)]
    assert clauses(halves, **sizes) == whole


@pytest.mark.parametrize("text", ANSWERS)
@pytest.mark.parametrize("sizes", [{}, {"max_chars": 80, "first_max_chars": 50}])
def test_nothing_is_lost_and_no_word_or_number_is_cut(text, sizes):
    at, edges = 0, set()
    for clause in clauses([text], **sizes):
        assert not pronounceable(text[at : clause.begin]), "nothing is skipped"
        assert text[clause.begin : clause.end] == clause.text
        at = clause.end
        edges |= {clause.begin, clause.end}
    assert not pronounceable(text[at:])
    for one in WHOLE.finditer(text):
        assert not edges & set(range(one.start() + 1, one.end())), one[0]


@given(st.sampled_from(ANSWERS), st.data())
def test_the_clauses_do_not_depend_on_how_tokens_are_bundled(text, data):
    tokens, pieces = TOKEN.findall(text), []
    while tokens:
        size = data.draw(st.integers(1, 5))
        pieces.append("".join(tokens[:size]))
        tokens = tokens[size:]
    assert clauses(pieces) == clauses([text])


@pytest.mark.parametrize(
    ("text", "first", "most"),
    [
        ("Sure, I can help you with that. Let me first see.", "Sure, I can help you with that.", 11),
        ("好的，我来帮您查询一下。今天北京的天气是晴。", "好的，我来帮您查询一下。", 11),
        ("Once upon a time in a village, there lived a man.", "Once upon a time in a village,", 9),
        ("在很久很久以前，有一个小村庄。", "在很久很久以前，", 6),
    ],
)  # fmt: skip
def test_the_first_clause_comes_one_token_after_its_own_last(text, first, most):
    tokens = TOKEN.findall(text)
    clause, count = cut(tokens)[0]
    assert clause.text == first
    assert count <= most
    own = next(n for n in range(len(tokens)) if len("".join(tokens[:n])) >= clause.end)
    assert count <= own + 2, "the token behind it, and where that is a space alone the next"


def test_a_sentence_without_a_pause_is_not_waited_for():
    tokens = TOKEN.findall("word " * 100)
    clause, count = cut(tokens)[0]
    assert clause.text == ("word " * 16).strip() and count <= 17  # 0.85 s at 20 tokens a second


def test_clauses_may_grow_from_the_first_to_the_longest():
    lengths = [len(clause.text) for clause in clauses(["word " * 100], max_chars=100, first_max_chars=30)]
    assert lengths[:5] == [29, 44, 64, 99, 99]


# ---- a text that stands still


def rested(text, hungry=True, then="", **sizes):
    """Texts of the clauses: when `text` has come, after a rest, and of all that follows."""
    clauser = Clauser(**sizes)
    came = clauser.feed(text)
    rest = clauser.rest(hungry)
    after = clauser.feed(then) + clauser.end()
    whole = text + then
    for clause in came + rest + after:
        assert whole[clause.begin : clause.end] == clause.text
    return [[clause.text for clause in some] for some in (came, rest, after)]


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("Let me look that up.", "Let me look that up."),
        ("我来查一下。", "我来查一下。"),
        ("She said “Stop!”", "She said “Stop!”"),
        ("It is 25℃。", "It is 25℃。"),
        ("Well...", "Well..."),
        ("Done. ", "Done."),
        ("(see there.)", "(see there.)"),
    ],
)
def test_a_whole_sentence_is_spoken_when_the_text_stands_still(text, spoken):
    for hungry in (False, True):
        assert rested(text, hungry) == [[], [spoken], []]


@pytest.mark.parametrize(
    ("text", "then", "spoken"),
    [
        ("It costs about 3.", "14 now", []),
        ("It costs about ¥1,", "299.00", []),
        ("It costs about ¥1,299.", "00", []),
        ("Mail to john.", "doe@example.com", ["Mail to john."]),  # nobody can know
        ("Mail john.doe@example.", "com", []),
        ("See www.example.", "com", []),
        ("I met Dr.", " Smith", []),
        ("I live in the U.S.", "A.", []),
        ("Hel", "lo", []),
        ("你好世", "界", []),
        ("Well,", " yes", []),
        ("as he said", "s", []),
    ],
)
def test_what_may_go_on_is_waited_for_while_the_listener_hears_something(text, then, spoken):
    came, rest, after = rested(text, False, then)
    assert (came, rest) == ([], spoken)
    assert "".join(spoken + after) == (text + then).strip()


@pytest.mark.parametrize(
    ("text", "then", "spoken", "left"),
    [
        ("Let me check that for you", "r friend.", "Let me check that for", "your friend."),
        ("The price of it is now 3.", "14 dollars", "The price of it is now", "3.14 dollars"),
        ("Well, let me see", " it", "Well,", "let me see it"),
        ("Well,", " yes.", "Well,", "yes."),
        ("好的，我来", "查。", "好的，", "我来查。"),
        ("We thank Mr. and Mrs.", " Smith", "We thank Mr. and", "Mrs. Smith"),
    ],
)
def test_a_hungry_listener_gets_what_there_is_up_to_a_whole_word(text, then, spoken, left):
    assert rested(text, True, then) == [[], [spoken], [left]]


@pytest.mark.parametrize("text", ["", "I am", "Hello", "你好", "3.", "…", "  ", "\ud83d", "😀"])
def test_of_a_few_letters_or_none_nothing_is_spoken_before_more_comes(text):
    assert rested(text)[:2] == [[], []]


def test_a_paragraphs_end_is_the_way_to_have_all_of_it_spoken_at_once():
    for text in ("Let me check that for you\n\n", "你好世界\n\n", "It costs 3.\n\n", "I met Dr.\n\n"):
        assert rested(text)[0] == [text.strip()]


TEXT = st.text("ab Z1.,!'”)(\n。，、“字3-:é\u0301😀\ud83d\ude00", max_size=60)


@given(TEXT, TEXT, st.booleans(), st.integers(4, 40))
def test_a_rest_loses_nothing_and_repeats_nothing(text, then, hungry, longest):
    clauser = Clauser(longest, 20)
    found = clauser.feed(text) + clauser.rest(hungry) + clauser.rest(hungry)
    found += clauser.feed(then) + clauser.end()
    whole = re.sub("\ud83d\ude00", "😀", text + then)
    at = 0
    for clause in found:
        assert not pronounceable(whole[at : clause.begin])
        assert clause.text == re.sub("[\ud800-\udfff]", "", whole[clause.begin : clause.end])
        assert at <= clause.begin < clause.end
        at = clause.end
    assert not pronounceable(whole[at:])


@given(
    st.lists(st.sampled_from(["3.14", "1,299.00", "12:30", "a", "字", ", ", ". ", " "]), max_size=12),
    st.data(),
)
def test_a_rest_never_cuts_a_number_or_a_word(tokens, data):
    whole = "".join(tokens)
    stop = data.draw(st.integers(0, len(whole)))
    clauser = Clauser()
    found = clauser.feed(whole[:stop]) + clauser.rest(True) + clauser.feed(whole[stop:]) + clauser.end()
    edges = {clause.begin for clause in found} | {clause.end for clause in found}
    for number in re.finditer(r"[\d.,:]*\d", whole):
        assert not edges & set(range(number.start() + 1, number.end())), number[0]
