"""`voices add`, `voices remove`, `convert` and `say --instruct`: files in, files out, faults in words."""

import contextlib
import json
import random
import wave
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from abr_tts.audio.pcm import to_int16
from abr_tts.cli import main
from abr_tts.cli.clip import read_clip
from abr_tts.cli.failure import Failure
from abr_tts.engine.references import References, read_wav
from abr_tts.engine.tone import Options, converted, expected, pitch

from ..server.clips import sine
from ..server.harness import serving_in_a_thread


def write(path, sound: np.ndarray, rate: int, width: int = 2) -> str:
    """Floats, shape (n,) or (n, 2), as a WAV file of `width` bytes a sample."""
    scaled = np.round(sound.astype(np.float64) * (2 ** (8 * width - 1) - 1)).astype("<i4")
    data = scaled.astype("<i4").reshape(-1, 1).view(np.uint8).reshape(-1, 4)[:, :width]
    data = (data + 128 if width == 1 else data).astype(np.uint8).tobytes()
    with wave.open(str(path), "wb") as file:
        file.setparams((sound.ndim, width, rate, 0, "NONE", ""))
        file.writeframes(data)
    return str(path)


def read(path) -> np.ndarray:
    with wave.open(str(path)) as file:
        return np.frombuffer(file.readframes(file.getnframes()), "<i2")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("ABR_TTS_ENGINE__KIND", "tone")
    monkeypatch.setenv("ABR_TTS_ENGINE__VOICES_DIR", str(tmp_path / "voices"))
    for name, value in (("rate", "16000"), ("converts", "true"), ("instructs", "true")):
        monkeypatch.setenv(f"ABR_TTS_ENGINE__OPTIONS__{name}", value)
    return tmp_path


def failed(capsys, *words: str) -> str:
    assert main(list(words)) in (1, 2)
    return capsys.readouterr().err


@pytest.mark.parametrize(("width", "exact"), [(1, 0.01), (2, 1e-4), (3, 1e-6), (4, 1e-6)])
@pytest.mark.parametrize("channels", [1, 2])
def test_wav_files_of_every_width_are_read(tmp_path, width, exact, channels):
    sound = sine(440, 0.1, 44_100)
    stereo = np.stack([sound, -sound], axis=1) if channels == 2 else sound
    got, rate = read_clip(write(tmp_path / "a.wav", stereo, 44_100, width))
    assert rate == 44_100 and got.shape == stereo.shape
    np.testing.assert_allclose(got, stereo, atol=exact)


def test_what_is_no_wav_file_is_told(tmp_path):
    (tmp_path / "a.wav").write_bytes(b"no sound")
    for name in ("a.wav", "none.wav"):
        with pytest.raises(Failure, match=name):
            read_clip(str(tmp_path / name))


def test_a_damaged_header_is_told_in_a_sentence_whatever_is_wrong_with_it(tmp_path):
    """One to three bytes of it changed, some files cut short: each is read, or refused by its name."""
    dice, path = random.Random(6), tmp_path / "damaged.wav"
    whole = Path(write(tmp_path / "a.wav", np.zeros(50, np.float32), 16_000, 2)).read_bytes()
    for _ in range(3_000):
        data = bytearray(whole)
        for _ in range(dice.randint(1, 3)):
            data[dice.randrange(44)] = dice.choice([0, 1, 127, 255, dice.randrange(256)])
        path.write_bytes(data[: dice.choice([len(data), dice.randrange(len(data))])])
        with contextlib.suppress(Failure):
            sound, rate = read_clip(str(path))
            assert sound.dtype == np.float32 and sound.ndim <= 2 and rate >= 1_000
        with contextlib.suppress(ValueError):
            assert read_wav(path).dtype == np.int16


def test_a_voice_is_added_listed_speaks_and_is_removed(folder, capsys):
    file = write(folder / "in.wav", np.stack([sine(700, 2, 44_100)] * 2, axis=1), 44_100)
    assert "--consent" in failed(capsys, "voices", "add", "anna", file)
    assert main(["voices", "add", "Anna", file, "--consent", "--text", "hm", "--language", "de"]) == 0
    told = capsys.readouterr()
    assert "2.0 s" in told.out and not told.err
    kept = References(folder / "voices").get("anna")
    assert (kept.text, kept.languages, pitch(kept.read())) == ("hm", ("de",), 700)
    assert "already" in failed(capsys, "voices", "add", "anna", file, "--consent")
    assert main(["voices", "--language", "de"]) == 0
    assert capsys.readouterr().out.startswith("anna")
    spoken = ["--voice", "anna", "--rung", "pcm16k", "-o", str(folder / "out.wav"), "--quiet"]
    assert main(["say", "hello", *spoken]) == 0
    np.testing.assert_array_equal(
        read(folder / "out.wav"), expected("hello", options=Options(rate=16_000, hz=700))
    )
    assert main(["voices", "remove", "anna"]) == 0
    assert "no voice 'anna'" in failed(capsys, "voices", "remove", "anna")
    assert "no voice 'anna'" in failed(capsys, "say", "hello", "--voice", "anna", "-o", str(folder / "o.wav"))


