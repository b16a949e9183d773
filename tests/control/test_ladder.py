"""The ladder: names, families, and what falls out for a client or an engine."""

import pytest

from abr_tts.control.ladder import FULL, Ladder, opus, pcm, ulaw
from abr_tts.errors import NoCommonFormat, UnknownRung


def names(ladder: Ladder) -> list[str]:
    return [rung.name for rung in ladder.rungs]


def test_hybrid_opus_is_one_family_and_every_other_rung_its_own():
    families = {rung.name: rung.family for rung in FULL.rungs}
    hybrid = {name for name, family in families.items() if family == "opus-hybrid"}
    assert hybrid == {"opus8", "opus12", "opus16", "opus24", "opus32", "opus48"}
    others = [family for name, family in families.items() if name not in hybrid]
    assert len(set(others)) == len(others)


def test_rungs_know_their_bitrate():
    assert [pcm("a", 22_050).kbps, ulaw("b", 16_000).kbps, opus(24).kbps] == [352.8, 128.0, 24]


def test_low_rungs_share_longer_messages():
    assert {r.name: r.frames_per_message for r in (opus(12), opus(16), opus(48), pcm("p", 16_000))} == {
        "opus12": 10, "opus16": 5, "opus48": 5, "p": 5,
    }  # fmt: skip


def test_an_unknown_rung_is_refused_with_the_names_that_exist():
    with pytest.raises(UnknownRung, match=r"no rung 'mp3'.*pcm22.*opus8") as error:
        FULL["mp3"]
    assert "opus24" in error.value.detail["rungs"]


def test_rungs_that_a_client_cannot_decode_fall_out():
    assert names(FULL.for_codecs(["pcm16"])) == ["pcm24", "pcm22", "pcm16k"]
    assert names(FULL.for_codecs(["ulaw", "mp3"])) == ["ulaw22", "ulaw16k"]


def test_a_client_that_decodes_nothing_of_ours_is_refused():
    with pytest.raises(NoCommonFormat, match="opus"):
        FULL.for_codecs(["mp3"])


def test_pcm_above_the_engines_rate_falls_out_and_opus_stays():
    assert "pcm24" not in names(FULL.for_rate(22_050))
    assert "pcm24" in names(FULL.for_rate(24_000))
    assert names(FULL.for_rate(16_000))[:3] == ["pcm16k", "ulaw16k", "opus64"]


@pytest.mark.parametrize("rungs", [[], [opus(24), opus(24)]])
def test_a_ladder_without_rungs_or_with_a_name_twice_is_refused(rungs):
    with pytest.raises(ValueError, match="ladder"):
        Ladder(rungs)
