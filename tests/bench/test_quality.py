"""The utility table: what is written is what was measured, and clips are what they must be."""

import wave
from types import SimpleNamespace

import numpy as np
import pytest
from quality_clips import LONGEST_S, recorded
from quality_meters import missing, utility
from quality_table import rewritten, tables

from abr_tts.control import utility as in_force

SOURCE = '"""Head."""\n\nPCM = {16_000: 0.86, 22_050: 1.00}\n"""By rate."""\n\nOPUS = {8: 0.43}\nx = 1\n'


def write(path, rate: int = 24_000, channels: int = 1, seconds: float = 1.0) -> None:
    with wave.open(str(path), "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(np.ones(round(rate * seconds) * channels, "<i2").tobytes())


def test_utility_goes_from_the_worst_to_the_source_itself():
    assert utility(1.0, 1.0) == 0.0
    assert utility(4.644, 4.732) == pytest.approx(1.0, abs=0.001)


def test_the_tables_take_what_was_measured_and_keep_what_was_not():
    old = SimpleNamespace(PCM={16_000: 0.5, 22_050: 1.0}, ULAW={16_000: 0.4}, OPUS={8: 0.1, 24: 0.2})
    rungs = {"opus24": {"u": 0.8765}, "pcm16k": {"u": 0.8}, "pcm24": {"u": 1.0}}
    assert tables(rungs, old) == {
        "PCM": {16_000: 0.8, 22_050: 1.0},
        "ULAW": {16_000: 0.4},
        "OPUS": {8: 0.1, 24: 0.88},
    }


def test_only_the_values_of_the_file_change():
    made = {"PCM": {16_000: 0.8, 22_050: 1.0}, "OPUS": {8: 0.4}}
    assert rewritten(SOURCE, made) == SOURCE.replace("0.86", "0.80").replace("0.43", "0.40")


def test_the_file_in_force_is_written_as_it_stands_when_nothing_was_measured():
    with open(in_force.__file__, encoding="utf-8") as file:
        source = file.read()
    assert rewritten(source, tables({})) == source


def test_a_file_without_the_table_is_refused():
    with pytest.raises(ValueError, match="0 tables called ULAW"):
        rewritten(SOURCE, {"ULAW": {16_000: 0.7}})


def test_clips_are_read_in_order_and_cut_to_what_the_meters_are_made_for(tmp_path):
    write(tmp_path / "b.wav")
    write(tmp_path / "a.wav", seconds=LONGEST_S + 1)
    first, second = recorded(tmp_path)
    assert (first.name, first.rate, first.seconds) == ("a", 24_000, LONGEST_S)
    assert (second.name, second.seconds) == ("b", 1.0)


@pytest.mark.parametrize("shape", [{"channels": 2}, {"rate": 7_950}, {"rate": 11_025}])
def test_a_clip_that_cannot_be_measured_is_refused_by_name(tmp_path, shape):
    write(tmp_path / "odd.wav", **shape)
    with pytest.raises(ValueError, match=r"odd\.wav: want mono"):
        recorded(tmp_path)


def test_no_clip_and_no_wave_file_are_told(tmp_path):
    with pytest.raises(ValueError, match=r"there is no \.wav"):
        recorded(tmp_path)
    (tmp_path / "text.wav").write_text("not sound")
    with pytest.raises(ValueError, match=r"text\.wav: not a WAV"):
        recorded(tmp_path)


def test_a_meter_that_lacks_is_named():
    assert missing("json") is None
    assert "no_such_meter" in missing("json", "no_such_meter")
