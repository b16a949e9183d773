"""Speech through a sound device: one that a test holds, and PortAudio's own into a file."""

import asyncio
import builtins
import subprocess
import sys

import numpy as np
import pytest

from abr_tts import errors
from abr_tts.client.loudspeaker import CUSHION_S, Loudspeaker

RATE = 16_000
CUSHION = bytes(2 * round(CUSHION_S * RATE))
FRAMES = [(np.arange(320) + 320 * number).astype(np.int16) for number in range(20)]
SOUND = b"".join(frame.tobytes() for frame in FRAMES)


class Device:
    """What a stream of PortAudio does, as far as we can know."""

    def __init__(self, rate: int, dry_at: int | None = None) -> None:
        self.rate, self.heard, self.state = rate, b"", "new"
        self._writes, self._dry_at = 0, dry_at

    def start(self) -> None:
        self.state = "started"

    def write(self, data: bytes) -> bool:
        assert self.state == "started"
        self.heard += data
        self._writes += 1
        return self._writes == self._dry_at

    def stop(self) -> None:
        self.state = "stopped"

    def abort(self) -> None:
        self.state = "aborted"

    def close(self) -> None:
        self.state += ", closed"


def opener(made: list[Device], **how):
    def opened(rate: int) -> Device:
        made.append(Device(rate, **how))
        return made[-1]

    return opened


async def test_every_sample_sounds_behind_a_cushion():
    made: list[Device] = []
    async with Loudspeaker(opened=opener(made)) as loudspeaker:
        assert made == []  # opened when it is known how
        for frame in FRAMES:
            await loudspeaker.write(frame, RATE)
    assert [(device.rate, device.heard, device.state) for device in made] == [
        (RATE, CUSHION + SOUND, "stopped, closed")
    ]
    assert loudspeaker.dry == 0


async def test_a_device_that_ran_dry_gets_a_cushion_again():
    made: list[Device] = []
    async with Loudspeaker(opened=opener(made, dry_at=3)) as loudspeaker:
        for frame in FRAMES[:3]:
            await loudspeaker.write(frame, RATE)
    one, two, three = (frame.tobytes() for frame in FRAMES[:3])
    assert made[0].heard == CUSHION + one + two + CUSHION + three
    assert loudspeaker.dry == 1


async def test_another_rate_opens_the_device_anew_when_all_has_sounded():
    made: list[Device] = []
    async with Loudspeaker(opened=opener(made)) as loudspeaker:
        await loudspeaker.write(FRAMES[0], RATE)
        await loudspeaker.write(FRAMES[1], 8_000)
        assert made[0].state == "stopped, closed"
    assert [device.rate for device in made] == [RATE, 8_000]


async def test_a_fault_of_the_listener_is_silence_at_once():
    made: list[Device] = []
    with pytest.raises(KeyError):
        async with Loudspeaker(opened=opener(made)) as loudspeaker:
            await loudspeaker.write(FRAMES[0], RATE)
            raise KeyError
    assert made[0].state == "aborted, closed"
    loudspeaker.abort()  # nothing more happens


async def test_a_full_device_holds_the_listener_and_nobody_else():
    free, made = asyncio.Event(), []
    loop = asyncio.get_running_loop()

    class Full(Device):
        def write(self, data: bytes) -> bool:
            if len(self.heard) > len(CUSHION):
                asyncio.run_coroutine_threadsafe(free.wait(), loop).result(20.0)
            return super().write(data)

    async with Loudspeaker(opened=lambda rate: made.append(Full(rate)) or made[-1]) as loudspeaker:
        await loudspeaker.write(FRAMES[0], RATE)
        second = asyncio.ensure_future(loudspeaker.write(FRAMES[1], RATE))
        await asyncio.sleep(0)
        assert not second.done()
        free.set()
        await asyncio.wait_for(second, 20.0)


def test_without_the_extra_it_names_it(monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name == "sounddevice":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(errors.MissingDependency, match=r"pip install '\.\[live\]'"):
        Loudspeaker()


def test_without_portaudio_it_names_the_package(monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name == "sounddevice":
            raise OSError("PortAudio library not found")
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(errors.MissingDependency, match="libportaudio2"):
        Loudspeaker()


# ---------------------------------------------------------------- PortAudio itself


def portaudio() -> bool:
    try:
        import sounddevice  # noqa: F401
    except (ImportError, OSError):
        return False
    return sys.platform == "linux"


needs_portaudio = pytest.mark.skipif(not portaudio(), reason="sounddevice and libportaudio2 are not here")

PROGRAM = """
import asyncio, sys
import numpy as np
from abr_tts.client.loudspeaker import Loudspeaker

async def main():
    device = sys.argv[1] if len(sys.argv) > 1 else None
    async with Loudspeaker(device) as loudspeaker:
        for number in range(20):
            await loudspeaker.write((np.arange(320) + 320 * number).astype(np.int16), 16_000)

asyncio.run(main())
"""


def played(configuration: str, folder, *arguments: str) -> subprocess.CompletedProcess:
    """The program, in a world of ALSA's that is this configuration alone."""
    path = folder / "asound.conf"
    path.write_text(configuration)
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        env={"ALSA_CONFIG_PATH": str(path), "PATH": ""},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def alsa_file(path) -> str:
    """A configuration of ALSA whose only device writes to a file, as fast as it is given."""
    return f"""
        pcm.!default {{ type plug slave.pcm filed }}
        pcm.filed {{ type file slave.pcm nothing file "{path}" format "raw" }}
        pcm.nothing {{ type null }}
    """


@needs_portaudio
def test_portaudio_plays_every_sample(tmp_path):
    done = played(alsa_file(tmp_path / "heard"), tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "heard").read_bytes() == CUSHION + SOUND


@needs_portaudio
def test_a_machine_without_a_sound_device_says_so(tmp_path):
    done = played("pcm.!default { type hw card 31 }", tmp_path)
    assert "NoSound: no sound device here plays this" in done.stderr


@needs_portaudio
def test_a_device_that_there_is_not_is_named(tmp_path):
    done = played("pcm.!default { type null }", tmp_path, "gramophone")
    assert "NoSound: no sound device here plays this (No output device matching 'gramophone')" in done.stderr
