"""What a trace tells: what was sent when, and the server's reason for each change that is heard."""

from abr_tts.control.policy_file import preset
from abr_tts.control.policy_text import as_text
from abr_tts.demo.account import Change
from abr_tts.demo.told import LATE, Piece, Told, merged
from abr_tts.trace import digest, line, read

START = 1000.0
POLICY = as_text(preset("classic"))
HEADER = {
    "trace": 1, "product": "", "now": START, "handle": 1, "rate": 22_050, "level": 1, "codecs": [],
    "limits": {}, "remembered": None, "rung": None, "policy": POLICY, "policy_sha256": digest(POLICY),
}  # fmt: skip
FRAME = 960


def timer(at: float) -> dict:
    return {"in": "timer", "now": START + at}


def encode(rank: int, rung: str, frame: int, frames: int) -> dict:
    return {
        "out": "encode",
        "track": 0,
        "rank": rank,
        "rung": rung,
        "pts": frame * FRAME,
        "frames": frames,
    }


def decided(upgrade: str | None, words: str, bank: str = "opus24", bank_words: str = "the bank") -> dict:
    reasons = {"bank_reason": {"sentence": bank_words}, "upgrade_reason": {"sentence": words}}
    return {"out": "decided", "bank": bank, "upgrade": upgrade, **reasons}


def told(*records: dict) -> Told:
    return Told(read(map(line, [HEADER, *records]), "test"), START)


STORY = (
    timer(0.1),
    decided(None, "nothing is banked yet"),
    encode(0, "opus24", 0, 200),
    timer(0.3),
    decided("pcm22", "there is room for pcm22"),
    encode(1, "pcm22", 20, 40),
    timer(0.8),
    decided("pcm16k", "only pcm16k fits"),
    encode(1, "pcm16k", 60, 20),
    timer(1.2),
    decided(None, "nothing fits any more"),
)


def test_pieces_and_plans_have_the_time_of_the_input_that_led_to_them():
    story = told(*STORY, {"out": "finished", "length": 88_200})
    assert story.pieces[1] == Piece(story.pieces[1].at, 1, "pcm22", 20 * FRAME, 40)
    assert [round(piece.at, 6) for piece in story.pieces] == [0.1, 0.3, 0.8]
    assert [plan.upgrade for plan in story.plans] == [None, "pcm22", "pcm16k", None]
    assert story.length == 88_200


def test_a_trace_that_breaks_off_has_no_length():
    assert told(*STORY).length is None


def test_an_upgrade_is_heard_for_the_reason_with_which_it_was_sent():
    assert told(*STORY).reason(Change(0.6, 20 * FRAME, "opus24", "pcm22")) == "there is room for pcm22"
    assert told(*STORY).reason(Change(1.4, 60 * FRAME, "pcm22", "pcm16k")) == "only pcm16k fits"


def test_the_bank_is_heard_for_the_reason_that_ended_the_upgrade():
    assert told(*STORY).reason(Change(1.8, 80 * FRAME, "pcm16k", "opus24")) == "nothing fits any more"


def test_an_upgrade_that_came_too_late_is_told_as_such():
    story = told(*STORY[:6])
    assert story.reason(Change(1.4, 60 * FRAME, "pcm22", "opus24")) == LATE


def test_a_retuned_bank_is_heard_for_the_banks_own_reason():
    story = told(
        timer(0.1), decided(None, "", bank_words="usual"), encode(0, "opus24", 0, 50),
        timer(0.9), decided(None, "", "opus16", "it is scarce"), encode(0, "opus16", 50, 50),
    )  # fmt: skip
    assert story.reason(Change(2.0, 50 * FRAME, "opus24", "opus16")) == "it is scarce"


def test_messages_of_one_rung_that_follow_each_other_look_like_one():
    pieces = [Piece(at, 1, rung, 0, 5) for at, rung in ((0.0, "a"), (0.2, "a"), (0.9, "a"), (1.0, "b"))]
    assert merged(pieces, 1, 0.25) == [(0.0, 0.25, "a"), (0.9, 1.15, "a"), (1.0, 1.25, "b")]
    assert merged(pieces, 0, 0.25) == []
