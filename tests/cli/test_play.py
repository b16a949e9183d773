"""`abr-tts say --play` and `--live`."""

import json

import numpy as np
import pytest

from abr_tts.cli import main
from abr_tts.client import loudspeaker
from abr_tts.engine.tone import Options, expected

from ..server.harness import serving_in_a_thread


@pytest.fixture(scope="module")
def server():
    with serving_in_a_thread(engine__workers=1) as server:
        yield server


class Device:
    def __init__(self) -> None:
        self.heard = b""

    def write(self, data: bytes) -> bool:
        self.heard += data
        return False

    def start(self) -> None: ...
    def stop(self) -> None: ...
    def close(self) -> None: ...


def test_say_play_gives_the_device_every_sample(server, monkeypatch, capsys):
    device, asked = Device(), []
    monkeypatch.setattr(
        loudspeaker, "_by_portaudio", lambda name: asked.append(name) or (lambda rate: device)
    )
    assert (
        main(["say", "--play", "--device", "3", "--json", "--url", server.url, "--rung", "pcm22", "Hello"])
        == 0
    )
    stats = json.loads(capsys.readouterr().out)
    sound = expected("Hello", options=Options(rate=22_050))
    assert asked == [3] and stats["complete"]
    assert np.array_equal(np.frombuffer(device.heard, "<i2")[2205:], sound)


def test_say_live_is_heard_as_ever_where_nothing_is_late(server, tmp_path, capsys):
    path = tmp_path / "a.wav"
    assert (
        main(["say", "--live", "--json", "--url", server.url, "--rung", "pcm22", "-o", str(path), "Hello"])
        == 0
    )
    stats = json.loads(capsys.readouterr().out)
    assert (stats["slowed_ms"], stats["concealed_ms"], stats["expired_ms"]) == (0, 0, 0)
    sound = expected("Hello", options=Options(rate=22_050))
    assert np.array_equal(np.frombuffer(path.read_bytes()[44:], "<i2"), sound)


def test_what_is_missing_is_told_before_a_server_is_asked(capsys, monkeypatch):
    def missing(name):
        from abr_tts.errors import MissingDependency

        raise MissingDependency("pip install '.[live]'")

    monkeypatch.setattr(loudspeaker, "_by_portaudio", missing)
    assert main(["say", "--play", "--url", "ws://nobody.invalid", "x"]) == 1
    assert capsys.readouterr().err == "abr-tts: error: pip install '.[live]'\n"


@pytest.mark.parametrize("flags", [["--play", "-o", "a.wav"], ["--device", "3"]])
def test_flags_that_contradict_each_other_are_refused(flags, capsys):
    try:
        status = main(["say", *flags, "x"])
    except SystemExit as fault:
        status = fault.code
    assert status == 2
