"""The engine that all arms share, the plain design's messages, and the count of words."""

from random import Random

import numpy as np
import pytest
from versus.fec import track_with_copies
from versus.paced import Paced
from versus.plain import pack, unpack
from versus.sound import Sounds, padded, words, wrong

from abr_tts.audio.libopus import load
from abr_tts.audio.opus import Decoder
from abr_tts.audio.timeline import Timeline
from abr_tts.control.ladder import FULL
from abr_tts.sim.engine import NEURAL

from ..signals import tone

RATE = 22_050


def test_the_engine_keeps_the_simulators_schedule():
    sound = np.arange(round(2.5 * RATE)).astype(np.int16)
    planned = Paced({"Say this.": sound}, RATE).plan("Say this.")
    (chunks,) = NEURAL.__class__(clause_s=(9.0, 9.0)).clauses(2.5, Random(1))
    assert [(pytest.approx(at), size) for at, size in chunks] == [(at, len(piece)) for at, piece in planned]
    assert np.array_equal(np.concatenate([piece for _, piece in planned]), sound)


def test_the_engine_says_nothing_that_was_not_prepared():
    with pytest.raises(KeyError):
        Paced({}, RATE).plan("Something else.")


@pytest.mark.parametrize("packets", [[], [b"x"], [b"", bytes(1275), b"yz"]])
def test_a_message_of_the_plain_design_is_read_as_it_was_written(packets):
    assert unpack(pack(-960, packets)) == (-960, tuple(packets))


def test_a_packet_with_a_copy_gives_back_the_lost_one_before_it():
    library = load()
    timeline = Timeline(RATE)
    timeline.append(tone(RATE, 1.0, 300))
    timeline.end()

    def packets(track) -> list[bytes]:
        return track.job(timeline, timeline.ready).run()

    sent = packets(track_with_copies(FULL["opus24"], RATE, library))
    decoder = Decoder(library, 48_000)
    for packet in sent[:20]:
        decoder.decode(packet)
    recovered = decoder.recover(sent[21])
    whole = Decoder(library, 48_000)
    for packet in sent[:20]:
        whole.decode(packet)
    true = whole.decode(sent[20])
    assert np.corrcoef(recovered, true)[0, 1] > 0.9
    assert len(sent) == 51, "as many packets as the house's own track has"


def test_words_are_compared_without_case_and_marks():
    assert words("It's late -- the 9 o'clock train, I'm told.") == [
        "it's", "late", "the", "9", "o'clock", "train", "i'm", "told",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("heard", "count"),
    [("a b c d", 0), ("a b d", 1), ("a x c d", 1), ("a b c d e", 1), ("", 4), ("b a c d", 2)],
)
def test_wrong_words_are_those_left_out_put_in_and_exchanged(heard, count):
    assert wrong(["a", "b", "c", "d"], heard.split()) == count


def test_the_share_of_wrong_words_is_over_all_that_was_said():
    sounds = Sounds()
    assert sounds.wrong_pct is None
    sounds.count("One two three.", ["one", "two", "three"])
    sounds.count("Four.", [])
    assert sounds.wrong_pct == 25.0


def test_what_never_came_is_silence_at_the_end_and_nothing_is_cut():
    assert list(padded(np.ones(2, np.int16), 4)) == [1, 1, 0, 0]
    assert list(padded(np.ones(4, np.int16), 2)) == [1, 1, 1, 1]