def test_a_folder_must_be_named(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("ABR_TTS_ENGINE__VOICES_DIR", raising=False)
    assert "--dir" in failed(capsys, "voices", "remove", "anna")
    file = write(tmp_path / "in.wav", sine(700, 2), 16_000)
    assert main(["voices", "add", "anna", file, "--consent", "--dir", str(tmp_path / "here")]) == 0
    assert References(tmp_path / "here").get("anna")


def test_a_voice_for_an_engine_that_does_not_clone_is_kept_with_a_warning(folder, capsys, monkeypatch):
    file = write(folder / "in.wav", sine(700, 2), 16_000)
    monkeypatch.setenv("ABR_TTS_ENGINE__KIND", "espeak")
    for name in ("rate", "converts", "instructs"):
        monkeypatch.delenv(f"ABR_TTS_ENGINE__OPTIONS__{name}")
    assert main(["voices", "add", "anna", file, "--consent"]) == 0
    told = capsys.readouterr()
    assert "2.0 s" in told.out and References(folder / "voices").get("anna")
    assert "kept; but the engine of these settings, espeak, does not clone" in told.err


def test_a_voice_is_handed_to_a_server(folder, capsys):
    file = write(folder / "in.wav", sine(650, 1.5, 48_000), 48_000)
    there = folder / "there"
    with serving_in_a_thread(engine__voices_dir=str(there)) as server:
        assert main(["voices", "add", "bo", file, "--consent", "--url", server.url]) == 0
        assert "at ws://" in capsys.readouterr().out
        assert "already" in failed(capsys, "voices", "add", "bo", file, "--consent", "--url", server.url)
    assert pitch(References(there).get("bo").read()) == 650


def test_a_file_is_converted(folder, capsys):
    sound = sine(440, 1.5, 16_000)
    file = write(folder / "in.wav", sound, 16_000)
    out = folder / "out.wav"
    assert main(["convert", file, "-o", str(out), "--voice", "tone", "--quiet"]) == 0
    heard, wanted = read(out), converted(to_int16(sound), options=Options(rate=16_000))
    assert 0 <= len(heard) - len(wanted) < 320  # Opus went up, in frames of 20 ms
    assert np.corrcoef(heard[800:20_000], wanted[800:20_000])[0, 1] > 0.97
    assert "nobody" in failed(capsys, "convert", file, "-o", str(out), "--voice", "nobody")


def test_words_on_how_to_speak_are_handed_on(folder, capsys, monkeypatch):
    out = str(folder / "out.wav")
    assert main(["say", "hello", "--instruct", "softly", "--rung", "pcm16k", "-o", out, "--quiet"]) == 0
    whispered = expected("hello", options=Options(rate=16_000, amplitude=0.25))
    np.testing.assert_array_equal(read(out), whispered)
    monkeypatch.setenv("ABR_TTS_ENGINE__OPTIONS__instructs", "false")
    assert "cannot be told" in failed(capsys, "say", "hello", "--instruct", "softly", "-o", out)


def test_a_file_that_is_no_wav_is_told_with_a_reason_wherever_it_is_cut(tmp_path):
    whole = Path(write(tmp_path / "a.wav", np.zeros(50, np.float32), 16_000, 2)).read_bytes()
    path, refused = tmp_path / "cut.wav", 0
    for size in range(44):
        path.write_bytes(whole[:size])
        for reader, fault in ((read_clip, Failure), (read_wav, ValueError)):
            try:
                reader(str(path))
            except fault as told:
                refused += 1
                assert str(told).rpartition(": ")[2].strip(), size
    assert refused == 2 * 44


def test_the_voices_of_a_server_are_listed_as_its_engine_has_them(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("ABR_TTS_ENGINE__KIND", "espeak")
    there = {"openai__voices": {"mine": "tone"}, "engine__voices_dir": str(tmp_path / "there")}
    with serving_in_a_thread(auth__keys=("a-key",), **there) as server:
        at = ["voices", "--url", server.url]
        assert "an API key is needed" in failed(capsys, *at)
        monkeypatch.setenv("ABR_TTS_API_KEY", "a-key")
        assert main([*at, "--json"]) == 0
        voices = json.loads(capsys.readouterr().out)["voices"]
        assert voices == [json.loads(json.dumps(asdict(voice))) for voice in server.pool.voices]
        assert main([*at, "--api-key", "a-key", "--language", "en"]) == 0
        assert "22050 Hz" in capsys.readouterr().out
        assert "no voice speaks 'tlh'" in failed(capsys, *at, "--language", "tlh")
        assert main([*at, "add", "bo", write(tmp_path / "in.wav", sine(700, 2), 16_000), "--consent"]) == 0
        assert References(tmp_path / "there").get("bo"), "what stands before `add` holds for it"
        assert "not at a server" in failed(capsys, *at, "remove", "bo")
        assert main(at) == 0
        assert "\nbo " in capsys.readouterr().out


def test_a_server_that_tells_no_voices_or_is_none_is_told_in_a_sentence(capsys):
    with serving_in_a_thread(openai__enabled=False) as server:
        assert "does not tell its voices" in failed(capsys, "voices", "--url", server.http_url)
    assert "no answer from" in failed(capsys, "voices", "--url", server.url)
    assert "no address of a server" in failed(capsys, "voices", "--url", "somewhere")
